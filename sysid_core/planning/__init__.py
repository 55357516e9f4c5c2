# SPDX-License-Identifier: Apache-2.0
"""Motions that excite what is to be identified, and the check that they are safe."""

from sysid_core.planning.cell import Obstacle, Plane
from sysid_core.planning.compose import MotionBuilder
from sysid_core.planning.design import (
    ArmPlan,
    Criterion,
    Unknowns,
    plan_arm_motion,
    plan_validation_motion,
)
from sysid_core.planning.foreign import read_motion
from sysid_core.planning.fourier import FourierBasis, share_between_samples
from sysid_core.planning.geometry import HeldBox, RobotGeometry
from sysid_core.planning.limits import MotionLimits
from sysid_core.planning.limits_file import initial_limits, limits_text, read_limits
from sysid_core.planning.motion_check import MotionChecker, check_motion, export_trajectory
from sysid_core.planning.ties import best_first, first_best
from sysid_core.planning.tool_frame import turning_beside_tool
from sysid_core.planning.trajectory import Segment, Trajectory, as_played
from sysid_core.planning.transfer import minimum_jerk, plan_transfer, straight_move
from sysid_core.planning.violations import MotionCheck

__all__ = [
    "ArmPlan",
    "Criterion",
    "FourierBasis",
    "HeldBox",
    "MotionBuilder",
    "MotionCheck",
    "MotionChecker",
    "MotionLimits",
    "Obstacle",
    "Plane",
    "RobotGeometry",
    "Segment",
    "Trajectory",
    "Unknowns",
    "as_played",
    "best_first",
    "check_motion",
    "export_trajectory",
    "first_best",
    "initial_limits",
    "limits_text",
    "minimum_jerk",
    "plan_arm_motion",
    "plan_transfer",
    "plan_validation_motion",
    "read_limits",
    "read_motion",
    "share_between_samples",
    "straight_move",
    "turning_beside_tool",
]
