"""Motions that excite what is to be identified, and the check that they are safe."""

from sysid_core.excitation.compose import MotionBuilder
from sysid_core.excitation.geometry import HeldBox, RobotGeometry
from sysid_core.excitation.limits import MotionLimits
from sysid_core.excitation.loop_box import AssemblyMap, assembly_map, coupled_drives, motion_box
from sysid_core.excitation.loop_excitation import (
    LoopExcitation,
    plan_loop_excitation,
    sine_trajectory,
)
from sysid_core.excitation.motion_check import (
    MotionCheck,
    MotionChecker,
    Violation,
    check_motion,
    export_trajectory,
)
from sysid_core.excitation.payload_motion import (
    PayloadPlan,
    build_payload_motion,
    choose_tare_postures,
    frequencies_for_speed,
    oscillation,
    payload_information,
    plan_payload_motion,
)
from sysid_core.excitation.trajectory import Segment, Trajectory
from sysid_core.excitation.transfer import (
    minimum_jerk,
    move_duration,
    plan_transfer,
    straight_move,
)

__all__ = [
    "AssemblyMap",
    "HeldBox",
    "LoopExcitation",
    "MotionBuilder",
    "MotionCheck",
    "MotionChecker",
    "MotionLimits",
    "PayloadPlan",
    "RobotGeometry",
    "Segment",
    "Trajectory",
    "Violation",
    "assembly_map",
    "build_payload_motion",
    "check_motion",
    "choose_tare_postures",
    "coupled_drives",
    "export_trajectory",
    "minimum_jerk",
    "motion_box",
    "move_duration",
    "plan_loop_excitation",
    "plan_transfer",
    "sine_trajectory",
    "straight_move",
]
