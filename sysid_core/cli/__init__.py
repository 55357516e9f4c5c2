"""The `sysid` command. Each file registers its own command with the groups of `app`."""

from sysid_core.cli.app import run

__all__ = ["run"]
