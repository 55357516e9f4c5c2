# SPDX-License-Identifier: Apache-2.0
"""`sysid tare`."""

from sysid_core.cli.tare import command  # noqa: F401  (registers the command)
