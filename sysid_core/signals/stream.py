# SPDX-License-Identifier: Apache-2.0
"""Live streams: acceptance of each sample by its time stamp; rate, jitter, latency, lost samples,
and time without messages.
"""

from __future__ import annotations

import operator
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.settings import Kind

_ANEW_S = 1.0  # a longer gap separates recordings
MOST = 1e12  # of any position, velocity, effort, force or torque; drivers' "no value" is 1.8e308
_RELEARN_SAMPLES = 50  # how often the usual period is found anew
_WINDOW = 1000  # samples that rate, jitter and latency are taken over


def is_measured(values: ArrayLike) -> bool:
    """Return True if all values are plausible measurements."""
    return bool(np.all(np.abs(values) < MOST))  # not so for NaN


class SampleOutcome(Kind):
    """Outcome of a sample in a filter: acceptance, or the reason for its rejection."""

    ACCEPTED = "accepted"
    STARTED = "started"  # accepted as a new beginning: the first, or after a gap or clock reset
    DUPLICATE = "duplicate"  # refused: the stamp of the sample before
    BACKWARD = "backward"  # refused: a stamp before that of the last sample
    INVALID = "invalid"  # refused: NaN or infinite values
    OUTLIER = "outlier"  # refused: further from what is expected than any robot moves

    @property
    def refused(self) -> bool:
        """True if the sample was rejected."""
        return self not in (SampleOutcome.ACCEPTED, SampleOutcome.STARTED)


@dataclass(frozen=True)
class FilterCounts:
    """Counts of the samples of a filter.

    Attributes:
        accepted: Number of accepted samples.
        duplicates: Number of samples rejected because their stamp repeats the previous one.
        backward: Number of samples rejected because their stamp is earlier than the previous one.
        invalid: Number of samples rejected because of NaN or infinite values.
        gaps: Number of restarts after a gap longer than the limit.
        resets: Number of restarts because the stamps decreased by more than the limit.
        outliers: Number of samples with a position too far from the prediction, which was ignored.
        jumps: Number of restarts (of one joint or all) after three consecutive outliers.
    """

    accepted: int = 0
    duplicates: int = 0
    backward: int = 0
    invalid: int = 0
    gaps: int = 0
    resets: int = 0
    outliers: int = 0
    jumps: int = 0


class StreamClock:
    """Acceptance or rejection of samples by their stamps.

    Args:
        max_gap_s: Limit of a step between stamps [s]. A longer step forward is a gap, and a longer
            step back is a reset of the clock; both restart the filter. A sample with a shorter step
            back is late and is rejected.
    """

    def __init__(self, max_gap_s: float) -> None:
        if not max_gap_s > 0.0:
            raise SignalError(
                f"{max_gap_s} s is invalid as the longest gap across which the filter continues.",
                remedy="Give a positive time, about ten sample periods.",
            )
        self.max_gap_s = max_gap_s
        self.stamp_ns: int | None = None
        self._before: int | None = None
        self._counts = dict.fromkeys(FilterCounts.__dataclass_fields__, 0)

    @property
    def counts(self) -> FilterCounts:
        """Counts of samples so far."""
        return FilterCounts(**self._counts)

    def judge(self, stamp_ns: int, finite: bool) -> tuple[SampleOutcome, float]:
        """Accept or reject a sample by its stamp; return the decision and the time since the last
        accepted sample [s].
        """
        try:
            stamp_ns = operator.index(stamp_ns)
        except TypeError as err:
            raise SignalError(
                f"A stamp is {stamp_ns!r}, not an integer.", remedy="Give nanoseconds."
            ) from err
        if not finite:
            self._counts["invalid"] += 1
            return SampleOutcome.INVALID, 0.0
        dt = 0.0 if self.stamp_ns is None else (stamp_ns - self.stamp_ns) * 1e-9
        if self.stamp_ns is None:
            outcome = SampleOutcome.STARTED
        elif dt == 0.0:
            self._counts["duplicates"] += 1
            return SampleOutcome.DUPLICATE, dt
        elif -self.max_gap_s <= dt < 0.0:
            self._counts["backward"] += 1
            return SampleOutcome.BACKWARD, dt
        elif abs(dt) > self.max_gap_s:
            self._counts["gaps" if dt > 0.0 else "resets"] += 1
            outcome = SampleOutcome.STARTED
        else:
            outcome = SampleOutcome.ACCEPTED
        self._counts["accepted"] += 1
        self._before, self.stamp_ns = self.stamp_ns, stamp_ns
        return outcome, dt

    def begins_anew(self, dt: float) -> bool:
        """Return True if an accepted step [s] discards all earlier estimates, because it is a reset
        or a long gap.
        """
        return dt < -self.max_gap_s or dt > max(_ANEW_S, self.max_gap_s)

    def take_back(self) -> SampleOutcome:
        """Reject the sample that was just accepted, because all its values are far from the
        prediction.
        """
        self._counts["accepted"] -= 1
        self._counts["outliers"] += 1
        self.stamp_ns = self._before
        return SampleOutcome.OUTLIER

    def count(self, what: str) -> None:
        """Count `outliers` or `jumps` within a sample that is used."""
        self._counts[what] += 1


