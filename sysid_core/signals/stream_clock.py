# SPDX-License-Identifier: Apache-2.0
"""Decision on each sample by its time stamp."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.kinds import Kind

_ANEW_S = 1.0  # a longer gap separates recordings
MOST = 1e12  # of any position, velocity, effort, force or torque; drivers' "no value" is 1.8e308


def is_measured(values: ArrayLike) -> bool:
    """True if all values are plausible measurements."""
    return bool(np.all(np.abs(values) < MOST))  # not so for NaN


class SampleOutcome(Kind):
    """Outcome of a sample in a filter: accepted, or the reason of its rejection."""

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
        accepted: Samples used.
        duplicates: Refused, same stamp.
        backward: Refused, earlier stamp.
        invalid: Refused, NaN or infinite.
        gaps: Starts after a gap longer than the limit.
        resets: Starts after the clock went back by more than the limit.
        outliers: With a position too far from what was expected; it was left out.
        jumps: Starts (of one joint or all) after three outliers in a row.
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
    """Decision on a sample by its stamp.

    Args:
        max_gap_s: A longer step forward is a gap, a longer step back a reset of the clock;
            both are a new start. A shorter step back is a late sample, and refused.
    """

    def __init__(self, max_gap_s: float) -> None:
        if not max_gap_s > 0.0:
            raise SignalError(
                f"The longest gap to filter across is {max_gap_s} s.",
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
        """Decision on a sample, and the time since the last accepted one [s]."""
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
        """True if an accepted step [s] resets everything learnt before: a reset or long gap."""
        return dt < -self.max_gap_s or dt > max(_ANEW_S, self.max_gap_s)

    def take_back(self) -> SampleOutcome:
        """Reject the sample just accepted, because all of it is far from the prediction."""
        self._counts["accepted"] -= 1
        self._counts["outliers"] += 1
        self.stamp_ns = self._before
        return SampleOutcome.OUTLIER

    def count(self, what: str) -> None:
        """Count `outliers` or `jumps` within a sample that is used."""
        self._counts[what] += 1
