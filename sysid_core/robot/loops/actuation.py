# SPDX-License-Identifier: Apache-2.0
r"""Motion of all joints from that of the actuated joints: G with q̇ = G q̇_a, and Ġ.

Zhang, Haugk, Vasudevan 2024, section II-C: with J split into actuated and passive columns,
`G_u = -J_u^{-1} J_a`, `G_a = 1`, `q̇ = G q̇_a`, `q̈ = G q̈_a + Ġ q̇_a`. More equations than passive
joints (a planar four-bar closed by a point in space) are solved by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.loops.chain import ClosedChain
from sysid_core.robot.loops.constraints import (
    loop_jacobian,
    loop_jacobian_rate,
    loop_residual,
    postures_of,
)

_SINGULAR = 1e-9  # least singular value of J_u over the largest


def actuation_map(chain: ClosedChain, q: ArrayLike) -> Array:
    """Matrix G with q̇ = G q̇_a (eq. 19-21); closed postures (K, n) to (K, n, n_a)."""
    return _map_from_jacobian(chain, loop_jacobian(chain, q))


def actuation_map_rate(chain: ClosedChain, q: ArrayLike, v: ArrayLike) -> Array:
    """Time derivative Ġ of eq. 22 for consistent q and v, each (K, n): `Ġ_u = -J_u^{-1} J̇ G`; (K,
    n, n_a).
    """
    J = loop_jacobian(chain, q)
    G = _map_from_jacobian(chain, J)
    G_dot = np.zeros_like(G)
    rows = chain.passive_columns
    G_dot[:, rows] = -solve_passive(J[:, :, rows], loop_jacobian_rate(chain, q, v) @ G)
    return G_dot


@dataclass(frozen=True, eq=False)
class ClosureState:
    """Loop closure of K states of motion: positions, velocities and Jacobians.

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
    """Velocities, the matrix G and the drift term of the closed loops at given postures.

    Args:
        chain: The mechanism.
        q: Closed postures, shape (K, n).
        v_a: Actuated velocities, shape (K, n_a).
        correct: Take one Newton step back onto the loops, for time steps that leave them by little.
    """
    q = postures_of(chain, q)
    v_a = np.atleast_2d(np.asarray(v_a, dtype=float))
    J = loop_jacobian(chain, q)
    G = _map_from_jacobian(chain, J)
    v = np.einsum("kij,kj->ki", G, v_a)
    drift, residual = np.zeros_like(v), np.zeros(len(q))
    rows = chain.passive_columns
    if len(rows):
        J_u = J[:, :, rows]
        right = [(loop_jacobian_rate(chain, q, v) @ v[:, :, None])]
        if correct:
            right.append(loop_residual(chain, q)[:, :, None])
        solved = solve_passive(J_u, np.concatenate(right, axis=2))
        drift[:, rows] = -solved[:, :, 0]
        if correct:
            residual = np.max(np.abs(right[1]), axis=(1, 2))
            q = q.copy()
            q[:, rows] -= solved[:, :, 1]
    return ClosureState(q, v, G, drift, residual)


def passive_condition(chain: ClosedChain, q: ArrayLike) -> Array:
    """Condition number of J_u, shape (K,); very large near a singularity, where Assumption 1 fails."""
    if not chain.passive:
        return np.ones(len(postures_of(chain, q)))
    J_u = loop_jacobian(chain, q)[:, :, chain.passive_columns]
    s = np.linalg.svd(J_u, compute_uv=False)
    return s[:, 0] / np.maximum(s[:, -1], 1e-300)


def require_determined(chain: ClosedChain, q: ArrayLike) -> None:
    """Raise an error if passive joints can move while the actuated joints are at rest.

    Args:
        chain: The mechanism.
        q: Closed postures, shape (K, n).

    Raises:
        ModelError: Assumption 1 fails at a posture; the message names the joints.
    """
    if not chain.passive:
        return
    _, s, V_T = np.linalg.svd(loop_jacobian(chain, q)[:, :, chain.passive_columns])
    lost = np.flatnonzero(s[:, -1] <= _SINGULAR * s[:, 0])
    if not len(lost):
        return
    motion = np.abs(V_T[lost[0], -1])
    free = [j for j, x in zip(chain.passive, motion, strict=True) if x > 0.1 * motion.max()]
    raise ModelError(
        f"The loops of '{chain.name}' do not determine the passive joints {free}: they can move while the actuated ones are at rest ("
        f"{len(lost)} of {len(s)} postures).",
        remedy="Check both ends of the loops, name a further joint as actuated, or keep away from"
        " dead centres.",
        free=free,
    )


def _map_from_jacobian(chain: ClosedChain, J: Array) -> Array:
    G = np.zeros((len(J), chain.n, chain.n_actuated))
    G[:, chain.actuated_columns, np.arange(chain.n_actuated)] = 1.0
    if chain.passive:
        J_u, J_a = J[:, :, chain.passive_columns], J[:, :, chain.actuated_columns]
        G[:, chain.passive_columns] = -solve_passive(J_u, J_a)
    return G


def solve_passive(A: Array, B: Array) -> Array:
    """Solution `A^{-1} B`, (K, m, u) and (K, m, c) to (K, u, c); least squares if A is tall or
    singular.
    """
    if A.shape[1] == A.shape[2]:
        try:
            return np.linalg.solve(A, B)
        except np.linalg.LinAlgError:
            pass
    return np.linalg.pinv(A, rcond=1e-10) @ B
