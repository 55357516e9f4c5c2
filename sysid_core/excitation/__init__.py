"""Motions that excite what is to be identified, and the check that they are safe."""

from sysid_core.excitation.geometry import HeldBox, RobotGeometry
from sysid_core.excitation.limits import MotionLimits
from sysid_core.excitation.motion_check import (
    MotionCheck,
    MotionChecker,
    Violation,
    check_motion,
    export_trajectory,
)
from sysid_core.excitation.trajectory import Segment, Trajectory
from sysid_core.excitation.transfer import (
    minimum_jerk,
    move_duration,
    plan_transfer,
    straight_move,
)

__all__ = [
    "HeldBox",
    "MotionCheck",
    "MotionChecker",
    "MotionLimits",
    "RobotGeometry",
    "Segment",
    "Trajectory",
    "Violation",
    "check_motion",
    "export_trajectory",
    "minimum_jerk",
    "move_duration",
    "plan_transfer",
    "straight_move",
]
