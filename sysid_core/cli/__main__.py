"""`python -m sysid_core.cli`."""

from sysid_core.cli.app import run

run()
