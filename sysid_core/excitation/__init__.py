"""Motions that excite what is to be identified, and the check that they are safe."""

from sysid_core.excitation.compose import MotionBuilder
from sysid_core.excitation.criteria import ExcitationCriterion, ExcitationQuality
from sysid_core.excitation.excitation_problem import ExcitationProblem
from sysid_core.excitation.execution import Executor
from sysid_core.excitation.execution_states import (
    Command,
    ExecutorSettings,
    ExecutorState,
    SegmentMarks,
)
from sysid_core.excitation.fourier import FourierBasis
from sysid_core.excitation.geometry import HeldBox, RobotGeometry
from sysid_core.excitation.limits import MotionLimits
from sysid_core.excitation.loop_box import (
    MAX_CONDITION,
    AssemblyMap,
    assembly_map,
    coupled_drives,
    motion_box,
    reach_alone,
)
from sysid_core.excitation.loop_excitation import (
    LoopExcitation,
    plan_loop_excitation,
    sine_trajectory,
)
from sysid_core.excitation.loop_motion import of_all_joints, plan_loop_motion
from sysid_core.excitation.loop_structure import (
    EXCITED,
    ShownDirections,
    shown_by_motions,
    shown_directions,
    structural_rows,
)
from sysid_core.excitation.monitor import (
    ExecutionMonitor,
    Measured,
    MonitorLimits,
    PositionRates,
)
from sysid_core.excitation.motion_check import (
    MotionCheck,
    MotionChecker,
    Violation,
    check_motion,
    export_trajectory,
)
from sysid_core.excitation.optimise import ArmPlan, build_fourier_motion, plan_arm_motion
from sysid_core.excitation.path_follower import PathFollower
from sysid_core.excitation.payload_information import (
    choose_tare_postures,
    payload_information,
)
from sysid_core.excitation.payload_motion import (
    frequencies_for_speed,
    oscillation,
    wrist_columns,
)
from sysid_core.excitation.payload_plan import (
    PayloadPlan,
    build_payload_motion,
    plan_payload_motion,
)
from sysid_core.excitation.sequential import (
    SequentialPlan,
    plan_sequential,
)
from sysid_core.excitation.sequential_moves import (
    Move,
)
from sysid_core.excitation.sine import plan_sines
from sysid_core.excitation.trajectory import Segment, Trajectory
from sysid_core.excitation.transfer import (
    minimum_jerk,
    move_duration,
    plan_transfer,
    straight_move,
)

__all__ = [
    "EXCITED",
    "MAX_CONDITION",
    "ArmPlan",
    "AssemblyMap",
    "Command",
    "ExcitationCriterion",
    "ExcitationProblem",
    "ExcitationQuality",
    "ExecutionMonitor",
    "Executor",
    "ExecutorSettings",
    "ExecutorState",
    "FourierBasis",
    "HeldBox",
    "LoopExcitation",
    "Measured",
    "MonitorLimits",
    "MotionBuilder",
    "MotionCheck",
    "MotionChecker",
    "MotionLimits",
    "Move",
    "PathFollower",
    "PayloadPlan",
    "PositionRates",
    "RobotGeometry",
    "Segment",
    "SegmentMarks",
    "SequentialPlan",
    "ShownDirections",
    "Trajectory",
    "Violation",
    "assembly_map",
    "build_fourier_motion",
    "build_payload_motion",
    "check_motion",
    "choose_tare_postures",
    "coupled_drives",
    "export_trajectory",
    "frequencies_for_speed",
    "minimum_jerk",
    "motion_box",
    "move_duration",
    "of_all_joints",
    "oscillation",
    "payload_information",
    "plan_arm_motion",
    "plan_loop_excitation",
    "plan_loop_motion",
    "plan_payload_motion",
    "plan_sequential",
    "plan_sines",
    "plan_transfer",
    "reach_alone",
    "shown_by_motions",
    "shown_directions",
    "sine_trajectory",
    "straight_move",
    "structural_rows",
    "wrist_columns",
]
