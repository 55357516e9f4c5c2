# SPDX-License-Identifier: Apache-2.0
"""The closure equations of loops: c(q) = 0, J = ∂c/∂q and its rate, for many postures at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.loops.chain import ClosedChain, LoopKind
from sysid_core.robot.loops.tree_kinematics import TreePoses


def loop_residual(chain: ClosedChain, q: ArrayLike) -> Array:
    """c(q), zero where the loops close; (K, n) to (K, n_c) [m; rad for the angles of a weld].

    Zhang, Haugk and Vasudevan (2024), eq. (4).
    """
    return residual_at(chain, chain.tree.poses(postures_of(chain, q)))


def loop_jacobian(chain: ClosedChain, q: ArrayLike) -> Array:
    """J = ∂c/∂q, exact where the loops close; (K, n) to (K, n_c, n).

    Zhang, Haugk and Vasudevan (2024), eq. (5).
    """
    return jacobian_at(chain, chain.tree.poses(postures_of(chain, q)))


def loop_jacobian_rate(chain: ClosedChain, q: ArrayLike, v: ArrayLike) -> Array:
    """dJ/dt on the closed mechanism; (K, n) and (K, n) to (K, n_c, n)."""
    poses = chain.tree.poses(postures_of(chain, q))
    return jacobian_rate_at(chain, poses, postures_of(chain, v))


def postures_of(chain: ClosedChain, q: ArrayLike) -> Array:
    """Postures of all joints as an array of shape (K, n).

    Raises:
        ModelError: Another number of columns.
    """
    q = np.atleast_2d(np.asarray(q, dtype=float))
    if q.ndim != 2 or q.shape[1] != chain.n:
        raise ModelError(
            f"Postures of '{chain.name}' have {q.shape[-1]} columns, expected all {chain.n} joints.",
            remedy="Use `assemble` to get all joints from the actuated ones.",
        )
    return q


def residual_at(chain: ClosedChain, poses: TreePoses) -> Array:
    """As `loop_residual`, from poses."""
    tree = chain.tree
    parts = [np.empty((poses.p.shape[1], 0))]
    for loop, (a, b) in zip(chain.loops, chain.attachments, strict=True):
        d = tree.point(a, poses) - tree.point(b, poses)
        if loop.kind is LoopKind.ROD:
            # Half the excess of the squared distance, over the length: close to the excess itself.
            excess = np.sum(d * d, axis=1) - loop.length**2
            parts.append(excess[:, None] / (2.0 * loop.length))
            continue
        parts.append(d)
        if loop.kind is LoopKind.WELD:
            R_a, R_b = tree.orientation(a, poses), tree.orientation(b, poses)
            # The rotation vector: sin(angle) alone would vanish for frames turned by 180 degrees.
            parts.append(Rotation.from_matrix(R_a @ np.swapaxes(R_b, 1, 2)).as_rotvec())
    return np.concatenate(parts, axis=1)


def jacobian_at(chain: ClosedChain, poses: TreePoses) -> Array:
    """As `loop_jacobian`, from poses."""
    tree = chain.tree
    blocks = []
    for loop, (a, b) in zip(chain.loops, chain.attachments, strict=True):
        J = tree.point_jacobian(a, poses) - tree.point_jacobian(b, poses)
        if loop.kind is LoopKind.ROD:
            d = tree.point(a, poses) - tree.point(b, poses)
            J = d[:, None] @ J / loop.length
        blocks.append(J)
        if loop.kind is LoopKind.WELD:
            blocks.append(
                tree.angular_jacobian(a, poses.axis) - tree.angular_jacobian(b, poses.axis)
            )
    return _stack(blocks, poses, chain)


def jacobian_rate_at(chain: ClosedChain, poses: TreePoses, v: Array) -> Array:
    """As `loop_jacobian_rate`, from poses."""
    tree = chain.tree
    rates = tree.rates(poses, v)
    blocks = []
    for loop, (a, b) in zip(chain.loops, chain.attachments, strict=True):
        J_dot = tree.point_jacobian_rate(a, poses, rates)
        J_dot = J_dot - tree.point_jacobian_rate(b, poses, rates)
        if loop.kind is LoopKind.ROD:
            J = tree.point_jacobian(a, poses) - tree.point_jacobian(b, poses)
            d = (tree.point(a, poses) - tree.point(b, poses)) / loop.length
            d_dot = tree.point_rate(a, poses, rates) - tree.point_rate(b, poses, rates)
            J_dot = d[:, None] @ J_dot + d_dot[:, None] / loop.length @ J
        blocks.append(J_dot)
        if loop.kind is LoopKind.WELD:
            blocks.append(
                tree.angular_jacobian(a, rates.axis_dot) - tree.angular_jacobian(b, rates.axis_dot)
            )
    return _stack(blocks, poses, chain)


def _stack(blocks: list[Array], poses: TreePoses, chain: ClosedChain) -> Array:
    empty = np.empty((poses.p.shape[1], 0, chain.n))
    return np.concatenate([empty, *blocks], axis=1)
