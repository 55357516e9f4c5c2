# SPDX-License-Identifier: Apache-2.0
"""A live payload session for hours: memory stays, and its answers are those of a session that keeps all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession
from sysid_core.estimation.payload_live import session as session_module
from sysid_core.estimation.payload_live.streams import PayloadStreams
from sysid_core.robot import RobotModel
from sysid_core.signals.wrench import static_regressor
from sysid_core.signals.wrench.tare import tare_single

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


def test_a_run_without_an_end_stays_small_and_goes_on_weighing(monkeypatch, rng):
    monkeypatch.setattr(session_module, "_LONG_RUN_S", 2.0)
    model, still = RobotModel.from_urdf("ur10"), np.zeros(6)
    calibration = replace(tare_single(np.zeros((20, 6)), model.gravity), frame="tool0")
    session = PayloadSession(model, "tool0", OnlinePayload(), calibration=calibration)
    session.add_mark(0, "oscillation:start")
    sizes = []
    for k in range(1, 801):
        q = 0.3 * np.sin(0.01 * k * np.arange(1, 7))
        session.add_joints(10 * k * MS, q, still, still)
        g = model.frame_motion("tool0", q[None], still[None], still[None]).gravity
        load = static_regressor(g)[0] @ [2.0, 0.0, 0.0, 0.1]
        late = 30 if k == 700 else 0
        session.add_wrench((10 * k - late) * MS, load + 0.01 * rng.normal(size=6))
        if k % 20 == 0:
            session.advance((10 * k - 10) * MS)
            session.keep_newest(1.0)
            sizes.append(len(session._streams._joints) + len(session.data()))
    assert max(sizes[-20:]) < 400
    assert session.first_stamp_ns < 50 * MS < session.last_stamp_ns and session.motion_s > 7.0
    assert session.online.estimate().values[0] == pytest.approx(2.0, rel=0.02)
    session.add_mark(8001 * MS, "oscillation:end")
    session.finish()
    assert session.segment == ""
