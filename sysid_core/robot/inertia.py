# SPDX-License-Identifier: Apache-2.0
r"""Inertial parameters of a rigid body.

The parameter vector, everywhere in this project (pinocchio's order):

    pi = [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]

with the rotational inertia about the origin of the body frame. Units: kg, kg m, kg m^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]  # of float64
# Where moments stand in an inertia matrix, by their names in URDF and messages.
INERTIA_ENTRIES = {
    "ixx": (0, 0),
    "ixy": (0, 1),
    "ixz": (0, 2),
    "iyy": (1, 1),
    "iyz": (1, 2),
    "izz": (2, 2),
}

INERTIAL_NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
INERTIAL_UNITS = ("kg",) + ("kg m",) * 3 + ("kg m^2",) * 6

# Rows of the symmetric 3x3 inertia, in the order of pi[4:].
_I_ROWS = np.array([0, 0, 1, 0, 1, 2])
_I_COLS = np.array([0, 1, 1, 2, 2, 2])


def skew(u: ArrayLike) -> Array:
    r"""Return the cross-product matrix of a vector: `skew(u) @ w == np.cross(u, w)`.

    Args:
        u: Vectors, shape (..., 3).

    Returns:
        Matrices, shape (..., 3, 3).
    """
    u = np.asarray(u, dtype=float)
    out = np.zeros((*u.shape[:-1], 3, 3))
    out[..., 0, 1], out[..., 0, 2] = -u[..., 2], u[..., 1]
    out[..., 1, 0], out[..., 1, 2] = u[..., 2], -u[..., 0]
    out[..., 2, 0], out[..., 2, 1] = -u[..., 1], u[..., 0]
    return out


def inertia_matrix_from_pi(pi: ArrayLike) -> Array:
    """Return the rotational inertia about the frame origin, shape (..., 3, 3) [kg m^2]."""
    pi = np.asarray(pi, dtype=float)
    out = np.empty((*pi.shape[:-1], 3, 3))
    out[..., _I_ROWS, _I_COLS] = pi[..., 4:]
    out[..., _I_COLS, _I_ROWS] = pi[..., 4:]
    return out


def pseudo_inertia_from_pi(pi: ArrayLike) -> Array:
    r"""Return the pseudo-inertia `P = [[tr(I)/2 1 - I, h], [h^T, m]]` (Wensing, Kim, Slotine 2018,
    eq. 13).

    The ten parameters are those of Wensing, Niemeyer and Slotine (2023), eq. (35), in
    pinocchio's order.

    A rigid body with a positive mass density has `P > 0`.

    Args:
        pi: Inertial parameters, shape (..., 10).

    Returns:
        Pseudo-inertias, shape (..., 4, 4).
    """
    pi = np.asarray(pi, dtype=float)
    inertia = inertia_matrix_from_pi(pi)
    half_trace = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None]
    out = np.empty((*pi.shape[:-1], 4, 4))
    out[..., :3, :3] = half_trace * np.eye(3) - inertia
    out[..., :3, 3] = out[..., 3, :3] = pi[..., 1:4]
    out[..., 3, 3] = pi[..., 0]
    return out


def pi_from_pseudo_inertia(P: ArrayLike) -> Array:
    """Return the inertial parameters of a pseudo-inertia, (..., 4, 4) to (..., 10); inverse of
    `pseudo_inertia_from_pi`."""
    P = np.asarray(P, dtype=float)
    sigma = P[..., :3, :3]
    inertia = np.trace(sigma, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - sigma
    return np.concatenate([P[..., 3:, 3], P[..., :3, 3], inertia[..., _I_ROWS, _I_COLS]], axis=-1)


def pin_inertia(pi: Array) -> pin.Inertia:
    """Convert the ten parameters, shape (10,), to pinocchio's inertia; a body without mass has its
    centre of mass at the origin.
    """
    if pi[0] == 0.0:  # there is no centre of mass to divide for
        return pin.Inertia(0.0, np.zeros(3), inertia_matrix_from_pi(pi))
    return pin.Inertia.FromDynamicParameters(pi)


def pi_from_mass_com_inertia(mass: ArrayLike, p_BC: ArrayLike, I_C: ArrayLike) -> Array:
    r"""Return the inertial parameters from mass, centre of mass, and the inertia about the centre
    of mass.

    Nadeau, Giamou and Kelly (2022), eq. (1).

    Args:
        mass: Masses, shape (...) [kg].
        p_BC: Centre of mass in the body frame, shape (..., 3) [m].
        I_C: Inertia about the centre of mass in the body axes, shape (..., 3, 3) [kg m^2].

    Returns:
        Inertial parameters, shape (..., 10).

    Examples:
        >>> pi = pi_from_mass_com_inertia(2.0, [0.0, 0.0, 0.1], np.diag([0.01, 0.01, 0.02]))
        >>> pi.round(4).tolist()
        [2.0, 0.0, 0.0, 0.2, 0.03, 0.0, 0.03, 0.0, 0.0, 0.02]
    """
    mass = np.asarray(mass, dtype=float)
    p_BC = np.asarray(p_BC, dtype=float)
    S = skew(p_BC)
    inertia = np.asarray(I_C, dtype=float) + mass[..., None, None] * S @ np.swapaxes(S, -1, -2)
    return np.concatenate(
        [mass[..., None], mass[..., None] * p_BC, inertia[..., _I_ROWS, _I_COLS]], axis=-1
    )


def mass_com_inertia_from_pi(pi: ArrayLike) -> tuple[Array, Array, Array]:
    r"""Return the mass, centre of mass, and inertia about the centre of mass, from inertial
    parameters.

    Args:
        pi: Inertial parameters, shape (..., 10), mass not zero.

    Returns:
        Mass (...) [kg], centre of mass p_BC (..., 3) [m], inertia I_C (..., 3, 3) [kg m^2].
    """
    pi = np.asarray(pi, dtype=float)
    mass = pi[..., 0]
    p_BC = pi[..., 1:4] / mass[..., None]
    S = skew(p_BC)
    I_C = inertia_matrix_from_pi(pi) - mass[..., None, None] * S @ np.swapaxes(S, -1, -2)
    return mass, p_BC, I_C


def consistency_margin(pi: ArrayLike) -> Array:
    r"""Return the smallest eigenvalue of the pseudo-inertia, relative to the size of the body;
    shape (...).

    Lengths are scaled by the radius of gyration, so that the sign and the relative size do not
    depend on units. A positive margin means physically consistent.
    """
    P = pseudo_inertia_from_pi(pi)
    mass = np.abs(P[..., 3, 3])
    radius = np.sqrt(
        np.abs(np.trace(P[..., :3, :3], axis1=-2, axis2=-1)) / np.where(mass > 0, mass, 1.0)
    )
    radius = np.where(radius > 0, radius, 1.0)
    scale = np.ones((*mass.shape, 4))
    scale[..., :3] = 1.0 / radius[..., None]
    P = (
        P
        * scale[..., :, None]
        * scale[..., None, :]
        / np.where(mass > 0, mass, 1.0)[..., None, None]
    )
    return np.linalg.eigvalsh(P)[..., 0]


def is_physically_consistent(pi: ArrayLike, tolerance: float = 1e-9) -> NDArray[np.bool_]:
    """Return True if the pseudo-inertia is positive (semi-)definite, within a relative tolerance of
    1e-9.

    A massless body (all ten parameters zero) is consistent, and so is a limiting case such as a rod
    without thickness.

    Args:
        pi: Inertial parameters, shape (..., 10).
        tolerance: Permitted negative part of `consistency_margin` (relative, without unit).

    Returns:
        Mask of the consistent bodies, shape (...).

    Examples:
        >>> ball = pi_from_mass_com_inertia(1.0, np.zeros(3), 0.01 * np.eye(3))
        >>> needle = pi_from_mass_com_inertia(1.0, np.zeros(3), np.diag([0.01, 0.01, 0.03]))
        >>> is_physically_consistent([ball, needle]).tolist()  # I_zz > I_xx + I_yy: no body is so
        [True, False]
    """
    pi = np.asarray(pi, dtype=float)
    return np.where(np.any(pi != 0.0, axis=-1), consistency_margin(pi) >= -tolerance, True) & (
        pi[..., 0] >= 0.0
    )


def parameter_transform(X_AB: ArrayLike) -> Array:
    r"""Return the matrix `B` with `pi_A = B @ pi_B`, for parameters of the same body in the frames
    A and B.

    The pseudo-inertia transforms by congruence, `P_A = X_AB P_B X_AB^T`.

    Args:
        X_AB: Homogeneous pose of frame B in frame A, shape (4, 4).

    Returns:
        Matrix B, shape (10, 10).
    """
    X_AB = np.asarray(X_AB, dtype=float)
    P_unit = pseudo_inertia_from_pi(np.eye(10))
    return pi_from_pseudo_inertia(X_AB @ P_unit @ X_AB.T).T


def transform_pi(X_AB: ArrayLike, pi_B: ArrayLike) -> Array:
    """Return the inertial parameters of a body in frame A, from those in frame B; (4, 4), (..., 10)
    to (..., 10).
    """
    return np.asarray(pi_B, dtype=float) @ parameter_transform(X_AB).T


def wrench_regressor(a: ArrayLike, omega: ArrayLike, alpha: ArrayLike) -> Array:
    r"""Return the regressor A of the Newton-Euler wrench of a rigid body: `[f; tau] = A @ pi`.

    Nadeau, Giamou and Kelly (2022), eqs. (2), (3).

    The wrench acts on the body; its reference point is the origin of the body frame, in whose axes
    it is expressed (Atkeson, An, Hollerbach 1986, eq. 6; Nadeau et al. 2022, eq. 2): `f = m a +
    alpha x h + omega x (omega x h)`, `tau = h x a + I alpha + omega x I omega`.

    Args:
        a: Proper acceleration of the frame origin (acceleration minus gravity), in the body axes,
            shape (..., 3) [m/s^2].
        omega: Angular velocity in the body axes, shape (..., 3) [rad/s].
        alpha: Angular acceleration in the body axes, shape (..., 3) [rad/s^2].

    Returns:
        Regressor A, shape (..., 6, 10), force rows first.
    """
    a, omega, alpha = (np.asarray(x, dtype=float) for x in (a, omega, alpha))
    W = skew(omega)
    A = np.zeros((*a.shape[:-1], 6, 10))
    A[..., :3, 0] = a
    A[..., :3, 1:4] = skew(alpha) + W @ W
    A[..., 3:, 1:4] = -skew(a)
    A[..., 3:, 4:] = _inertia_product(alpha) + W @ _inertia_product(omega)
    return A


def _inertia_product(u: Array) -> Array:
    """`L(u)` with `I @ u == L(u) @ pi[4:]`, shape (..., 3, 6)."""
    L = np.zeros((*u.shape[:-1], 3, 6))
    x, y, z = u[..., 0], u[..., 1], u[..., 2]
    L[..., 0, 0], L[..., 0, 1], L[..., 0, 3] = x, y, z
    L[..., 1, 1], L[..., 1, 2], L[..., 1, 4] = x, y, z
    L[..., 2, 3], L[..., 2, 4], L[..., 2, 5] = x, y, z
    return L
