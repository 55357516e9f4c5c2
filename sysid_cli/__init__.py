# SPDX-License-Identifier: Apache-2.0
"""The `sysid` command. `app` lists the commands; each registers in a file of its own."""

from sysid_cli.app import run

__all__ = ["run"]
