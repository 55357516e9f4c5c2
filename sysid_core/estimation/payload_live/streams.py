# SPDX-License-Identifier: Apache-2.0
"""Joint states, wrenches and marks in the order of their stamps, even if they arrive in another
order.
"""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.robot import Array
from sysid_core.signals import WrenchStream

_BACK_NS = 1_000_000_000  # joint states that go back by more: time has begun anew [ns]
# Other streams may be so far ahead of the joint states or behind them [ns]. With a third, an item
# of the run before, of this run and of the next one are always nearest to their own joint states.
_DISORDER_NS = _BACK_NS // 3
RUN_START = "motion:start"  # a new run: what came before is forgotten
RUN_END = "motion:end"


def mark_order(mark: tuple[int, str]) -> tuple[int, int]:
    """Sort key of marks: by stamp; at equal stamps, ends of segments and runs, then starts of runs and segments."""
    stamp, label = mark
    runs = {RUN_END: 1, RUN_START: 2}
    return stamp, runs.get(label, 0 if label.endswith(":end") else 3)


class PayloadStreams:
    """Buffers of all streams since the start of the run, with the position up to which they have
    been read.

    If the stamps of the joint states decrease by more than a second (another bag is replayed, or
    simulated time is reset), a new run has begun, and the old one is discarded. Joint states arrive
    in order. Wrenches and marks may arrive in any order: those of the new run up to a third of a
    second before its first joint state, and those of the old run up to a third of a second after
    it. Each is read once, in the run to which it belongs.

    Args:
        max_gap_s: Largest gap between joint states that is interpolated [s].

    Attributes:
        late: True if an item arrived after the reading position had passed it; cleared by `rewind`.
    """

    def __init__(self, max_gap_s: float) -> None:
        self.max_gap_ns = round(max_gap_s * 1e9)
        self._joints: list[tuple[int, Array]] = []  # q, v, a and their sds, shape (6, n)
        self._wrenches: list[tuple[int, tuple[float, ...]]] = []
        self._marks: list[tuple[int, str]] = []
        self._forgotten = -1  # nothing is of interest up to this stamp
        self._now: int | None = None  # newest stamp of the joint states
        self._before: int | None = None  # the same of the run before, while items of it may come
        self._early: list[
            tuple[int, str, tuple[int, Any]]
        ] = []  # `_now`, stream, item: maybe of the next
        self.rewind()

    def rewind(self) -> None:
        """Restart reading at the beginning."""
        self._next = {"joints": 0, "wrench": 0, "mark": 0}
        self._last_wrench = -1
        self.late = False
        self._late_from: int | None = None  # stamp of the earliest that is late

    # ---- in

    def add_joints(self, stamp_ns: int, state: ArrayLike) -> None:
        """Add a joint state, shape (6, n): position, velocity, acceleration, and their standard
        deviations.
        """
        if self._now is not None and stamp_ns < self._now - _BACK_NS:
            self._begin_run(stamp_ns)
        if not self._joints or stamp_ns > self._joints[-1][0]:
            self._joints.append((stamp_ns, np.array(state, dtype=float)))
        self._now = stamp_ns if self._now is None else max(self._now, stamp_ns)
        if self._before is not None and self._now > self._before - 2 * _DISORDER_NS:
            self._before = None
        self._release(self._now - _DISORDER_NS)

    def add_wrench(self, stamp_ns: int, wrench: ArrayLike) -> None:
        """Add a reading of the sensor, shape (6,); non-finite ones are omitted."""
        values = np.asarray(wrench, dtype=float)
        if np.all(np.isfinite(values)):
            self._take("wrench", (stamp_ns, tuple(values.tolist())))

    def add_mark(self, stamp_ns: int, label: str) -> None:
        """Add a mark: a label such as `tare_1:start` with its stamp."""
        self._take("mark", (stamp_ns, label))

    def end(self) -> None:
        """End the session, and assign the remaining samples to it."""
        self._release(None)

    def _take(self, stream: str, item: tuple[int, Any]) -> None:
        """Store a sample if it belongs to the current run; if the next joint states decide to which
        run it belongs, store it for later.
        """
        stamp, now = item[0], self._now
        if now is None:
            self._insert(stream, item)
        elif self._before is not None and abs(stamp - self._before) < abs(stamp - now):
            return
        elif stamp < now - 2 * _DISORDER_NS:
            self._early.append((now, stream, item))
        else:
            self._insert(stream, item)

    def _insert(self, stream: str, item: tuple[int, Any]) -> None:
        stamp = item[0]
        if stamp <= self._forgotten:
            return
        if stamp < self._last_wrench or (stream == "mark" and stamp == self._last_wrench):
            self.late = True
            self._late_from = stamp if self._late_from is None else min(stamp, self._late_from)
        if stream == "wrench":
            bisect.insort(self._wrenches, item)
        else:
            bisect.insort(self._marks, item, key=mark_order)

    def _release(self, until_ns: int | None) -> None:
        """Assign stored samples to the current run if no new run began within the waiting time, so
        that they were only late.
        """
        while self._early and (until_ns is None or self._early[0][0] < until_ns):
            _, stream, item = self._early.pop(0)
            self._insert(stream, item)

    def _begin_run(self, stamp_ns: int) -> None:
        """Begin a new run: delete all samples, except those that other streams have already
        delivered for the new run.
        """
        assert self._now is not None
        early, self._before, self._now = self._early, self._now, stamp_ns
        self._joints, self._wrenches, self._marks, self._early = [], [], [], []
        self._forgotten = -1
        self.rewind()
        for _, stream, item in early:
            if abs(item[0] - stamp_ns) < abs(item[0] - self._before):
                self._insert(stream, item)
        self.late = True

    def forget_before(self, stamp_ns: int) -> None:
        """Delete the samples that were read, except joint states since `stamp_ns`, and restart
        reading.
        """
        self._joints = [sample for sample in self._joints if sample[0] >= stamp_ns]
        self._wrenches = self._wrenches[self._next["wrench"] :]
        self._marks = self._marks[self._next["mark"] :]
        self.rewind()

    @property
    def read_ns(self) -> int:
        """Stamp of the last wrench that was read [ns]; 0 before the first."""
        return max(self._last_wrench, 0)

    @property
    def newest_ns(self) -> int:
        """Newest stamp of the joint states, or of the wrenches of a sensor without a robot."""
        if self._now is not None:
            return self._now
        return self._wrenches[-1][0] if self._wrenches else 0

    def keep_newest(self, seconds: float) -> None:
        """Delete older samples, including those that arrive later; reading continues."""
        self._forgotten = max(self._forgotten, self.newest_ns - round(seconds * 1e9))
        for stream, rows in (
            ("wrench", self._wrenches),
            ("mark", self._marks),
            ("joints", self._joints),
        ):
            n = bisect.bisect_right(rows, self._forgotten, key=lambda row: row[0])
            n = min(n, self._next["mark"]) if stream == "mark" else n
            del rows[:n]
            self._next[stream] = max(self._next[stream] - n, 0)

    def read_again(self) -> None:
        """Continue reading at the earliest sample that arrived late."""
        start, self.late, self._late_from = self._late_from, False, None
        if start is not None:
            self._last_wrench = start - 1
            self._next["wrench"] = bisect.bisect_left(self._wrenches, (start,))
            self._next["mark"] = bisect.bisect_left(self._marks, start, key=lambda mark: mark[0])
            self._next["joints"] = 0

    # ---- out

    def coming_wrench(self, until_ns: int | None = None) -> int | None:
        """Return the stamp of the next wrench whose motion is known; None if there is none yet."""
        while self._next["wrench"] < len(self._wrenches):
            stamp = self._wrenches[self._next["wrench"]][0]
            if until_ns is not None and stamp > until_ns:
                return None
            if not self._joints or stamp > self._joints[-1][0]:
                return None
            if stamp > self._last_wrench:
                return stamp
            self._next["wrench"] += 1  # a duplicate
        return None

    def next_wrench(self) -> Array:
        """Return the wrench of the stamp from `coming_wrench`, shape (6,)."""
        self._last_wrench, wrench = self._wrenches[self._next["wrench"]]
        self._next["wrench"] += 1
        return np.array(wrench)

    def next_mark(self, until_ns: int | None = None) -> tuple[int, str] | None:
        """Return the stamp and label of the next mark, or None."""
        k = self._next["mark"]
        if k == len(self._marks) or (until_ns is not None and self._marks[k][0] > until_ns):
            return None
        self._next["mark"] += 1
        return self._marks[k]

    def joints_at(self, stamp: int) -> Array | None:
        """Return the joint state at a stamp by linear interpolation, shape (6, n)."""
        joints, k = self._joints, self._next["joints"]
        while k + 1 < len(joints) and joints[k + 1][0] <= stamp:
            k += 1
        self._next["joints"] = k
        t0, before = joints[k]
        if t0 == stamp:
            return before
        if t0 > stamp or k + 1 == len(joints):
            return None
        t1, after = joints[k + 1]
        if t1 - t0 > self.max_gap_ns:
            return None
        s = (stamp - t0) / (t1 - t0)
        return np.asarray((1 - s) * before + s * after)

    def recent(self, seconds: float, late_ns: int = 0) -> list[tuple[int, Array, Array]]:
        """Return the stamps [ns], wrenches (6,) and joint states (6, n) of the newest seconds
        between joint states; the reading position is unchanged.

        Args:
            seconds: Largest age of the samples [s].
            late_ns: Time by which the wrench lags behind the joint states [ns].
        """
        if not self._joints:
            return []
        newest = self._joints[-1][0]
        oldest = newest - round(seconds * 1e9)
        found, last, before = [], None, self._next["joints"]
        first = bisect.bisect_left(self._wrenches, (oldest + late_ns,))
        joint = bisect.bisect_left(self._joints, oldest, key=lambda row: row[0])
        self._next["joints"] = max(joint - 1, 0)
        for stamp, wrench in self._wrenches[first:]:
            if wrench == last or stamp - late_ns > newest:
                continue
            last = wrench
            state = self.joints_at(stamp - late_ns)
            if state is not None and np.isfinite(state[:3]).all():
                found.append((stamp, np.array(wrench), state))
        self._next["joints"] = before
        return found

    def recent_wrenches(self, frame: str, seconds: float) -> WrenchStream:
        """Return the newest readings of the sensor in `frame`."""
        newest = self._wrenches[-1][0] if self._wrenches else 0
        first = bisect.bisect_left(self._wrenches, (newest - round(seconds * 1e9),))
        rows = self._wrenches[first:]
        return WrenchStream(
            frame,
            np.array([stamp for stamp, _ in rows], dtype=np.int64),
            np.array([wrench for _, wrench in rows]).reshape(-1, 6),
        )
