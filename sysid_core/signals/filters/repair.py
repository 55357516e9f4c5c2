# SPDX-License-Identifier: Apache-2.0
"""Correction of wrapped angles and impossible samples before a fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sysid_core.signals.recording import Array

_PAIRS = 5  # of neighbours: three bad samples in a row are found
_SPREADS = 10.0  # beyond which a sample is an outlier
_TURNING = 100.0  # [rad/s²] of true motion, which bends it away from what neighbours predict
_GAUSSIAN = 1.4826  # standard deviation / median absolute deviation


def unwrap(q: Array) -> Array:
    """Angles of joints without end stops made continuous; a step of more than π is a turn.

    Args:
        q: Shape (K, n) [rad]. Sliding joints pass unchanged: none moves π metres in a sample.
    """
    return np.unwrap(q, axis=0)


def outliers(time: Array, z: Array) -> NDArray[np.bool_]:
    """Samples far from their neighbours (Hampel identifier).

    R. Pearson et al., *Generalized Hampel filters* (2016), eq. (4): beyond ten scaled median
    absolute deviations from the median prediction. Where an encoder's steps are coarse, ten steps
    are no outlier.

    Args:
        time: Shape (K,) [s].
        z: Shape (K, n).

    Returns:
        Shape (K, n).
    """
    if len(z) <= 2 * _PAIRS:
        return np.zeros(z.shape, dtype=bool)
    K = len(z)
    # Without the sample itself, and exact for steady motion: the means of pairs around it.
    lags = np.arange(1, _PAIRS + 1)
    padded = np.concatenate(
        [_continued(z[_PAIRS:0:-1], z[0]), z, _continued(z[-2 : -_PAIRS - 2 : -1], z[-1])]
    )
    pairs = [0.5 * (padded[_PAIRS - d :][:K] + padded[_PAIRS + d :][:K]) for d in lags]
    distance = np.abs(z - np.median(pairs, axis=0))
    spread = _GAUSSIAN * np.median(distance, axis=0)
    steps = np.abs(np.diff(z, axis=0))
    resolution = np.min(steps, axis=0, initial=np.inf, where=steps > 0.0)
    resolution[~np.isfinite(resolution)] = 0.0
    period = float(np.median(np.diff(time)))
    bend = 0.5 * _TURNING * period**2 * float(np.median(lags**2))
    return distance > _SPREADS * np.maximum(spread, resolution) + bend


def _continued(values: Array, end: Array) -> Array:
    """Reflection about an end point."""
    return 2.0 * end - values


def bridged(time: Array, z: Array, bad: NDArray[np.bool_]) -> Array:
    """Signals with bad samples replaced by linear interpolation."""
    out = z.copy()
    for j in np.flatnonzero(bad.any(axis=0)):
        good = ~bad[:, j]
        if good.sum() >= 2:
            out[:, j] = np.where(good, z[:, j], np.interp(time, time[good], z[good, j]))
    return out
