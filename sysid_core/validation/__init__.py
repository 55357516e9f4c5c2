"""Whether an estimate predicts what it wasn't fitted to."""

from sysid_core.validation.plant import MujocoPlant, PlantSample, build_mujoco_spec

__all__ = ["MujocoPlant", "PlantSample", "build_mujoco_spec"]
