# SPDX-License-Identifier: Apache-2.0
"""Derivatives of inertial parameters for small shifts, stretches and rotations of a body."""

from __future__ import annotations

import numpy as np

from sysid_core.robot import Array, pi_from_pseudo_inertia, pseudo_inertia_from_pi


def affine_derivatives(pi: Array, centre: Array) -> Array:
    """Return the derivatives of a body's parameters with respect to an affine map of the body
    (shift, scaling, rotation) about a centre.

    `dP = G P + P G^T` with the generators G of `X` in `P -> X P X^T`.

    Args:
        pi: Inertial parameters of the body, shape (10,).
        centre: Centre of the map, shape (3,) [m].

    Returns:
        Derivatives, shape (10, 12): three shifts [m], then nine entries of the linear map.
    """
    P = pseudo_inertia_from_pi(pi)
    G = np.zeros((12, 4, 4))
    for i in range(3):
        G[i, i, 3] = 1.0
        for j in range(3):
            G[3 + 3 * i + j, i, j] = 1.0
            G[3 + 3 * i + j, i, 3] = -centre[j]
    dP = G @ P + P @ G.transpose(0, 2, 1)
    return np.asarray(pi_from_pseudo_inertia(dP)).T
