"""`sysid identify`."""

from sysid_core.cli.identify import command  # noqa: F401  (registers the command)
