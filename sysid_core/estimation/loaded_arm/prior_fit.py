# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares of a regression with a Gaussian prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.fit import (
    Regression,
    autocovariance,
    correlation_lag,
    inverse,
    score_covariance,
)
from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class PriorFit:
    """Solution with all that its covariance needs.

    Attributes:
        regression: What was fitted.
        x: Shape (p,).
        gain: Inverse of the normal matrix, shape (p, p).
        precision: Inverse covariance of the prior, shape (p, p).
        weights: Weights of the squared residuals, shape (n,).
        per_joint: Each joint's part of the right-hand side, shape (n, p).
        max_lag: Longest correlation of the noise looked for [samples].
    """

    regression: Regression
    x: Array
    gain: Array
    precision: Array
    weights: Array
    per_joint: Array
    max_lag: int

    @property
    def residual(self) -> Array:
        """Shape (K, n)."""
        return self.regression.tau - self.regression.predict(self.x)

    @property
    def scores(self) -> Array:
        """Covariance of the right-hand side with noise that is correlated in time, (p, p)."""
        data = self.regression
        noise = score_covariance(
            data.blocks(), self.weights * self.residual, data.starts, self.max_lag
        )
        return self.precision + noise.sum(axis=0)


def noise_weights(regression: Regression, max_lag: int, x: Array | None = None) -> Array:
    """Inverse noise variance of each joint, samples that say the same counted once; (n,).

    Args:
        regression: K samples of n torques.
        max_lag: Longest correlation of the noise looked for [samples].
        x: The solution so far; without one, the torques' own size.
    """
    signal = np.mean(regression.tau**2, axis=0)
    noise = signal
    if x is not None:
        residual = regression.tau - regression.predict(x)
        repetition = [_repetition(column, regression.starts, max_lag) for column in residual.T]
        noise = np.mean(residual**2, axis=0) * repetition
    # No torque is measured to better than 1e-4; beyond, only rounding would be weighted.
    floor = 1e-8 * np.maximum(signal, 1e-6 * signal.max())
    return np.asarray(1.0 / np.maximum(noise, floor))


def solve_with_prior(
    regression: Regression, weights: Array, mean: Array, precision: Array, max_lag: int
) -> PriorFit:
    """Minimise the weighted residuals and the distance from the prior.

    Args:
        regression: K samples of n torques in p parameters.
        weights: Weights of the squared residuals, shape (n,).
        mean: Mean of the prior, shape (p,).
        precision: Inverse covariance of the prior, shape (p, p).
        max_lag: Longest correlation of the noise looked for [samples].
    """
    H, per_joint = precision.copy(), np.zeros((len(weights), len(mean)))
    for rows, Y in regression.blocks():
        H += np.einsum("kji,j,kjl->il", Y, weights, Y, optimize=True)
        per_joint += weights[:, None] * np.einsum("kji,kj->ji", Y, regression.tau[rows])
    gain = inverse(H)
    right = precision @ mean + per_joint.sum(axis=0)
    x = gain @ right
    x = x + gain @ (right - H @ x)
    return PriorFit(regression, x, gain, precision, weights, per_joint, max_lag)


def _repetition(residual: Array, starts: tuple[int, ...], max_lag: int) -> float:
    """Variance inflation by autocorrelation: how many neighbouring samples say the same."""
    gamma = autocovariance(residual, starts, min(max_lag, len(residual) // 4))
    tail = gamma[1 : correlation_lag(gamma) + 1].sum() / max(gamma[0], 1e-300)
    return max(1.0, 1.0 + 2.0 * float(tail))
