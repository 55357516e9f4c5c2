# SPDX-License-Identifier: Apache-2.0
r"""Covariance of estimates whose residuals are correlated in time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.robot import Array

MOST_LAG = 400  # samples, longest correlation of residuals that is looked for: 4 s at 100 Hz


def span_slices(starts: Sequence[int], n_samples: int) -> list[slice]:
    """Ranges of the samples of each gapless span."""
    bounds = [*starts, n_samples]
    return [slice(a, b) for a, b in pairwise(bounds) if b > a]


def autocovariance(
    residual: ArrayLike, starts: Sequence[int], max_lag: int, count: float | None = None
) -> Array:
    r"""Autocovariance of residuals over all spans, `gamma_l = mean_k e_k e_{k+l}`, l = 0 ..
    max_lag; (K,) to (max_lag+1,).

    Args:
        residual: Shape (K,); zero where an equation was left out.
        starts: First sample of each gapless span.
        max_lag: Longest lag.
        count: Equations in use; None: all K.
    """
    e = np.asarray(residual, dtype=float)
    total = np.zeros(max_lag + 1)
    for part in span_slices(starts, len(e)):
        piece = e[part]
        size = scipy.fft.next_fast_len(len(piece) + max_lag + 1, real=True)
        spectrum = np.abs(scipy.fft.rfft(piece, size)) ** 2
        total += scipy.fft.irfft(spectrum, size)[: max_lag + 1]
    return total / max(len(e) if count is None else count, 1)


def correlation_lag(gamma: Array) -> int:
    """First lag at which the correlation falls below 5 %."""
    below = np.flatnonzero(np.abs(gamma) < 0.05 * gamma[0])
    return int(below[0]) if len(below) else len(gamma) - 1


def score_covariance(
    blocks: Iterable[tuple[slice, Array]],
    scores: Array,
    starts: Sequence[int],
    max_lag: int = MOST_LAG,
    counts: Array | None = None,
    columns: Sequence[int] | None = None,
) -> Array:
    r"""Covariance `M_j = Cov(sum_k y_jk psi_jk)` of scores that are stationary but correlated in
    time.

    `M_j = sum_l kappa_l gamma_j(l) sum_k y_jk y_{j,k+l}^T`: each joint's autocovariance gamma of the
    weighted residuals psi, tapered by the Parzen window kappa (Newey and West 1987, with the
    noise's own covariance instead of the scores'). Joints are taken as independent.

    Args:
        blocks: Samples and their rows of the regressor, (k, n, p), in their order.
        scores: Weighted residuals, zero where an equation is left out, shape (K, n).
        starts: First sample of each gapless span.
        max_lag: Longest correlation that is looked for, in samples.
        counts: Equations in use of every joint, shape (n,); None: all K.
        columns: The b columns of the regressor that count; None: all.

    Returns:
        One matrix for each joint, shape (n, b, b).
    """
    K, n = scores.shape
    max_lag = max(1, min(max_lag, K // 4))
    kernels = []
    for j in range(n):
        count = None if counts is None else float(counts[j])
        gamma = autocovariance(scores[:, j], starts, max_lag, count)
        lag = min(max_lag, 3 * correlation_lag(gamma) + 1)
        kernels.append(gamma[: lag + 1] * _parzen(lag))
    parts, reach, first_part = span_slices(starts, K), max(map(len, kernels)), 0
    half = tail = None  # half of the sum: the other one is its transpose
    begins = set(starts)
    for rows, Y in blocks:
        if rows.start in begins:
            tail = None
        held = window = Y if tail is None else np.concatenate([tail, Y])
        chosen = np.arange(Y.shape[2]) if columns is None else np.asarray(columns)
        half = np.zeros((n, len(chosen), len(chosen))) if half is None else half
        first = rows.stop - len(held)
        while first_part < len(parts) and parts[first_part].stop <= rows.start:
            first_part += 1
        for part in parts[first_part:]:
            if part.start >= rows.stop:
                break
            low = max(part.start, first)
            new = max(part.start, rows.start) - low
            window = held[low - first : min(part.stop, rows.stop) - first]
            for j in range(n):
                used = np.flatnonzero(np.any(window[:, j, chosen] != 0.0, axis=0))
                y = window[:, j, chosen[used]]
                half[j][np.ix_(used, used)] += y[new:].T @ _lagged(y, kernels[j])[new:]
        tail = held[-reach:].copy()
        del Y, held, window  # the next block is made without this one in memory
    if half is None:
        raise EstimationError(
            "There are no samples.", remedy="Give a recording in which the robot moves."
        )
    return half + np.swapaxes(half, 1, 2)


def _parzen(lag: int) -> Array:
    """Parzen weights, which decrease from 1 to 0 and have a non-negative spectrum, so that M stays
    positive semi-definite.
    """
    x = np.arange(lag + 1) / (lag + 1)
    return np.where(x <= 0.5, 1.0 - 6.0 * x**2 * (1.0 - x), 2.0 * (1.0 - x) ** 3)


def _lagged(y: Array, gamma: Array) -> Array:
    """`gamma_0 y_k / 2 + sum_l gamma_l y_{k-l}` of every column."""
    size = scipy.fft.next_fast_len(len(y) + len(gamma), real=True)
    kernel = np.append(0.5 * gamma[0], gamma[1:])
    spectrum = scipy.fft.rfft(kernel, size)[:, None] * scipy.fft.rfft(y, size, axis=0)
    return np.asarray(scipy.fft.irfft(spectrum, size, axis=0)[: len(y)])
