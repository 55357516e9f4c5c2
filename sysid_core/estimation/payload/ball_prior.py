# SPDX-License-Identifier: Apache-2.0
"""Prior of a payload without a known shape, as Gaussians that depend on the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.payload.data import positive_mass
from sysid_core.robot import (
    Array,
    is_physically_consistent,
    pi_from_mass_com_inertia,
    pi_from_pseudo_inertia,
    pseudo_inertia_from_pi,
)

MIN_MASS = 1e-2  # [kg], keeps the prior's scale away from zero
BALLS = (0.06, 0.1, 0.17, 0.3)  # radii without a shape, as parts of the extent [m/m]
BALL_SPREAD = 2.0  # of their inertia
_MASS_SPREAD = 10.0  # so wide that the mass is left to the data


def ball_prior(
    pi: ArrayLike,
    reach: float,
    size: float,
    *,
    mass_spread: float = _MASS_SPREAD,
    inertia_spread: float = 1.0,
) -> tuple[Array, Array]:
    r"""Return the mean and covariance of `pi` for a body of the size of a ball at an uncertain
    position.

    Mass, centre of mass and inertia about the centre of mass are independent. The mass is nearly
    unconstrained, the centre of mass is 0 ± `reach`, and the inertia is that of a uniform ball,
    with a standard deviation of the same size. This distribution is transformed to `pi` by
    linearisation about the payload found so far, so that the inertia about the origin changes with
    the centre of mass.

    Args:
        pi: Present estimate of the parameters, shape (10,).
        reach: Standard deviation of the centre of mass along each axis, from the origin [m].
        size: Radius of the ball [m].
        mass_spread: Standard deviation of the mass relative to the mass [-].
        inertia_spread: Standard deviation of the inertia relative to that of the uniform ball [-].

    Returns:
        Mean (10,) and covariance (10, 10).
    """
    pi = np.asarray(pi, dtype=float)
    mass = max(float(pi[0]), MIN_MASS)
    com = pi[1:4] / mass if pi[0] > 0 else np.zeros(3)
    # Data that don't show the centre may put it anywhere: linearised within a standard deviation.
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


def ball_first(R: Array, r: Array, extent: float) -> Array:
    """Return the initial value of a fit, shape (10,): a physically consistent body near the mean of
    the prior, in which the load is a homogeneous ball of unknown size and position.

    Raises:
        EstimationError: There is neither weight nor acceleration, so that the mass is undetermined.
    """
    if not np.any(R[:, 0]):
        raise EstimationError(
            "The proper acceleration `a` is zero in all samples, although there is gravity.",
            remedy="Give `a`, the proper acceleration in the sensor's axes: -gravity at rest.",
        )
    # Mass, centre and inertia together, within reach: alone, the mass would answer for its moments.
    most = float(np.linalg.norm(r) / max(np.linalg.norm(R[:, 0]), np.finfo(float).tiny))
    first, second = np.power(extent / 2.0, [1, 2]) * max(most, MIN_MASS)
    N = R.T @ R + np.diag([0.0, *[first**-2.0] * 3, *[second**-2.0] * 6])
    mass = positive_mass(float(np.linalg.solve(N, R.T @ r)[0]), 1.0)
    pi = np.array([mass, *np.zeros(9)])
    for _ in range(3):
        # Of every size: what one ball can't be would be laid on the sensor.
        balls = [
            ball_prior(pi, extent / 2.0, x * extent, inertia_spread=BALL_SPREAD) for x in BALLS
        ]
        means, spreads = map(np.array, zip(*balls, strict=True))
        found, _, evidence = conditioned(R, r, means, spreads)
        found = probabilities(evidence) @ found
        pi = found if found[0] > 0 else pi
    return nearest_body(pi)


def probabilities(logs: Array) -> Array:
    """Return the normalised probabilities from unnormalised log-probabilities."""
    found = np.exp(logs - logs.max())
    return np.asarray(found / found.sum())


def conditioned(R: Array, r: Array, means: Array, covariances: Array) -> tuple[Array, Array, Array]:
    """Return the means (H, 10), covariances and log-evidences of H Gaussian priors given the data
    `r = R pi + N(0, I)`.
    """
    RC = R @ covariances  # (H, p, 10)
    S = RC @ R.T + np.eye(len(r))
    d = r - means @ R.T
    gain = np.linalg.solve(S, np.concatenate([RC, d[:, :, None]], axis=2))
    log = -0.5 * (np.einsum("hp,hp->h", d, gain[:, :, -1]) + np.linalg.slogdet(S)[1])
    mean = means + np.einsum("hpi,hp->hi", RC, gain[:, :, -1])
    left = covariances - RC.transpose(0, 2, 1) @ gain[:, :, :-1]
    return mean, 0.5 * (left + left.transpose(0, 2, 1)), log


def nearest_body(pi: Array) -> Array:
    """Return the nearest physically consistent body with the same mass and centre of mass."""
    if is_physically_consistent(pi):
        return pi
    P = pseudo_inertia_from_pi(pi)
    steiner = np.outer(P[:3, 3], P[:3, 3]) / P[3, 3]
    values, axes = np.linalg.eigh(P[:3, :3] - steiner)
    values = np.maximum(values, 1e-3 * np.abs(values).max())
    P[:3, :3] = (axes * values) @ axes.T + steiner
    return np.asarray(pi_from_pseudo_inertia(P))
