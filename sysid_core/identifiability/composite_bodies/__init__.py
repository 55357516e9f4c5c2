# SPDX-License-Identifier: Apache-2.0
"""Lin's minimal constants of composite bodies."""

from sysid_core.identifiability.composite_bodies.backward_recursion import (
    CLEAR,
    BackwardSolution,
    Step,
    StepRows,
    solve_backward,
)
from sysid_core.identifiability.composite_bodies.composite_body import (
    MinimalConstants,
    direction_in_body,
    minimal_constants,
)
from sysid_core.identifiability.composite_bodies.composite_dynamics import (
    composite_inverse_dynamics,
)
from sysid_core.identifiability.composite_bodies.single_joint import (
    check_postures,
    single_joint_rows,
)

__all__ = [
    "CLEAR",
    "BackwardSolution",
    "MinimalConstants",
    "Step",
    "StepRows",
    "check_postures",
    "composite_inverse_dynamics",
    "direction_in_body",
    "minimal_constants",
    "single_joint_rows",
    "solve_backward",
]