@dataclass(frozen=True)
class StreamStatistics:
    """Statistics of a stream at one instant; rates and times refer to the last window.

    Attributes:
        received: Total number of messages.
        rate_hz: Rate, computed from the stamps [Hz].
        period_jitter_ms: Standard deviation of the periods [ms].
        latency_ms: Median age at arrival [ms]; NaN if the time of arrival is unknown.
        duplicates: Total number of repeated stamps.
        backward: Total number of decreasing stamps.
        gaps: Total number of intervals between samples longer than the limit.
        longest_gap_ms: Longest step since the start [ms].
        lost: Total number of missing samples, computed from the gaps and the usual period.
        invalid: Total number of samples with NaN or infinite values.
        stale: True if no message arrived for longer than the limit.
    """

    received: int
    rate_hz: float
    period_jitter_ms: float
    latency_ms: float
    duplicates: int
    backward: int
    gaps: int
    longest_gap_ms: float
    lost: int
    invalid: int
    stale: bool


class StreamMonitor:
    """Statistics of a stream, updated with every sample at constant cost.

    Args:
        max_gap_s: Longest step between stamps that is not a gap [s].
        stale_s: Time without messages after which the stream is stale [s].
    """

    def __init__(self, *, max_gap_s: float = 0.1, stale_s: float = 0.5) -> None:
        if not (max_gap_s > 0.0 and stale_s > 0.0):
            raise SignalError(
                f"The limits of a stream are invalid: longest gap {max_gap_s} s, longest silence {stale_s} s.",
                remedy="Give positive times.",
            )
        self._max_gap_s = max_gap_s
        self._stale_s = stale_s
        self._steps: deque[float] = deque(maxlen=_WINDOW)  # [s]
        self._ages: deque[float] = deque(maxlen=_WINDOW)  # [s]
        self._newest_ns: int | None = None
        self._arrived_ns: int | None = None
        self._period = 0.0  # usual, [s]
        self._since_learnt = 0
        self._received = self._duplicates = self._backward = 0
        self._gaps = self._lost = self._invalid = 0
        self._longest = 0.0

    def add(self, stamp_ns: int, arrived_ns: int | None = None, *, valid: bool = True) -> None:
        """Add one sample to the statistics.

        Args:
            stamp_ns: Time of the measurement [ns].
            arrived_ns: Time of arrival on the same clock [ns]; None: unknown.
            valid: True if the values are finite.
        """
        self._received += 1
        self._arrived_ns = stamp_ns if arrived_ns is None else arrived_ns
        if arrived_ns is not None:
            self._ages.append((arrived_ns - stamp_ns) * 1e-9)
        if not valid:
            self._invalid += 1
        if self._newest_ns is None:
            self._newest_ns = stamp_ns
            return
        step = (stamp_ns - self._newest_ns) * 1e-9
        if step == 0.0:
            self._duplicates += 1
        elif step < 0.0:
            self._backward += 1
            if step < -self._max_gap_s:  # the clock was reset: go on from here
                self._newest_ns = stamp_ns
        else:
            self._newest_ns = stamp_ns
            self._take_step(step)

    def _take_step(self, step: float) -> None:
        self._longest = max(self._longest, step)
        self._gaps += step > self._max_gap_s
        if self._period > 0.0:
            self._lost += max(round(step / self._period) - 1, 0)
        self._steps.append(step)
        self._since_learnt += 1
        if self._since_learnt >= _RELEARN_SAMPLES:
            self._period = float(np.median(self._steps))
            self._since_learnt = 0

    def statistics(self, now_ns: int) -> StreamStatistics:
        """Return the statistics of the stream at `now_ns`, by the clock of the arrivals."""
        steps = np.array(self._steps)
        regular = steps[steps <= self._max_gap_s]
        silent = self._arrived_ns is None or (now_ns - self._arrived_ns) * 1e-9 > self._stale_s
        return StreamStatistics(
            received=self._received,
            rate_hz=float(len(steps) / steps.sum()) if len(steps) else 0.0,
            period_jitter_ms=float(regular.std() * 1e3) if len(regular) else 0.0,
            latency_ms=float(np.median(self._ages) * 1e3) if self._ages else float("nan"),
            duplicates=self._duplicates,
            backward=self._backward,
            gaps=int(self._gaps),
            longest_gap_ms=self._longest * 1e3,
            lost=self._lost,
            invalid=self._invalid,
            stale=silent,
        )
