# SPDX-License-Identifier: Apache-2.0
"""The periodic share of a planned motion, averaged over its periods.

J. Swevers et al., *Optimal robot excitation and identification* (1997), section IV: where the plan
is a Fourier series, its fundamental is known exactly, and a fit of few harmonics averages noise
over all periods as no filter can.
"""

from __future__ import annotations

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.signals.filters.penalised_spline import RATE_SHARE
from sysid_core.signals.recording import Array

_TRIED = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)  # harmonics


def fit_harmonics(time: Array, z: Array, period_s: float) -> tuple[Array, Array]:
    """Constant, trend and the number of harmonics that cross-validation finds for each signal.

    Args:
        time: Shape (K,) [s].
        z: Shape (K, n).
        period_s: Period of the plan.

    Returns:
        Value, first and second derivative, shape (K, n, 3), and the variances that noise of unit
        variance leaves in them, shape (n, 3).

    Raises:
        SignalError: Less than one period, or a period that isn't positive.
    """
    K, n = z.shape
    if not 0.0 < period_s <= 1.001 * (time[-1] - time[0]):
        raise SignalError(
            f"A span of {time[-1] - time[0]:.2f} s holds no whole period of {period_s} s.",
            remedy="Give the period of the plan, or record one whole period at least.",
        )
    most = RATE_SHARE * (K - 1) / (time[-1] - time[0]) * period_s
    tried = [h for h in _TRIED if h <= most] or [1]
    columns = [_columns(time, period_s, tried[-1], d) for d in range(3)]
    gram, right = columns[0].T @ columns[0], columns[0].T @ z
    score, solutions = [], []
    for h in tried:
        size = 2 + 2 * h
        solutions.append(np.linalg.solve(gram[:size, :size], right[:size]))
        residual = z - columns[0][:, :size] @ solutions[-1]
        score.append(np.mean(np.square(residual), axis=0) / (1.0 - size / K) ** 2)
    best = np.argmin(score, axis=0)
    values, gain = np.empty((K, n, 3)), np.empty((n, 3))
    for j, index in enumerate(best.tolist()):
        size = 2 + 2 * tried[index]
        inverse = np.linalg.inv(gram[:size, :size])
        for d in range(3):
            basis = columns[d][:, :size]
            values[:, j, d] = basis @ solutions[index][:, j]
            gain[j, d] = np.einsum("ki,ij,kj->", basis[::50], inverse, basis[::50]) / len(
                basis[::50]
            )
    return values, gain


def _columns(time: Array, period_s: float, harmonics: int, derivative: int) -> Array:
    """Constant, trend, then cosine and sine of each harmonic, or their derivatives."""
    t = time - time[0]
    trend = (np.ones_like(t), t / t[-1]), (0.0 * t, np.ones_like(t) / t[-1]), (0.0 * t, 0.0 * t)
    w = 2.0 * np.pi / period_s * np.arange(1, harmonics + 1)
    phase = np.outer(t, w) + derivative * np.pi / 2.0  # a derivative advances by a quarter turn
    waves = np.stack([np.cos(phase), np.sin(phase)], axis=2) * w[:, None] ** derivative
    return np.column_stack([*trend[derivative], waves.reshape(len(t), -1)])
