# SPDX-License-Identifier: Apache-2.0
"""Minimal constants of composite bodies (Lin 1992)."""

from sysid_core.identifiability.composite_bodies.backward_recursion import (
    CLEAR,
    BackwardSolution,
    RecursionStep,
    StepRows,
    solve_backward,
)
from sysid_core.identifiability.composite_bodies.composite_body import (
    MinimalConstants,
    minimal_constants,
)
from sysid_core.identifiability.composite_bodies.driving_axes import DrivingAxisChain

__all__ = [
    "CLEAR",
    "BackwardSolution",
    "DrivingAxisChain",
    "MinimalConstants",
    "RecursionStep",
    "StepRows",
    "minimal_constants",
    "solve_backward",
]
