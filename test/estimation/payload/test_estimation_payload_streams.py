# SPDX-License-Identifier: Apache-2.0
"""Streams of a payload run are read by stamp, whatever the order in which they came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_core.estimation.payload_live.streams import PayloadStreams

MS = 1_000_000


@pytest.fixture
def streams() -> PayloadStreams:
    made = PayloadStreams(max_gap_s=0.1)
    for t in (0, 10, 20, 200):
        made.add_joints(t * MS, np.full((6, 2), float(t)))
    return made


def read(streams: PayloadStreams) -> list[tuple[int, float]]:
    out = []
    while (stamp := streams.coming_wrench()) is not None:
        out.append((stamp // MS, float(streams.next_wrench()[0])))
    return out


def test_wrenches_come_in_the_order_of_their_stamps_once_and_finite(
    streams: PayloadStreams,
) -> None:
    for stamp, value in ((15, 3.0), (5, 1.0), (5, 2.0), (7, np.nan)):
        streams.add_wrench(stamp * MS, np.full(6, value))
    assert read(streams) == [(5, 1.0), (15, 3.0)]


def test_a_wrench_waits_for_its_motion_and_for_the_given_time(streams: PayloadStreams) -> None:
    streams.add_wrench(250 * MS, np.zeros(6))
    assert streams.coming_wrench() is None
    streams.add_joints(300 * MS, np.zeros((6, 2)))
    assert streams.coming_wrench(240 * MS) is None
    assert streams.coming_wrench() == 250 * MS


def test_what_should_have_been_read_before_is_late(streams: PayloadStreams) -> None:
    streams.add_wrench(10 * MS, np.zeros(6))
    read(streams)
    streams.add_wrench(12 * MS, np.zeros(6))
    assert not streams.late
    streams.add_mark(10 * MS, "oscillation:start")
    assert streams.late
    streams.rewind()
    assert not streams.late
    assert [stamp for stamp, _ in read(streams)] == [10, 12]


def test_joints_are_interpolated_but_not_over_gaps(streams: PayloadStreams) -> None:
    before = streams.joints_at(4 * MS)
    assert before is not None
    np.testing.assert_allclose(before, 4.0)
    assert streams.joints_at(100 * MS) is None
    exact = streams.joints_at(200 * MS)
    assert exact is not None
    np.testing.assert_array_equal(exact, 200.0)


def test_marks_of_one_instant_end_before_they_begin(streams: PayloadStreams) -> None:
    for label in ("still:start", "tare_1:end", "motion:start"):
        streams.add_mark(5 * MS, label)
    labels = []
    while (mark := streams.next_mark(5 * MS)) is not None:
        labels.append(mark[1])
    assert labels == ["tare_1:end", "motion:start", "still:start"]


def test_what_was_read_is_forgotten_but_for_recent_joints(streams: PayloadStreams) -> None:
    for stamp in (5, 15):
        streams.add_wrench(stamp * MS, np.full(6, float(stamp)))
    streams.coming_wrench()
    streams.next_wrench()
    streams.forget_before(10 * MS)
    assert read(streams) == [(15, 15.0)]
    assert streams.joints_at(5 * MS) is None


# ---- two runs in a row


@dataclass(frozen=True)
class Arrival:
    """Something of a run: when it comes [s], in which stream, with which stamp [ns], of which run."""

    time: float
    stream: str
    stamp: int
    run: int


@dataclass(frozen=True)
class Run:
    """A run's length [s], its streams' rates [Hz] and phase [s], their disorder [s] and its seed."""

    length: float
    joints_hz: float
    wrench_hz: float
    phase: float
    early: float
    late: float
    seed: int

    @property
    def last(self) -> float:
        """Time of the last joint state [s]."""
        return float(self.joint_times[-1])

    @property
    def joint_times(self) -> np.ndarray:
        return np.arange(0.0, self.length, 1.0 / self.joints_hz)

    def arrivals(self, number: int, came: float, start: float) -> list[Arrival]:
        """From the time `came` on, with stamps from `start` on [s]."""
        rng = np.random.default_rng(self.seed)
        stamp = lambda t: round((start + t) * 1e9)  # noqa: E731
        run = [Arrival(came + t, "joints", stamp(t), number) for t in self.joint_times]
        for stream, hz in (("wrench", self.wrench_hz), ("mark", 3.0)):
            for t in np.arange(self.phase, self.last, 1.0 / hz):
                at = came + t + rng.uniform(-self.early, self.late)
                run.append(Arrival(at, stream, stamp(t), number))
        return run


DISORDER = st.floats(0.0, 0.3)
RUNS = st.builds(
    Run,
    length=st.floats(0.4, 2.0),  # longer than the disorder
    joints_hz=st.sampled_from([25.0, 100.0, 250.0]),
    wrench_hz=st.sampled_from([17.0, 100.0, 250.0]),
    phase=st.floats(0.0, 0.05),
    early=DISORDER,
    late=DISORDER,
    seed=st.integers(0, 2**32),
)


def feed(streams: PayloadStreams, item: Arrival) -> None:
    if item.stream == "joints":
        streams.add_joints(item.stamp, np.full((6, 2), float(item.run)))
    elif item.stream == "wrench":
        streams.add_wrench(item.stamp, np.full(6, float(item.run)))
    else:
        streams.add_mark(item.stamp, f"{item.run}:start")


def all_read(streams: PayloadStreams) -> tuple[list[tuple[int, float]], list[tuple[int, str]]]:
    """Stamps of wrenches with their run, which must be that of the joint states; marks."""
    wrenches = []
    while (stamp := streams.coming_wrench()) is not None:
        run, joints = float(streams.next_wrench()[0]), streams.joints_at(stamp)
        assert joints is None or joints[0, 0] == run  # none: before the first
        wrenches.append((stamp, run))
    marks = []
    while (mark := streams.next_mark()) is not None:
        marks.append(mark)
    return wrenches, marks


@settings(max_examples=30, deadline=None)
@given(first=RUNS, second=RUNS, back_s=st.floats(1.01, 30.0), every=st.integers(1, 400))
def test_at_the_seam_of_two_runs_nothing_is_lost_or_read_twice(
    first: Run, second: Run, back_s: float, every: int
) -> None:
    """Whatever their lengths, rates, phases and orders of arrival; `every` so many they are read."""
    begins = first.last + 1e-3
    arrivals = [
        *first.arrivals(1, 0.0, 100.0),
        *(of_second := second.arrivals(2, begins, 100.0 + first.last - back_s)),
    ]
    streams = PayloadStreams(max_gap_s=0.1)
    for n, item in enumerate(sorted(arrivals, key=lambda item: item.time)):
        feed(streams, item)
        if n % every == 0:
            if streams.late:
                streams.rewind()
            all_read(streams)
    streams.end()
    streams.rewind()
    wrenches, marks = all_read(streams)
    stamps = {
        stream: sorted(item.stamp for item in of_second if item.stream == stream)
        for stream in ("wrench", "mark")
    }
    assert wrenches == [(stamp, 2.0) for stamp in stamps["wrench"]]
    assert marks == [(stamp, "2:start") for stamp in stamps["mark"]]


def test_what_is_only_late_is_of_the_run_that_goes_on() -> None:
    streams = PayloadStreams(max_gap_s=0.1)
    for t in range(0, 5000, 10):
        streams.add_joints(t * MS, np.zeros((6, 2)))
        if t == 3000:  # two seconds late: perhaps the next run's
            streams.add_wrench(1000 * MS, np.zeros(6))
            assert streams.coming_wrench() is None
    assert streams.coming_wrench() == 1000 * MS
