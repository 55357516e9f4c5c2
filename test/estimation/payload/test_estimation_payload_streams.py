# SPDX-License-Identifier: Apache-2.0
"""Streams of a payload run are read by stamp, whatever the order in which they came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
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
    """An item of a run: its time of arrival [ms], its stream, its stamp [ms], and the number of the
    run.
    """

    time: int
    stream: str
    stamp: int
    run: int


@dataclass(frozen=True)
class Run:
    """A run's length, its streams' periods and phase, and how much its wrenches and marks come early
    and late [ms]; its seed."""

    length: int
    joints_ms: int
    wrench_ms: int
    phase: int
    early: int
    late: int
    seed: int

    @property
    def last(self) -> int:
        """Time of the last joint state [ms]."""
        return (self.length - 1) // self.joints_ms * self.joints_ms

    def arrivals(self, number: int, came: int, start: int) -> list[Arrival]:
        """Arrivals from the time `came` on [ms], with stamps from `start` on [ms]; a fifth of the
        wrenches arrives twice.
        """
        rng = np.random.default_rng(self.seed)
        times = range(0, self.length, self.joints_ms)
        run = [Arrival(came + t, "joints", start + t, number) for t in times]
        for stream, period in (("mark", 5 * self.wrench_ms), ("wrench", self.wrench_ms)):
            for t in range(self.phase, self.last + 1, period):
                # As early and as late as can be, or between.
                delays = [-self.early, self.late, rng.integers(-self.early, self.late + 1)]
                twice = stream == "wrench" and rng.random() < 0.2
                for delay in rng.choice(delays, 1 + twice):
                    run.append(Arrival(came + t + int(delay), stream, start + t, number))
        return run


DISORDER = st.integers(0, 313)  # with a period of the joint states a third of a second
RUNS = st.builds(
    Run,
    length=st.integers(400, 2000),  # longer than the disorder
    joints_ms=st.sampled_from([4, 10, 20]),
    wrench_ms=st.sampled_from([5, 20, 59]),
    phase=st.integers(0, 50),
    early=DISORDER,
    late=DISORDER,
    seed=st.integers(0, 2**32),
)
# Whose streams are as far apart as may be, with stamps at those of its joint states.
APART = Run(700, joints_ms=10, wrench_ms=5, phase=0, early=313, late=313, seed=1)
IN_ORDER = Run(581, joints_ms=4, wrench_ms=20, phase=0, early=0, late=0, seed=1)


def feed(streams: PayloadStreams, item: Arrival) -> None:
    if item.stream == "joints":
        streams.add_joints(item.stamp * MS, np.full((6, 2), float(item.run)))
    elif item.stream == "wrench":
        streams.add_wrench(item.stamp * MS, np.full(6, float(item.run)))
    else:
        streams.add_mark(item.stamp * MS, f"{item.run}:start")


def new_marks(streams: PayloadStreams, until_ns: int | None = None) -> list[tuple[int, str, int]]:
    out = []
    while (mark := streams.next_mark(until_ns)) is not None:
        out.append((mark[0] // MS, "mark", int(mark[1][0])))
    return out


def new_items(streams: PayloadStreams) -> list[tuple[int, str, int]]:
    """Wrenches with their run, which must be that of the joint states, and the marks before each."""
    out = []
    while (stamp := streams.coming_wrench()) is not None:
        out += new_marks(streams, stamp)
        run, joints = int(streams.next_wrench()[0]), streams.joints_at(stamp)
        assert joints is not None and joints[0, 0] == run
        out.append((stamp // MS, "wrench", run))
    return out


@settings(max_examples=20, deadline=None)
@given(first=RUNS, second=RUNS, back=st.integers(1001, 30_000), every=st.integers(1, 400))
@example(first=APART, second=APART, back=1001, every=1)
@example(first=APART, second=APART, back=1001, every=10_000)
@example(first=IN_ORDER, second=IN_ORDER, back=1001, every=1)
@example(first=IN_ORDER, second=IN_ORDER, back=1001, every=1)
@example(first=APART, second=IN_ORDER, back=2000, every=7)
@example(first=IN_ORDER, second=APART, back=30_000, every=7)
def test_at_the_seam_of_two_runs_nothing_is_lost_or_read_twice(
    first: Run, second: Run, back: int, every: int
) -> None:
    """The runs have any lengths, periods, phases and orders of arrival.

    The streams are read after each `every`th arrival. As in a session, reading starts again if
    something came too late.
    """
    begins = first.last + 1
    arrivals = [
        *first.arrivals(1, 0, 100_000),
        *(of_second := second.arrivals(2, begins, 100_000 + first.last - back)),
    ]
    streams, found = PayloadStreams(max_gap_s=0.1), []
    for n, item in enumerate([*sorted(arrivals, key=lambda item: item.time), None]):
        if item is None:
            streams.end()
        else:
            feed(streams, item)
        if n % every == 0 or item is None:
            if streams.late:
                streams.rewind()
                found = []
            found += new_items(streams)
    found += new_marks(streams)
    assert found == sorted({(x.stamp, x.stream, 2) for x in of_second if x.stream != "joints"})


@pytest.mark.parametrize("back_ns, again", [(1_000_000_000, False), (1_000_000_001, True)])
def test_a_run_begins_where_joint_states_go_back_by_more_than_a_second(
    streams: PayloadStreams, back_ns: int, again: bool
) -> None:
    streams.add_wrench(20 * MS, np.zeros(6))
    streams.add_joints(200 * MS - back_ns, np.zeros((6, 2)))
    assert (streams.coming_wrench() is None) == again


@pytest.mark.parametrize("after", ["goes on", "ends", "another begins"])
def test_what_is_only_late_is_of_its_own_run(after: str) -> None:
    """A wrench two seconds late may belong to the next run. This is decided when the next run
    begins, or when the current one continues or ends.
    """
    streams = PayloadStreams(max_gap_s=0.1)
    for t in range(0, 3000, 20):
        streams.add_joints(t * MS, np.zeros((6, 2)))
    streams.add_wrench(1000 * MS, np.zeros(6))
    assert streams.coming_wrench() is None
    if after == "goes on":
        for t in range(3000, 3400, 20):
            streams.add_joints(t * MS, np.zeros((6, 2)))
    elif after == "ends":
        streams.end()
    else:
        for t in (-9000, 2200):
            streams.add_joints(t * MS, np.zeros((6, 2)))
    assert (streams.coming_wrench() is None) == (after == "another begins")
