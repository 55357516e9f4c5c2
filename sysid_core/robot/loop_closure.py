r"""Closing the loops: c(q), J, the dependent joints Γ(q_a), and G with q̇ = G q̇_a.

Zhang, Haugk, Vasudevan 2024, section II-C: with J split into actuated and passive columns,
`G_u = -J_u^{-1} J_a`, `G_a = 1`, `q̇ = G q̇_a`, `q̈ = G q̈_a + Ġ q̇_a`. More equations than passive
joints (a planar four-bar closed by a point in space) are solved by least squares.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.loops import ClosedChain
from sysid_core.robot.tree_kinematics import TreePoses

ASSEMBLY_TOLERANCE = 1e-12  # [m] (rad for the angles of a weld)
_STAGE = 0.25  # [rad], a step of the path from home to a posture
_MAX_NEWTON_STEP = 0.35  # [rad]
_COARSE = 20  # samples between the postures that a trajectory is warm-started from


@dataclass(frozen=True, eq=False)
class Assembly:
    """Postures that were tried.

    Attributes:
        q: All joints, shape (K, n); where it isn't assembled, the closest that was found.
        assembled: Shape (K,).
        residual: Largest closure error per loop, shape (K, n_loops) [m or rad].
    """

    q: Array
    assembled: NDArray[np.bool_]
    residual: Array


def loop_residual(chain: ClosedChain, q: ArrayLike) -> Array:
    """c(q), zero where the loops close; (K, n) to (K, n_c) [m; rad for the angles of a weld]."""
    return _residual(chain, chain.tree.poses(_postures(chain, q)))


def loop_jacobian(chain: ClosedChain, q: ArrayLike) -> Array:
    """J = ∂c/∂q, exact where the loops close; (K, n) to (K, n_c, n)."""
    return _jacobian(chain, chain.tree.poses(_postures(chain, q)))


def loop_jacobian_rate(chain: ClosedChain, q: ArrayLike, v: ArrayLike) -> Array:
    """dJ/dt on the closed mechanism; (K, n) and (K, n) to (K, n_c, n)."""
    poses = chain.tree.poses(_postures(chain, q))
    return _jacobian_rate(chain, poses, _postures(chain, v))


def actuation_map(chain: ClosedChain, q: ArrayLike) -> Array:
    """G with q̇ = G q̇_a (eq. 19-21), shape (K, n, n_a); q must close the loops, shape (K, n)."""
    return _map_from_jacobian(chain, loop_jacobian(chain, q))


def actuation_map_rate(chain: ClosedChain, q: ArrayLike, v: ArrayLike) -> Array:
    """Ġ of eq. 22 for consistent q and v, each (K, n): `Ġ_u = -J_u^{-1} J̇ G`; (K, n, n_a)."""
    poses = chain.tree.poses(_postures(chain, q))
    J = _jacobian(chain, poses)
    G = _map_from_jacobian(chain, J)
    G_dot = np.zeros_like(G)
    rows = chain.passive_columns
    G_dot[:, rows] = -_solve(J[:, :, rows], _jacobian_rate(chain, poses, _postures(chain, v)) @ G)
    return G_dot


@dataclass(frozen=True, eq=False)
class ClosureState:
    """Everything that the loops say of K states of motion.

    Attributes:
        q: Positions of all joints, shape (K, n).
        v: Velocities of all joints, shape (K, n).
        G: `q̇ = G q̇_a`, shape (K, n, n_a).
        drift: `Ġ q̇_a`, the accelerations at `q̈_a = 0`, shape (K, n).
        residual: Largest closure error before the correction, shape (K,).
    """

    q: Array
    v: Array
    G: Array
    drift: Array
    residual: Array


def closure_state(
    chain: ClosedChain, q: ArrayLike, v_a: ArrayLike, *, correct: bool = False
) -> ClosureState:
    """Velocities, G and drift at given postures, with the kinematics computed once.

    Args:
        chain: The mechanism.
        q: Closed postures, shape (K, n).
        v_a: Actuated velocities, shape (K, n_a).
        correct: Take one Newton step back onto the loops, for time steps that leave them by little.
    """
    q = _postures(chain, q)
    v_a = np.atleast_2d(np.asarray(v_a, dtype=float))
    poses = chain.tree.poses(q)
    J = _jacobian(chain, poses)
    G = _map_from_jacobian(chain, J)
    v = np.einsum("kij,kj->ki", G, v_a)
    drift, residual = np.zeros_like(v), np.zeros(len(q))
    rows = chain.passive_columns
    if len(rows):
        J_u = J[:, :, rows]
        right = [(_jacobian_rate(chain, poses, v) @ v[:, :, None])]
        if correct:
            right.append(_residual(chain, poses)[:, :, None])
        solved = _solve(J_u, np.concatenate(right, axis=2))
        drift[:, rows] = -solved[:, :, 0]
        if correct:
            residual = np.max(np.abs(right[1]), axis=(1, 2))
            q = q.copy()
            q[:, rows] -= solved[:, :, 1]
    return ClosureState(q, v, G, drift, residual)


def passive_condition(chain: ClosedChain, q: ArrayLike) -> Array:
    """Condition number of J_u, shape (K,): where it explodes, the actuated joints don't decide
    the passive ones (Assumption 1 fails; a dead centre).
    """
    if not chain.passive:
        return np.ones(len(_postures(chain, q)))
    J_u = loop_jacobian(chain, q)[:, :, chain.passive_columns]
    s = np.linalg.svd(J_u, compute_uv=False)
    return s[:, 0] / np.maximum(s[:, -1], 1e-300)


def try_assemble(chain: ClosedChain, q_a: ArrayLike, start: ArrayLike | None = None) -> Assembly:
    """Close the loops at actuated positions, as far as it goes.

    Without a start the path from the home posture is followed, so that the branch is the one that
    the robot can reach; with a start Newton begins there.

    Args:
        chain: The mechanism.
        q_a: Shape (K, n_a).
        start: Guess for all joints, shape (K, n).
    """
    q_a = _actuated(chain, q_a)
    if start is not None:
        q = np.array(_postures(chain, start))
        q[:, chain.actuated_columns] = q_a
        return _assembly(chain, _newton(chain, q))
    home = _home(chain)
    home_a = home[chain.actuated_columns]
    q = np.tile(home, (len(q_a), 1))
    stages = max(1, int(np.ceil(np.max(np.abs(q_a - home_a), initial=0.0) / _STAGE)))
    for i in range(1, stages + 1):
        q[:, chain.actuated_columns] = home_a + (q_a - home_a) * (i / stages)
        q = _newton(chain, q, iterations=4 if i < stages else 40)
    found = _assembly(chain, q)
    if not np.all(found.assembled):  # the straight path may leave the reachable postures
        lost = ~found.assembled
        direct = np.tile(home, (int(lost.sum()), 1))
        direct[:, chain.actuated_columns] = q_a[lost]
        again = _assembly(chain, _newton(chain, direct))
        q[np.flatnonzero(lost)[again.assembled]] = again.q[again.assembled]
        found = _assembly(chain, q)
    return found


def assemble(chain: ClosedChain, q_a: ArrayLike, start: ArrayLike | None = None) -> Array:
    """All joints from the actuated ones, Γ of eq. 18 by Newton; (K, n_a) to (K, n).

    Args:
        chain: The mechanism.
        q_a: Shape (K, n_a).
        start: Guess for all joints, shape (K, n); default: the path from home is followed.

    Raises:
        ModelError: A loop doesn't close; the message names it and the posture.
    """
    found = try_assemble(chain, q_a, start)
    _require_assembled(chain, found)
    return found.q


def assemble_along(chain: ClosedChain, q_a: ArrayLike) -> Array:
    """Γ along a recording or trajectory, (K, n_a) to (K, n); neighbours start each other.

    Raises:
        ModelError: A loop doesn't close somewhere.
    """
    q_a = _actuated(chain, q_a)
    K = len(q_a)
    if K <= _COARSE or not chain.passive:
        return assemble(chain, q_a)
    knots = np.unique(np.append(np.arange(0, K, _COARSE), K - 1))
    coarse = assemble(chain, q_a[knots])
    guess = np.column_stack(
        [np.interp(np.arange(K), knots, coarse[:, j]) for j in range(coarse.shape[1])]
    )
    return assemble(chain, q_a, guess)


def _postures(chain: ClosedChain, q: ArrayLike) -> Array:
    q = np.atleast_2d(np.asarray(q, dtype=float))
    if q.ndim != 2 or q.shape[1] != chain.n:
        raise ModelError(
            f"Postures of '{chain.name}' have {q.shape[-1]} columns, expected all {chain.n} joints.",
            remedy="Use `assemble` to get all joints from the actuated ones.",
        )
    return q


def _actuated(chain: ClosedChain, q_a: ArrayLike) -> Array:
    q_a = np.atleast_2d(np.asarray(q_a, dtype=float))
    if q_a.ndim != 2 or q_a.shape[1] != chain.n_actuated:
        raise ModelError(
            f"Actuated positions have {q_a.shape[-1]} columns, expected {chain.n_actuated}:"
            f" {', '.join(chain.actuated)}."
        )
    if not np.all(np.isfinite(q_a)):
        raise ModelError("Actuated positions hold NaN or infinite values.")
    return q_a


def _residual(chain: ClosedChain, poses: TreePoses) -> Array:
    tree = chain.tree
    parts = [np.empty((poses.p.shape[1], 0))]
    for loop, (a, b) in zip(chain.loops, chain.attachments, strict=True):
        d = tree.point(a, poses) - tree.point(b, poses)
        if loop.kind == "rod":
            # Half the excess of the squared distance, over the length: close to the excess itself.
            excess = np.sum(d * d, axis=1) - loop.length**2
            parts.append(excess[:, None] / (2.0 * loop.length))
            continue
        parts.append(d)
        if loop.kind == "weld":
            R_a, R_b = tree.orientation(a, poses), tree.orientation(b, poses)
            R = R_a @ np.swapaxes(R_b, 1, 2)
            parts.append(
                0.5
                * np.stack(
                    [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]],
                    axis=1,
                )
            )
    return np.concatenate(parts, axis=1)


def _jacobian(chain: ClosedChain, poses: TreePoses) -> Array:
    tree = chain.tree
    blocks = []
    for loop, (a, b) in zip(chain.loops, chain.attachments, strict=True):
        J = tree.point_jacobian(a, poses) - tree.point_jacobian(b, poses)
        if loop.kind == "rod":
            d = tree.point(a, poses) - tree.point(b, poses)
            J = d[:, None] @ J / loop.length
        blocks.append(J)
        if loop.kind == "weld":
            blocks.append(
                tree.angular_jacobian(a, poses.axis) - tree.angular_jacobian(b, poses.axis)
            )
    return _stack(blocks, poses, chain)


def _jacobian_rate(chain: ClosedChain, poses: TreePoses, v: Array) -> Array:
    tree = chain.tree
    rates = tree.rates(poses, v)
    blocks = []
    for loop, (a, b) in zip(chain.loops, chain.attachments, strict=True):
        J_dot = tree.point_jacobian_rate(a, poses, rates)
        J_dot = J_dot - tree.point_jacobian_rate(b, poses, rates)
        if loop.kind == "rod":
            J = tree.point_jacobian(a, poses) - tree.point_jacobian(b, poses)
            d = (tree.point(a, poses) - tree.point(b, poses)) / loop.length
            d_dot = tree.point_rate(a, poses, rates) - tree.point_rate(b, poses, rates)
            J_dot = d[:, None] @ J_dot + d_dot[:, None] / loop.length @ J
        blocks.append(J_dot)
        if loop.kind == "weld":
            blocks.append(
                tree.angular_jacobian(a, rates.axis_dot) - tree.angular_jacobian(b, rates.axis_dot)
            )
    return _stack(blocks, poses, chain)


def _stack(blocks: list[Array], poses: TreePoses, chain: ClosedChain) -> Array:
    empty = np.empty((poses.p.shape[1], 0, chain.n))
    return np.concatenate([empty, *blocks], axis=1)


def _map_from_jacobian(chain: ClosedChain, J: Array) -> Array:
    G = np.zeros((len(J), chain.n, chain.n_actuated))
    G[:, chain.actuated_columns, np.arange(chain.n_actuated)] = 1.0
    if chain.passive:
        J_u, J_a = J[:, :, chain.passive_columns], J[:, :, chain.actuated_columns]
        G[:, chain.passive_columns] = -_solve(J_u, J_a)
    return G


def _solve(A: Array, B: Array) -> Array:
    """`A^{-1} B` for stacks of matrices; least squares where A is tall or singular."""
    if A.shape[1] == A.shape[2]:
        try:
            return np.linalg.solve(A, B)
        except np.linalg.LinAlgError:
            pass
    return np.linalg.pinv(A, rcond=1e-10) @ B


def _home(chain: ClosedChain) -> Array:
    assert chain.home is not None  # set by ClosedChain itself
    return _newton(chain, chain.home[None].copy())[0]


def _newton(chain: ClosedChain, q: Array, iterations: int = 40) -> Array:
    """Newton on the passive joints of each posture until its residual stops falling."""
    if not chain.passive or not len(q):
        return q
    q = q.copy()
    best, best_error = q.copy(), np.full(len(q), np.inf)
    active = np.arange(len(q))
    for _ in range(iterations):
        poses = chain.tree.poses(q[active])
        c = _residual(chain, poses)
        error = np.max(np.abs(c), axis=1, initial=0.0)
        better = error < best_error[active]
        best[active[better]] = q[active[better]]
        # Converged once below rounding, or when small and no longer improving.
        done = (error < 1e-15) | (~better & (best_error[active] < ASSEMBLY_TOLERANCE))
        best_error[active[better]] = error[better]
        if np.all(done):
            break
        active, c = active[~done], c[~done]
        J = _jacobian(chain, poses)[~done][:, :, chain.passive_columns]
        step = -_solve(J, c[:, :, None])[:, :, 0]
        largest = np.max(np.abs(step), axis=1, keepdims=True)
        step *= np.minimum(1.0, _MAX_NEWTON_STEP / np.maximum(largest, 1e-300))
        q[np.ix_(active, chain.passive_columns)] += step
    return best


def _assembly(chain: ClosedChain, q: Array) -> Assembly:
    c = np.abs(loop_residual(chain, q))
    edges = np.cumsum([0] + [loop.size for loop in chain.loops])
    per_loop = np.stack(
        [c[:, i:j].max(axis=1) for i, j in itertools.pairwise(edges)] or [np.zeros(len(q))],
        axis=1,
    )
    return Assembly(q, np.all(per_loop <= ASSEMBLY_TOLERANCE, axis=1), per_loop)


def _require_assembled(chain: ClosedChain, found: Assembly) -> None:
    lost = np.flatnonzero(~found.assembled)
    if not len(lost):
        return
    k = int(lost[0])
    loop = chain.loops[int(np.argmax(found.residual[k]))]
    posture = {
        joint: float(found.q[k, i])
        for joint, i in zip(chain.actuated, chain.actuated_columns, strict=True)
    }
    where = ", ".join(f"{joint} = {value:.4f}" for joint, value in posture.items())
    raise ModelError(
        f"Loop '{loop.name}' of '{chain.name}' doesn't assemble at {where} [rad] (sample {k} of"
        f" {len(found.q)}, {len(lost)} such): a gap of {1e3 * found.residual[k].max():.3g} mm stays.",
        remedy="Keep the actuated joints inside the mechanism's reach (`sysid loops check` shows it)"
        " or correct the loop's points.",
        loop=loop.name,
        posture=posture,
        samples=lost.tolist(),
    )
