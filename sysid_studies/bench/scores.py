# SPDX-License-Identifier: Apache-2.0
"""Proper scores of standard deviations: the smaller, the narrower the intervals that contain the
true values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from sysid_core.errors import EstimationError

LEVEL = 0.95  # of the central intervals: what two standard deviations are taken for
_HALF = float(ndtri(0.5 + 0.5 * LEVEL))  # half width of the interval, in standard deviations


@dataclass(frozen=True)
class Scores:
    """Scores of standard deviations against actual errors; smaller is better for both.

    Attributes:
        count: Number of errors.
        interval: Mean interval score of the central 95 % intervals: their width, and 40 times what
            an error lies outside; in units of the scale. For Gaussian errors at best 4.67 of their
            standard deviations.
        log: Mean negative log density of the errors, divided by the scale [nat].
        coverage: Share of the errors inside the intervals.
        width: Median of standard deviation over absolute error, 1.48 for Gaussian errors.
    """

    count: int
    interval: float
    log: float
    coverage: float
    width: float


def score_deviations(error: ArrayLike, sd: ArrayLike, scale: ArrayLike = 1.0) -> Scores:
    """Scores of Gaussian intervals, without entries of non-finite deviation.

    Args:
        error: Estimate minus truth, or the difference of two independent estimates.
        sd: Standard deviations, of the shape of the errors.
        scale: Size of each, in which errors of different units are comparable.

    Raises:
        EstimationError: A deviation is zero or negative.

    References:
        Gneiting and Raftery (2007), "Strictly proper scoring rules, prediction, and estimation",
        eq. 43 (interval score) and section 4.1 (logarithmic score).
    """
    e, s, unit = (np.ravel(x) for x in np.broadcast_arrays(error, sd, scale))
    known = np.isfinite(e) & np.isfinite(s) & np.isfinite(unit)
    e, s, unit = np.abs(e[known]), s[known], unit[known]
    if np.any(s <= 0.0) or np.any(unit <= 0.0):
        raise EstimationError(
            "A standard deviation or scale of zero or less has no score.",
            remedy="Omit parameters that were not estimated.",
        )
    if not len(e):
        nan = float("nan")
        return Scores(0, nan, nan, nan, nan)
    outside = np.maximum(e - _HALF * s, 0.0)
    interval = (2.0 * _HALF * s + 2.0 / (1.0 - LEVEL) * outside) / unit
    log = 0.5 * (e / s) ** 2 + np.log(s / unit) + 0.5 * np.log(2.0 * np.pi)
    return Scores(
        len(e),
        float(np.mean(interval)),
        float(np.mean(log)),
        float(np.mean(outside == 0.0)),
        float(np.median(s / np.maximum(e, np.finfo(float).tiny))),
    )
