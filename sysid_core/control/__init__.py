# SPDX-License-Identifier: Apache-2.0
"""Computed torque for open and closed chains: the controller, and its tracking in simulation."""

from sysid_core.control.controller_parameters import judge_for_control
from sysid_core.control.measurement import JointSensorNoise, recording_of
from sysid_core.control.set_points import SetPointError, SetPointFault, SetPointLimits
from sysid_core.control.torque_controller import (
    ControllerState,
    ControllerTiming,
    TorqueController,
)
from sysid_core.control.tracking import ComputedTorque, Gains, TrackingRun, track

__all__ = [
    "ComputedTorque",
    "ControllerState",
    "ControllerTiming",
    "Gains",
    "JointSensorNoise",
    "SetPointError",
    "SetPointFault",
    "SetPointLimits",
    "TorqueController",
    "TrackingRun",
    "judge_for_control",
    "recording_of",
    "track",
]
