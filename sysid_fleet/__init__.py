# SPDX-License-Identifier: Apache-2.0
"""Fleets: what nightly recordings of ordinary work say, and what drifts."""

from sysid_fleet.analysis import FleetState, Trend, analyse
from sysid_fleet.drift import (
    Change,
    Monitored,
    Series,
    Spread,
    monitor,
    spread_of,
)
from sysid_fleet.page import fleet_report
from sysid_fleet.recording import Task, recording_rows
from sysid_fleet.registry import Registry, Robot, load_registry
from sysid_fleet.run_length import run_length, threshold
from sysid_fleet.sensor import sensor_values
from sysid_fleet.work import fleet_jobs, identify_fleet, write_state

__all__ = [
    "Change",
    "FleetState",
    "Monitored",
    "Registry",
    "Robot",
    "Series",
    "Spread",
    "Task",
    "Trend",
    "analyse",
    "fleet_jobs",
    "fleet_report",
    "identify_fleet",
    "load_registry",
    "monitor",
    "recording_rows",
    "run_length",
    "sensor_values",
    "spread_of",
    "threshold",
    "write_state",
]
