# SPDX-License-Identifier: Apache-2.0
"""Closed chains: mechanism, constraints, actuation map, regressors."""

from sysid_core.robot.loops.actuation import (
    assemble,
    closure_state,
    passive_condition,
    require_determined,
    try_assemble,
)
from sysid_core.robot.loops.chain import (
    ClosedChain,
    Coupling,
    JointDrive,
    Loop,
    LoopEnd,
    LoopKind,
    MotionBox,
)
from sysid_core.robot.loops.constraints import loop_jacobian
from sysid_core.robot.loops.driven import DrivenRobot
from sysid_core.robot.loops.file import load_closed_chain
from sysid_core.robot.loops.regressor import (
    DRIVE_NAMES,
    ConstrainedMotion,
    actuated_inertia,
    chain_with_parameters,
    constrained_motion,
    constrained_parameter_names,
    constrained_torques,
    projected_drive_regressor,
    projected_regressor,
)

__all__ = [
    "DRIVE_NAMES",
    "ClosedChain",
    "ConstrainedMotion",
    "Coupling",
    "DrivenRobot",
    "JointDrive",
    "Loop",
    "LoopEnd",
    "LoopKind",
    "MotionBox",
    "actuated_inertia",
    "assemble",
    "chain_with_parameters",
    "closure_state",
    "constrained_motion",
    "constrained_parameter_names",
    "constrained_torques",
    "load_closed_chain",
    "loop_jacobian",
    "passive_condition",
    "projected_drive_regressor",
    "projected_regressor",
    "require_determined",
    "try_assemble",
]
