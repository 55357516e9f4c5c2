# SPDX-License-Identifier: Apache-2.0
"""Planning of exciting motions for identification, and the check of their safety."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.planning.cell import Obstacle
    from sysid_core.planning.design.plan import ArmPlan
    from sysid_core.planning.design.servo_motion import plan_servo_motion
    from sysid_core.planning.foreign import read_motion
    from sysid_core.planning.geometry import HeldBox, RobotGeometry
    from sysid_core.planning.limits import MotionLimits
    from sysid_core.planning.limits_file import LimitsFile
    from sysid_core.planning.motion_check import MotionChecker, check_motion
    from sysid_core.planning.postures import PosturePlan
    from sysid_core.planning.tool_frame import joints_beside_arm
    from sysid_core.planning.trajectory import Segment, Trajectory
    from sysid_core.planning.transfer import plan_transfer
    from sysid_core.planning.violations import MotionCheck

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "ArmPlan",
    "HeldBox",
    "LimitsFile",
    "MotionCheck",
    "MotionChecker",
    "MotionLimits",
    "Obstacle",
    "PosturePlan",
    "RobotGeometry",
    "Segment",
    "Trajectory",
    "check_motion",
    "joints_beside_arm",
    "plan_servo_motion",
    "plan_transfer",
    "read_motion",
]
