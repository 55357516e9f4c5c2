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
    direction_in_body,
    minimal_constants,
)
from sysid_core.identifiability.composite_bodies.driving_axes import (
    LENGTH_TOLERANCE,
    PARALLEL_TOLERANCE,
    DrivingAxisChain,
    are_parallel,
)

__all__ = [
    "CLEAR",
    "LENGTH_TOLERANCE",
    "PARALLEL_TOLERANCE",
    "BackwardSolution",
    "DrivingAxisChain",
    "MinimalConstants",
    "RecursionStep",
    "StepRows",
    "are_parallel",
    "direction_in_body",
    "minimal_constants",
    "solve_backward",
]
