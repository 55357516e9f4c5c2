# SPDX-License-Identifier: Apache-2.0
r"""Identifiability of gains and masses from positions and commands of position servos.

A servo's torque is \\(K_j e_j\\) with the measured error \\(e_j\\) of its position loop and the
unknown gain \\(K_j\\). Gains \\(\kappa_j K_j\\) explain the same motion if there are masses with
which the torques are \\(\kappa_j \tau_j\\) at every state. Torques follow from a Lagrangian, whose
mixed derivatives are symmetric, so that \\(\kappa_i = \kappa_j\\) wherever the inertia
\\(M_{ij}\\), any \\(\partial M_{ik}/\partial q_j\\) or, in the potential,
\\(\partial^2 V/\partial q_i \partial q_j\\) is not zero everywhere. Joints that no chain of such
pairs connects have separate Lagrangians, each of which can be scaled. The nullspace that unknown
gains add therefore has one direction for each connected group of joints; friction, drive inertia
and zero positions are scaled with their joint and connect no joints. At rest only the potential
matters, and a joint without gravity torque is a group of its own, whose gain cannot be determined.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.sparse.csgraph import connected_components

from sysid_core.errors import IdentifiabilityError
from sysid_core.robot import RobotModel

# Relative change below which an entry doesn't depend on a joint: rounding of the sweeps is 1e-15, and
# random bodies at random postures make others larger than this but with probability 1e-6.
_DEPENDS = 1e-9
_POSTURES = 4  # random ones: each misses a pair that is tied with probability zero already


@dataclass(frozen=True)
class ServoScales:
    """Groups of joints whose gains and masses share a factor that no motion determines.

    Attributes:
        groups: Names of the joints of each group with an unknown factor.
        known: Names of the joints of each group with a known factor (a known gain or mass).
    """

    groups: tuple[tuple[str, ...], ...]
    known: tuple[tuple[str, ...], ...] = ()

    @property
    def unknown(self) -> int:
        """Additional dimension of the nullspace due to unknown gains."""
        return len(self.groups)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on the unknown factors, one per group."""
        said = []
        for group in self.groups:
            if len(group) == 1:
                said.append(
                    f"The gain of {group[0]} is known only as its ratio to the masses and inertias"
                    " that it moves."
                )
            else:
                said.append(
                    f"The gains of {', '.join(group)} and the masses that they move share one"
                    " unknown factor: one known mass or gain among them fixes all."
                )
        for group in self.known:
            said.append(
                f"The gains of {', '.join(group)} are known in N m/rad, as are their masses."
            )
        return tuple(said)


def servo_scales(
    model: RobotModel, *, still: bool = False, known: Collection[str] = ()
) -> ServoScales:
    """Return the groups of joints whose gains and masses cannot be separated from commands and
    positions.

    The result holds for almost all masses: zero entries are detected at random bodies and postures,
    where a nonzero polynomial vanishes with probability zero.

    Args:
        model: The robot; its masses count as unknown.
        still: True if the robot was recorded only at rest.
        known: Names of joints with a known gain, or with a known mass among those that they move.

    Raises:
        IdentifiabilityError: A joint has several degrees of freedom, or a name is unknown.
    """
    names = model.joint_names
    unknown = [name for name in known if name not in names]
    if unknown or any(dof != 1 for dof in model.degrees_of_freedom):
        raise IdentifiabilityError(
            f"Joints {unknown or 'of several degrees of freedom'} can't be servos of"
            f" '{model.name}'.",
            remedy=f"Its joints: {', '.join(names)}; hold a floating base fixed.",
        )
    count, group_of = connected_components(_tied(model, still), directed=False)
    named = [tuple(names[i] for i in np.flatnonzero(group_of == k)) for k in range(count)]
    return ServoScales(
        tuple(g for g in named if not set(g) & set(known)),
        tuple(g for g in named if set(g) & set(known)),
    )


def _tied(model: RobotModel, still: bool) -> np.ndarray:
    """Pairs of joints whose factors must be the same, shape (n, n)."""
    rng = np.random.default_rng(0)
    robot = model.pin_model.copy()
    for j in range(1, robot.njoints):
        root = rng.normal(size=(3, 3))
        inertia = pin.Inertia(rng.uniform(1, 2), rng.normal(size=3), root @ root.T)
        robot.inertias[j] = inertia
    data = robot.createData()
    n = robot.nv
    tied = np.eye(n, dtype=bool)

    def entries(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # Pinocchio's composite bodies need subtrees that are numbered without gaps; its RNEA doesn't.
        rest = np.zeros(n)
        g = np.array(pin.rnea(robot, data, q, rest, rest))
        M = np.array([pin.rnea(robot, data, q, rest, unit) - g for unit in np.eye(n)])
        return M, g

    for _ in range(_POSTURES):
        q = pin.integrate(robot, pin.neutral(robot), rng.uniform(-2, 2, n))
        M, g = entries(q)
        size, weight = np.abs(M).max() * _DEPENDS, max(np.abs(g).max(), 1.0) * _DEPENDS
        if not still:
            tied |= np.abs(M) > size
        for j in range(n):
            step = np.zeros(n)
            step[j] = rng.uniform(0.5, 1.5)
            M_moved, g_moved = entries(pin.integrate(robot, q, step))
            tied[:, j] |= np.abs(g_moved - g) > weight
            if not still:
                tied[:, j] |= (np.abs(M_moved - M) > size).any(axis=1)
    return np.asarray(tied | tied.T)
