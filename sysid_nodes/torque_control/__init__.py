# SPDX-License-Identifier: Apache-2.0
"""Parts of the computed-torque controller: its parameters, and the identified parameters of its
robot.
"""

from sysid_nodes.torque_control.config import ComputedTorqueControllerConfig
from sysid_nodes.torque_control.identified_parameters import IdentifiedParameters, ParameterSource
from sysid_nodes.torque_control.set_point_input import SetPointInput

__all__ = [
    "ComputedTorqueControllerConfig",
    "IdentifiedParameters",
    "ParameterSource",
    "SetPointInput",
]
