# SPDX-License-Identifier: Apache-2.0
"""Minimal constants of composite bodies (Lin 1992)."""

from sysid_core.identifiability.composite_bodies.backward_recursion import (
    BackwardSolution,
    RecursionStep,
    StepRows,
)
from sysid_core.identifiability.composite_bodies.composite_body import MinimalConstants
from sysid_core.identifiability.composite_bodies.driving_axes import DrivingAxisChain

__all__ = [
    "BackwardSolution",
    "DrivingAxisChain",
    "MinimalConstants",
    "RecursionStep",
    "StepRows",
]
