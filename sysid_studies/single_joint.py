# SPDX-License-Identifier: Apache-2.0
"""Dynamics of an arm from its minimal constants alone, and the information in its torques while one
joint moves.

From Lin (1992): algorithm 1 and equations (9), (11), (29)-(32) without link parameters, whose
result must equal that of recursive Newton-Euler; section 3, the linear equations (56)-(61) of
single-joint motion; Properties 1 and 2, which state the constants that a motion excites, and the
reason. The dynamics also accept complex numbers, so that derivatives are exact (complex steps).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError
from sysid_core.identifiability.composite_bodies import DrivingAxisChain, MinimalConstants
from sysid_core.robot import Array

_ROWS, _COLS = np.array([0, 0, 1, 0, 1, 2]), np.array([0, 1, 1, 2, 2, 2])
_STEP = 1e-30  # of the complex derivative: no cancellation, so it may be tiny


def inertia_constants(constants: ArrayLike) -> tuple[Array, Array, Array]:
    """Return the constants m (...,), k (..., 3) and U (..., 3, 3) from minimal constants (..., 10)."""
    constants = np.asarray(constants)
    U = np.empty((*constants.shape[:-1], 3, 3), dtype=constants.dtype)
    U[..., _ROWS, _COLS] = constants[..., 4:]
    U[..., _COLS, _ROWS] = constants[..., 4:]
    return constants[..., 0], constants[..., 1:4], U


def varying_parts(
    chain: DrivingAxisChain, constants: ArrayLike, q: ArrayLike
) -> tuple[Array, Array]:
    r"""Return the varying parts `l_i` and `V_i` of algorithm 1, which depend on the joints beyond
    body i.

    The last body has none, see eqs. (15), (17).

    Equations (19), (21) hold beyond a revolute joint, and (23), (25) beyond a prismatic joint. The
    parts are linear in the constants, so that a stack of constants gives the coefficients of the
    linear equations.

    Args:
        chain: Arm as a serial chain.
        constants: Constants of all bodies, shape (..., n, 10), see `MinimalConstants.all_constants`.
        q: Joint positions, shape (n,) [rad or m].

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
    """Return the inertia matrix H(q) by equation (9), shape (n, n), from constants (n, 10).

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
    """Return the gravity torques by equation (11), shape (n,), from constants (n, 10)."""
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
    r"""Return the joint torques from the constants alone, equation (29): `H a + Coriolis +
    gravity`.

    The Coriolis torque is `Hdot v - 1/2 d(v^T H v)/dq`, which equations (30)-(32) spell out.

    Args:
        chain: Arm as a serial chain.
        constants: Constants of all bodies, shape (n, 10).
        q: Joint positions, shape (n,) [rad].
        v: Joint velocities, shape (n,) [rad/s].
        a: Joint accelerations, shape (n,) [rad/s^2].

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
    """Matrix `-[x x][y x] - [y x][x x] = 2 (x.y) 1 - x y^T - y x^T`, broadcasting, (..., 3, 3)."""
    x, y = np.broadcast_arrays(x, y)
    outer = x[..., :, None] * y[..., None, :]
    dot = np.sum(x * y, axis=-1)[..., None, None]
    return 2.0 * dot * np.eye(3) - outer - np.swapaxes(outer, -1, -2)


@dataclass(frozen=True)
class Visibility:
    """Excitation of the body beyond one joint by one motion.

    Attributes:
        names: Constants of the body on which the torque of its joint depends.
        reason: Case of Property 1 or 2 that applies.
    """

    names: tuple[str, ...]
    reason: str


