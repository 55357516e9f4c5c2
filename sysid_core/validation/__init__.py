"""Whether an estimate predicts what it wasn't fitted to."""

from sysid_core.validation.closed_chain_plant import (
    ClosedChainPlant,
    SolverSettings,
    build_closed_chain_spec,
)
from sysid_core.validation.measurement import JointSensorNoise, recording_of
from sysid_core.validation.plant import MujocoPlant, PlantSample, build_mujoco_spec
from sysid_core.validation.prediction import Prediction, predict_recording
from sysid_core.validation.simulated_robot import (
    Measurement,
    SensorNoise,
    SimulatedRobot,
    record_motion,
)
from sysid_core.validation.simulation import SegmentPrediction, predict_segments, reduced_dynamics
from sysid_core.validation.tracking import ComputedTorque, Gains, Plant, TrackingRun, track

__all__ = [
    "ClosedChainPlant",
    "ComputedTorque",
    "Gains",
    "JointSensorNoise",
    "Measurement",
    "MujocoPlant",
    "Plant",
    "PlantSample",
    "Prediction",
    "SegmentPrediction",
    "SensorNoise",
    "SimulatedRobot",
    "SolverSettings",
    "TrackingRun",
    "build_closed_chain_spec",
    "build_mujoco_spec",
    "predict_recording",
    "predict_segments",
    "record_motion",
    "recording_of",
    "reduced_dynamics",
    "track",
]
