"""Whether an estimate predicts what it wasn't fitted to."""

from sysid_core.validation.plant import MujocoPlant, PlantSample, build_mujoco_spec
from sysid_core.validation.simulated_robot import Measurement, SensorNoise, SimulatedRobot

__all__ = [
    "Measurement",
    "MujocoPlant",
    "PlantSample",
    "SensorNoise",
    "SimulatedRobot",
    "build_mujoco_spec",
]
