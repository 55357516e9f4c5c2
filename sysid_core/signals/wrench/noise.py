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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True, eq=False)
class Stretches:
    """Normal equations of a linear model for each of several consecutive parts (stretches) of a
    recording, in units of noise.

    Attributes:
        H: Matrices `W^T W` of the regressors W of the B stretches, shape (B, p, p).
        g: Vectors `W^T r` of the regressors and residuals r, shape (B, p).
        square: Sums of squares `r^T r` of the stretches, shape (B,).
    """

    H: Array
    g: Array
    square: Array

    @classmethod
    def of(cls, rows: Array, residual: Array, count: int = 4) -> Stretches:
        """Return the normal equations from rows (K, 6, p) and residuals (K, 6), in units of noise
        and in time order.
        """
        p = rows.shape[2]
        H, g, square = np.zeros((count, p, p)), np.zeros((count, p)), np.zeros(count)
        for b, part in enumerate(np.array_split(np.arange(len(rows)), count)):
            W, r = rows[part].reshape(-1, p), residual[part].ravel()
            H[b], g[b], square[b] = W.T @ W, W.T @ r, r @ r
        return cls(H, g, square)

    def disagreement(self, columns: NDArray[np.intp], at: Array) -> float:
        r"""Return the disagreement between the stretches about some parameters, relative to the
        noise.

        Birge's ratio \(\sqrt{Q / \nu}\) with Cochran's \(Q = \sum_b g_b^T H_b^{-1} g_b - g^T H^{-1}
        g\): 1 if the noise is as assumed. Birge, The calculation of errors by the method of least
        squares, Phys. Rev. 40, 1932.

        Args:
            columns: Indices of the unknowns whose values are compared, shape (m,).
            at: Values of all unknowns, shape (p,).
        """
        H, g = self.H[:, columns][:, :, columns], (self.g - self.H @ at)[:, columns]
        scale = np.maximum(np.diagonal(H.sum(axis=0)), np.finfo(float).tiny) ** -0.5
        Q, freedom = 0.0, 0
        for sign, A, x in (
            (-1, H.sum(axis=0), g.sum(axis=0)),
            *((1, *both) for both in zip(H, g, strict=True)),
        ):
            values, vectors = np.linalg.eigh(A * np.outer(scale, scale))
            keep = values > 1e-9 * max(values[-1], 1e-9)
            Q += sign * float(np.sum((vectors[:, keep].T @ (scale * x)) ** 2 / values[keep]))
            freedom += sign * int(keep.sum())
        return float(np.sqrt(max(Q, 0.0) / freedom)) if freedom > 0 else 1.0

    def left_out(self, precision: Array) -> Array:
        """Return the squared prediction error of each stretch by a fit to the other stretches, in
        units of noise, shape (B,).

        Args:
            precision: Precision of the unknowns before any data, shape (p, p).
        """
        H, g = self.H.sum(axis=0), self.g.sum(axis=0)
        y = np.linalg.solve(H - self.H + precision, (g - self.g)[:, :, None])[:, :, 0]
        return np.asarray(
            self.square
            - 2.0 * np.einsum("bp,bp->b", y, self.g)
            + np.einsum("bp,bpq,bq->b", y, self.H, y)
        )
