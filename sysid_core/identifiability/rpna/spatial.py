# SPDX-License-Identifier: Apache-2.0
r"""Transfer of velocities and inertial parameters across a link and a joint, for the RPNA.

Spatial vectors are in pinocchio's order, linear before angular. Everything is batched over a
leading axis and used in natural units, see `scaling`.
"""

from __future__ import annotations

import numpy as np

from sysid_core.robot import Array, pi_from_pseudo_inertia, pseudo_inertia_from_pi, skew

# Unit pseudo-inertias U[l] = P(e_l), and W with pi_k = W[k] : P for symmetric P.
_UNIT = pseudo_inertia_from_pi(np.eye(10))
_READ = pi_from_pseudo_inertia(np.eye(16).reshape(16, 4, 4)).T.reshape(10, 4, 4)
_READ = 0.5 * (_READ + np.swapaxes(_READ, 1, 2))
# B = einsum("kab,nac,lcd,nbd->nkl", _READ, X, _UNIT, X), as one matrix product of size 256.
_CONGRUENCE = np.einsum("kab,lcd->abcdkl", _READ, _UNIT).reshape(256, 100)
# A(phi) = einsum over xi: xi P + P xi^T, linear in the 4x4 twist matrix xi.
_RATE = 2.0 * np.einsum("kab,lcb->ackl", _READ, _UNIT).reshape(16, 100)


def motion_transforms(X_PC: Array) -> Array:
    r"""Transforms X of spatial velocities from the frame of the parent to that of the child, `v_C =
    X @ v_P`.

    Wensing, Niemeyer and Slotine (2023), eqs. (65), (66).

    Args:
        X_PC: Poses of the child in the parent, shape (n, 4, 4).

    Returns:
        Shape (n, 6, 6).
    """
    Rt = np.swapaxes(X_PC[:, :3, :3], 1, 2)
    X = np.zeros((len(X_PC), 6, 6))
    X[:, :3, :3] = X[:, 3:, 3:] = Rt
    X[:, :3, 3:] = -Rt @ skew(X_PC[:, :3, 3])
    return X


def parameter_transforms(X_PC: Array) -> Array:
    r"""Maps of the ten parameters of a body from its frame to that of the parent (eq. 39); (n,
    4, 4) to (n, 10, 10).

    Wensing, Niemeyer and Slotine (2023), eqs. (39), (42).
    """
    pairs = X_PC[:, :, None, :, None] * X_PC[:, None, :, None, :]  # n a b c d: X_ac X_bd
    return (pairs.reshape(-1, 256) @ _CONGRUENCE).reshape(-1, 10, 10)


def parameter_rates(phi: Array) -> Array:
    r"""Rates of the ten parameters in the parent frame along a free mode of the joint (eq. 40).

    Wensing, Niemeyer and Slotine (2023), eqs. (13), (40).

    Args:
        phi: Free modes [v; omega], shape (n, 6).

    Returns:
        Shape (n, 10, 10).
    """
    twist = np.zeros((len(phi), 4, 4))
    twist[:, :3, :3] = skew(phi[:, 3:])
    twist[:, :3, 3] = phi[:, :3]
    return (twist.reshape(-1, 16) @ _RATE).reshape(-1, 10, 10)


def motion_crosses(phi: Array) -> Array:
    """Motion cross-product matrices, (n, 6) to (n, 6, 6).

    Wensing, Niemeyer and Slotine (2023), eq. (11): `d/dq X = -(phi x) X`.
    """
    W = skew(phi[:, 3:])
    out = np.zeros((len(phi), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = W
    out[:, :3, 3:] = skew(phi[:, :3])
    return out
