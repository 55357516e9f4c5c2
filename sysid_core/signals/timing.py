# SPDX-License-Identifier: Apache-2.0
"""Checks of stamps and samples: gaps, duplicates, disorder, resets, sorting and interpolation;
steps, standstill, and velocities that are not the derivatives of the positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import SignalError
from sysid_core.signals.recording import Array, JointStream, Stamps, WrenchStream

Stream = TypeVar("Stream", JointStream, WrenchStream)
_MULTIPLE = 1e-3  # of a step: a value that is so close to a whole number of steps is on one
_WINDOW_S = 0.1  # over which a speed is taken
_MOVING = 0.01  # [rad/s or m/s]: standstill is slower
_LEAST_MOTION = 0.05  # [rad or m] of a joint, to judge its velocity by
_CLEAR_MOTION = 0.5  # [rad or m] that the velocities say; a sensor's offset at rest says less
_DISPLACED_S = 0.2  # [s] over which displacements are compared, so that noise doesn't count


@dataclass(frozen=True)
class TimingReport:
    """Statistics of the stamps of a stream.

    Attributes:
        samples: Number of recorded samples.
        kept: Number of samples that remain after disordered and invalid samples have been removed.
        duplicates: Number of samples with the same stamp as the last kept sample.
        backward: Number of samples whose stamp is earlier than that of the last kept sample, by no
            more than the reset limit.
        resets: Number of steps back beyond that limit; only samples after the last reset are kept.
        invalid: Number of samples with NaN or infinite values.
        before_reset: Number of samples dropped because the clock was reset after them.
        gaps: Number of steps longer than the limit, among the samples kept.
        longest_gap_s: Longest step among the samples kept [s].
        period_s: Median step [s].
        jitter_s: Standard deviation of the steps that are not gaps [s].
    """

    samples: int
    kept: int
    duplicates: int = 0
    backward: int = 0
    resets: int = 0
    invalid: int = 0
    before_reset: int = 0
    gaps: int = 0
    longest_gap_s: float = 0.0
    period_s: float = 0.0
    jitter_s: float = 0.0

    @property
    def rate_hz(self) -> float:
        """Sampling rate that corresponds to the median time step."""
        return 1.0 / self.period_s if self.period_s > 0.0 else 0.0

    def notes(self, what: str) -> tuple[str, ...]:
        """Return the sentences on the timing faults of the stream `what`."""
        counts = (
            (self.invalid, "samples with NaN or infinite values dropped"),
            (self.duplicates, "samples with a repeated stamp dropped"),
            (self.backward, "samples with a backward stamp dropped"),
            (self.resets, f"clock resets; {self.before_reset} samples before the last one dropped"),
            (self.gaps, f"gaps, the longest {self.longest_gap_s:.3f} s"),
        )
        return tuple(f"{what}: {count} {text}." for count, text in counts if count)


def check_timing(
    stamps_ns: ArrayLike,
    *,
    valid: NDArray[np.bool_] | None = None,
    max_gap_s: float | None = None,
    reset_s: float = 1.0,
) -> tuple[TimingReport, NDArray[np.intp]]:
    """Count faulty stamps, and mark the samples that are in order.

    Args:
        stamps_ns: Time stamps, shape (K,) [ns].
        valid: Mask of the samples with finite values, shape (K,); None: all.
        max_gap_s: Longest step that is not a gap [s]; None: five median steps.
        reset_s: Longest step back of a late sample [s]; a longer one is a reset of the clock.

    Returns:
        Counts, and indices of the samples to keep: strictly increasing stamps after the last reset.

    Examples:
        >>> report, keep = check_timing([0, 10_000_000, 9_000_000, 20_000_000])
        >>> keep.tolist()  # the third is older than the second
        [0, 1, 3]
    """
    stamps = np.asarray(stamps_ns, dtype=np.int64)
    rows = np.arange(len(stamps)) if valid is None else np.flatnonzero(valid)
    invalid = len(stamps) - len(rows)
    back = np.flatnonzero(np.diff(stamps[rows]) < -reset_s * 1e9) + 1
    before_reset = int(back[-1]) if len(back) else 0
    rows = rows[before_reset:]
    # A sample is in order if its stamp is beyond all those before it.
    values = stamps[rows]
    newest = np.maximum.accumulate(values) if len(values) else values
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] > newest[:-1]
    duplicates = int(np.count_nonzero(values[1:] == newest[:-1]))
    kept = rows[first]
    steps = np.diff(stamps[kept]) * 1e-9
    period = float(np.median(steps)) if len(steps) else 0.0
    limit = 5.0 * period if max_gap_s is None else max_gap_s
    regular = steps[steps <= limit]
    report = TimingReport(
        samples=len(stamps),
        kept=len(kept),
        duplicates=duplicates,
        backward=len(rows) - len(kept) - duplicates,
        resets=len(back),
        invalid=invalid,
        before_reset=before_reset,
        gaps=int(np.count_nonzero(steps > limit)),
        longest_gap_s=float(steps.max()) if len(steps) else 0.0,
        period_s=period,
        jitter_s=float(regular.std()) if len(regular) else 0.0,
    )
    return report, kept


def in_order(stream: Stream) -> tuple[Stream, TimingReport]:
    """Return the stream without invalid, repeated and decreasing stamps, and the number of removed
    samples.

    Args:
        stream: Joint states or wrenches.
    """
    valid = np.ones(len(stream), dtype=bool)
    columns = stream.COLUMNS if isinstance(stream, JointStream) else ("wrench",)
    for key in columns:
        values = getattr(stream, key)
        if values is not None:
            valid &= np.isfinite(values).all(axis=1)
    report, rows = check_timing(stream.stamps_ns, valid=valid)
    return (stream if len(rows) == len(stream) else stream.select(rows)), report


def interpolate_at(
    at_ns: ArrayLike, stamps_ns: ArrayLike, values: ArrayLike, *, max_gap_s: float
) -> tuple[Array, NDArray[np.bool_]]:
    """Return the values at other stamps, interpolated linearly between neighbours that are close
    enough in time.

    Args:
        at_ns: Stamps of the result, shape (M,) [ns].
        stamps_ns: Strictly increasing stamps of the values, shape (K,) [ns].
        values: Values to interpolate, shape (K,) or (K, n).
        max_gap_s: Longest time between neighbours across which values are interpolated [s]; there
            is no extrapolation beyond the ends.

    Returns:
        Values, shape (M,) or (M, n), with NaN for unknown ones, and a mask of the known values,
        shape (M,).

    Raises:
        SignalError: The stamps of the values do not increase.
    """
    at: Stamps = np.asarray(at_ns, dtype=np.int64)
    stamps: Stamps = np.asarray(stamps_ns, dtype=np.int64)
    y = np.asarray(values, dtype=float)
    if len(stamps) == 0 or len(y) != len(stamps) or (np.diff(stamps) <= 0).any():
        raise SignalError(
            f"{len(stamps)} stamps for {len(y)} samples can't be interpolated: they must increase.",
            remedy="Remove the samples whose stamps do not increase: `in_order`.",
        )
    right = np.clip(np.searchsorted(stamps, at), 0, len(stamps) - 1)
    exact = stamps[right] == at
    left = np.where(exact, right, np.maximum(right - 1, 0))
    step = (stamps[right] - stamps[left]) * 1e-9
    known = exact | ((at > stamps[0]) & (at < stamps[-1]) & (step <= max_gap_s))
    fraction = (at - stamps[left]) * 1e-9 / np.where(step > 0.0, step, 1.0)
    fraction = fraction.reshape(-1, *(1,) * (y.ndim - 1))
    out = y[left] + fraction * (y[right] - y[left])
    out[~known] = np.nan
    return out, known


def sample_noise(time: Array, values: Array) -> Array:
    """Return the standard deviation of the noise of a sample of each column, shape (n,).

    A sample is compared with the polynomial through its three neighbours on either side (Lagrange).
    If the motion is locally a polynomial of degree five, the difference contains only the noise of
    these seven samples.

    Args:
        time: Strictly increasing times, shape (K,) [s].
        values: Samples of n columns, shape (K, n), at least seven.
    """
    K, places = len(time), [0, 1, 2, 4, 5, 6]  # of the neighbours, beside the sample in place 3
    t = np.stack([time[i : K - 6 + i] for i in range(7)]) - time[3 : K - 3]
    weights = [
        np.prod([t[j] / (t[j] - t[i]) for j in places if j != i], axis=0)[:, None] for i in places
    ]
    left = values[3 : K - 3] - sum(
        w * values[i : K - 6 + i] for i, w in zip(places, weights, strict=True)
    )
    variance = np.square(left) / (1.0 + sum(w**2 for w in weights))
    return np.sqrt(np.mean(variance, axis=0))


def quantisation(values: ArrayLike) -> Array:
    """Return the quantisation step of each column, shape (n,); 0 if the values are not multiples of
    a step.

    Args:
        values: Samples of n columns, shape (K, n).
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


