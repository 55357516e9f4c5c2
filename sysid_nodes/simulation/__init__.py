# SPDX-License-Identifier: Apache-2.0
"""What the simulated robot simulates."""

from sysid_nodes.simulation.config import SimulatedRobotConfig
from sysid_nodes.simulation.pace import LockStep, WallPace
from sysid_nodes.simulation.plants import build_plant, differing_chain, differing_pi

__all__ = [
    "LockStep",
    "SimulatedRobotConfig",
    "WallPace",
    "build_plant",
    "differing_chain",
    "differing_pi",
]
