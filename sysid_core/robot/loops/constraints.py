# SPDX-License-Identifier: Apache-2.0
"""Closure equations of loops: c(q) = 0, J = ∂c/∂q and J̇ q̇, for many postures at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.loops.ends import EndMotion
from sysid_core.robot.loops.mechanism import Loop, LoopKind, Mechanism


def residual_at(chain: Mechanism, at: EndMotion) -> Array:
    """Return the closure residual (as in `loop_residual`) from the poses of the ends."""
    parts = [np.empty((at.p.shape[1], 0))]
    for loop, a, b in _pairs(chain):
        d = at.p[a] - at.p[b]
        if loop.kind is LoopKind.ROD:
            # Half the excess of the squared distance, over the length: close to the excess itself.
            excess = np.sum(d * d, axis=1) - loop.length**2
            parts.append(excess[:, None] / (2.0 * loop.length))
            continue
        parts.append(d)
        if loop.kind is LoopKind.WELD:
            # The rotation vector: sin(angle) alone would vanish for frames turned by 180 degrees.
            turn = at.R[a] @ np.swapaxes(at.R[b], 1, 2)
            parts.append(scipy.spatial.transform.Rotation.from_matrix(turn).as_rotvec())
    K, offset = chain.coupling_law
    return np.concatenate([*parts, at.q @ K.T - offset], axis=1)


def jacobian_at(chain: Mechanism, at: EndMotion) -> Array:
    """Return the Jacobian of the closure (as in `loop_jacobian`) from the poses and Jacobians of
    the ends.
    """
    blocks = [np.empty((at.p.shape[1], 0, chain.n))]
    for loop, a, b in _pairs(chain):
        J = at.J[a] - at.J[b]
        if loop.kind is LoopKind.ROD:
            d = at.p[a] - at.p[b]
            blocks.append(d[:, None] @ J[:, :3] / loop.length)
        else:
            blocks.append(J[:, : loop.size])
    K, _ = chain.coupling_law
    return np.concatenate([*blocks, np.tile(K, (len(at.q), 1, 1))], axis=1)


def loop_drift(chain: Mechanism, at: EndMotion, v: Array) -> Array:
    """Return the accelerations J̇ q̇ of the closure while q̈ = 0, from the poses and Jacobians of
    the ends and velocities (K, n); shape (K, n_c).
    """
    drifts = chain.ends.drifts(at.q, v)
    parts = [np.empty((len(v), 0))]
    for loop, a, b in _pairs(chain):
        drift = drifts[a] - drifts[b]
        if loop.kind is LoopKind.ROD:
            d, d_dot = at.p[a] - at.p[b], ((at.J[a] - at.J[b])[:, :3] @ v[:, :, None])[:, :, 0]
            drift = np.sum(d * drift[:, :3] + d_dot**2, axis=1)[:, None] / loop.length
        parts.append(drift[:, : loop.size])
    return np.concatenate([*parts, np.zeros((len(v), len(chain.couplings)))], axis=1)


def _pairs(chain: Mechanism) -> Iterator[tuple[Loop, int, int]]:
    """Iterate over the loops with the indices of their two ends."""
    return ((loop, 2 * i, 2 * i + 1) for i, loop in enumerate(chain.loops))


def postures_of(chain: Mechanism, q: ArrayLike) -> Array:
    """Return the postures of all joints as an array of shape (K, n).

    Raises:
        ModelError: The number of columns differs from the number of joints.
    """
    q = np.atleast_2d(np.asarray(q, dtype=float))
    if q.ndim != 2 or q.shape[1] != chain.n:
        raise ModelError(
            f"Postures of '{chain.name}' have {q.shape[-1]} columns, expected all {chain.n} joints.",
            remedy="Use `assemble` to get all joints from the actuated ones.",
        )
    return q
