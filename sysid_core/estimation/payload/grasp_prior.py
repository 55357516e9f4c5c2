# SPDX-License-Identifier: Apache-2.0
"""Prior of a payload when only the opening of the gripper is known."""

from __future__ import annotations

import numpy as np

from sysid_core.estimation.payload.ball_prior import MIN_MASS
from sysid_core.robot import (
    Array,
    pi_from_mass_com_inertia,
    pi_from_pseudo_inertia,
    pseudo_inertia_from_pi,
)
from sysid_core.robot.shapes import Shape

LENGTHS = (0.06, 0.12, 0.25, 0.5)  # across the closing axis, as parts of the extent [m/m]
_ALONG, _ACROSS = 0.3, 0.4  # how far it may be stretched along the closing axis, and across


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


def grasp_priors(pi: Array, grasp: Shape, extent: float) -> list[tuple[Array, Array]]:
    """Return the priors of boxes as wide as the opening of the gripper, with any length, centred at
    the centre of mass.

    Args:
        pi: Present estimate, shape (10,), of which mass and centre of mass are used.
        grasp: Shape with the attribute `fingers` (`robot.shapes.grasped`).
        extent: Size of the space that contains the object [m].

    Returns:
        Mean (10,) and covariance (10, 10) of each box, for known mass.
    """
    assert grasp.fingers is not None
    opening = float(np.linalg.norm(grasp.fingers))
    axis = grasp.fingers / opening
    across = np.linalg.svd(axis[None])[2][1:]  # two directions, (2, 3)
    R = np.vstack([axis, across]).T
    mass = max(float(pi[0]), MIN_MASS)
    middle = 0.5 * (grasp.lower + grasp.upper)
    centre = middle + R[:, 1:] @ (R[:, 1:].T @ (pi[1:4] / mass - middle))
    found = []
    for first in LENGTHS:
        for second in LENGTHS:
            lengths = np.array([opening, first * extent, second * extent])
            inertia = mass / 12.0 * np.diag(lengths @ lengths - lengths**2)
            mean = pi_from_mass_com_inertia(mass, centre, R @ inertia @ R.T)
            shift = R @ np.diag(lengths**2 / 16.0) @ R.T
            sd = np.full((3, 3), _ACROSS)
            sd[0], sd[:, 0] = _ALONG / 2.0, _ALONG / 2.0
            sd[0, 0] = _ALONG
            turned = np.kron(R, R)  # of the rows of a matrix R M R^T
            W = np.zeros((12, 12))
            W[:3, :3] = shift
            W[3:, 3:] = turned @ np.diag(sd.ravel() ** 2) @ turned.T
            D = affine_derivatives(mean, centre)
            found.append((mean, D @ W @ D.T))
    return found
