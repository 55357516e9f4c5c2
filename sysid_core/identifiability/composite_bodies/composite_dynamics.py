# SPDX-License-Identifier: Apache-2.0
r"""Dynamics from the inertia constants alone (Lin 1992, algorithm 1 and equations 9, 11, 29-32).

No link parameter appears here: what is computed from the minimal constants must equal recursive
Newton-Euler with the full parameters. Everything works on complex numbers too, so that derivatives
are exact (complex steps).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.identifiability.composite_bodies.driving_axes import DrivingAxisChain
from sysid_core.robot import Array

_ROWS, _COLS = np.array([0, 0, 1, 0, 1, 2]), np.array([0, 1, 1, 2, 2, 2])
_STEP = 1e-30  # of the complex derivative: no cancellation, so it may be tiny


def inertia_constants(constants: ArrayLike) -> tuple[Array, Array, Array]:
    """m (...,), k (..., 3) and U (..., 3, 3) from constants (..., 10)."""
    constants = np.asarray(constants)
    U = np.empty((*constants.shape[:-1], 3, 3), dtype=constants.dtype)
    U[..., _ROWS, _COLS] = constants[..., 4:]
    U[..., _COLS, _ROWS] = constants[..., 4:]
    return constants[..., 0], constants[..., 1:4], U


def varying_parts(
    chain: DrivingAxisChain, constants: ArrayLike, q: ArrayLike
) -> tuple[Array, Array]:
    r"""Algorithm 1: the parts `l_i` and `V_i` that vary with the joints behind body i.

    The last body has none: eqs. (15), (17).

    Equations (19), (21) behind a revolute joint, (23), (25) behind a prismatic one. They are linear
    in the constants, so a stack of constants gives the coefficients of the linear equations.

    Args:
        chain: The arm.
        constants: Constants of all bodies, shape (..., n, 10), see `MinimalConstants.all_constants`.
        q: Joint positions, shape (n,).

    Returns:
        l, shape (..., n, 3), and V, shape (..., n, 3, 3).
    """
    m, k, U = inertia_constants(constants)
    R, s = chain.rotations(q), chain.distances(q)
    d = chain.d + np.asarray(q)
    dtype = np.result_type(k, R)
    ell = np.zeros(k.shape, dtype=dtype)
    V = np.zeros(U.shape, dtype=dtype)
    for i in range(chain.n - 2, -1, -1):
        R_i, m_i, k_i, U_i = R[i + 1], m[..., i + 1], k[..., i + 1, :], U[..., i + 1, :, :]
        ell_next, V_next = ell[..., i + 1, :], V[..., i + 1, :, :]
        if chain.revolute[i + 1]:
            turning = ell_next + k_i * np.array([1.0, 1.0, 0.0])
            ell[..., i, :] = turning @ R_i.T
            unsymmetric = U_i.astype(dtype)
            unsymmetric[..., 0, 0] = U_i[..., 0, 0] - U_i[..., 1, 1]
            unsymmetric[..., 1, 1] = unsymmetric[..., 2, 2] = 0.0
            V[..., i, :, :] = R_i @ (V_next + unsymmetric) @ R_i.T + _pair(s[i + 1], ell[..., i, :])
        else:
            along = d[i + 1] * R_i[:, 2]  # of the axis, in E_i
            across = np.array([chain.b[i + 1], 0.0, 0.0])
            first_moment = (k_i + ell_next) @ R_i.T
            ell[..., i, :] = ell_next @ R_i.T + m_i[..., None] * along
            V[..., i, :, :] = (
                R_i @ V_next @ R_i.T
                + m_i[..., None, None] * (0.5 * _pair(along, along) + _pair(along, across))
                + _pair(along, first_moment)
                + _pair(across, ell_next @ R_i.T)
            )
    return ell, V


def inertia_matrix(chain: DrivingAxisChain, constants: ArrayLike, q: ArrayLike) -> Array:
    """H(q) by equation (9), shape (n, n); constants (n, 10).

    The sums `c = k + l`, `J = U + V` are eqs. (12), (13).
    """
    m, k, U = inertia_constants(constants)
    ell, V = varying_parts(chain, constants, q)
    c, J = k + ell, U + V
    R, s = chain.rotations(q), chain.distances(q)
    n = chain.n
    H = np.zeros((n, n), dtype=c.dtype)
    for i in range(n):
        u = np.array([0.0, 0.0, 1.0], dtype=R.dtype)  # axis of joint m in E_i
        reach = np.zeros(3, dtype=R.dtype)  # from E_m to E_i, in E_i
        rotation = np.eye(3, dtype=R.dtype)  # E_m from E_i
        for j in range(i, -1, -1):
            if chain.revolute[j]:
                a = np.cross(u, reach)
                if chain.revolute[i]:
                    H[j, i] = u @ J[i, :, 2] + a[1] * c[i, 0] - a[0] * c[i, 1]
                else:
                    H[j, i] = m[i] * a[2] + u[0] * c[i, 1] - u[1] * c[i, 0]
            elif chain.revolute[i]:
                H[j, i] = u[1] * c[i, 0] - u[0] * c[i, 1]
            else:
                H[j, i] = m[i] * u[2]
            H[i, j] = H[j, i]
            reach = reach + rotation.T @ (R[j].T @ s[j])
            rotation = R[j] @ rotation
            u = rotation.T @ np.array([0.0, 0.0, 1.0])
    return H


def gravity_torque(chain: DrivingAxisChain, constants: ArrayLike, q: ArrayLike) -> Array:
    """Torque that resists gravity by equation (11), shape (n,); constants (n, 10)."""
    m, k, _ = inertia_constants(constants)
    c = k + varying_parts(chain, constants, q)[0]
    out = np.zeros(chain.n, dtype=c.dtype)
    g = chain.gravity.astype(c.dtype)
    for i, R in enumerate(chain.rotations(q)):
        g = R.T @ g
        out[i] = -g[1] * c[i, 0] + g[0] * c[i, 1] if chain.revolute[i] else -m[i] * g[2]
    return out


def composite_inverse_dynamics(
    chain: DrivingAxisChain, constants: ArrayLike, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    r"""Joint torques from the constants alone, equation (29): `H a + Coriolis + gravity`.

    The Coriolis torque is `Hdot v - 1/2 d(v^T H v)/dq`, which equations (30)-(32) spell out.

    Args:
        chain: The arm.
        constants: Constants of all bodies, shape (n, 10).
        q: Shape (n,).
        v: Shape (n,).
        a: Shape (n,).

    Returns:
        Shape (n,) [N m or N].
    """
    q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
    H_dot = inertia_matrix(chain, constants, q + 1j * _STEP * v).imag / _STEP
    slope = np.array(
        [
            v @ inertia_matrix(chain, constants, q + 1j * _STEP * e).imag @ v / _STEP
            for e in np.eye(chain.n)
        ]
    )
    H = inertia_matrix(chain, constants, q)
    return H @ a + H_dot @ v - 0.5 * slope + gravity_torque(chain, constants, q)


def _pair(x: Array, y: Array) -> Array:
    """`-[x x][y x] - [y x][x x] = 2 (x.y) 1 - x y^T - y x^T`, broadcasting, (..., 3, 3)."""
    x, y = np.broadcast_arrays(x, y)
    outer = x[..., :, None] * y[..., None, :]
    dot = np.sum(x * y, axis=-1)[..., None, None]
    return 2.0 * dot * np.eye(3) - outer - np.swapaxes(outer, -1, -2)
