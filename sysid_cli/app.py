# SPDX-License-Identifier: Apache-2.0
"""The command line with all its commands."""

from __future__ import annotations

# Each of these modules registers its commands.
from sysid_cli import (  # noqa: F401
    bag,
    bag_check,
    bench,
    doctor,
    export,
    fleet,
    identifiability,
    identify,
    init,
    limits,
    live,
    loops,
    payload,
    payload_torques,
    report,
    reproduce,
    servos,
    tare,
)
from sysid_cli.base import app as app
from sysid_cli.base import run as run
from sysid_cli.plan import files, motions  # noqa: F401
