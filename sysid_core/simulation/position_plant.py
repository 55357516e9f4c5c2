# SPDX-License-Identifier: Apache-2.0
"""Simulation of a robot with position servos: it receives targets, and measures with encoders
behind the backlash of its gears.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.lazy import lazy_import
from sysid_core.robot import Array
from sysid_core.simulation.stepping import MujocoStepper, PlantSample

if TYPE_CHECKING:
    import mujoco
else:
    mujoco = lazy_import("mujoco")


class PositionPlant(MujocoStepper):
    """MuJoCo simulation of a robot that is driven by position targets.

    Args:
        mjcf: With a position actuator of each joint, under the joint's name.
        joint_names: Its joints.
        zero: Target at which each joint rests at zero without a load, shape (n,) [rad or m].
        backlash: Half of each gap between motor and encoder, shape (n,) [rad or m].
    """

    def __init__(
        self, mjcf: str, joint_names: tuple[str, ...], zero: ArrayLike, backlash: ArrayLike
    ) -> None:
        super().__init__(mujoco.MjSpec.from_string(mjcf), joint_names)
        self._zero, self._gap = np.asarray(zero, dtype=float), np.asarray(backlash, dtype=float)
        self._at = np.array([int(self.mj_model.joint(name).qposadr[0]) for name in joint_names])
        self._drive = np.array([self.mj_model.actuator(name).id for name in joint_names])
        self._encoder = np.zeros(len(joint_names))

    @property
    def q(self) -> Array:
        """Positions measured by the encoders, shape (n,) [rad or m]."""
        return self._encoder.copy()

    @property
    def v(self) -> Array:
        """Velocities of the motors behind the gears, shape (n,) [rad/s or m/s]."""
        return np.asarray(self.mj_data.qvel[self._at])

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set the positions q, shape (n,), and use them as targets; time starts at 0."""
        there = np.zeros(self.mj_model.nq)
        there[self._at] = np.asarray(q, dtype=float)
        super().reset(there, v)
        for drive, first in zip(self._drive, there[self._at] - self._zero, strict=True):
            if kept := int(self.mj_model.actuator_history[drive, 0]):  # its dead time's buffer
                mujoco.mj_initCtrlHistory(
                    self.mj_model, self.mj_data, drive, None, np.full(kept, first)
                )
        self._encoder = there[self._at]

    def step(self, target: ArrayLike) -> PlantSample:
        """Apply targets, shape (n,), for one time step and return the sample at its beginning."""
        control = np.empty(len(self._drive))
        control[self._drive] = np.asarray(target, dtype=float) - self._zero
        sample = self.advance(control, self.mj_data.actuator_force[self._drive].copy())
        motor = self.mj_data.qpos[self._at]
        self._encoder = np.clip(self._encoder, motor - self._gap, motor + self._gap)
        return sample
