# SPDX-License-Identifier: Apache-2.0
"""The `sysid` command. Each file registers its own command with the groups of `app`."""

from sysid_core.cli import (  # noqa: F401  (each registers its command)
    bag,
    doctor,
    identifiability,
    identify,
    limits,
    live,
    loops,
    many,
    payload,
    payload_torques,
    plan,
    report,
    reproduce,
    tare,
    validate,
)
from sysid_core.cli.app import run

__all__ = ["run"]
