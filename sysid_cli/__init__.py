# SPDX-License-Identifier: Apache-2.0
"""The `sysid` command: `app` lists the sub-commands, and one file registers each of them."""

from sysid_cli.app import run

__all__ = ["run"]
