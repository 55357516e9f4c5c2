# SPDX-License-Identifier: Apache-2.0
"""What is known of a payload before it is weighed, when not even its shape is given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.robot import Array, pi_from_mass_com_inertia

MIN_MASS = 1e-2  # [kg], keeps the prior's scale away from zero
_MASS_SPREAD = 10.0  # so wide that the mass is left to the data


def ball_prior(
    pi: ArrayLike,
    reach: float,
    size: float,
    *,
    mass_spread: float = _MASS_SPREAD,
    inertia_spread: float = 1.0,
) -> tuple[Array, Array]:
    r"""Mean and covariance of `pi` for something as large as a ball, somewhere within reach.

    Mass, centre of mass and inertia about it are independent: any mass, a centre at 0 ± reach, and
    the inertia of an even ball, known to itself. Moved to `pi` linearly about the payload found so
    far, so that the inertia about the origin moves with the centre of mass.

    Args:
        pi: Parameters found so far, shape (10,).
        reach: Standard deviation of the centre of mass per axis [m].
        size: Radius of the ball [m].
        mass_spread: Standard deviation of the mass as a part of it.
        inertia_spread: Standard deviation of the inertia as a part of the even ball's.

    Returns:
        Mean (10,) and covariance (10, 10).
    """
    pi = np.asarray(pi, dtype=float)
    mass = max(float(pi[0]), MIN_MASS)
    com = pi[1:4] / mass if pi[0] > 0 else np.zeros(3)
    com = com * min(1.0, reach / max(float(np.linalg.norm(com)), 1e-12))
    inertia = 0.4 * mass * size**2
    step = 1e-3 * reach  # exact: pi is quadratic in the centre of mass
    near = com + step * np.vstack([np.zeros(3), np.eye(3), -np.eye(3)])
    at, ahead, behind = np.split(
        pi_from_mass_com_inertia(np.full(7, mass), near, np.tile(inertia * np.eye(3), (7, 1, 1))),
        [1, 4],
    )
    J = np.zeros((10, 10))  # d pi / d (m, c, I_C)
    J[:, 0] = pi_from_mass_com_inertia(1.0, com, np.zeros((3, 3)))
    J[:, 1:4] = (ahead - behind).T / (2.0 * step)
    J[4:, 4:] = np.eye(6)
    sd = np.array([mass_spread * mass, *[reach] * 3, *[inertia_spread * inertia] * 6])
    return at[0] - J[:, 1:4] @ com, (J * sd**2) @ J.T
