# SPDX-License-Identifier: Apache-2.0
"""Robot models: URDF, rigid-body parameters, regressors."""

from sysid_core.robot.drives import DriveTrain, Spring, SpringLaw
from sysid_core.robot.frames import (
    POSE_FRAME,
    POSE_JOINTS,
    StaticTransform,
    robot_of_poses,
)
from sysid_core.robot.friction import (
    GEARED_ARM_TERMS,
    USUAL_TERMS,
    FrictionModel,
    FrictionTerm,
    smooth_sign,
    usual_friction,
)
from sysid_core.robot.held_joints import hold_joints, lock_options, mimic_joints
from sysid_core.robot.inertia import (
    INERTIA_ENTRIES,
    INERTIAL_NAMES,
    INERTIAL_UNITS,
    Array,
    is_physically_consistent,
    mass_com_inertia_from_pi,
    parameter_transform,
    pi_from_mass_com_inertia,
    pi_from_pseudo_inertia,
    pseudo_inertia_from_pi,
    skew,
    transform_pi,
    wrench_regressor,
)
from sysid_core.robot.model import STANDARD_GRAVITY, FrameMotion, RobotModel, gravity_of_mount
from sysid_core.robot.reference import (
    load_robot,
    reference_robots,
    reference_rotors,
)
from sysid_core.robot.regressor import (
    Rotor,
    rotor_regressor,
    rotors_of,
)
from sysid_core.robot.urdf import allowed_contacts, example_robots, example_share, received_urdf

__all__ = [
    "GEARED_ARM_TERMS",
    "INERTIAL_NAMES",
    "INERTIAL_UNITS",
    "INERTIA_ENTRIES",
    "POSE_FRAME",
    "POSE_JOINTS",
    "STANDARD_GRAVITY",
    "USUAL_TERMS",
    "Array",
    "DriveTrain",
    "FrameMotion",
    "FrictionModel",
    "FrictionTerm",
    "RobotModel",
    "Rotor",
    "Spring",
    "SpringLaw",
    "StaticTransform",
    "allowed_contacts",
    "example_robots",
    "example_share",
    "gravity_of_mount",
    "hold_joints",
    "is_physically_consistent",
    "load_robot",
    "lock_options",
    "mass_com_inertia_from_pi",
    "mimic_joints",
    "parameter_transform",
    "pi_from_mass_com_inertia",
    "pi_from_pseudo_inertia",
    "pseudo_inertia_from_pi",
    "received_urdf",
    "reference_robots",
    "reference_rotors",
    "robot_of_poses",
    "rotor_regressor",
    "rotors_of",
    "skew",
    "smooth_sign",
    "transform_pi",
    "usual_friction",
    "wrench_regressor",
]
