# SPDX-License-Identifier: Apache-2.0
"""Robot models: URDF, rigid-body parameters, regressors."""

from sysid_core.robot.drives import DriveTrain, Spring, SpringLaw
from sysid_core.robot.frames import (
    PoseRobot,
    StaticTransform,
)
from sysid_core.robot.friction import FrictionModel, FrictionTerm
from sysid_core.robot.inertia import (
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
from sysid_core.robot.model import FrameMotion, RobotModel
from sysid_core.robot.regressor import Rotor
from sysid_core.robot.urdf import example_robots, example_share, received_urdf

__all__ = [
    "Array",
    "DriveTrain",
    "FrameMotion",
    "FrictionModel",
    "FrictionTerm",
    "PoseRobot",
    "RobotModel",
    "Rotor",
    "Spring",
    "SpringLaw",
    "StaticTransform",
    "example_robots",
    "example_share",
    "is_physically_consistent",
    "mass_com_inertia_from_pi",
    "parameter_transform",
    "pi_from_mass_com_inertia",
    "pi_from_pseudo_inertia",
    "pseudo_inertia_from_pi",
    "received_urdf",
    "skew",
    "transform_pi",
    "wrench_regressor",
]
