# SPDX-License-Identifier: Apache-2.0
"""Detection of change points in series of estimates, with a given rate of false alarms.

Every estimate is compared with its prediction from the earlier estimates of the same robot
(recursive residuals, Brown, Durbin & Evans 1975, eq. (4)); the variation between nights is
estimated for the whole group of robots. Without a change, these residuals are independent and
normal with a common standard deviation of about one, whose exact value is unknown. Two cumulative
sums (Page 1954; one for each direction) detect a lasting change. Their threshold is computed for
the specified rate of false alarms by a Markov chain (Brook & Evans 1972, eq. (2)), averaged over
the uncertainty of the standard deviation (Jensen et al. 2006). The residual of an outlying night is
limited to `CLIP` standard deviations (Lucas & Crosier 1982).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    """Return the average run length: mean number of standard normal residuals until a cumulative
    sum (CUSUM) reaches `h`.

    Brook & Evans (1972), eq. (2): `(I - Q)^-1 1`, where Q contains the transition probabilities
    between the discretised values of the sum below `h`.

    Args:
        k: Reference value of the CUSUM [standard deviations].
        h: Threshold of the CUSUM [standard deviations].
        clip: Limit of the residuals; larger ones are set to it, as in `monitor`.
    """
    width = h / (_STATES - 0.5)
    i, j = np.arange(_STATES)[:, None], np.arange(_STATES)[None, :]

    def below(x: Array) -> Array:
        return np.where(x >= clip, 1.0, np.where(x < -clip, 0.0, ndtr(x)))

    upper = below(width * (j - i + 0.5) + k)
    Q = upper - np.where(j == 0, 0.0, below(width * (j - i - 0.5) + k))
    return float(np.linalg.solve(np.eye(_STATES) - Q, np.ones(_STATES))[0])


def threshold(k: float, length: float, freedom: float = np.inf) -> float:
    """Return the threshold of a cumulative sum (CUSUM) for a given mean rate of false alarms.

    Args:
        k: Reference value of the CUSUM [standard deviations].
        length: Mean number of estimates between false alarms.
        freedom: Degrees of freedom of the standard deviation by which the residuals are divided;
            rounded down to a step of 0.1.

    Raises:
        EstimationError: No threshold gives this length.
    """
    if not (0.0 < k < CLIP and 10.0 <= length <= 1e9):
        raise EstimationError(
            f"No alarm threshold of the CUSUM chart with the reference value {k:g} gives {length:g} estimates between false alarms.",
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
    """Ratios of true to estimated standard deviation with weights: chi square by Wilson and
    Hilferty (1931).
    """
    if not np.isfinite(freedom):
        return np.ones(1), np.ones(1)
    z, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    share = 2.0 / (9.0 * freedom)
    chi = np.maximum(1.0 - share + z * np.sqrt(share), 0.3) ** 3
    return 1.0 / np.sqrt(chi), weights / weights.sum()


_LEAST_BASE = 3  # nights before the first comparison
_NORMAL_MAD = 1.4826  # deviation of a normal variable over its median absolute deviation
_CUT = 3.0  # deviations; differences beyond belong to changes
_INSIDE = 0.97334  # variance of a normal variable inside that cut
_ROUNDING = 1e-9  # relative
_FEW = 8  # differences: fewer don't give a slope


@dataclass(frozen=True, eq=False)
class Series:
    """Time series of estimates of one parameter of one robot with one tool.

    Attributes:
        time: Times, shape (K,) [s].
        value: Values, shape (K,).
        deviation: Standard deviations, shape (K,); NaN: unknown.
        regressor: Temperature [deg C] or warm-up time [s], shape (K,); NaN: unknown.
    """

    time: Array
    value: Array
    deviation: Array
    regressor: Array


@dataclass(frozen=True)
class Spread:
    """Variation of the estimates that is common to the robots of a group.

    Attributes:
        between: Standard deviation between nights, in addition to the standard deviations of the
            estimates.
        scale: Factor of the standard deviations of the estimates, at most 1.
        freedom: Degrees of freedom of both.
        slope: Change of the estimates per unit of the regressor.
        reference: Median of the regressor.
    """

    between: float
    scale: float
    freedom: float
    slope: float
    reference: float


@dataclass(frozen=True)
class Change:
    """Lasting change of a parameter.

    Attributes:
        noticed: Index of the estimate that raised the alarm.
        begins: Most likely index of the first estimate after the change.
        before: Mean before the change.
        after: Mean after the change.
        deviation: Standard deviation of the difference of the two means.
        statistic: Cumulative sum divided by its threshold.
    """

    noticed: int
    begins: int
    before: float
    after: float
    deviation: float
    statistic: float


@dataclass(frozen=True, eq=False)
class Monitored:
    """Result of the search for changes in one series.

    Attributes:
        corrected: Values without the effect of the regressor, shape (K,).
        residual: Standardised recursive residuals, shape (K,); NaN without an earlier estimate.
        level: Larger of the two cumulative sums, divided by its threshold, shape (K,); 1 raises an
            alarm.
        changes: Detected changes, in the order of time.
        pooled: Mean since the last change, and its standard deviation.
        since: Index of the first estimate in this mean.
    """

    corrected: Array
    residual: Array
    level: Array
    changes: tuple[Change, ...]
    pooled: tuple[float, float]
    since: int


def spread_of(group: Sequence[Series]) -> Spread:
    """Return the variation between nights and the effect of a regressor (such as temperature), from
    the differences of successive estimates.

    A change of the parameter causes one large difference between successive estimates of its robot;
    this difference is excluded.

    Args:
        group: Time series of the same parameter, one for each robot of the group.

    Raises:
        EstimationError: No robot has two estimates.
    """
    differences = [np.diff(s.value) for s in group]
    steps = [np.diff(s.regressor) for s in group]
    d = np.concatenate(differences) if differences else np.empty(0)
    if len(d) == 0:
        raise EstimationError(
            "No robot has two estimates, so that the scatter between nights is not known.",
            remedy="Give recordings of each robot from several nights.",
        )
    dx = np.concatenate(steps)
    known = np.concatenate([s.regressor[np.isfinite(s.regressor)] for s in group])
    reference = float(np.median(known)) if len(known) else float("nan")
    slope = _slope(d, dx)
    d = d - slope * np.where(np.isfinite(dx), dx, 0.0)
    inside = d[np.abs(d) <= _CUT * _NORMAL_MAD * float(np.median(np.abs(d)))]
    variance = float(np.mean(inside**2)) / _INSIDE / 2.0 if len(inside) else 0.0
    own = np.concatenate([s.deviation for s in group]) ** 2
    typical = float(np.median(own[np.isfinite(own)])) if np.isfinite(own).any() else 0.0
    # Differences of successive estimates overlap: two thirds of them count.
    freedom = max(1.0, 2.0 / 3.0 * len(inside))
    scale = min(1.0, float(np.sqrt(variance / typical))) if typical > 0.0 else 1.0
    between = float(np.sqrt(max(variance - typical, 0.0)))
    return Spread(between, scale, freedom, slope, reference)


def _slope(d: Array, dx: Array) -> float:
    """Robust slope of the differences of the estimates over the differences of the regressor; 0 if
    it is not significant.
    """
    use = np.isfinite(dx) & (dx != 0.0)
    for _ in range(4):
        if np.count_nonzero(use) < _FEW:
            return 0.0
        slope = float(dx[use] @ d[use] / (dx[use] @ dx[use]))
        left = d - slope * dx
        spread = _NORMAL_MAD * float(np.median(np.abs(left[use])))
        use = np.isfinite(dx) & (dx != 0.0) & (np.abs(left) <= 3.0 * spread + 1e-300)
    sd = spread / np.sqrt(dx[use] @ dx[use])
    return slope if abs(slope) > 2.0 * sd else 0.0


def monitor(series: Series, spread: Spread, *, shift: float, run_length: float) -> Monitored:
    """Search for lasting changes.

    Args:
        series: Estimates of one robot.
        spread: Variation common to the group of the robot.
        shift: Size of the change for which the detection is fastest, in standard deviations of a
            single estimate.
        run_length: Mean number of estimates between false alarms, for both directions together.
    """
    x, K = np.array(series.value, dtype=float), len(series.value)
    warmer = series.regressor - spread.reference
    x = x - spread.slope * np.where(np.isfinite(warmer), warmer, 0.0)
    own = np.where(np.isfinite(series.deviation), series.deviation, 0.0) * spread.scale
    least = _ROUNDING * float(np.max(np.abs(x)))  # numbers that agree to rounding are no change
    variance = np.maximum(own**2 + spread.between**2, max(least**2, 1e-300))
    k = shift / 2.0
    h = threshold(k, 2.0 * run_length, spread.freedom)
    residual, level = np.full(K, np.nan), np.zeros(K)
    changes: list[Change] = []
    tamed = x.copy()  # a single wild night doesn't spoil what the next ones are compared with
    start, high, low = 0, 0.0, 0.0
    for n in range(K):
        if n - start < _LEAST_BASE:
            continue
        weight = 1.0 / variance[start:n]
        mean = float(weight @ tamed[start:n] / weight.sum())
        sd = float(np.sqrt(variance[n] + 1.0 / weight.sum()))
        surprise = (x[n] - mean) / sd
        tamed[n] = mean + sd * np.clip(surprise, -CLIP, CLIP)
        u = float(np.clip(surprise, -CLIP, CLIP))
        residual[n] = u
        high, low = max(0.0, high + u - k), max(0.0, low - u - k)
        level[n] = max(high, low) / h
        if level[n] < 1.0:
            continue
        changes.append(_change(x, variance, start, n, float(level[n])))
        start, high, low = changes[-1].begins, 0.0, 0.0
        tamed[start : n + 1] = x[start : n + 1]
    weight = 1.0 / variance[start:]
    pooled = float(weight @ x[start:] / weight.sum())
    return Monitored(
        x, residual, level, tuple(changes), (pooled, float(weight.sum() ** -0.5)), start
    )


def _change(x: Array, variance: Array, start: int, noticed: int, statistic: float) -> Change:
    """Change point with the largest likelihood before the alarm (Hinkley 1970, eq. (2.4))."""
    best: Change | None = None
    clearest = -1.0
    for begins in range(start + 1, noticed + 1):
        means, variances = [], []
        for part in (slice(start, begins), slice(begins, noticed + 1)):
            weight = 1.0 / variance[part]
            means.append(float(weight @ x[part] / weight.sum()))
            variances.append(1.0 / float(weight.sum()))
        contrast = (means[1] - means[0]) ** 2 / sum(variances)
        if contrast > clearest:
            clearest = contrast
            sd = float(np.sqrt(sum(variances)))
            best = Change(noticed, begins, means[0], means[1], sd, statistic)
    assert best is not None  # an alarm comes after `_LEAST_BASE` estimates at the earliest
    return best
