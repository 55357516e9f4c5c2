# SPDX-License-Identifier: Apache-2.0
"""Stamps: detection of gaps, duplicates, disorder and resets; sorting; interpolation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import SignalError
from sysid_core.signals.recording import Array, JointStream, Stamps, WrenchStream

Stream = TypeVar("Stream", JointStream, WrenchStream)


@dataclass(frozen=True)
class TimingReport:
    """Statistics of the stamps of a stream.

    Attributes:
        samples: As recorded.
        kept: Left after dropping what is disordered or invalid.
        duplicates: Samples with the stamp of the last one kept.
        backward: Samples stamped before the last one kept, by no more than the reset limit.
        resets: Times that the clock went back by more; what follows is kept only after the last.
        invalid: Samples with NaN or infinite values.
        before_reset: Samples dropped because the clock was reset after them.
        gaps: Steps longer than the limit, among the samples kept.
        longest_gap_s: The longest step [s].
        period_s: Median step [s].
        jitter_s: Standard deviation of the steps that aren't gaps [s].
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
        """Sentences on the timing faults of the stream `what`."""
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
        stamps_ns: Shape (K,).
        valid: Which samples have finite values, shape (K,); None: all.
        max_gap_s: Longer steps are gaps; None: five median steps.
        reset_s: A longer step back is a reset of the clock, not a late sample.

    Returns:
        The counts, and the rows to keep: strictly increasing stamps, after the last reset.

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
    """Stream without invalid, repeated and decreasing stamps, and the number of removed samples.

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
    """Values at other stamps, interpolated linearly between neighbours that are close enough in
    time.

    Args:
        at_ns: Wanted stamps, shape (M,).
        stamps_ns: Strictly increasing, shape (K,).
        values: Shape (K,) or (K, n).
        max_gap_s: Nothing is interpolated between neighbours further apart, nor beyond the ends.

    Returns:
        Values, shape (M,) or (M, n), NaN where unknown; and where they are known, shape (M,).

    Raises:
        SignalError: Stamps that don't increase.
    """
    at: Stamps = np.asarray(at_ns, dtype=np.int64)
    stamps: Stamps = np.asarray(stamps_ns, dtype=np.int64)
    y = np.asarray(values, dtype=float)
    if len(stamps) == 0 or len(y) != len(stamps) or (np.diff(stamps) <= 0).any():
        raise SignalError(
            f"{len(stamps)} stamps for {len(y)} samples can't be interpolated: they must increase.",
            remedy="Drop disordered samples first: `in_order`.",
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
