# SPDX-License-Identifier: Apache-2.0
"""Joint torques of gravity and inertia over a whole motion."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin
from numba import njit
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sysid_core.errors import ModelError
from sysid_core.robot import RobotModel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Loads:
    """Load torque of each joint along a motion, as a function of its position.

    While the other joints keep their positions, the gravity torque of a revolute joint at position
    q is `a cos q + b sin q`; the gravity force of a prismatic joint is the constant `a`.

    Attributes:
        a: Coefficients of cos q; forces of prismatic joints; shape (K, n) [N m, N].
        b: Coefficients of sin q, shape (K, n) [N m, N].
        inertia: Diagonal of the mass matrix, shape (K, n) [kg m², kg].
        turns: Mask of the revolute joints, shape (n,).
    """

    a: Array
    b: Array
    inertia: Array
    turns: NDArray[np.bool_]

    def gravity(self, q: ArrayLike) -> Array:
        """Return the torque that holds the robot at positions q of shape (K, n), same shape [N m]."""
        q = np.where(self.turns, np.asarray(q, dtype=float), 0.0)
        return np.asarray(self.a * np.cos(q) + self.b * np.sin(q))

    def beside(self, torque: Array, q: ArrayLike) -> Loads:
        """Return a copy with a torque added to the gravity torque at the positions q, both of shape
        (K, n). At other positions x, the added torque is multiplied by `cos(x - q)` (revolute
        joints).
        """
        q = np.where(self.turns, np.asarray(q, dtype=float), 0.0)
        return replace(self, a=self.a + torque * np.cos(q), b=self.b + torque * np.sin(q))


# [s] Of the cubic through which speeds and accelerations are seen: a hobby servo follows up to 2–3 Hz,
# and a 12-bit encoder's rounding is 0.1 rad/s² then.
_WINDOW = 0.25
_LEAST = 5  # samples: a cubic and one more


class BodyTree:
    """Tree of rigid bodies on single joints, prepared for compiled functions.

    Args:
        robot: Robot with revolute and prismatic joints only.

    Raises:
        ModelError: A joint has several degrees of freedom.
    """

    def __init__(self, robot: RobotModel) -> None:
        model = robot.pin_model
        if several := robot.compound_joints:
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
        self._weightless = model.copy()
        self._weightless.gravity.linear = np.zeros(3)
        self._weightless.armature = np.zeros(model.nv)  # no joint's own inertia moves the others

    @property
    def frames(self) -> tuple[NDArray[np.int64], Array, Array, Array, NDArray[np.bool_]]:
        """Parent, rotation, origin and axis of the frame of each joint, and a mask of the revolute
        joints.
        """
        return self._parent, self._R, self._p, self._axis, self.turns

    @property
    def up(self) -> Array:
        """Unit vector opposite to gravity in the axes of the base, shape (3,)."""
        return -self._gravity / max(float(np.linalg.norm(self._gravity)), 1e-12)

    def turned(self, rotation: Array) -> BodyTree:
        """Return a copy with gravity rotated by a matrix in the axes of the base, shape (3, 3)."""
        other = copy(self)
        other._gravity = rotation @ self._gravity
        return other

    def carrying(self, mass: Array, place: Array) -> BodyTree:
        """Return a copy with a point mass instead of each body: the masses have the shape (n,)
        [kg]; the position, shape (3,) [m], is the same in the frames of all joints.
        """
        other = copy(self)
        n = len(self.joints)
        other._mass, other._com, other._inertia = mass, np.tile(place, (n, 1)), np.zeros((n, 3, 3))
        return other

    def unit_of_torque(self, motions: Sequence[Array]) -> float:
        """Return the largest gravity torque on a joint in given motions, for any mounting of the
        base [N m].

        Args:
            motions: Positions, each of shape (K, n) [rad, m].

        Raises:
            ModelError: No body that a joint moves has a mass.
        """
        if not self._mass.any():
            raise ModelError(
                f"No link that the joints {list(self.joints)} move has a mass in the description of"
                f" '{self.robot.name}'.",
                remedy="Write the <inertial> of the links into the URDF: the stiffness of a servo is"
                " identified by their weight.",
                joints=list(self.joints),
            )
        largest = 0.0
        for axis in np.eye(3):
            there = copy(self)
            there._gravity = float(np.linalg.norm(self._gravity)) * axis
            for q in motions:
                loads = there.loads(q)
                largest = max(largest, float(np.hypot(loads.a, loads.b).max()))
        return largest or 1.0

    def loads(self, q: ArrayLike) -> Loads:
        """Load torques along a motion.

        Args:
            q: Positions, shape (K, n) [rad, m].
        """
        a, b, inertia = _sweep(
            unwritten(q), self._parent, self._R, self._p, self._axis, self.turns,
            self._mass, self._com, self._inertia, self._gravity,
        )  # fmt: skip
        return Loads(a, b, inertia, self.turns)

    def coupling(self, t: ArrayLike, q: ArrayLike) -> Array:
        """Return the torque on each joint due to the motion of the others: coupled inertia,
        centrifugal and Coriolis.

        Args:
            t: Times, shape (K,) [s].
            q: Positions, shape (K, n) [rad, m].

        Returns:
            Torque without gravity and without the inertia of the joint itself, shape (K, n) [N m,
            N].
        """
        t, q = np.asarray(t, dtype=float), np.asarray(q, dtype=float)
        if len(t) < _LEAST or q.shape[1] < 2:
            return np.zeros(q.shape)
        count = max(round((t[-1] - t[0]) / float(np.median(np.diff(t)))) + 1, _LEAST)
        grid, dt = np.linspace(t[0], t[-1], count, retstep=True)
        width = min(max(2 * round(0.5 * _WINDOW / dt) + 1, _LEAST), 2 * ((count - 1) // 2) + 1)
        even = np.stack([np.interp(grid, t, x) for x in q.T], axis=1)
        v, a = _derivatives(even, width, float(dt))
        model = self._weightless
        data = model.createData()
        torque = np.array(
            [
                pin.rnea(model, data, at, *motion)
                for at, *motion in zip(self.robot.configuration(even), v, a, strict=True)
            ]
        )
        torque -= self.loads(even).inertia * a
        return np.stack([np.interp(t, grid, x) for x in torque.T], axis=1)


def _derivatives(x: Array, width: int, dt: float) -> tuple[Array, Array]:
    """Return the first and second derivatives of a cubic through each window of an odd number of samples
    (Savitzky and Golay 1964), and of the first and last windows at both ends, shape (K, n) each.
    """
    half = width // 2
    away = np.asarray((np.arange(width) - half) * dt, dtype=np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(x, width, axis=0)
    # The coefficients of the powers 0 to 3 in each window, shape (windows, n, 4).
    c = windows @ np.linalg.pinv(np.vander(away, 4, increasing=True)).T

    def at(c: Array, off: Array) -> tuple[Array, Array]:
        v = c[..., 1] + 2.0 * c[..., 2] * off + 3.0 * c[..., 3] * off**2
        return v, 2.0 * c[..., 2] + 6.0 * c[..., 3] * off

    parts = at(c[0], away[:half, None]), at(c, np.zeros(1)), at(c[-1], away[half + 1 :, None])
    return np.concatenate([v for v, _ in parts]), np.concatenate([a for _, a in parts])


def unwritten(x: ArrayLike, dtype: DTypeLike = float) -> NDArray[Any]:
    """Return a copy of the values as one contiguous read-only block, as the compiled functions
    require.
    """
    view = np.ascontiguousarray(x, dtype=dtype).view()
    view.setflags(write=False)
    return view


@njit(cache=True)
def turn(axis: Array, angle: float, R: Array) -> None:  # pragma: no cover - compiled
    """Write a rotation matrix into R by Rodrigues' formula."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = axis[0], axis[1], axis[2]
    d = 1.0 - c
    R[0, 0], R[0, 1], R[0, 2] = c + x * x * d, x * y * d - z * s, x * z * d + y * s
    R[1, 0], R[1, 1], R[1, 2] = y * x * d + z * s, c + y * y * d, y * z * d - x * s
    R[2, 0], R[2, 1], R[2, 2] = z * x * d - y * s, z * y * d + x * s, c + z * z * d


