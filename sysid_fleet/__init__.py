# SPDX-License-Identifier: Apache-2.0
"""Monitoring of many robots: parameters from regular recordings of ordinary work, and their
changes.
"""

from sysid_fleet.analysis import FleetState
from sysid_fleet.work import Fleet

__all__ = ["Fleet", "FleetState"]
