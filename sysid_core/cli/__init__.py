"""The `sysid` command. Each file registers its own command with the groups of `app`."""

from sysid_core.cli import identify, reproduce_stanford  # noqa: F401  (registers its command)
from sysid_core.cli.app import run

__all__ = ["run"]
