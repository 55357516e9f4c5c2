# SPDX-License-Identifier: Apache-2.0
"""Common part of the readers of exported files: rigid bodies and joint friction."""

from __future__ import annotations

import numpy as np

from sysid_core.robot import Array, RobotModel


class ReadTree:
    """Robot read from an exported file, n joints.

    Args:
        model: Rigid-body model of the file.
        joint_names: Names of the joints, in the order of the arrays; those not in the model have no
            torque.
        coulomb: Coulomb friction, shape (n,) [N m].
        viscous: Viscous friction, shape (n,) [N m s/rad].
        armature: Drive inertia, shape (n,) [kg m^2]; None: zero.
    """

    def __init__(
        self,
        model: RobotModel,
        joint_names: tuple[str, ...],
        coulomb: Array,
        viscous: Array,
        armature: Array | float = 0.0,
    ) -> None:
        self._model, self._armature = model, armature
        self._coulomb, self._viscous = coulomb, viscous
        self._columns = [joint_names.index(name) for name in model.joint_names]

    @property
    def dry_friction(self) -> Array:
        """Coulomb friction of the joints, shape (n,) [N m]."""
        return self._coulomb

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques along a motion [N m], shape (K, n) as the arguments, with a discontinuous
        sign of dry friction as in simulators.
        """
        return self.smooth_torques(q, v, a) + self._coulomb * np.sign(v)

    def smooth_torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques without dry friction."""
        k, rigid = self._columns, np.zeros_like(q)
        rigid[:, k] = self._model.inverse_dynamics(q[:, k], v[:, k], a[:, k])
        return np.asarray(rigid + self._armature * a + self._viscous * v)
