# SPDX-License-Identifier: Apache-2.0
"""What samples themselves show of their sensor: steps, clipping, standstill."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.signals.recording import Array

_IN_A_ROW = 3  # samples at an extreme: one alone is a turning point
_MULTIPLE = 1e-3  # of a step: a value that is so close to a whole number of steps is on one
_WINDOW_S = 0.1  # over which a speed is taken


def quantisation(values: ArrayLike) -> Array:
    """Step of each column, shape (n,); 0 where values don't lie on a grid.

    Args:
        values: Shape (K, n).
    """
    x = np.asarray(values, dtype=float)
    steps = np.abs(np.diff(x, axis=0))
    out = np.zeros(x.shape[1])
    for j, column in enumerate(steps.T):
        moved = column[column > 1e-12 * (1.0 + np.abs(x[:, j]).max(initial=0.0))]
        if len(moved) < 10:
            continue
        step = float(moved.min())
        whole = np.abs(moved / step - np.round(moved / step)) < _MULTIPLE
        # Few different steps, all multiples of the smallest: a grid.
        if whole.all() and len(np.unique(np.round(moved / step))) < 0.5 * len(moved):
            out[j] = step
    return out


def saturated_share(values: ArrayLike) -> Array:
    """Share of samples that stay at a column's extreme for three or more in a row, shape (n,).

    Args:
        values: Shape (K, n).
    """
    x = np.asarray(values, dtype=float)
    out = np.zeros(x.shape[1])
    for j, column in enumerate(x.T):
        if np.ptp(column) == 0.0:
            continue
        for extreme in (column.max(), column.min()):
            at = np.concatenate([[0], (column == extreme).astype(int), [0]])
            begin, end = (np.flatnonzero(np.diff(at) == sign) for sign in (1, -1))
            runs = end - begin
            out[j] += runs[runs >= _IN_A_ROW].sum() / len(column)
    return out


def standstill_share(time: ArrayLike, q: ArrayLike, *, moving: float = 0.01) -> float:
    """Share of the time in which no joint moves faster than `moving` [rad/s or m/s].

    Args:
        time: Shape (K,) [s].
        q: Shape (K, n).
        moving: Speed.
    """
    t, x = np.asarray(time, dtype=float), np.asarray(q, dtype=float)
    later = np.minimum(np.searchsorted(t, t + _WINDOW_S), len(t) - 1)
    span = t[later] - t
    used = span > 0.5 * _WINDOW_S
    if not used.any():
        return 0.0
    speed = np.abs(x[later[used]] - x[used]) / span[used, None]
    return float(np.mean((speed < moving).all(axis=1)))
