# SPDX-License-Identifier: Apache-2.0
"""Parts of the simulated robot."""

from sysid_nodes.simulation.config import (
    SimulatedRobotConfig,
    build_plant,
    described_robot,
    differing_chain,
    differing_pi,
)
from sysid_nodes.simulation.pace import LockStep, WallPace

__all__ = [
    "LockStep",
    "SimulatedRobotConfig",
    "WallPace",
    "build_plant",
    "described_robot",
    "differing_chain",
    "differing_pi",
]
