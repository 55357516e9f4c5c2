# SPDX-License-Identifier: Apache-2.0
r"""Normal driving-axis coordinates (modified Denavit-Hartenberg) of a serial arm (Lin 1992, fig. 1).

Frame E_i is fixed to body i, with z along the axis of joint i and x towards the axis of joint i +
1. Bodies are counted from 1 in names and equations, arrays from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ModelError
from sysid_core.robot import Array, RobotModel

PARALLEL_TOLERANCE = 1e-5  # [rad] URDFs write 1.5708 for a right angle
LENGTH_TOLERANCE = 1e-7  # [m]


@dataclass(frozen=True, eq=False)
class DrivingAxisChain:
    r"""Geometry of a serial chain of n revolute and prismatic joints, in frames on the joint axes
    (Lin 1992).

    Attributes:
        joint_names: Names of the joints in the order of the model, from the base outward.
        revolute: Mask of the revolute joints, shape (n,) (K* of equation 8).
        b: Distance of axis i from axis i - 1 along x of E_{i-1}, shape (n,) [m].
        d: Offset along axis i at q = 0 (d'), shape (n,) [m].
        beta: Angle from axis i - 1 to axis i about x of E_{i-1}, shape (n,) [rad].
        theta: Angle about axis i at q = 0 (theta'), shape (n,) [rad].
        X_WE0: Pose of the first frame E_0 of the chain in the robot's base frame, shape (4, 4).
        X_EJ: Pose of the model's joint frame in E_i, shape (n, 4, 4).
        gravity: Gravity in E_0, shape (3,) [m/s^2].
    """

    joint_names: tuple[str, ...]
    revolute: NDArray[np.bool_]
    b: Array
    d: Array
    beta: Array
    theta: Array
    X_WE0: Array
    X_EJ: Array
    gravity: Array

    @classmethod
    def from_model(cls, model: RobotModel) -> DrivingAxisChain:
        """Return the driving-axis frames of a serial arm.

        Joint frames that are normal driving-axis coordinates already (a URDF made from modified
        DH parameters) are kept as they are.

        Raises:
            ModelError: The robot branches, or a joint has more than one degree of freedom.
        """
        X_WJ, axes_J, revolute = _joint_frames(model)
        X_WE = X_WJ if _are_normal(X_WJ, axes_J) else _frames_on_common_normals(X_WJ, axes_J)
        X_WE0 = X_WE[0].copy()  # the base frame is E_1 at q = 0
        previous = np.concatenate([X_WE0[None], X_WE[:-1]])
        X = np.linalg.inv(previous) @ X_WE  # E_{i-1} from E_i at q = 0, equations (3) and (4)
        beta = np.arctan2(-X[:, 1, 2], X[:, 2, 2])
        return cls(
            joint_names=model.joint_names,
            revolute=revolute,
            b=X[:, 0, 3],
            d=-X[:, 1, 3] * np.sin(beta) + X[:, 2, 3] * np.cos(beta),
            beta=beta,
            theta=np.arctan2(-X[:, 0, 1], X[:, 0, 0]),
            X_WE0=X_WE0,
            X_EJ=np.linalg.inv(X_WE) @ X_WJ,
            gravity=X_WE0[:3, :3].T @ model.gravity,
        )

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    def rotations(self, q: ArrayLike) -> Array:
        r"""Return the rotation matrices `^{i}_{i-1}R`, from E_i to E_{i-1}, equation (4); q (...,
        n) to (..., n, 3, 3), also complex.
        """
        theta = self.theta + np.where(self.revolute, np.asarray(q), 0.0)
        return _rotations(self.beta, theta)

    def distances(self, q: ArrayLike) -> Array:
        r"""Return the position `^{i}_{i-1}s` of the next origin in E_{i-1}, equation (3); q (...,
        n) to (..., n, 3).
        """
        d = self.d + np.where(self.revolute, 0.0, np.asarray(q))
        return np.stack([self.b + 0.0 * d, -d * np.sin(self.beta), d * np.cos(self.beta)], axis=-1)

    @cached_property
    def axes_at_zero(self) -> Array:
        """Unit vectors of the joint axes in E_0 at q = 0, shape (n, 3)."""
        R = np.eye(3)
        out = np.empty((self.n, 3))
        for i, R_i in enumerate(self.rotations(np.zeros(self.n))):
            R = R @ R_i
            out[i] = R[:, 2]
        return out

    @cached_property
    def first_revolute(self) -> int:
        """Index r of the first revolute joint; n if there is none."""
        return int(np.argmax(self.revolute)) if self.revolute.any() else self.n

    @cached_property
    def first_not_parallel(self) -> int:
        """Index s of the first revolute joint after r that is not parallel to joint r; n if there
        is none.
        """
        z = self.axes_at_zero
        for j in range(self.first_revolute + 1, self.n):
            if self.revolute[j] and not _parallel(z[j], z[self.first_revolute]):
                return j
        return self.n

    def is_vertical(self, axis: ArrayLike) -> bool:
        """Return True if an axis in E_0, shape (3,), is parallel to gravity."""
        return _parallel(axis, self.gravity)

    def axis_in_body(self, m: int, i: int, q: ArrayLike | None = None) -> Array:
        r"""Return the axis `u_m^(i)` of joint m in frame E_i, for m <= i, at q = 0 unless given;
        shape (3,).

        Lin (1992), eq. (42).
        """
        u: Array = np.array([0.0, 0.0, 1.0])
        for R in self.rotations(np.zeros(self.n) if q is None else q)[m + 1 : i + 1]:
            u = R.T @ u
        return u

    def are_parallel(self, m: int, i: int, q: ArrayLike | None = None) -> bool:
        """Return True if the axes of joints m <= i are parallel or antiparallel; q of shape (n,), at
        q = 0 unless given.
        """
        return _parallel(self.axis_in_body(m, i, q), (0.0, 0.0, 1.0))

    def are_perpendicular(self, m: int, i: int, q: ArrayLike | None = None) -> bool:
        """Return True if the axes of joints m <= i are perpendicular; q of shape (n,), at q = 0
        unless given.
        """
        return bool(abs(self.axis_in_body(m, i, q)[2]) <= PARALLEL_TOLERANCE)

    def coincide(self, m: int, i: int, q: ArrayLike | None = None) -> bool:
        """Return True if the axes of joints m and i lie on one line; q of shape (n,), at q = 0
        unless given.
        """
        origins, axes = self.axis_lines(np.zeros(self.n) if q is None else q)
        offset = np.cross(origins[i] - origins[m], axes[i])
        return _parallel(axes[m], axes[i]) and bool(np.linalg.norm(offset) <= LENGTH_TOLERANCE)

    def axis_lines(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return the origins (n, 3) and directions (n, 3) of all joint axes in E_0."""
        R, p = np.eye(3), np.zeros(3)
        origins, axes = np.empty((self.n, 3)), np.empty((self.n, 3))
        for i, (R_i, s_i) in enumerate(zip(self.rotations(q), self.distances(q), strict=True)):
            p = p + R @ s_i
            R = R @ R_i
            origins[i], axes[i] = p, R[:, 2]
        return origins, axes


def _parallel(u: ArrayLike, w: ArrayLike) -> bool:
    """True if two vectors of shape (3,) are parallel or antiparallel within `PARALLEL_TOLERANCE`, or
    if one is zero.
    """
    u, w = np.asarray(u, dtype=float), np.asarray(w, dtype=float)
    size = np.linalg.norm(u) * np.linalg.norm(w)
    return bool(np.linalg.norm(np.cross(u, w)) <= PARALLEL_TOLERANCE * size)


def _rotations(beta: Array, theta: Array) -> Array:
    c, s = np.cos(theta), np.sin(theta)
    cb, sb = np.cos(beta), np.sin(beta)
    zero = 0.0 * c
    rows = [
        [c, -s, zero],
        [cb * s, cb * c, zero - sb],
        [sb * s, sb * c, zero + cb],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _joint_frames(model: RobotModel) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Poses of the joint frames at q = 0, the joint axes in these frames, and a mask of the
    revolute joints.
    """
    pin_model = model.pin_model
    names = model.joint_names
    for j, name in enumerate(names, start=1):
        if pin_model.joints[j].nv != 1:
            raise ModelError(
                f"Joint '{name}' of '{model.name}' has {pin_model.joints[j].nv} degrees of freedom;"
                " driving axes belong to revolute and prismatic joints.",
                remedy="Use the exact structural analysis for this robot.",
                joint=name,
            )
        if pin_model.parents[j] != j - 1:
            raise ModelError(
                f"'{model.name}' is not a serial arm: joint '{name}' is not a child of"
                f" '{names[j - 2]}'.",
                remedy="Lock the joints of the other branches (`RobotModel.with_locked`, `--lock`).",
                joint=name,
            )
    data = pin_model.createData()
    pin.computeJointJacobians(pin_model, data, model.configuration(np.zeros(model.nv)))
    X_WJ = np.array([data.oMi[j].homogeneous for j in range(1, pin_model.njoints)])
    axes_J, revolute = np.empty((model.nv, 3)), np.empty(model.nv, dtype=bool)
    for i in range(model.nv):
        S = np.reshape(pin.getJointJacobian(pin_model, data, i + 1, pin.LOCAL), (6, -1))[:, i]
        revolute[i] = np.linalg.norm(S[3:]) > 0.5
        axes_J[i] = S[3:] if revolute[i] else S[:3]
    return X_WJ, axes_J, revolute


def _are_normal(X_WJ: Array, axes_J: Array) -> bool:
    """True if the joint frames already are normal driving-axis coordinates."""
    X = np.linalg.inv(X_WJ[:-1]) @ X_WJ[1:]
    x_dot_z = X[:, 0, 2]  # axis i must be perpendicular to x of E_{i-1} ...
    # ... and its origin must lie in the plane of that x and the axis.
    out_of_plane = X[:, 1, 3] * X[:, 2, 2] - X[:, 2, 3] * X[:, 1, 2]
    return bool(
        np.allclose(axes_J, [0.0, 0.0, 1.0], atol=1e-9)
        and np.all(np.abs(x_dot_z) < 1e-9)
        and np.all(np.abs(out_of_plane) < 1e-9)
    )


def _frames_on_common_normals(X_WJ: Array, axes_J: Array) -> Array:
    """Frames from the axis lines; parallel and coincident axes keep the offset at zero."""
    p = X_WJ[:, :3, 3]
    z = np.einsum("kij,kj->ki", X_WJ[:, :3, :3], axes_J)
    n = len(p)
    X_WE = np.tile(np.eye(4), (n, 1, 1))
    origin = p[0]  # foot of the normal from the axis before, where the next is parallel
    x = _perpendicular(z[0], X_WJ[0, :3, 0])
    for i in range(n):
        if i + 1 < n:
            normal = np.cross(z[i], z[i + 1])
            gap = p[i + 1] - p[i]
            if not _parallel(z[i], z[i + 1]):
                # Feet of the common normal on both axes.
                A = np.column_stack([z[i], -z[i + 1], normal])
                along, along_next, _ = np.linalg.solve(A, gap)
                foot = p[i] + along * z[i]
                next_foot = p[i + 1] + along_next * z[i + 1]
                towards = next_foot - foot
                x_i = normal if towards @ normal > -LENGTH_TOLERANCE else -normal
            else:
                foot = p[i] + z[i] * ((origin - p[i]) @ z[i])
                reach = p[i + 1] - foot
                x_i = reach - (reach @ z[i]) * z[i]
                next_foot = foot + x_i
                if np.linalg.norm(x_i) < LENGTH_TOLERANCE:
                    x_i = _perpendicular(z[i], x)
        else:
            foot, x_i, next_foot = origin, _perpendicular(z[i], x), origin
        x = x_i / np.linalg.norm(x_i)
        x = x - (x @ z[i]) * z[i]
        x /= np.linalg.norm(x)
        X_WE[i, :3, :3] = np.column_stack([x, np.cross(z[i], x), z[i]])
        X_WE[i, :3, 3] = foot
        origin = next_foot
    return X_WE


def _perpendicular(z: Array, preferred: Array) -> Array:
    """Unit vector perpendicular to z, as close as possible to the preferred direction."""
    for candidate in (preferred, *np.eye(3)):
        x = candidate - (candidate @ z) * z
        if np.linalg.norm(x) > 0.1:
            return x / np.linalg.norm(x)
    raise AssertionError("one of three axes is never parallel to z")
