"""`python -m sysid_core.cli`."""

from sysid_core.cli import run

run()
