# SPDX-License-Identifier: Apache-2.0
"""Computed-torque control of open and closed chains: the controller, and the check of its
parameters.
"""

from sysid_core.control.controller_parameters import judge_for_control
from sysid_core.control.set_points import SetPointError, SetPointFault, SetPointLimits
from sysid_core.control.torque_controller import (
    ControllerState,
    ControllerTiming,
    TorqueController,
)

__all__ = [
    "ControllerState",
    "ControllerTiming",
    "SetPointError",
    "SetPointFault",
    "SetPointLimits",
    "TorqueController",
    "judge_for_control",
]
