"""Robots: URDFs, rigid-body parameters, regressors."""

from sysid_core.robot.controller_payload import ControllerPayload, PayloadLimits, fixed_pose
from sysid_core.robot.drives import WAVE_KINDS, Drives
from sysid_core.robot.frame_sensitivity import frame_motion_sensitivity
from sysid_core.robot.friction import (
    GEARED_ARM_TERMS,
    USUAL_TERMS,
    FrictionModel,
    FrictionTerm,
    play,
)
from sysid_core.robot.inertia import (
    INERTIAL_NAMES,
    INERTIAL_UNITS,
    Array,
    consistency_margin,
    inertia_matrix_from_pi,
    is_physically_consistent,
    log_cholesky_from_pi,
    mass_com_inertia_from_pi,
    parameter_transform,
    pi_from_log_cholesky,
    pi_from_mass_com_inertia,
    pi_from_pseudo_inertia,
    pseudo_inertia_from_pi,
    skew,
    transform_pi,
    wrench_regressor,
)
from sysid_core.robot.loop_actuation import (
    ClosureState,
    actuation_map,
    actuation_map_rate,
    closure_state,
    passive_condition,
    require_determined,
)
from sysid_core.robot.loop_closure import (
    ASSEMBLY_TOLERANCE,
    Assembly,
    assemble,
    assemble_along,
    try_assemble,
)
from sysid_core.robot.loop_constraints import loop_jacobian, loop_jacobian_rate, loop_residual
from sysid_core.robot.loop_projection import project_positions, project_velocities
from sysid_core.robot.loop_regressor import (
    DRIVE_NAMES,
    DRIVE_UNITS,
    ConstrainedMotion,
    actuated_inertia,
    constrained_motion,
    constrained_parameter_names,
    constrained_parameter_units,
    constrained_torques,
    drive_parameter_names,
    projected_drive_regressor,
    projected_inertial_regressor,
    projected_regressor,
)
from sysid_core.robot.loops import ClosedChain, Drive, Loop, LoopEnd, MotionBox
from sysid_core.robot.loops_io import (
    closed_chain_from_mapping,
    load_closed_chain,
    save_closed_chain,
)
from sysid_core.robot.model import STANDARD_GRAVITY, FrameMotion, RobotModel
from sysid_core.robot.payload_exchange import ExchangeState, PayloadExchange
from sysid_core.robot.reference import (
    load_dh_robot,
    load_robot,
    reference_robot,
    reference_robots,
    reference_rotors,
)
from sysid_core.robot.regressor import inertial_parameter_names, joint_torque_regressor
from sysid_core.robot.rotors import Rotor, load_rotors, rotor_regressor, rotors_from_urdf, rotors_of
from sysid_core.robot.shape import DEFAULT_CELLS, Shape
from sysid_core.robot.shape_file import load_shape
from sysid_core.robot.shape_urdf import shape_from_urdf
from sysid_core.robot.tree_kinematics import Attachment, TreeKinematics
from sysid_core.robot.urdf import example_robots, urdf_text
from sysid_core.robot.urdf_write import identified_urdf, write_urdf
from sysid_core.robot.vendor_payload import (
    VENDORS,
    Vendor,
    VendorRequest,
    response_accepted,
    vendor_request,
)

__all__ = [
    "ASSEMBLY_TOLERANCE",
    "DEFAULT_CELLS",
    "DRIVE_NAMES",
    "DRIVE_UNITS",
    "GEARED_ARM_TERMS",
    "INERTIAL_NAMES",
    "INERTIAL_UNITS",
    "STANDARD_GRAVITY",
    "USUAL_TERMS",
    "VENDORS",
    "WAVE_KINDS",
    "Array",
    "Assembly",
    "Attachment",
    "ClosedChain",
    "ClosureState",
    "ConstrainedMotion",
    "ControllerPayload",
    "Drive",
    "Drives",
    "ExchangeState",
    "FrameMotion",
    "FrictionModel",
    "FrictionTerm",
    "Loop",
    "LoopEnd",
    "MotionBox",
    "PayloadExchange",
    "PayloadLimits",
    "RobotModel",
    "Rotor",
    "Shape",
    "TreeKinematics",
    "Vendor",
    "VendorRequest",
    "actuated_inertia",
    "actuation_map",
    "actuation_map_rate",
    "assemble",
    "assemble_along",
    "closed_chain_from_mapping",
    "closure_state",
    "consistency_margin",
    "constrained_motion",
    "constrained_parameter_names",
    "constrained_parameter_units",
    "constrained_torques",
    "drive_parameter_names",
    "example_robots",
    "fixed_pose",
    "frame_motion_sensitivity",
    "identified_urdf",
    "inertia_matrix_from_pi",
    "inertial_parameter_names",
    "is_physically_consistent",
    "joint_torque_regressor",
    "load_closed_chain",
    "load_dh_robot",
    "load_robot",
    "load_rotors",
    "load_shape",
    "log_cholesky_from_pi",
    "loop_jacobian",
    "loop_jacobian_rate",
    "loop_residual",
    "mass_com_inertia_from_pi",
    "parameter_transform",
    "passive_condition",
    "pi_from_log_cholesky",
    "pi_from_mass_com_inertia",
    "pi_from_pseudo_inertia",
    "play",
    "project_positions",
    "project_velocities",
    "projected_drive_regressor",
    "projected_inertial_regressor",
    "projected_regressor",
    "pseudo_inertia_from_pi",
    "reference_robot",
    "reference_robots",
    "reference_rotors",
    "require_determined",
    "response_accepted",
    "rotor_regressor",
    "rotors_from_urdf",
    "rotors_of",
    "save_closed_chain",
    "shape_from_urdf",
    "skew",
    "transform_pi",
    "try_assemble",
    "urdf_text",
    "vendor_request",
    "wrench_regressor",
    "write_urdf",
]
