# SPDX-License-Identifier: Apache-2.0
"""Monitoring of many robots: parameters from regular recordings of ordinary work, and their
changes.
"""

from sysid_fleet.analysis import FleetState
from sysid_fleet.recording import recording_rows
from sysid_fleet.registry import load_registry
from sysid_fleet.work import fleet_jobs, identify_fleet, write_state

__all__ = [
    "FleetState",
    "fleet_jobs",
    "identify_fleet",
    "load_registry",
    "recording_rows",
    "write_state",
]
