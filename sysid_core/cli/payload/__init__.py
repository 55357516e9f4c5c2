# SPDX-License-Identifier: Apache-2.0
"""`sysid payload`."""

from sysid_core.cli.payload import command  # noqa: F401  (registers the command)
