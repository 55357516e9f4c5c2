# SPDX-License-Identifier: Apache-2.0
r"""Noise of the wrench: magnitude and spectrum, from the residual of a fit.

The residual of a fit is correlated in time (elasticity, hum, drift). Each axis is modelled as an
autoregression, `e_k = sum_i phi_i e_{k-i} + s w_k`; its order follows from the data by Schwarz's
criterion (order 0: white noise). The estimators use white noise with the same spectral density at
frequency zero, `s / (1 - sum phi)`. Weights by the full spectrum would emphasise high frequencies,
at which the residual is not noise but a model error in proportion to the motion. Box, Jenkins,
Reinsel, Time series analysis, 4th ed. 2008, ch. 3 and 7.
"""

from __future__ import annotations

import numpy as np

from sysid_core.signals.recording import Array

MOST_LAGS = 6  # orders that are tried: three resonances
_SAMPLES_PER_LAG = 20  # fewer don't show a correlation


def learned_noise(residual: Array, floor: Array) -> Array:
    """Return the standard deviations of white noise with the same power as the residual of a fit,
    shape (6,).

    The three forces share one value, and the three torques another: the residual of a single axis
    may be small only because the fit has absorbed its noise.

    Args:
        residual: Residuals at equally spaced samples (except for gaps), shape (K, 6) [N, N m].
        floor: Lower bounds of the standard deviations, shape (6,) [N, N m].
    """
    phi, variance, power, cost = _autoregressions(residual, floor)
    p = int(np.argmin(cost))
    slow = np.sqrt(variance[p]) / np.maximum(1.0 - phi[p].sum(axis=1), 1e-3)
    squares = np.maximum(slow**2, power).reshape(2, 3).mean(axis=1)
    return np.asarray(np.repeat(np.sqrt(squares), 3))


def _autoregressions(residual: Array, floor: Array) -> tuple[Array, Array, Array, Array]:
    """Coefficients (p + 1, n, p), variances (p + 1, n), power (n,) and Schwarz's costs (p + 1,) by order."""
    count, n = max(len(residual), 1), residual.shape[1]
    most = min(MOST_LAGS, count // _SAMPLES_PER_LAG)
    r = np.array([np.sum(residual[i:] * residual[: count - i], axis=0) for i in range(most + 1)])
    r = r / count  # biased: the autoregressions are stable
    r[0] = np.maximum(r[0], floor**2)
    phi, variance = levinson(r)
    # All axes together: an order costs a coefficient for each.
    cost = count * np.sum(np.log(variance), axis=1) + n * np.log(count) * np.arange(most + 1)
    return phi, variance, r[0], cost


def levinson(r: Array) -> tuple[Array, Array]:
    """Return the best linear predictors of order 0 to p from autocovariances (Levinson and Durbin).

    Args:
        r: Autocovariances at lags 0 to p of n axes, shape (p + 1, n).

    Returns:
        Coefficients, shape (p + 1, n, p), and variances of their errors, shape (p + 1, n).
    """
    p = len(r) - 1
    phi, variance = np.zeros((p + 1, r.shape[1], p)), np.array(r)
    for m in range(1, p + 1):
        past = phi[m - 1, :, : m - 1]
        error = r[m] - np.einsum("ai,ia->a", past, r[1:m][::-1])
        k = error / variance[m - 1]
        phi[m, :, : m - 1] = past - k[:, None] * past[:, ::-1]
        phi[m, :, m - 1] = k
        variance[m] = variance[m - 1] * np.maximum(1.0 - k**2, 1e-12)
    return phi, variance
