# SPDX-License-Identifier: Apache-2.0
"""Optimal design of motions by their expected covariance: unknowns, criteria, problem and search."""

from sysid_core.planning.design.criteria import Conditioning
from sysid_core.planning.design.explore import Ending, Explorer, Goal
from sysid_core.planning.design.unknowns import Expectation, Unknowns

__all__ = [
    "Conditioning",
    "Ending",
    "Expectation",
    "Explorer",
    "Goal",
    "Unknowns",
]
