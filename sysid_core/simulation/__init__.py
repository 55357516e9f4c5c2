# SPDX-License-Identifier: Apache-2.0
"""Simulated robots in MuJoCo (the estimators use pinocchio), with the imperfections of real robots."""

from sysid_core.simulation.closed_chain_plant import ClosedChainPlant
from sysid_core.simulation.plant import MujocoPlant, PositionPlant
from sysid_core.simulation.simulated_robot import SensorNoise, SimulatedRobot

__all__ = [
    "ClosedChainPlant",
    "MujocoPlant",
    "PositionPlant",
    "SensorNoise",
    "SimulatedRobot",
]