def single_joint_rows(
    minimal: MinimalConstants,
    posture: ArrayLike,
    moving: int,
    observed: int,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
) -> Array:
    r"""Return the coefficients of the minimal constants in the torque of one joint while one joint
    moves alone.

    By kind of joint: (56) revolute and (57) prismatic joint beyond a turning joint, (58) the
    turning joint itself, (59) joint beyond a sliding joint, (60) the sliding joint itself.

    Equations (53)-(55) give the motion of the observed body, and (56)-(61) the coefficients. The
    bodies beyond the observed joint form one rigid composite body, with `c = k + l` and `J = U + V`
    from algorithm 1.

    Args:
        minimal: The b minimal constants.
        posture: Positions of all joints, shape (n,) [rad or m]; that of the moving joint is
            replaced by `q`.
        moving: Index of the joint that moves.
        observed: Index of the joint whose torque is observed; not before the moving joint.
        q: Positions of the moving joint, shape (K,) [rad or m].
        v: Velocities of the moving joint, shape (K,) [rad/s or m/s].
        a: Accelerations of the moving joint, shape (K,) [rad/s^2 or m/s^2].

    Returns:
        Shape (K, b).

    Raises:
        ExcitationError: The observed joint comes before the moving one.
    """
    _require_behind(moving, observed)
    chain = minimal.chain
    posture = np.asarray(posture, dtype=float)
    v, a = (np.asarray(x, dtype=float)[:, None] for x in (v, a))
    mass, c, J = _composite(minimal, posture, observed)
    omega, alpha, accel = _motion_of_body(chain, moving, observed, posture, v, a)
    accel = accel - _gravity(chain, moving, observed, posture, np.asarray(q, dtype=float))

    def term(coefficient: Array, column: Array) -> Array:
        return coefficient[:, None] * column

    wx, wy, wz = omega.T
    ax, ay, az = alpha.T
    if chain.revolute[observed]:  # (51)
        return (
            term(-wx * wy, J[:, 0, 0] - J[:, 1, 1])
            + term(az, J[:, 2, 2])
            + term(wx**2 - wy**2, J[:, 0, 1])
            + term(ax - wy * wz, J[:, 0, 2])
            + term(ay + wx * wz, J[:, 1, 2])
            + term(accel[:, 1], c[:, 0])
            - term(accel[:, 0], c[:, 1])
        )
    return (  # (52)
        term(-ay + wx * wz, c[:, 0])
        + term(ax + wy * wz, c[:, 1])
        - term(wx**2 + wy**2, c[:, 2])
        + term(accel[:, 2], mass)
    )


def visible_constants(
    chain: DrivingAxisChain, moving: int, observed: int, posture: ArrayLike
) -> Visibility:
    """Return the constants of a body that the torque of its joint determines while another joint
    moves alone (Properties 1 and 2).

    Args:
        chain: Arm as a serial chain.
        moving: Index of the joint that moves.
        observed: Index of the joint whose torque is observed; not before the moving joint.
        posture: Positions of all joints, shape (n,) [rad or m].
    """
    j = observed + 1
    pair = f"joint {moving + 1} ({chain.joint_names[moving]}) and joint {j}"
    parallel = chain.are_parallel(moving, observed, posture)
    vertical = chain.is_vertical(chain.axis_lines(posture)[1][observed])
    moments = (f"k{j}x", f"k{j}y")
    if chain.revolute[moving] and chain.revolute[observed]:
        if moving == observed and not vertical:
            return Visibility(
                (f"U{j}_33", *moments), f"property 1.3a of Lin (1992): joint {j} itself moves"
            )
        if moving == observed:
            return Visibility(
                (f"U{j}_33",), f"property 1.3a of Lin (1992): joint {j} itself moves, vertical"
            )
        if parallel:
            if vertical and chain.coincide(moving, observed, posture):
                return Visibility(
                    (f"U{j}_33",), f"property 1.1c of Lin (1992): {pair} are one vertical axis"
                )
            return Visibility(
                (f"U{j}_33", *moments), f"property 1.1d of Lin (1992): {pair} are parallel"
            )
        inertia = (f"U{j}_11-22", f"U{j}_12", f"U{j}_13", f"U{j}_23")
        if chain.are_perpendicular(moving, observed, posture):
            return Visibility(
                (*inertia, *moments), f"property 1.1b of Lin (1992): {pair} are perpendicular"
            )
        return Visibility(
            (*inertia, f"U{j}_33", *moments), f"property 1.1a of Lin (1992): {pair} are oblique"
        )
    if chain.revolute[moving]:
        if parallel:
            return Visibility((f"m{j}",), f"property 1.2a of Lin (1992): {pair} are parallel")
        s = chain.first_not_parallel
        names = (f"k{j}x", f"k{j}y", f"k{j}z") if observed > s else (f"k{j}_axial", f"k{j}_radial")
        return Visibility(
            (f"m{j}", *names), f"property 1.2b of Lin (1992): {pair} are not parallel"
        )
    if not chain.revolute[observed]:
        return Visibility(
            (f"m{j}",), f"property 2.2a of Lin (1992): joint {moving + 1} moves straight"
        )
    if parallel and vertical:
        return Visibility((), f"property 2.1b of Lin (1992): {pair} are parallel and vertical")
    return Visibility(moments, f"property 2.1a of Lin (1992): joint {moving + 1} moves straight")


def _composite(
    minimal: MinimalConstants, posture: Array, observed: int
) -> tuple[Array, Array, Array]:
    """Mass (b,), `c = k + l` (b, 3) and `J = U + V` (b, 3, 3) of the composite body beyond a joint."""
    basis = minimal.all_constants(np.eye(minimal.rank))
    m, k, U = inertia_constants(basis)
    ell, V = varying_parts(minimal.chain, basis, posture)
    return m[:, observed], (k + ell)[:, observed], (U + V)[:, observed]