def standstill_share(time: ArrayLike, q: ArrayLike) -> float:
    """Return the share of the time in which no joint moves faster than 0.01 rad/s or m/s.

    Args:
        time: Times of the samples, shape (K,) [s].
        q: Joint positions, shape (K, n) [rad or m].
    """
    t, x = np.asarray(time, dtype=float), np.asarray(q, dtype=float)
    later = np.minimum(np.searchsorted(t, t + _WINDOW_S), len(t) - 1)
    span = t[later] - t
    used = span > 0.5 * _WINDOW_S
    if not used.any():
        return 0.0
    speed = np.abs(x[later[used]] - x[used]) / span[used, None]
    return float(np.mean((speed < _MOVING).all(axis=1)))


def velocity_ratio(stream: JointStream) -> Array:
    """Return the ratio of the measured velocity to the derivative of the position for each joint,
    shape (n,).

    Args:
        stream: Joint states.

    Returns:
        Ratios, shape (n,); NaN without velocity or with hardly any motion.
    """
    product, square, told = np.zeros((3, len(stream.names)))
    for part in stream.split_at_gaps(0.1) if stream.v is not None else ():
        if part.v is None or len(part) < 2:
            continue
        step = np.diff(part.time)[:, None]
        travelled = np.vstack(
            [0.0 * part.v[:1], np.cumsum(0.5 * step * (part.v[1:] + part.v[:-1]), 0)]
        )
        marks = np.searchsorted(part.time, np.arange(0.0, part.time[-1], _DISPLACED_S))
        moved, expected = np.diff(part.q[marks], axis=0), np.diff(travelled[marks], axis=0)
        product += np.sum(moved * expected, axis=0)
        square += np.sum(moved**2, axis=0)
        told += np.sum(expected**2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = (square > _LEAST_MOTION**2) | ((told > _CLEAR_MOTION**2) & (square > 0.0))
        return np.where(moves, product / square, np.nan)
