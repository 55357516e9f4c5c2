# SPDX-License-Identifier: Apache-2.0
"""Statistics of a live stream: rate, jitter, latency, losses, silence."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from sysid_core.errors import SignalError

_RELEARN_SAMPLES = 50  # how often the usual period is found anew
_WINDOW = 1000  # samples that rate, jitter and latency are taken over


@dataclass(frozen=True)
class StreamStatistics:
    """Statistics of a stream at one instant; rates and times refer to the last window.

    Attributes:
        received: Messages in all.
        rate_hz: By stamps.
        period_jitter_ms: Standard deviation of the periods [ms].
        latency_ms: Median age at arrival [ms]; NaN where arrival isn't known.
        duplicates: Repeated stamps in all.
        backward: Stamps that went back, in all.
        gaps: Steps longer than the limit, in all.
        longest_gap_ms: The longest step in all [ms].
        lost: Samples missing at the usual period, in all.
        invalid: Samples with NaN or infinite values, in all.
        stale: Whether nothing came for longer than the limit.
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
        max_gap_s: Longer steps are gaps.
        stale_s: Longer silence is stale.
    """

    def __init__(self, *, max_gap_s: float = 0.1, stale_s: float = 0.5) -> None:
        if not (max_gap_s > 0.0 and stale_s > 0.0):
            raise SignalError(
                f"Limits of a stream: gap {max_gap_s} s, silence {stale_s} s.",
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
            stamp_ns: When it was measured.
            arrived_ns: When it came, on the same clock; None: unknown.
            valid: Whether its values are finite.
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
        """Statistics of the stream at `now_ns`, by the clock of the arrivals."""
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
