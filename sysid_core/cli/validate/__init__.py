# SPDX-License-Identifier: Apache-2.0
"""`sysid validate`."""

from sysid_core.cli.validate import command  # noqa: F401  (registers the command)
