# SPDX-License-Identifier: Apache-2.0
r"""By how much one signal lags another, between samples.

\(y(t) = \alpha\,x(t - d) + \beta\): for every trial delay, gain and offset follow by least squares,
so the residual depends on \(d\) alone (variable projection, Golub and Pereyra 1973).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import SignalError
from sysid_core.lazy import lazy_import
from sysid_core.signals.recording import Array, Stamps

if TYPE_CHECKING:
    import scipy.optimize as optimize
else:
    optimize = lazy_import("scipy.optimize")

if TYPE_CHECKING:
    import scipy.interpolate as interpolate
else:
    interpolate = lazy_import("scipy.interpolate")

_FEWEST_SAMPLES = 20  # in the window that is compared: fewer are refused


@dataclass(frozen=True)
class SignalDelay:
    """A delay between two signals.

    Attributes:
        delay_s: Positive when the second signal is late [s].
        sd_s: Standard deviation from the curvature of the residual [s].
        explained: Share of the second signal's variance explained at this delay (R²).
        samples: Compared.
    """

    delay_s: float
    sd_s: float
    explained: float
    samples: int


def signal_delay(
    x_stamps_ns: ArrayLike,
    x: ArrayLike,
    y_stamps_ns: ArrayLike,
    y: ArrayLike,
    *,
    max_delay_s: float = 0.1,
    max_gap_s: float = 0.1,
) -> SignalDelay:
    """Delay of `y` behind `x`, each with its own stamps on one clock.

    Several columns share the delay; each has its own gain and offset, and weighs in by what is
    left of its variance.

    Args:
        x_stamps_ns: Strictly increasing, shape (K,).
        x: The signal that leads, shape (K,) or (K, n).
        y_stamps_ns: Strictly increasing, shape (M,).
        y: The signal that may be late, shape (M,) or (M, n).
        max_delay_s: Largest delay looked for, either way.
        max_gap_s: Samples of `y` near longer gaps of `x` are left out.

    Raises:
        SignalError: Stamps that don't increase, too little overlap, nothing in common, or a delay
            at the end of the search.
    """
    tx, ty = _increasing(x_stamps_ns, "first"), _increasing(y_stamps_ns, "second")
    xs = np.asarray(x, dtype=float).reshape(len(tx), -1)
    ys = np.asarray(y, dtype=float).reshape(len(ty), -1)
    _require_comparable(xs, ys)
    near = _far_from_gaps(ty, tx, max_delay_s, max_gap_s)
    if np.count_nonzero(near) < _FEWEST_SAMPLES:
        raise SignalError(
            f"Only {np.count_nonzero(near)} samples overlap: too few for a delay.",
            remedy="Record longer, or allow less delay or larger gaps.",
        )
    origin = tx[0]
    spline = interpolate.CubicSpline((tx - origin) * 1e-9, xs)
    t, ys = (ty[near] - origin) * 1e-9, ys[near]
    ys = ys - ys.mean(axis=0)

    def residual(delay: float) -> Array:
        shifted = spline(t - delay)
        shifted = shifted - shifted.mean(axis=0)
        power = np.sum(shifted**2, axis=0)
        gain = np.sum(shifted * ys, axis=0) / np.where(power > 0.0, power, 1.0)
        return ys - gain * shifted

    def cost(delay: float, weights: Array) -> float:
        return float(np.sum(weights * residual(delay) ** 2))

    total = np.sum(ys**2, axis=0)
    weights = 1.0 / np.where(total > 0.0, total, np.inf)
    for _ in range(2):  # the second time by what the first leaves of each column
        delay = _minimum(partial(cost, weights=weights), max_delay_s)
        left = np.sum(residual(delay) ** 2, axis=0)
        weights = 1.0 / np.maximum(left, 1e-12 * np.where(total > 0.0, total, np.inf))
    sd = _deviation(residual, delay, 1e-3 * max_delay_s, left / (len(t) - 3))
    explained = float(1.0 - left.sum() / total.sum()) if total.sum() > 0.0 else 0.0
    _require_delay(delay, max_delay_s, explained)
    return SignalDelay(delay, sd, explained, len(t))


def _increasing(stamps_ns: ArrayLike, which: str) -> Stamps:
    stamps: Stamps = np.asarray(stamps_ns, dtype=np.int64)
    if len(stamps) < 4 or (np.diff(stamps) <= 0).any():
        raise SignalError(
            f"The stamps of the {which} signal ({len(stamps)}) must increase.",
            remedy="Drop disordered samples first: `in_order`.",
        )
    return stamps


def _far_from_gaps(
    ty: Stamps, tx: Stamps, max_delay_s: float, max_gap_s: float
) -> NDArray[np.bool_]:
    """Samples of y whose whole search window lies in x, and in no gap of it."""
    margin = int(max_delay_s * 1e9)
    inside = (ty - margin >= tx[0]) & (ty + margin <= tx[-1])
    wide = np.append(np.diff(tx) > max_gap_s * 1e9, False)
    count = np.concatenate([[0], np.cumsum(wide)])  # gaps that begin before sample k of x
    first = np.maximum(np.searchsorted(tx, ty - margin, side="right") - 1, 0)
    last = np.searchsorted(tx, ty + margin, side="left")
    return inside & (count[np.minimum(last, len(tx))] == count[first])


def _minimum(cost: Callable[[float], float], max_delay_s: float) -> float:
    """Grid, then Brent between the neighbours of the best grid point."""
    grid = np.linspace(-max_delay_s, max_delay_s, 81)
    k = int(np.argmin([cost(float(delay)) for delay in grid]))
    low, high = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
    found = optimize.minimize_scalar(
        cost, bounds=(low, high), method="bounded", options={"xatol": 1e-6 * max_delay_s}
    )
    return float(found.x)


def _require_comparable(xs: Array, ys: Array) -> None:
    if xs.shape[1] != ys.shape[1]:
        raise SignalError(
            f"Signals of {xs.shape[1]} and {ys.shape[1]} columns can't be compared.",
            remedy="Give the same columns of both.",
        )
    if not (np.isfinite(xs).all() and np.isfinite(ys).all()):
        raise SignalError(
            "A signal has NaN or infinite values.", remedy="Drop such samples first: `in_order`."
        )


def _require_delay(delay: float, max_delay_s: float, explained: float) -> None:
    """Refuse signals with nothing in common, and a delay at the end of the search."""
    if explained < 0.05:
        raise SignalError(
            f"The two signals have nothing in common (R² = {explained:.3f} at best).",
            remedy="Compare a signal with what it should follow, over a span of motion.",
            explained=explained,
        )
    if abs(delay) > 0.99 * max_delay_s:
        raise SignalError(
            f"The delay lies at or beyond the {max_delay_s * 1e3:.0f} ms looked for.",
            remedy="Are both stamped by one clock? Else raise `max_delay_s`.",
            delay_s=delay,
        )


def _deviation(
    residual: Callable[[float], Array], delay: float, step: float, variance: Array
) -> float:
    """Standard deviation of the delay by the residuals' slope and variance, (n,) [s]."""
    slope = (residual(delay + step) - residual(delay - step)) / (2.0 * step)
    information = np.sum(np.sum(slope**2, axis=0) / np.where(variance > 0.0, variance, np.inf))
    return float(1.0 / np.sqrt(information)) if information > 0.0 else 0.0
