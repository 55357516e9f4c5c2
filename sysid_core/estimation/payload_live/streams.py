# SPDX-License-Identifier: Apache-2.0
"""Joint states, wrenches and marks of a run in the order of their stamps, whenever they came."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.robot import Array
from sysid_core.signals import WrenchStream

_BACK_NS = 1_000_000_000  # a stamp so far before the newest: time has begun anew
_AHEAD = 100  # joint states by which other streams may begin a new run before them
RUN_START = "motion:start"  # a new run: what came before is forgotten


def _mark_order(mark: tuple[int, str]) -> tuple[int, int]:
    """By stamp; at the same instant a run begins first, and a segment ends before the next begins."""
    stamp, label = mark
    return stamp, 0 if label == RUN_START else 1 if label.endswith(":end") else 2


class PayloadStreams:
    """Everything since the run began, and how far it has been read.

    Where stamps of the joint states go back by more than a second (another bag is replayed, simulated
    time is reset), a new run has begun, and the old one is forgotten. Wrenches and marks of the new
    run may come a moment before its joint states, those of the old one a moment after them.

    Args:
        max_gap_s: Joint states further apart than this are not interpolated [s].

    Attributes:
        late: Something has come that should have been read before; `rewind` clears it.
    """

    def __init__(self, max_gap_s: float) -> None:
        self.max_gap_ns = round(max_gap_s * 1e9)
        self._joints: list[tuple[int, Array]] = []  # q, v, a and their sds, shape (6, n)
        self._wrenches: list[tuple[int, tuple[float, ...]]] = []
        self._marks: list[tuple[int, str]] = []
        self._newest: dict[str, int] = {}  # stamp in each stream
        self._n_joints = 0  # that have come at all
        self._went_back: dict[str, tuple[int, list[Any]]] = {}  # joint states before, items since
        self._behind: set[str] = set()  # streams that may still bring samples of the old run
        self.rewind()

    def rewind(self) -> None:
        """Read from the beginning again."""
        self._next = {"joints": 0, "wrench": 0, "mark": 0}
        self._last_wrench = -1
        self.late = False

    # ---- in

    def add_joints(self, stamp_ns: int, state: ArrayLike) -> None:
        """A joint state, shape (6, n): position, velocity, acceleration, and their sds."""
        self._n_joints += 1
        if self._goes_back("joints", stamp_ns):
            self._begin_run()
        if not self._joints or stamp_ns > self._joints[-1][0]:
            self._joints.append((stamp_ns, np.array(state, dtype=float)))

    def add_wrench(self, stamp_ns: int, wrench: ArrayLike) -> None:
        """A reading of the sensor, shape (6,); left out when it isn't finite."""
        values = np.asarray(wrench, dtype=float)
        if np.all(np.isfinite(values)):
            reading = (stamp_ns, tuple(values.tolist()))
            if self._is_of_this_run("wrench", reading):
                self.late |= stamp_ns < self._last_wrench
                bisect.insort(self._wrenches, reading)

    def add_mark(self, stamp_ns: int, label: str) -> None:
        """A labelled instant, such as `tare_1:start`."""
        if self._is_of_this_run("mark", (stamp_ns, label)):
            self.late |= stamp_ns <= self._last_wrench
            bisect.insort(self._marks, (stamp_ns, label), key=_mark_order)

    def _goes_back(self, stream: str, stamp_ns: int) -> bool:
        newest = self._newest.get(stream, stamp_ns)
        back = stamp_ns < newest - _BACK_NS
        self._newest[stream] = stamp_ns if back else max(newest, stamp_ns)
        return back

    def _is_of_this_run(self, stream: str, item: tuple[int, Any]) -> bool:
        """Whether to keep it; it is remembered where its stream has just gone back."""
        before = self._newest.get(stream, 0)
        if self._goes_back(stream, item[0]):
            self._behind.discard(stream)
            self._went_back[stream] = self._n_joints, []
        elif stream in self._behind:
            if item[0] > self._newest["joints"] + _BACK_NS:
                self._newest[stream] = before
                return False
            self._behind.discard(stream)
        if stream in self._went_back:
            since, items = self._went_back[stream]
            if self._n_joints > since + _AHEAD:
                del self._went_back[stream]
            else:
                items.append(item)
        return True

    def _begin_run(self) -> None:
        """Forget all but what other streams have brought of the new run already."""
        self._joints, self.late = [], True
        ahead = {
            stream: items
            for stream, (since, items) in self._went_back.items()
            if self._n_joints <= since + _AHEAD
        }
        self._wrenches = sorted(ahead.get("wrench", []))
        self._marks = sorted(ahead.get("mark", []), key=_mark_order)
        self._behind = {"wrench", "mark"} - set(ahead)
        self._went_back = {}
        self._next, self._last_wrench = {"joints": 0, "wrench": 0, "mark": 0}, -1

    def forget_before(self, stamp_ns: int) -> None:
        """Drop what has been read, but for joint states since `stamp_ns`, and rewind."""
        self._joints = [sample for sample in self._joints if sample[0] >= stamp_ns]
        self._wrenches = self._wrenches[self._next["wrench"] :]
        self._marks = self._marks[self._next["mark"] :]
        self.rewind()

    # ---- out

    def coming_wrench(self, until_ns: int | None = None) -> int | None:
        """Stamp of the next wrench whose motion is known, None if there is none (until then)."""
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
        """The one that `coming_wrench` announced, shape (6,)."""
        self._last_wrench, wrench = self._wrenches[self._next["wrench"]]
        self._next["wrench"] += 1
        return np.array(wrench)

    def next_mark(self, until_ns: int | None = None) -> tuple[int, str] | None:
        """Stamp and label, or None."""
        k = self._next["mark"]
        if k == len(self._marks) or (until_ns is not None and self._marks[k][0] > until_ns):
            return None
        self._next["mark"] += 1
        return self._marks[k]

    def joints_at(self, stamp: int) -> Array | None:
        """Linear interpolation between the joint states around a stamp, shape (6, n)."""
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

    def recent_wrenches(self, frame: str, seconds: float) -> WrenchStream:
        """The newest readings of the sensor in `frame`."""
        newest = self._wrenches[-1][0] if self._wrenches else 0
        first = bisect.bisect_left(self._wrenches, (newest - round(seconds * 1e9),))
        rows = self._wrenches[first:]
        return WrenchStream(
            frame,
            np.array([stamp for stamp, _ in rows], dtype=np.int64),
            np.array([wrench for _, wrench in rows]).reshape(-1, 6),
        )
