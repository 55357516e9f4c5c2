# SPDX-License-Identifier: Apache-2.0
"""Inner loop of the regressor gradients, compiled; imported on demand."""

from __future__ import annotations

import numba
import numpy as np

from sysid_core.robot import Array


@numba.njit(cache=True)
def _add_force_cross(a, f, sign, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Add `sign (a x* f)`, the cross product of a spatial motion and a spatial force, to `out`."""
    out[0] += sign * (a[4] * f[2] - a[5] * f[1])
    out[1] += sign * (a[5] * f[0] - a[3] * f[2])
    out[2] += sign * (a[3] * f[1] - a[4] * f[0])
    out[3] += sign * (a[4] * f[5] - a[5] * f[4] + a[1] * f[2] - a[2] * f[1])
    out[4] += sign * (a[5] * f[3] - a[3] * f[5] + a[2] * f[0] - a[0] * f[2])
    out[5] += sign * (a[3] * f[4] - a[4] * f[3] + a[0] * f[1] - a[1] * f[0])


@numba.njit(cache=True)
def _motion_cross(a, b, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    out[0] = a[4] * b[2] - a[5] * b[1] + a[1] * b[5] - a[2] * b[4]
    out[1] = a[5] * b[0] - a[3] * b[2] + a[2] * b[3] - a[0] * b[5]
    out[2] = a[3] * b[1] - a[4] * b[0] + a[0] * b[4] - a[1] * b[3]
    out[3] = a[4] * b[5] - a[5] * b[4]
    out[4] = a[5] * b[3] - a[3] * b[5]
    out[5] = a[3] * b[4] - a[4] * b[3]


@numba.njit(cache=True)
def _momentum(g, x, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    out[0] = g[0] * x[0] - g[2] * x[5] + g[3] * x[4]
    out[1] = g[0] * x[1] - g[3] * x[3] + g[1] * x[5]
    out[2] = g[0] * x[2] - g[1] * x[4] + g[2] * x[3]
    out[3] = g[4] * x[3] + g[5] * x[4] + g[7] * x[5] + g[2] * x[2] - g[3] * x[1]
    out[4] = g[5] * x[3] + g[6] * x[4] + g[8] * x[5] + g[3] * x[0] - g[1] * x[2]
    out[5] = g[7] * x[3] + g[8] * x[4] + g[9] * x[5] + g[1] * x[1] - g[2] * x[0]


@numba.njit(cache=True)
def _to_body(R, p, x, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    l0 = x[0] + x[4] * p[2] - x[5] * p[1]
    l1 = x[1] + x[5] * p[0] - x[3] * p[2]
    l2 = x[2] + x[3] * p[1] - x[4] * p[0]
    for c in range(3):
        out[c] = R[0, c] * l0 + R[1, c] * l1 + R[2, c] * l2
        out[3 + c] = R[0, c] * x[3] + R[1, c] * x[4] + R[2, c] * x[5]


@numba.njit(cache=True)
def _add_to_world(R, p, f, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    f0 = R[0, 0] * f[0] + R[0, 1] * f[1] + R[0, 2] * f[2]
    f1 = R[1, 0] * f[0] + R[1, 1] * f[1] + R[1, 2] * f[2]
    f2 = R[2, 0] * f[0] + R[2, 1] * f[1] + R[2, 2] * f[2]
    out[0] += f0
    out[1] += f1
    out[2] += f2
    out[3] += R[0, 0] * f[3] + R[0, 1] * f[4] + R[0, 2] * f[5] + p[1] * f2 - p[2] * f1
    out[4] += R[1, 0] * f[3] + R[1, 1] * f[4] + R[1, 2] * f[5] + p[2] * f0 - p[0] * f2
    out[5] += R[2, 0] * f[3] + R[2, 1] * f[4] + R[2, 2] * f[5] + p[0] * f1 - p[1] * f0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def pull_slopes(  # type: ignore[no-untyped-def]  # pragma: no cover
    G: Array, subtree: Array, R: Array, p: Array, J: Array, V: Array, A: Array
):
    """Compute the gradients of the regressor with respect to the motion of the bodies, compiled
    (see `TreeMotion.regressor_pull`).

    Args:
        G: Gradient with respect to the regressor (sample, row r, body i, parameter), (K, n, n, 10).
        subtree: Mask, 1 if joint r moves body i, shape (n, n).
        R: Orientations of the bodies, shape (K, n, 3, 3).
        p: Origins of the bodies in the world, shape (K, n, 3) [m].
        J: Spatial joint axes, shape (K, n, 6).
        V: Spatial velocities, shape (K, n, 6).
        A: Spatial accelerations, shape (K, n, 6).

    Returns:
        Gradients as spatial forces in the world, shape (4, K, n, 6).
    """
    K, n = J.shape[0], J.shape[1]
    out = np.zeros((4, K, n, 6))
    Ji, Vi, Ai, U = np.empty(6), np.empty(6), np.empty(6), np.empty(6)
    IA, IV, IJ, IU = np.empty(6), np.empty(6), np.empty(6), np.empty(6)
    by_v, by_a, by_c, by_j = np.empty(6), np.empty(6), np.empty(6), np.empty(6)
    for k in range(K):
        for i in range(n):
            _to_body(R[k, i], p[k, i], V[k, i], Vi)
            _to_body(R[k, i], p[k, i], A[k, i], Ai)
            by_v[:] = 0.0
            by_a[:] = 0.0
            by_c[:] = 0.0
            for r in range(n):
                if subtree[r, i] == 0.0:
                    continue
                g = G[k, r, i]
                _to_body(R[k, i], p[k, i], J[k, r], Ji)
                _motion_cross(Vi, Ji, U)
                _momentum(g, Ai, IA)
                _momentum(g, Vi, IV)
                _momentum(g, Ji, IJ)
                _momentum(g, U, IU)
                for c in range(6):
                    by_a[c] += IJ[c]
                    by_v[c] -= IU[c]
                    by_j[c] = IA[c]
                _add_force_cross(Ji, IV, -1.0, by_v)
                _add_force_cross(U, IV, 1.0, by_c)
                _add_force_cross(Vi, IU, 1.0, by_c)
                _add_force_cross(Ji, IA, -1.0, by_c)
                _add_force_cross(Ai, IJ, -1.0, by_c)
                _add_force_cross(Vi, IV, 1.0, by_j)
                _add_to_world(R[k, i], p[k, i], by_j, out[3, k, r])
            _add_to_world(R[k, i], p[k, i], by_v, out[0, k, i])
            _add_to_world(R[k, i], p[k, i], by_a, out[1, k, i])
            _add_to_world(R[k, i], p[k, i], by_c, out[2, k, i])
    return out