@njit(cache=True)
def product(left: Array, right: Array, out: Array) -> None:  # pragma: no cover - compiled
    """Write the product of two 3 × 3 matrices into `out`."""
    for r in range(3):
        for c in range(3):
            out[r, c] = (
                left[r, 0] * right[0, c] + left[r, 1] * right[1, c] + left[r, 2] * right[2, c]
            )


@njit(cache=True)
def cross(x: Array, y: Array, out: Array) -> None:  # pragma: no cover - compiled
    """Write the cross product of two vectors into `out`."""
    out[0] = x[1] * y[2] - x[2] * y[1]
    out[1] = x[2] * y[0] - x[0] * y[2]
    out[2] = x[0] * y[1] - x[1] * y[0]


@njit(cache=True)
def _sweep(
    q: Array, parent: Array, R0: Array, p0: Array, axis: Array, turns: Array,
    mass: Array, com: Array, inertia: Array, gravity: Array,
) -> tuple[Array, Array, Array]:  # pragma: no cover - compiled  # fmt: skip
    """For each sample, the two coefficients of the gravity torque and the inertia about each joint.

    An outward pass computes the poses of the bodies. An inward pass sums mass, first moment and
    second moment about the base's origin over the subtree of each joint. These sums determine the
    gravity torque about the joint's axis, its derivative with respect to the joint's position, and
    the inertia.
    """
    samples, n = q.shape
    A, B, M = np.zeros((samples, n)), np.zeros((samples, n)), np.zeros((samples, n))
    R, p = np.zeros((n, 3, 3)), np.zeros((n, 3))
    m, h, S = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    local, shift, Rq, RI = np.zeros((3, 3)), np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3))
    a, c, moment, lean = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    ao, ah = np.zeros(3), np.zeros(3)
    for k in range(samples):
        for j in range(n):
            for r in range(3):
                shift[r] = p0[j, r]
            if turns[j]:
                turn(axis[j], q[k, j], Rq)
                product(R0[j], Rq, local)
            else:
                for r in range(3):
                    for s in range(3):
                        local[r, s] = R0[j, r, s]
                        shift[r] += R0[j, r, s] * axis[j, s] * q[k, j]
            if parent[j] < 0:
                for r in range(3):
                    p[j, r] = shift[r]
                    for s in range(3):
                        R[j, r, s] = local[r, s]
            else:
                i = parent[j]
                product(R[i], local, R[j])
                for r in range(3):
                    p[j, r] = p[i, r]
                    for s in range(3):
                        p[j, r] += R[i, r, s] * shift[s]
            m[j] = mass[j]
            cc = 0.0
            for r in range(3):
                c[r] = p[j, r]
                for s in range(3):
                    c[r] += R[j, r, s] * com[j, s]
                h[j, r] = mass[j] * c[r]
                cc += c[r] ** 2
            product(R[j], inertia[j], RI)
            for r in range(3):
                for s in range(3):
                    x = -mass[j] * c[r] * c[s]
                    for i in range(3):
                        x += RI[r, i] * R[j, s, i]
                    S[j, r, s] = x
                S[j, r, r] += mass[j] * cc
        for j in range(n - 1, -1, -1):
            for r in range(3):
                a[r] = 0.0
                for s in range(3):
                    a[r] += R[j, r, s] * axis[j, s]
            if turns[j]:
                for r in range(3):
                    c[r] = h[j, r] - m[j] * p[j, r]
                cross(c, gravity, moment)
                cross(a, c, lean)
                cross(lean, gravity, c)
                cross(a, p[j], ao)
                cross(a, h[j], ah)
                g = slope = own = 0.0
                for r in range(3):
                    g -= a[r] * moment[r]
                    slope -= a[r] * c[r]
                    own += m[j] * ao[r] ** 2 - 2.0 * ao[r] * ah[r]
                    for s in range(3):
                        own += a[r] * S[j, r, s] * a[s]
                cq, sq = np.cos(q[k, j]), np.sin(q[k, j])
                A[k, j] = g * cq - slope * sq
                B[k, j] = g * sq + slope * cq
                M[k, j] = own
            else:
                for r in range(3):
                    A[k, j] -= a[r] * gravity[r] * m[j]
                M[k, j] = m[j]
            i = parent[j]
            if i >= 0:
                m[i] += m[j]
                for r in range(3):
                    h[i, r] += h[j, r]
                    for s in range(3):
                        S[i, r, s] += S[j, r, s]
    return A, B, M
