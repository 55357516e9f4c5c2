r"""Covariance of estimates whose residuals are correlated in time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike

from sysid_core.robot import Array


def span_slices(starts: Sequence[int], n_samples: int) -> list[slice]:
    """Sample ranges of the gapless spans."""
    bounds = [*starts, n_samples]
    return [slice(a, b) for a, b in pairwise(bounds) if b > a]


def autocovariance(residual: ArrayLike, starts: Sequence[int], max_lag: int) -> Array:
    r"""`gamma_l = mean_k e_k e_{k+l}` over all spans, l = 0 .. max_lag; (K,) to (max_lag+1,)."""
    e = np.asarray(residual, dtype=float)
    total, count = np.zeros(max_lag + 1), 0
    for part in span_slices(starts, len(e)):
        piece = e[part]
        count += int(np.count_nonzero(piece))  # an exact zero is an equation that was left out
        size = scipy.fft.next_fast_len(len(piece) + max_lag + 1, real=True)
        spectrum = np.abs(scipy.fft.rfft(piece, size)) ** 2
        total += scipy.fft.irfft(spectrum, size)[: max_lag + 1]
    return total / max(count, 1)


def correlation_lag(gamma: Array) -> int:
    """First lag where the correlation is lost in the noise: below 5 %."""
    below = np.flatnonzero(np.abs(gamma) < 0.05 * gamma[0])
    return int(below[0]) if len(below) else len(gamma) - 1


def score_covariance(
    Y: Array, residual: Array, weights: Array, starts: Sequence[int], max_lag: int
) -> Array:
    r"""`M = Cov(sum_k Y_k^T w e_k)` for residuals that are stationary but correlated in time.

    `M = sum_j w_j^2 sum_l kappa_l gamma_j(l) sum_k y_jk y_{j,k+l}^T`: each joint's residual
    autocovariance gamma, tapered by the Parzen window kappa (Newey and West 1987, with
    the noise's own covariance instead of the scores'). Joints are taken as independent.

    Args:
        Y: Regressor, shape (K, n, b).
        residual: Shape (K, n).
        weights: Of the squared residuals, shape (n,).
        starts: First sample of each gapless span.
        max_lag: Longest correlation that is looked for, in samples.

    Returns:
        Shape (b, b).
    """
    K, n, b = Y.shape
    M = np.zeros((b, b))
    max_lag = max(1, min(max_lag, K // 4))
    for j in range(n):
        gamma = autocovariance(residual[:, j], starts, max_lag)
        lag = min(max_lag, 3 * correlation_lag(gamma) + 1)
        gamma = gamma[: lag + 1] * _parzen(lag)
        used = np.flatnonzero(np.any(Y[:, j] != 0.0, axis=0))
        block = np.zeros((len(used), len(used)))
        for part in span_slices(starts, K):
            y = Y[part, j][:, used]
            block += y.T @ _correlate(y, gamma)
        M[np.ix_(used, used)] += weights[j] ** 2 * block
    return 0.5 * (M + M.T)


def _parzen(lag: int) -> Array:
    """Weights from 1 to 0 with a non-negative spectrum, so that M can't become indefinite."""
    x = np.arange(lag + 1) / (lag + 1)
    return np.where(x <= 0.5, 1.0 - 6.0 * x**2 * (1.0 - x), 2.0 * (1.0 - x) ** 3)


def _correlate(y: Array, gamma: Array) -> Array:
    """Product of the symmetric Toeplitz matrix of gamma with the columns of y."""
    size = scipy.fft.next_fast_len(len(y) + len(gamma), real=True)
    kernel = np.zeros(size)
    kernel[: len(gamma)] = gamma
    kernel[-(len(gamma) - 1) :] += gamma[:0:-1]
    spectrum = scipy.fft.rfft(kernel).real
    return scipy.fft.irfft(scipy.fft.rfft(y, size, axis=0) * spectrum[:, None], size, axis=0)[
        : len(y)
    ]
