# SPDX-License-Identifier: Apache-2.0
"""Compiled steps of Kalman filters for many scalar signals; numba caches the machine code on disk.

The filters are written as loops without temporary arrays: a step of 21 signals takes microseconds;
numpy calls on such small arrays took 0.1 ms.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from sysid_core.signals.recording import Array

_GATE = 10.0  # standard deviations of an innovation
_TURNING = 100.0  # [rad/s²] of motion that may have set in within the last few samples
_LATE = 4.0  # samples in which the filter follows
_SURPRISE = 5.0  # standard deviations of a measured rate
_SURPRISE_SAMPLES = 5.0  # in which it has come about
_SAYS_NOTHING = 1e12  # variance of what is left out


@njit(cache=True)
def _propagate(
    P: Array, F: Array, Q: Array, density: float, FP: Array
) -> None:  # pragma: no cover - compiled
    """Compute `P -> F P F^T + Q density` of one filter, in place; FP is working memory for `F P`."""
    d = len(F)
    for a in range(d):
        for b in range(d):
            total = 0.0
            for c in range(d):
                total += F[a, c] * P[c, b]
            FP[a, b] = total
    for a in range(d):
        for b in range(d):
            total = 0.0
            for c in range(d):
                total += FP[a, c] * F[b, c]
            P[a, b] = total + Q[a, b] * density


@njit(cache=True)
def _over_step(
    unit_F: Array, unit_Q: Array, dt: float, F: Array, Q: Array
) -> None:  # pragma: no cover - compiled
    """Compute F and Q for a step of `dt` seconds from those for one second, by multiplication with
    powers of `dt`.
    """
    d = len(unit_F)
    for a in range(d):
        for b in range(d):
            F[a, b] = unit_F[a, b] * dt ** (b - a) if b >= a else 0.0
            Q[a, b] = unit_Q[a, b] * dt ** (2 * d - 1 - a - b)


@njit(cache=True)
def _observe_one(
    x: Array, P: Array, c: int, z: float, variance: float, K: Array, half: Array
) -> None:  # pragma: no cover - compiled
    """Update one state with a measurement z of its component c, in Joseph's form; K and half are
    working memory for the gain.
    """
    d = len(x)
    S = P[c, c] + variance
    innovation = z - x[c]
    for a in range(d):
        K[a] = P[a, c] / S
    for a in range(d):
        x[a] += K[a] * innovation
    for a in range(d):
        for b in range(d):
            half[a, b] = P[a, b] - K[a] * P[c, b]
    for a in range(d):
        for b in range(d):
            P[a, b] = half[a, b] - half[a, c] * K[b] + K[a] * variance * K[b]


@njit(cache=True)
def predict(
    x: Array, P: Array, unit_F: Array, unit_Q: Array, dt: float, density: Array
) -> None:  # pragma: no cover - compiled
    r"""Do the prediction step of n filters, in place: \(x \to F x,\; P \to F P F^T +
    Q\,\text{density}\).

    Args:
        x: States, shape (n, d).
        P: Covariances, shape (n, d, d).
        unit_F: Transition matrix over one second, shape (d, d).
        unit_Q: Process noise covariance of unit density over one second, shape (d, d).
        dt: Time step [s].
        density: Spectral densities of the driving noise, shape (n,).
    """
    n, d = x.shape
    F, Q, FP = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    _over_step(unit_F, unit_Q, dt, F, Q)
    moved = np.empty(d)
    for i in range(n):
        for a in range(d):
            total = 0.0
            for b in range(d):
                total += F[a, b] * x[i, b]
            moved[a] = total
        for a in range(d):
            x[i, a] = moved[a]
        _propagate(P[i], F, Q, density[i], FP)


@njit(cache=True)
def step(
    x: Array,
    P: Array,
    unit_F: Array,
    unit_Q: Array,
    dt: float,
    density: Array,
    z: Array,
    variance: Array,
    rate: Array,
    rate_variance: Array,
    left_out: Array,
    disagreement: Array,
    keep: float,
    admits: bool,
) -> None:  # pragma: no cover - compiled
    """Do the prediction and measurement update of n filters with values and measured rates, in
    place.

    Args:
        x: States, shape (n, d).
        P: Covariances, shape (n, d, d).
        unit_F: Transition matrix, as in `predict`.
        unit_Q: Process noise covariance, as in `predict`.
        dt: Time step [s].
        density: Spectral densities of the driving noise, shape (n,).
        z: Values, shape (n,).
        variance: Variance of the values, shape (n,).
        rate: Rates of the first r signals, shape (r,); those of ignored signals are replaced by
            predictions.
        rate_variance: Variance of the rates, shape (r,).
        left_out: Mask of the first m signals to ignore, shape (m,).
        disagreement: Sums of the rates' squared errors beyond their variance, shape (r,), updated.
        keep: Factor by which `disagreement` decays in this step.
        admits: True to increase the covariance of signals whose rate is far from the prediction.
    """
    predict(x, P, unit_F, unit_Q, dt, density)
    d = x.shape[1]
    K, half = np.empty(d), np.empty((d, d))
    for j in range(len(z)):
        out = j < len(left_out) and left_out[j]
        _observe_one(x[j], P[j], 0, z[j], _SAYS_NOTHING if out else variance[j], K, half)
        if j >= len(rate):
            continue
        if out:
            rate[j] = x[j, 1]
        square = (rate[j] - x[j, 1]) ** 2
        if admits and square > _SURPRISE**2 * (P[j, 1, 1] + rate_variance[j]):
            P[j, 1, 1] += square
            P[j, 2, 2] += square / (_SURPRISE_SAMPLES * dt) ** 2
        disagreement[j] = keep * disagreement[j] + square - P[j, 1, 1]
        _observe_one(x[j], P[j], 1, rate[j], _SAYS_NOTHING if out else rate_variance[j], K, half)


@njit(cache=True)
def state_and_sd(x: Array, P: Array, out: Array) -> None:  # pragma: no cover - compiled
    """Fill states and their standard deviations of n filters, shape (2, d, n)."""
    n, d = x.shape
    for j in range(n):
        for a in range(d):
            out[0, a, j] = x[j, a]
            out[1, a, j] = math.sqrt(max(P[j, a, a], 0.0))


@njit(cache=True)
def estimate(
    x: Array,
    P: Array,
    unit_F: Array,
    unit_Q: Array,
    dt: float,
    ratio: Array,
    z: Array,
    keep: float,
    keep_recent: float,
    sums: Array,
    recent: Array,
) -> None:  # pragma: no cover - compiled
    """Do one step of a bank of m filters, which share their covariances, on n signals, in place.

    Args:
        x: States, shape (m, n, d).
        P: Covariances at unit measurement variance, shape (m, d, d).
        unit_F: Transition matrix, as in `predict`.
        unit_Q: Process noise covariance, as in `predict`.
        dt: Time step [s].
        ratio: Ratio of density to measurement variance of each filter, shape (m,).
        z: Measurements of the signals, shape (n,).
        keep: Factor by which `sums` decays in this step; negative: the step is not counted.
        keep_recent: Factor by which `recent` decays in this step.
        sums: Sums of squared innovations over their variances, and of the variances' logarithms in
            the last column, shape (m, n + 1).
        recent: Sums as in `sums`, over the last few samples.
    """
    m, n, d = x.shape
    F, Q, FP = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    _over_step(unit_F, unit_Q, dt, F, Q)
    K = np.empty(d)
    moved = np.empty(d)
    for i in range(m):
        _propagate(P[i], F, Q, ratio[i], FP)
        S = P[i, 0, 0] + 1.0
        for a in range(d):
            K[a] = P[i, a, 0] / S
        for a in range(d):  # (1 - K) P without cancellation in the first row and column
            for b in range(a, d):
                if a > 0:
                    P[i, a, b] -= K[a] * P[i, 0, b]
        for a in range(d):
            P[i, 0, a] = K[a]
        for a in range(d):
            for b in range(a):
                P[i, a, b] = P[i, b, a]
        log_S = math.log(S)
        for j in range(n):
            for a in range(d):
                total = 0.0
                for b in range(d):
                    total += F[a, b] * x[i, j, b]
                moved[a] = total
            innovation = z[j] - moved[0]
            for a in range(d):
                x[i, j, a] = moved[a] + K[a] * innovation
            if keep >= 0.0:
                new = innovation * innovation / S
                sums[i, j] = keep * sums[i, j] + new
                recent[i, j] = keep_recent * recent[i, j] + new
        if keep >= 0.0:
            sums[i, n] = keep * sums[i, n] + log_S
            recent[i, n] = keep_recent * recent[i, n] + log_S


@njit(cache=True)
def likely_levels(
    sums: Array, weight: float, ratio: Array, floor: float, sd: Array, density: Array
) -> None:  # pragma: no cover - compiled
    """Compute the most likely measurement noise and process noise density of every signal,
    interpolated between the filters of the bank.

    Args:
        sums: Sums of `estimate`, shape (m, n + 1).
        weight: Effective number of samples in the sums.
        ratio: Ratios of the bank's filters, logarithmically spaced, shape (m,).
        floor: Lower bound of the measurement variance.
        sd: Output: standard deviations of the measurements, shape (n,).
        density: Output: spectral densities, shape (n,).
    """
    m, n = sums.shape[0], sums.shape[1] - 1
    cost = np.empty(m)
    for j in range(n):
        best = 0
        for i in range(m):
            cost[i] = math.log(max(sums[i, j] / weight, floor)) + sums[i, n] / weight
            if cost[i] < cost[best]:
                best = i
        # A parabola through the best three of the grid, in log-ratio.
        middle = min(max(best, 1), m - 2)
        position = float(best)
        curvature = cost[middle - 1] - 2.0 * cost[middle] + cost[middle + 1]
        if best == middle and curvature > 0.0:
            shift = 0.5 * (cost[middle - 1] - cost[middle + 1]) / curvature
            position += min(max(shift, -1.0), 1.0)
        # Both levels between the filters of the grid, logarithmically.
        lower = min(int(position), m - 2)
        share = position - lower
        variance = max(sums[lower, j] / weight, floor) ** (1.0 - share)
        variance *= max(sums[lower + 1, j] / weight, floor) ** share
        sd[j] = math.sqrt(variance)
        density[j] = variance * ratio[lower] ** (1.0 - share) * ratio[lower + 1] ** share


@njit(cache=True)
def largest_excess(
    recent: Array, used: Array, variance: Array
) -> float:  # pragma: no cover - compiled
    """Return the largest amount by which another filter of the bank would reduce minus twice the
    log-likelihood of the last samples.

    Args:
        recent: Sums of `estimate`, shape (m, n + 1).
        used: Index of the filter in use for each of the first k signals, shape (k,).
        variance: Measurement variances of the k signals, shape (k,).
    """
    m, n = recent.shape[0], recent.shape[1] - 1
    most = 0.0
    for j in range(len(used)):
        here = recent[used[j], j] / variance[j] + recent[used[j], n]
        for i in range(m):
            excess = here - (recent[i, j] / variance[j] + recent[i, n])
            most = max(most, excess)
    return most


@njit(cache=True)
def find_outliers(
    x: Array,
    P: Array,
    noise_sd: Array,
    q: Array,
    dt: float,
    period: float,
    expected: Array,
    far: Array,
) -> int:  # pragma: no cover - compiled
    """Return the number of positions whose distance from the expected position exceeds what noise
    and motion explain.

    Args:
        x: States of order 2, shape (n or more, 3).
        P: Covariances, shape (n or more, 3, 3).
        noise_sd: Standard deviation of the noise of a measurement, shape (n or more,).
        q: Measured positions, shape (n,) [rad or m].
        dt: Time since the states [s].
        period: Previous time step [s].
        expected: Output: expected positions, shape (n,) [rad or m].
        far: Output: mask of the positions too far from them, shape (n,).
    """
    turned = 0.5 * _TURNING * (dt + _LATE * period) ** 2
    count = 0
    for i in range(len(q)):
        expected[i] = x[i, 0] + dt * (x[i, 1] + 0.5 * dt * x[i, 2])
        spread = math.sqrt(max(P[i, 0, 0], 0.0)) + dt * (
            math.sqrt(max(P[i, 1, 1], 0.0)) + 0.5 * dt * math.sqrt(max(P[i, 2, 2], 0.0))
        )
        far[i] = abs(q[i] - expected[i]) > _GATE * (spread + noise_sd[i]) + turned
        count += far[i]
    return count
