# SPDX-License-Identifier: Apache-2.0
"""A live payload session for hours: memory stays, and its answers are those of a session that keeps all."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession
from sysid_core.estimation.payload_live.streams import PayloadStreams
from sysid_core.robot import RobotModel
from sysid_core.signals.wrench import SensorCalibration

MS = 1_000_000


def feed(streams: PayloadStreams, begin_ms: int, end_ms: int) -> None:
    for k in range(begin_ms, end_ms):
        streams.add_joints(k * MS, np.full((6, 7), float(k)))
        streams.add_wrench(k * MS, np.full(6, float(k)))


def read(streams: PayloadStreams, until_ms: int) -> int:
    n = 0
    while streams.coming_wrench(until_ms * MS) is not None:
        streams.next_wrench()
        n += 1
    return n


@pytest.mark.parametrize("reads", [True, False])
def test_streams_at_rest_hold_some_seconds_however_long_they_go_on(reads: bool):
    streams, sizes = PayloadStreams(0.1), []
    for second in range(1, 9):
        feed(streams, 1000 * (second - 1), 1000 * second)
        if reads:
            read(streams, 1000 * second - 300)
        streams.keep_newest(2.0)
        sizes.append(len(streams._joints) + len(streams._wrenches))
    assert max(sizes[3:]) == min(sizes[3:]) <= 2 * 2000


def test_every_reading_is_read_once_beside_the_forgetting():
    streams, n = PayloadStreams(0.1), 0
    for k in range(40):
        feed(streams, 100 * k, 100 * (k + 1))
        n += read(streams, 100 * k)
        streams.keep_newest(1.0)
        assert n == 100 * k + 1
        if k > 20:  # interpolation goes on
            state = streams.joints_at(100 * k * MS - MS // 2)
            assert state is not None and state[0, 0] == pytest.approx(100 * k - 0.5)


def test_a_mark_that_is_late_is_still_entered_with_the_readings_after_it():
    streams = PayloadStreams(0.1)
    feed(streams, 0, 5000)
    read(streams, 4900)
    streams.keep_newest(3.0)
    streams.add_mark(4500 * MS, "motion:start")
    streams.add_mark(100 * MS, "motion:start")  # of before what is kept
    assert streams.late
    streams.read_again()
    assert not streams.late
    assert streams.next_mark(4950 * MS) == (4500 * MS, "motion:start")
    assert streams.next_mark(4950 * MS) is None
    assert read(streams, 4900) == 401


def objects_below(root: Any) -> int:
    """Objects that something holds, as an interpreter that collects garbage counts them."""
    seen, todo = {id(root)}, [root]
    while todo:
        new = [o for o in gc.get_referents(*todo) if id(o) not in seen and not isinstance(o, type)]
        todo = list({id(o): o for o in new}.values())
        seen.update(id(o) for o in todo)
    return len(seen)


def held_after_each_minute(label: str, ends: bool, minutes: int) -> list[int]:
    """Objects held by a session after each minute; a new motion is marked every minute, or only
    once.
    """
    model, second = RobotModel.from_urdf("ur5"), 1_000_000_000
    tared = SensorCalibration("tool0", np.zeros(6), np.zeros(4), 1e-4 * np.eye(10))
    session = PayloadSession(model, "tool0", OnlinePayload(None), calibration=tared)
    held = []
    for minute in range(minutes):
        begin = (1 + 60 * minute) * second
        if ends or not minute:
            marks = ["motion:end"] * (minute > 0) + ["motion:start", f"{label}:start"]
            for mark in marks:
                session.add_mark(begin, mark)
        for k in range(120):
            stamp, q = begin + k * second // 2, 0.1 * np.sin(np.arange(6) + k)
            session.add_joints(stamp, q, 0 * q, 0 * q, np.full((3, 6), 1e-3))
            session.add_wrench(stamp, [0.1 * np.sin(k), 0.0, -9.0, 0.0, 0.0, 0.0])
            session.advance(stamp - second)
            session.keep_newest(30.0)
        held.append(objects_below(vars(session)))
    return held


@pytest.mark.parametrize("label", ["excitation", "oscillation"])
def test_motions_again_and_again_leave_nothing_behind(label: str):
    held = held_after_each_minute(label, ends=True, minutes=6)
    assert max(held[1:]) - min(held[1:]) < 50  # a sample takes a dozen


@pytest.mark.parametrize("label", ["excitation", "oscillation"])
def test_a_motion_whose_end_nobody_marks_is_not_remembered_for_ever(label: str):
    """As if the process that marks motions had been killed during one."""
    held = held_after_each_minute(label, ends=False, minutes=12)
    assert max(held[8:]) - min(held[8:]) < 50 and held[-1] < held[4]
