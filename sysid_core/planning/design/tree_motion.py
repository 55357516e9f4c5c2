# SPDX-License-Identifier: Apache-2.0
r"""Motion of a tree of bodies at many samples at once, and gradients of scalar functions of it.

All spatial vectors are in the world's axes about its origin, linear part first: joint axes `J_j`,
velocities `V_i`, accelerations `A_i` (with gravity: `A_0 = -g`). Then, for k on the way to i,

    dJ_i/dq_k = J_k x J_i,     dV_i/dq_k = J_k x (V_i - V_k),
    dA_i/dq_k = J_k' x (V_i - V_k) + J_k x (A_i - A_k),    dA_i/dv_k = J_k' + J_k x (V_i - V_k)

with `J_k' = V_k x J_k` (Carpentier and Mansard 2018, section III), so that the gradients of a
scalar with respect to all q, v and a follow from its gradients with respect to V, A and J by one
sum over the subtree of each joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from sysid_core.errors import ExcitationError
from sysid_core.robot import Array, RobotModel


def cross(a: Array, b: Array) -> Array:
    """Return the vector product along the last axis with broadcasting; faster than numpy's."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def motion_cross(a: Array, b: Array) -> Array:
    """Return the cross product `a x b` of spatial motions, (..., 6)."""
    lin = cross(a[..., 3:], b[..., :3]) + cross(a[..., :3], b[..., 3:])
    return np.concatenate([lin, cross(a[..., 3:], b[..., 3:])], axis=-1)


def force_cross(a: Array, f: Array) -> Array:
    """Return the cross product `a x* f` of a spatial motion and a spatial force, (..., 6)."""
    ang = cross(a[..., 3:], f[..., 3:]) + cross(a[..., :3], f[..., :3])
    return np.concatenate([cross(a[..., 3:], f[..., :3]), ang], axis=-1)


class Tree:
    """Part of a robot's kinematics that is independent of the posture.

    Args:
        model: Robot whose joints have one degree of freedom each.

    Raises:
        ExcitationError: A joint has several degrees of freedom.
    """

    def __init__(self, model: RobotModel) -> None:
        if model.compound_joints:
            raise ExcitationError(
                f"Joints {model.compound_joints} of '{model.name}' have several degrees of freedom.",
                remedy="Plan for a robot on a fixed base, with such joints locked.",
            )
        tree = model.pin_model
        data = tree.createData()
        pin.forwardKinematics(tree, data, pin.neutral(tree), np.zeros(tree.nv))
        n = tree.nv
        self.n = n
        self.gravity = model.gravity
        self.parents = [int(tree.parents[j]) - 1 for j in range(1, n + 1)]
        self.order = [int(tree.joints[j].idx_v) for j in range(1, n + 1)]  # column of joint j
        self.R = np.array([tree.jointPlacements[j].rotation for j in range(1, n + 1)])
        self.p = np.array([tree.jointPlacements[j].translation for j in range(1, n + 1)])
        self.axes = np.array([np.asarray(data.joints[j].S).ravel() for j in range(1, n + 1)])
        self.subtree = np.zeros((n, n))
        for i in range(n):
            j = i
            while j >= 0:
                self.subtree[j, i] = 1.0
                j = self.parents[j]

    def move(self, q: Array, v: Array, a: Array) -> TreeMotion:
        """Return the poses and spatial vectors at K samples of q, v and a (K, n)."""
        K, n = q.shape
        q, v, a = (x[:, self.order] for x in (q, v, a))
        R, p = np.empty((K, n, 3, 3)), np.empty((K, n, 3))
        J, V, A = np.empty((K, n, 6)), np.empty((K, n, 6)), np.empty((K, n, 6))
        J_dot = np.empty((K, n, 6))
        base = np.concatenate([-self.gravity, np.zeros(3)])
        for i, parent in enumerate(self.parents):
            w, lin = self.axes[i, 3:], self.axes[i, :3]
            skew = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
            s, c = np.sin(q[:, i])[:, None, None], np.cos(q[:, i])[:, None, None]
            turn = np.eye(3) + s * skew + (1.0 - c) * (skew @ skew)  # Rodrigues; w is 1 or 0 long
            place = self.p[i] + q[:, i, None] * (self.R[i] @ lin)
            local = self.R[i] @ turn
            if parent < 0:
                R[:, i], p[:, i] = local, place
                V_parent, A_parent = np.zeros((K, 6)), np.tile(base, (K, 1))
            else:
                R[:, i] = R[:, parent] @ local
                p[:, i] = p[:, parent] + np.einsum("kij,kj->ki", R[:, parent], place)
                V_parent, A_parent = V[:, parent], A[:, parent]
            J[:, i, 3:] = R[:, i] @ w
            J[:, i, :3] = R[:, i] @ lin + cross(p[:, i], J[:, i, 3:])
            V[:, i] = V_parent + J[:, i] * v[:, i, None]
            J_dot[:, i] = motion_cross(V_parent, J[:, i])
            A[:, i] = A_parent + J[:, i] * a[:, i, None] + J_dot[:, i] * v[:, i, None]
        return TreeMotion(self, R, p, J, J_dot, V, A)


