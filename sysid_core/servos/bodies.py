# SPDX-License-Identifier: Apache-2.0
"""What the bodies behind each joint ask of its drive, over a whole motion: gravity and inertia."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ModelError
from sysid_core.robot import RobotModel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Loads:
    """Load of each joint along a motion, as a function of its own position.

    With the other joints where they are, gravity asks the torque `a cos q + b sin q` of a joint
    that turns (and `a` of one that slides), whatever its own position q.

    Attributes:
        a: Shape (K, n) [N m, N].
        b: Shape (K, n) [N m, N].
        inertia: Diagonal of the mass matrix, shape (K, n) [kg m², kg].
        turns: Whether each joint turns, shape (n,).
    """

    a: Array
    b: Array
    inertia: Array
    turns: NDArray[np.bool_]

    def gravity(self, q: ArrayLike) -> Array:
        """Torque that holds the robot at positions q of shape (K, n), same shape [N m]."""
        q = np.where(self.turns, np.asarray(q, dtype=float), 0.0)
        return np.asarray(self.a * np.cos(q) + self.b * np.sin(q))


class BodyTree:
    """A tree of rigid bodies on single joints, laid out for compiled sweeps.

    Args:
        robot: The robot; its joints turn or slide, one degree of freedom each.

    Raises:
        ModelError: A joint has several degrees of freedom.
    """

    def __init__(self, robot: RobotModel) -> None:
        model = robot.pin_model
        several = [
            name
            for name, dof in zip(robot.joint_names, robot.degrees_of_freedom, strict=True)
            if dof != 1
        ]
        if several:
            raise ModelError(
                f"The joints {several} have several degrees of freedom.",
                remedy="Servos are identified on a fixed base: give the robot's URDF without its"
                " floating base.",
                joints=several,
            )
        self.robot, self.joints = robot, robot.joint_names
        n = model.njoints - 1
        slides = set(robot.prismatic_joints)
        data = model.createData()
        pin.computeJointJacobians(model, data, pin.neutral(model))
        self._parent = np.array([model.parents[j + 1] - 1 for j in range(n)], dtype=np.int64)
        self._R = np.array([model.jointPlacements[j + 1].rotation for j in range(n)])
        self._p = np.array([model.jointPlacements[j + 1].translation for j in range(n)])
        J = np.asarray(data.J).reshape(6, -1)  # pinocchio's is a vector for a single joint
        columns = [
            data.oMi[j + 1].actInv(pin.Motion(J[:, model.joints[j + 1].idx_v])) for j in range(n)
        ]
        self.turns = np.array([name not in slides for name in self.joints])
        self._axis = np.array(
            [c.angular if t else c.linear for c, t in zip(columns, self.turns, strict=True)]
        )
        self._mass = np.array([model.inertias[j + 1].mass for j in range(n)])
        self._com = np.array([model.inertias[j + 1].lever for j in range(n)])
        self._inertia = np.array([model.inertias[j + 1].inertia for j in range(n)])
        self._gravity = np.array(model.gravity.linear)

    @property
    def frames(self) -> tuple[NDArray[np.int64], Array, Array, Array, NDArray[np.bool_]]:
        """Parent, rotation, origin and axis of each joint's frame, and whether it turns."""
        return self._parent, self._R, self._p, self._axis, self.turns

    @property
    def up(self) -> Array:
        """Unit vector against gravity in the base's axes, shape (3,)."""
        return -self._gravity / max(float(np.linalg.norm(self._gravity)), 1e-12)

    def loads(self, q: ArrayLike) -> Loads:
        """Loads along a motion.

        Args:
            q: Positions, shape (K, n) [rad, m].
        """
        a, b, inertia = _sweep(
            unwritten(q), self._parent, self._R, self._p, self._axis, self.turns,
            self._mass, self._com, self._inertia, self._gravity,
        )  # fmt: skip
        return Loads(a, b, inertia, self.turns)


def unwritten(x: ArrayLike) -> Array:
    """The values in one block, read-only: compiled steps exist for this form alone."""
    view = np.ascontiguousarray(x, dtype=float).view()
    view.setflags(write=False)
    return view


@njit(cache=True)
def turn(axis: Array, angle: float, R: Array) -> None:  # pragma: no cover - compiled
    """Rodrigues' formula into R."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = axis[0], axis[1], axis[2]
    d = 1.0 - c
    R[0, 0], R[0, 1], R[0, 2] = c + x * x * d, x * y * d - z * s, x * z * d + y * s
    R[1, 0], R[1, 1], R[1, 2] = y * x * d + z * s, c + y * y * d, y * z * d - x * s
    R[2, 0], R[2, 1], R[2, 2] = z * x * d - y * s, z * y * d + x * s, c + z * z * d


@njit(cache=True)
def _sweep(
    q: Array, parent: Array, R0: Array, p0: Array, axis: Array, turns: Array,
    mass: Array, com: Array, inertia: Array, gravity: Array,
) -> tuple[Array, Array, Array]:  # pragma: no cover - compiled  # fmt: skip
    """Gravity's two coefficients and the inertia about each joint, for each sample.

    Outwards the bodies are placed; inwards each subtree's mass, first moment and second moment
    about the base's origin are summed, which give the torque about an axis and how it turns with it.
    """
    samples, n = q.shape
    A, B, M = np.zeros((samples, n)), np.zeros((samples, n)), np.zeros((samples, n))
    R, p = np.zeros((n, 3, 3)), np.zeros((n, 3))
    m, h, S = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    Rq = np.eye(3)
    for k in range(samples):
        for j in range(n):
            if turns[j]:
                turn(axis[j], q[k, j], Rq)
                local, shift = R0[j] @ Rq, p0[j]
            else:
                local, shift = R0[j], p0[j] + R0[j] @ axis[j] * q[k, j]
            if parent[j] < 0:
                R[j], p[j] = local, shift
            else:
                R[j] = R[parent[j]] @ local
                p[j] = p[parent[j]] + R[parent[j]] @ shift
            c = p[j] + R[j] @ com[j]
            m[j] = mass[j]
            h[j] = mass[j] * c
            S[j] = R[j] @ inertia[j] @ R[j].T
            cc = c @ c
            for r in range(3):
                S[j, r, r] += mass[j] * cc
                for s in range(3):
                    S[j, r, s] -= mass[j] * c[r] * c[s]
        for j in range(n - 1, -1, -1):
            a = R[j] @ axis[j]
            if turns[j]:
                arm = h[j] - m[j] * p[j]
                moment = np.cross(arm, gravity)
                g = -(a @ moment)
                slope = -(a @ np.cross(np.cross(a, arm), gravity))
                cq, sq = np.cos(q[k, j]), np.sin(q[k, j])
                A[k, j] = g * cq - slope * sq
                B[k, j] = g * sq + slope * cq
                ao = np.cross(a, p[j])
                M[k, j] = a @ S[j] @ a - 2.0 * (ao @ np.cross(a, h[j])) + m[j] * (ao @ ao)
            else:
                A[k, j] = -(a @ gravity) * m[j]
                M[k, j] = m[j]
            if parent[j] >= 0:
                m[parent[j]] += m[j]
                h[parent[j]] += h[j]
                S[parent[j]] += S[j]
    return A, B, M
