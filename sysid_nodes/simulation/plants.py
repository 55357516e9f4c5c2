# SPDX-License-Identifier: Apache-2.0
"""What the simulated robot simulates: an arm, or a mechanism with closed loops."""

from __future__ import annotations

import dataclasses

import numpy as np

from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain, load_closed_chain
from sysid_core.simulation import ClosedChainPlant, MujocoPlant
from sysid_nodes.simulation.config import SimulatedRobotConfig


def differing_pi(model: RobotModel, share: float, rng: np.random.Generator) -> np.ndarray:
    """Inertial parameters of a robot whose links aren't as its URDF says, shape (n_bodies, 10)."""
    return model.pi * (1 + share * rng.uniform(-1, 1, (model.n_bodies, 1)))


def differing_chain(
    chain: ClosedChain, link_error: float, drive_error: float, rng: np.random.Generator
) -> ClosedChain:
    """A mechanism whose links and drives aren't as its files say."""
    true_model = chain.model.with_pi(differing_pi(chain.model, link_error, rng))
    drives = {}
    for joint in chain.actuated:
        drive = chain.drive(joint)
        F_c, F_v, I_a = np.array(drive.values[:3]) * (1 + drive_error * rng.uniform(-1, 1, 3))
        drives[joint] = dataclasses.replace(drive, F_c=F_c, F_v=F_v, I_a=I_a)
    return chain.with_model(true_model).with_drives(drives)


def build_plant(
    config: SimulatedRobotConfig, model: RobotModel, rng: np.random.Generator
) -> MujocoPlant | ClosedChainPlant:
    """The physics that a configuration of `simulated_robot` asks for."""
    c, n = config, model.nv
    if c.loops:
        chain = load_closed_chain(c.loops, model.urdf_xml)
        return ClosedChainPlant(differing_chain(chain, c.link_error, c.drive_error, rng))
    return MujocoPlant(
        model.with_pi(differing_pi(model, c.link_error, rng)),
        sensor_frame=c.sensor_frame or None,
        payload=c.payload or None,
        friction=np.full(n, c.coulomb),
        damping=np.full(n, c.viscous),
        armature=np.full(n, c.armature),
        timestep=c.timestep,
    )
