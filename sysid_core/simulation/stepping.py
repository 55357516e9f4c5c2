# SPDX-License-Identifier: Apache-2.0
"""Time steps of a MuJoCo model, common to simulated arms and closed chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array

if TYPE_CHECKING:
    import mujoco
else:
    mujoco = lazy_import("mujoco")


@dataclass(frozen=True, eq=False)
class PlantSample:
    """Simulated state at one instant, with the applied effort and the resulting acceleration.

    Attributes:
        time: Simulated time [s].
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        effort: Applied joint efforts, shape (n,) [N m].
        wrench: Wrench that the sensor exerts on its load side, in the sensor frame, shape (6,) [N,
            N m].
    """

    time: float
    q: Array
    v: Array
    a: Array
    effort: Array
    wrench: Array


class MujocoStepper:
    """MuJoCo model with its state, advanced by control periods.

    Args:
        spec: Specification of the model.
        joint_names: Names of the joints, one degree of freedom each.
        substeps: Number of time steps per control period.

    Raises:
        ModelError: MuJoCo rejects the model.
    """

    def __init__(
        self, spec: mujoco.MjSpec, joint_names: tuple[str, ...], *, substeps: int = 1
    ) -> None:
        try:
            self.mj_model = spec.compile()
        except ValueError as err:
            raise ModelError(
                f"MuJoCo refuses the model of '{spec.modelname}': {err}.",
                remedy="Give every moving link a positive mass and a consistent inertia.",
            ) from err
        self.mj_data = mujoco.MjData(self.mj_model)
        self.joint_names = joint_names
        self.substeps = substeps

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.mj_data.time)

    @property
    def q(self) -> Array:
        """Positions of all joints, shape (n,)."""
        return self.mj_data.qpos.copy()

    @property
    def v(self) -> Array:
        """Velocities of all joints, shape (n,)."""
        return self.mj_data.qvel.copy()

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set a state; time starts at 0.

        Args:
            q: Positions, shape (n,) [rad or m].
            v: Velocities, shape (n,) [rad/s or m/s]; None: at rest.
        """
        mujoco.mj_resetData(self.mj_model, self.mj_data)
        self.mj_data.qpos[:] = np.asarray(q, dtype=float)
        if v is not None:
            self.mj_data.qvel[:] = np.asarray(v, dtype=float)
        mujoco.mj_forward(self.mj_model, self.mj_data)

    def advance(self, control: Array, effort: Array) -> PlantSample:
        """Hold the controls for one control period, and return the sample at its beginning.

        Args:
            control: Control of MuJoCo's actuators, one per joint, shape (n,).
            effort: Applied effort to be stored with the sample, shape (n,) [N m].

        Raises:
            ModelError: The simulation diverged.
        """
        data = self.mj_data
        time, q, v = self.time, self.q, self.v
        data.ctrl[:] = control
        mujoco.mj_step(self.mj_model, data)
        a, sensors = data.qacc.copy(), data.sensordata[:6].copy()
        for _ in range(self.substeps - 1):
            mujoco.mj_step(self.mj_model, data)
        if not np.all(np.isfinite(data.qpos)):
            raise ModelError(
                f"The simulation diverged at {time:.3f} s.",
                remedy="Use a smaller time step, or keep the motion away from dead centres.",
            )
        return PlantSample(time, q, v, a, effort, sensors if len(sensors) else np.zeros(6))
