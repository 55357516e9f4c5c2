# SPDX-License-Identifier: Apache-2.0
"""Monitoring of many robots: parameters from regular recordings of ordinary work, and their
changes.
"""

from sysid_fleet.analysis import FleetState
from sysid_fleet.registry import load_registry
from sysid_fleet.work import identify_fleet, watch_fleet, write_state

__all__ = [
    "FleetState",
    "identify_fleet",
    "load_registry",
    "watch_fleet",
    "write_state",
]
