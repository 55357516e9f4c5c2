# SPDX-License-Identifier: Apache-2.0
"""Whether an estimate predicts what it wasn't fitted to."""

from sysid_core.validation.closed_chain_plant import ClosedChainPlant, SolverSettings
from sysid_core.validation.controller_parameters import judge_for_control
from sysid_core.validation.measurement import JointSensorNoise, recording_of
from sysid_core.validation.metrics import TorqueError, torque_errors, total
from sysid_core.validation.payload_errors import payload_errors
from sysid_core.validation.plant import MujocoPlant, build_mujoco_spec
from sysid_core.validation.prediction import Prediction, predict_recording
from sysid_core.validation.residual_torques import ResidualTorques
from sysid_core.validation.simulated_robot import SensorNoise, SimulatedRobot, record_motion
from sysid_core.validation.simulation import predict_segments
from sysid_core.validation.torque_controller import (
    ControllerState,
    ControllerTiming,
    TorqueController,
)
from sysid_core.validation.tracking import ComputedTorque, Gains, TrackingRun, track
from sysid_core.validation.verdict import (
    judge,
    judge_chain,
    judge_estimate,
    judge_identification,
    judge_predictions,
    judge_spread,
    unexplained,
)

__all__ = [
    "ClosedChainPlant",
    "ComputedTorque",
    "ControllerState",
    "ControllerTiming",
    "Gains",
    "JointSensorNoise",
    "MujocoPlant",
    "Prediction",
    "ResidualTorques",
    "SensorNoise",
    "SimulatedRobot",
    "SolverSettings",
    "TorqueController",
    "TorqueError",
    "TrackingRun",
    "build_mujoco_spec",
    "judge",
    "judge_chain",
    "judge_estimate",
    "judge_for_control",
    "judge_identification",
    "judge_predictions",
    "judge_spread",
    "payload_errors",
    "predict_recording",
    "predict_segments",
    "record_motion",
    "recording_of",
    "torque_errors",
    "total",
    "track",
    "unexplained",
]
