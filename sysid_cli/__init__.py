# SPDX-License-Identifier: Apache-2.0
"""The `sysid` command. `app` lists the commands; each is registered in a separate file."""

from sysid_cli.app import run

__all__ = ["run"]
