# SPDX-License-Identifier: Apache-2.0
"""`sysid doctor`."""

from sysid_core.cli.doctor import command  # noqa: F401  (registers the command)
