"""Whether an estimate predicts what it wasn't fitted to."""

from sysid_core.validation.closed_chain_plant import (
    ClosedChainPlant,
    SolverSettings,
    build_closed_chain_spec,
)
from sysid_core.validation.measurement import JointSensorNoise, recording_of
from sysid_core.validation.metrics import MOVING, TorqueError, torque_errors, total
from sysid_core.validation.payload_errors import payload_errors
from sysid_core.validation.plant import MujocoPlant, build_mujoco_spec
from sysid_core.validation.prediction import Prediction, predict_recording
from sysid_core.validation.simulated_robot import (
    Measurement,
    SensorNoise,
    SimulatedRobot,
    record_motion,
)
from sysid_core.validation.simulation import SegmentPrediction, predict_segments, reduced_dynamics
from sysid_core.validation.stepping import PlantSample
from sysid_core.validation.torque_controller import (
    ControllerState,
    ControllerTiming,
    TorqueController,
)
from sysid_core.validation.tracking import ComputedTorque, Gains, Plant, TrackingRun, track
from sysid_core.validation.verdict import Judgement, Outcome, judge

__all__ = [
    "MOVING",
    "ClosedChainPlant",
    "ComputedTorque",
    "ControllerState",
    "ControllerTiming",
    "Gains",
    "JointSensorNoise",
    "Judgement",
    "Measurement",
    "MujocoPlant",
    "Outcome",
    "Plant",
    "PlantSample",
    "Prediction",
    "SegmentPrediction",
    "SensorNoise",
    "SimulatedRobot",
    "SolverSettings",
    "TorqueController",
    "TorqueError",
    "TrackingRun",
    "build_closed_chain_spec",
    "build_mujoco_spec",
    "judge",
    "payload_errors",
    "predict_recording",
    "predict_segments",
    "record_motion",
    "recording_of",
    "reduced_dynamics",
    "torque_errors",
    "total",
    "track",
]
