# SPDX-License-Identifier: Apache-2.0
"""Kinematics of many postures at once, for trees of revolute and prismatic joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array, skew
from sysid_core.robot.model import RobotModel


@dataclass(frozen=True, eq=False)
class Attachment:
    """A frame F fixed to the body that a joint moves.

    Attributes:
        joint: Index of the joint in the model's order, -1 for the base.
        R_BF: Its axes in the body, shape (3, 3).
        p_BF: Its origin in the body, shape (3,) [m].
    """

    joint: int
    R_BF: Array
    p_BF: Array


@dataclass(frozen=True, eq=False)
class TreePoses:
    """World poses of all joint frames at K postures.

    Attributes:
        R: Shape (n, K, 3, 3).
        p: Shape (n, K, 3) [m].
        axis: Joint axes in the world, shape (n, K, 3).
    """

    R: Array
    p: Array
    axis: Array


@dataclass(frozen=True, eq=False)
class TreeRates:
    """Time derivatives of `TreePoses`.

    Attributes:
        omega: Angular velocity of each body, shape (n, K, 3) [rad/s].
        p_dot: Velocity of each joint frame's origin, shape (n, K, 3) [m/s].
        axis_dot: Shape (n, K, 3).
    """

    omega: Array
    p_dot: Array
    axis_dot: Array


@dataclass(frozen=True, eq=False)
class TreeKinematics:
    """What positions, Jacobians and their rates follow from; n joints of one degree of freedom.

    Attributes:
        parent: Parent joint of each, -1 for the base, shape (n,).
        R_PJ: Orientation of each joint frame in its parent body, shape (n, 3, 3).
        p_PJ: Its origin there, shape (n, 3) [m].
        axis: Joint axes in the joint frame, shape (n, 3).
        revolute: Whether a joint turns (or slides), shape (n,).
        moves: `moves[j, i]`: joint i moves body j, shape (n, n).
    """

    parent: Array
    R_PJ: Array
    p_PJ: Array
    axis: Array
    revolute: Array
    moves: Array

    @classmethod
    def of(cls, model: RobotModel) -> TreeKinematics:
        """Read it off a robot.

        Raises:
            ModelError: A joint has more than one degree of freedom.
        """
        tree = model.pin_model
        n = tree.njoints - 1
        for name, joint in zip(model.joint_names, list(tree.joints)[1:], strict=True):
            if joint.nv != 1:
                raise ModelError(
                    f"Joint '{name}' has {joint.nv} degrees of freedom: loops need joints of one.",
                    remedy="Load the robot with a fixed base.",
                    joint=name,
                )
        data = tree.createData()
        neutral = pin.neutral(tree)
        parent = np.array([int(tree.parents[j + 1]) - 1 for j in range(n)])
        axis, revolute = np.empty((n, 3)), np.empty(n, dtype=bool)
        moves = np.zeros((n, n), dtype=bool)
        for j in range(n):
            column = pin.computeJointJacobian(tree, data, neutral, j + 1)[:, j]
            revolute[j] = np.linalg.norm(column[3:]) > 0.5
            axis[j] = column[3:] if revolute[j] else column[:3]
            moves[j, j] = True
            if parent[j] >= 0:
                moves[j] |= moves[parent[j]]
        placements = [tree.jointPlacements[j + 1] for j in range(n)]
        return cls(
            parent=parent,
            R_PJ=np.array([X.rotation for X in placements]),
            p_PJ=np.array([X.translation for X in placements]),
            axis=axis,
            revolute=revolute,
            moves=moves,
        )

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.parent)

    def poses(self, q: Array) -> TreePoses:
        """World poses at postures q, shape (K, n)."""
        K, n = q.shape
        R, p, axis = np.empty((n, K, 3, 3)), np.empty((n, K, 3)), np.empty((n, K, 3))
        for j in range(n):
            i = int(self.parent[j])
            R_WJ = np.broadcast_to(self.R_PJ[j], (K, 3, 3)) if i < 0 else R[i] @ self.R_PJ[j]
            p[j] = self.p_PJ[j] if i < 0 else p[i] + R[i] @ self.p_PJ[j]
            axis[j] = R_WJ @ self.axis[j]
            if self.revolute[j]:
                S = skew(self.axis[j])
                s, c = np.sin(q[:, j])[:, None, None], np.cos(q[:, j])[:, None, None]
                R[j] = R_WJ @ (np.eye(3) + s * S + (1.0 - c) * (S @ S))
            else:
                R[j] = R_WJ
                p[j] += axis[j] * q[:, j, None]
        return TreePoses(R, p, axis)

    def rates(self, poses: TreePoses, v: Array) -> TreeRates:
        """Rates at joint velocities v, shape (K, n)."""
        n, K = poses.p.shape[:2]
        omega, p_dot, axis_dot = np.zeros((n, K, 3)), np.zeros((n, K, 3)), np.zeros((n, K, 3))
        for j in range(n):
            i = int(self.parent[j])
            if i >= 0:
                omega[j] = omega[i]
                p_dot[j] = p_dot[i] + _cross(omega[i], poses.p[j] - poses.p[i])
                axis_dot[j] = _cross(omega[i], poses.axis[j])
            motion = poses.axis[j] * v[:, j, None]
            if self.revolute[j]:
                omega[j] = omega[j] + motion
            else:
                p_dot[j] += motion
        return TreeRates(omega, p_dot, axis_dot)

    def point(self, at: Attachment, poses: TreePoses) -> Array:
        """World position of an attached frame's origin, shape (K, 3)."""
        if at.joint < 0:
            return np.broadcast_to(at.p_BF, (poses.p.shape[1], 3))
        return poses.p[at.joint] + poses.R[at.joint] @ at.p_BF

    def point_rate(self, at: Attachment, poses: TreePoses, rates: TreeRates) -> Array:
        """Its velocity, shape (K, 3)."""
        if at.joint < 0:
            return np.zeros((poses.p.shape[1], 3))
        arm = poses.R[at.joint] @ at.p_BF
        return rates.p_dot[at.joint] + _cross(rates.omega[at.joint], arm)

    def orientation(self, at: Attachment, poses: TreePoses) -> Array:
        """World orientation of an attached frame, shape (K, 3, 3)."""
        if at.joint < 0:
            return np.broadcast_to(at.R_BF, (poses.p.shape[1], 3, 3))
        return poses.R[at.joint] @ at.R_BF

    def point_jacobian(self, at: Attachment, poses: TreePoses) -> Array:
        """Jacobian of `point`, shape (K, 3, n)."""
        J = np.zeros((poses.p.shape[1], 3, self.n))
        for turns, i in self._movers(at):
            columns = poses.axis[i]
            if turns:
                columns = _cross(columns, self.point(at, poses) - poses.p[i])
            J[:, :, i] = columns.transpose(1, 2, 0)
        return J

    def point_jacobian_rate(self, at: Attachment, poses: TreePoses, rates: TreeRates) -> Array:
        """Time derivative of `point_jacobian`, shape (K, 3, n)."""
        J_dot = np.zeros((poses.p.shape[1], 3, self.n))
        for turns, i in self._movers(at):
            columns = rates.axis_dot[i]
            if turns:
                lever = self.point(at, poses) - poses.p[i]
                lever_dot = self.point_rate(at, poses, rates) - rates.p_dot[i]
                columns = _cross(columns, lever) + _cross(poses.axis[i], lever_dot)
            J_dot[:, :, i] = columns.transpose(1, 2, 0)
        return J_dot

    def angular_jacobian(self, at: Attachment, axes: Array) -> Array:
        """Columns `axes[i]` for every turning joint that moves the frame, shape (K, 3, n).

        With the joint axes it is the Jacobian of the angular velocity; with their rates, its rate.
        """
        J = np.zeros((axes.shape[1], 3, self.n))
        for turns, i in self._movers(at):
            if turns:
                J[:, :, i] = axes[i].transpose(1, 2, 0)
        return J

    def _movers(self, at: Attachment) -> tuple[tuple[bool, Array], tuple[bool, Array]]:
        """Turning and sliding joints that move a frame."""
        moving = self.moves[at.joint] if at.joint >= 0 else np.zeros(self.n, dtype=bool)
        return (
            (True, np.flatnonzero(moving & self.revolute)),
            (False, np.flatnonzero(moving & ~self.revolute)),
        )


def _cross(a: Array, b: Array) -> Array:
    """Cross product along the last axis; far less overhead than numpy's."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    out[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    out[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return out
