# SPDX-License-Identifier: Apache-2.0
"""`sysid payload-torques`."""

from sysid_core.cli.payload_torques import command  # noqa: F401  (registers the command)
