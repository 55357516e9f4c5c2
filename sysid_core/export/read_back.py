# SPDX-License-Identifier: Apache-2.0
"""Common part of all readers of exported files: rigid bodies and joint friction."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pinocchio as pin

from sysid_core.robot import Array


class ReadBack(ABC):
    """Robot read from an exported file, n joints.

    Args:
        coulomb: Coulomb friction, shape (n,) [N m].
        viscous: Viscous friction, shape (n,) [N m s/rad].
    """

    def __init__(self, coulomb: Array, viscous: Array) -> None:
        self._coulomb, self._viscous = coulomb, viscous

    @property
    def dry_friction(self) -> Array:
        """Coulomb friction of the joints, shape (n,) [N m]."""
        return self._coulomb

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques along a motion, shapes (K, n) to (K, n) [N m], with a discontinuous
        sign of dry friction as in simulators.
        """
        return self.smooth_torques(q, v, a) + self._coulomb * np.sign(v)

    def smooth_torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques without dry friction."""
        return np.asarray(self._rigid_torques(q, v, a) + self._viscous * v)

    @abstractmethod
    def _rigid_torques(self, q: Array, v: Array, a: Array) -> Array:
        """Torques of rigid bodies and drive inertias, (K, n)."""


class ReadTree(ReadBack):
    """Tree of joints and links read from an exported file by pinocchio.

    Args:
        tree: The bodies.
        joint_names: Order of the joint arrays.
        coulomb, viscous: See `ReadBack`.
        armature: Drive inertia, shape (n,) [kg m^2]; default: none.
    """

    def __init__(
        self,
        tree: pin.Model,
        joint_names: tuple[str, ...],
        coulomb: Array,
        viscous: Array,
        armature: Array | float = 0.0,
    ) -> None:
        super().__init__(coulomb, viscous)
        self._tree, self._armature = tree, armature
        self._columns = [joint_names.index(name) for name in tree.names[1:]]

    def _rigid_torques(self, q: Array, v: Array, a: Array) -> Array:
        data, out, k = self._tree.createData(), np.empty_like(q), self._columns
        for i in range(len(q)):
            out[i, k] = pin.rnea(self._tree, data, q[i, k], v[i, k], a[i, k])
        return np.asarray(out + self._armature * a)