@dataclass(frozen=True, eq=False)
class TreeMotion:
    """Poses and spatial vectors of the bodies at K samples.

    Attributes:
        tree: Kinematic tree of the robot.
        R: Orientations of the bodies, shape (K, n, 3, 3).
        p: Origins of the bodies, shape (K, n, 3) [m].
        J: Spatial joint axes, shape (K, n, 6).
        J_dot: Time derivatives of the joint axes, shape (K, n, 6).
        V: Spatial velocities, shape (K, n, 6).
        A: Spatial accelerations minus gravity, shape (K, n, 6).
    """

    tree: Tree
    R: Array
    p: Array
    J: Array
    J_dot: Array
    V: Array
    A: Array

    def point(self, body: int, offset: Array) -> Array:
        """Return the position of a point fixed to a body, shape (K, 3) [m]."""
        return self.p[:, body] + self.R[:, body] @ offset

    def point_velocity(self, body: int, x: Array) -> Array:
        """Return the velocity of the point of a body at x (K, 3), shape (K, 3) [m/s]."""
        return self.V[:, body, :3] + cross(self.V[:, body, 3:], x)

    def regressor_pull(self, pull: Array) -> BodySlopes:
        r"""Return the gradient of `g = sum pull * Y` with respect to the bodies' motion, for fixed
        `pull` (K, n, 10 n).

        The ten entries of `pull` for row r and body i form a spatial inertia `I_ri`, so that
        `g = sum_ri J_r . (I_ri A_i + V_i x* I_ri V_i)`.
        """
        from sysid_core.planning.design.pull_kernel import pull_slopes

        K, n = len(pull), self.tree.n
        G = np.ascontiguousarray(pull[:, self.tree.order].reshape(K, n, n, 10))
        parts = pull_slopes(G, self.tree.subtree, self.R, self.p, self.J, self.V, self.A)
        return BodySlopes(*parts)

    def joint_slopes(self, by: BodySlopes) -> tuple[Array, Array, Array]:
        """Return the gradients with respect to q, v and a of every joint, each (K, n), from those
        with respect to the bodies' motion.
        """
        to_subtree = self.tree.subtree

        def gathered(f: Array) -> Array:
            return np.einsum("ki,sic->skc", to_subtree, f)

        V, A, J, J_dot = self.V, self.A, self.J, self.J_dot
        v_sum, a_sum = gathered(by.velocity), gathered(by.acceleration)
        turning = gathered(force_cross(V, by.acceleration)) - force_cross(V, a_sum)
        forces = (
            force_cross(V, by.velocity)
            + force_cross(A, by.acceleration)
            + by.carried
            + force_cross(J, by.axis)
        )
        forces = gathered(forces) - force_cross(V, v_sum) - force_cross(A, a_sum)
        slopes = (
            np.sum(J * forces + J_dot * turning, axis=-1),
            np.sum(J * (v_sum + turning) + J_dot * a_sum, axis=-1),
            np.sum(J * a_sum, axis=-1),
        )
        out = np.zeros((3, *slopes[0].shape))
        for i in range(3):
            out[i][:, self.tree.order] = slopes[i]
        return out[0], out[1], out[2]


@dataclass(frozen=True, eq=False)
class BodySlopes:
    """Gradients of a scalar with respect to the bodies' motion, each (K, n, 6).

    Attributes:
        velocity: Gradient with respect to the velocities V.
        acceleration: Gradient with respect to the accelerations A.
        carried: Gradient with respect to a rigid displacement of the body, which carries its inertia and
            points along.
        axis: Gradient with respect to the joint axes J.
    """

    velocity: Array
    acceleration: Array
    carried: Array
    axis: Array

    @classmethod
    def sum(cls, one: BodySlopes, other: BodySlopes, factor: float) -> BodySlopes:
        """Return the linear combination `one + factor * other`."""
        return cls(
            one.velocity + factor * other.velocity,
            one.acceleration + factor * other.acceleration,
            one.carried + factor * other.carried,
            one.axis + factor * other.axis,
        )

    def add_point(self, body: int, x: Array, by_x: Array, by_velocity: Array, omega: Array) -> None:
        """Add gradients with respect to position x and velocity of a point of a body, each (K, 3)."""
        self.velocity[:, body, :3] += by_velocity
        self.velocity[:, body, 3:] += cross(x, by_velocity)
        force = by_x + cross(by_velocity, omega)
        self.carried[:, body, :3] += force
        self.carried[:, body, 3:] += cross(x, force)
