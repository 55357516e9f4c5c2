# SPDX-License-Identifier: Apache-2.0
"""Motions that excite what is to be identified, and the check that they are safe."""

from sysid_core.excitation.cell import Obstacle, Plane
from sysid_core.excitation.compose import MotionBuilder
from sysid_core.excitation.design import (
    ArmPlan,
    Criterion,
    Expectation,
    Unknowns,
    plan_arm_motion,
    plan_validation_motion,
)
from sysid_core.excitation.foreign import read_motion
from sysid_core.excitation.fourier import FourierBasis, share_between_samples
from sysid_core.excitation.geometry import HeldBox, RobotGeometry
from sysid_core.excitation.limits import MotionLimits
from sysid_core.excitation.limits_file import initial_limits, limits_text, read_limits
from sysid_core.excitation.motion_check import MotionChecker, check_motion, export_trajectory
from sysid_core.excitation.trajectory import Segment, Trajectory
from sysid_core.excitation.transfer import minimum_jerk, straight_move
from sysid_core.excitation.violations import MotionCheck

__all__ = [
    "ArmPlan",
    "Criterion",
    "Expectation",
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
    "check_motion",
    "export_trajectory",
    "initial_limits",
    "limits_text",
    "minimum_jerk",
    "plan_arm_motion",
    "plan_validation_motion",
    "read_limits",
    "read_motion",
    "share_between_samples",
    "straight_move",
]
