# SPDX-License-Identifier: Apache-2.0
"""Thresholds of cumulative sums for a wanted rate of false alarms."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from sysid_core.errors import EstimationError
from sysid_core.robot import Array

CLIP = 3.5  # deviations
_STATES = 120  # of the Markov chain
_MANY, _NODES = 1e4, 9  # degrees of freedom: as good as known; nodes of the mean over them


def run_length(k: float, h: float, clip: float = CLIP) -> float:
    """Mean number of standard normal residuals until one cumulative sum reaches `h`.

    Brook & Evans (1972), eq. (2): `(I - Q)^-1 1` of the chain of the sum's states.

    Args:
        k: Reference value.
        h: Threshold.
        clip: Larger residuals count as this one, as in `monitor`.
    """
    width = h / (_STATES - 0.5)
    i, j = np.arange(_STATES)[:, None], np.arange(_STATES)[None, :]

    def below(x: Array) -> Array:
        return np.where(x >= clip, 1.0, np.where(x < -clip, 0.0, ndtr(x)))

    upper = below(width * (j - i + 0.5) + k)
    Q = upper - np.where(j == 0, 0.0, below(width * (j - i - 0.5) + k))
    return float(np.linalg.solve(np.eye(_STATES) - Q, np.ones(_STATES))[0])


def threshold(k: float, length: float, freedom: float = np.inf) -> float:
    """Threshold of one cumulative sum for a mean rate of false alarms.

    Args:
        k: Reference value.
        length: Estimates for each false alarm.
        freedom: Degrees of freedom of the deviation that residuals are divided by; rounded down
            to a step of a tenth.

    Raises:
        EstimationError: A length that no threshold gives.
    """
    if not (0.0 < k < CLIP and 10.0 <= length <= 1e9):
        raise EstimationError(
            f"No cumulative sum has reference {k:g} and {length:g} estimates between false alarms.",
            remedy="Choose a shift of 0.5 to 5 deviations, and fewer than 1e9 estimates.",
        )
    steps = np.floor(np.log(max(freedom, 1.0)) / np.log(1.1)) if freedom < _MANY else np.inf
    return _threshold(k, length, float(1.1**steps))


@lru_cache(maxsize=512)
def _threshold(k: float, length: float, freedom: float) -> float:
    ratios, weights = _deviation_ratios(freedom)

    def excess(h: float) -> float:
        lengths = [run_length(k / r, h / r, CLIP / r) for r in ratios]
        return float(-np.log(weights @ (1.0 / np.array(lengths))) - np.log(length))

    highest = 1.0
    while excess(highest) < 0.0:
        highest *= 1.5
    return float(brentq(excess, 0.01, highest, xtol=1e-4))


def _deviation_ratios(freedom: float) -> tuple[Array, Array]:
    """True over estimated deviation, and their weights: chi square by Wilson and Hilferty (1931)."""
    if not np.isfinite(freedom):
        return np.ones(1), np.ones(1)
    z, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    share = 2.0 / (9.0 * freedom)
    chi = np.maximum(1.0 - share + z * np.sqrt(share), 0.3) ** 3
    return 1.0 / np.sqrt(chi), weights / weights.sum()