def _require_behind(moving: int, observed: int) -> None:
    if observed < moving:
        raise ExcitationError(
            f"The linear equations hold for joint {moving + 1}, which moves, and those behind it,"
            f" not for joint {observed + 1}.",
            remedy="Use the regressor of the constants for all joints: `minimal.regressor(Y)`.",
        )


def _motion_of_body(
    chain: DrivingAxisChain, moving: int, observed: int, posture: Array, v: Array, a: Array
) -> tuple[Array, Array, Array]:
    """Angular velocity, angular acceleration, and linear acceleration without gravity, (K, 3) each,
    equations (53) to (55).
    """
    u = chain.axis_in_body(moving, observed, posture)
    if not chain.revolute[moving]:
        still = np.zeros((len(v), 3))
        return still, still, u * a
    across = np.cross(u, _reach(chain, moving, observed, posture))
    return u * v, u * a, across * a + np.cross(u, across) * v**2


def check_postures(
    minimal: MinimalConstants, moving: int, observed: int, postures: Sequence[ArrayLike]
) -> tuple[str, ...]:
    """Return the constants of a body that the motion of one joint determines in the given postures.

    The constants of the bodies beyond it are assumed to be known. With ideal velocities and
    accelerations, all constants that Properties 1 and 2 list must be independent over the postures.

    Args:
        minimal: Minimal constants of the arm.
        moving: Index of the joint that moves alone.
        observed: Index of the joint whose torque is observed, and of its body.
        postures: Positions of all joints, each of shape (n,).

    Raises:
        ExcitationError: A posture gives no information about the body, or all postures together
            leave constants undetermined; the message states which ones and why.
    """
    chain = minimal.chain
    wanted: dict[str, None] = {}
    reasons: dict[str, None] = {}
    for posture in postures:
        seen = visible_constants(chain, moving, observed, posture)
        reasons[seen.reason] = None
        wanted.update(dict.fromkeys(name for name in seen.names if name in minimal.names))
    why = "; ".join(reasons)
    if not wanted:
        raise ExcitationError(
            f"Moving joint {moving + 1} alone does not excite body {observed + 1} at joint"
            f" {observed + 1} ({why}).",
            remedy="Move another joint before it whose axis is not parallel to its own.",
            moving=moving,
            observed=observed,
        )
    columns = [minimal.names.index(name) for name in wanted]
    A = np.concatenate([_ideal_rows(minimal, x, moving, observed) for x in postures])[:, columns]
    A = A / np.maximum(np.linalg.norm(A, axis=0), 1e-12)
    _, sizes, directions = np.linalg.svd(A)
    rank = int(np.sum(sizes > 1e-6))
    if rank < len(columns):
        open_share = np.linalg.norm(directions[rank:], axis=0)
        undetermined = [name for name, w in zip(wanted, open_share, strict=True) if w > 1e-3]
        raise ExcitationError(
            f"{len(postures)} posture(s) of joint {observed + 1} determine {rank} of the"
            f" {len(columns)} constants of body {observed + 1} that moving joint {moving + 1} can"
            f" excite: {', '.join(undetermined)} remain undetermined ({why}).",
            remedy=f"Add postures with other values of joint {observed + 1} in which the axis of"
            f" joint {moving + 1} has components of different size along x and y of body"
            f" {observed + 1}.",
            undetermined=undetermined,
            rank=rank,
        )
    return tuple(wanted)


def _reach(chain: DrivingAxisChain, start: int, end: int, posture: ArrayLike) -> Array:
    """Vector from the origin of E_start to that of E_end, in E_end."""
    R, s = chain.rotations(posture), chain.distances(posture)
    reach = np.zeros(3)
    for i in range(start + 1, end + 1):
        reach = R[i].T @ (reach + s[i])
    return reach


def _gravity(
    chain: DrivingAxisChain, moving: int, observed: int, posture: Array, q: Array
) -> Array:
    """Gravity in E_observed while the moving joint is at q, shape (K, 3)."""
    postures = np.tile(posture, (len(q), 1))
    postures[:, moving] = q
    g = np.tile(chain.gravity, (len(q), 1))
    R = chain.rotations(postures)
    for i in range(observed + 1):
        g = np.einsum("kji,kj->ki", R[:, i], g)
    return g


def _ideal_rows(minimal: MinimalConstants, posture: ArrayLike, moving: int, observed: int) -> Array:
    """Regressor of three samples that separate the coefficients of a, v^2 and gravity, shape (3,
    b).
    """
    q = np.asarray(posture, dtype=float)[moving] + np.array([0.0, 0.3, -0.4])
    v, a = np.array([0.0, 1.0, -2.0]), np.array([2.0, 0.0, -1.0])
    return single_joint_rows(minimal, posture, moving, observed, q, v, a)
