# SPDX-License-Identifier: Apache-2.0
"""Streams of a payload run are read by stamp, whatever the order in which they came."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.estimation.payload_live import PayloadStreams

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
    assert labels == ["motion:start", "tare_1:end", "still:start"]


def test_what_was_read_is_forgotten_but_for_recent_joints(streams: PayloadStreams) -> None:
    for stamp in (5, 15):
        streams.add_wrench(stamp * MS, np.full(6, float(stamp)))
    streams.coming_wrench()
    streams.next_wrench()
    streams.forget_before(10 * MS)
    assert read(streams) == [(15, 15.0)]
    assert streams.joints_at(5 * MS) is None
