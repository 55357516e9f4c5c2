# SPDX-License-Identifier: Apache-2.0
"""A payload session gives the same from any order of arrival."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live import (
    OnlinePayload,
    PayloadSession,
    held_data,
    weigh_motion,
)
from sysid_core.estimation.payload_live.parts import KnownLoad, KnownLoads
from sysid_core.estimation.payload_live.streams import RUN_START
from sysid_core.estimation.payload_map import RunningMAP, SensorModel, filtered_motion_covariance
from sysid_core.planning import MotionLimits
from sysid_core.planning.payload import plan_payload_motion
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia
from sysid_core.robot.shapes import load_shape
from sysid_core.signals import Recording, WrenchStream
from sysid_core.signals.filters import FilteredJointStream, JointFilter
from sysid_core.signals.wrench import SensorCalibration
from sysid_core.simulation import MujocoPlant, SensorNoise, SimulatedRobot

FRAME = "link_eef"
PAYLOAD = pi_from_mass_com_inertia(0.8, [0.0, 0.02, 0.03], np.diag([0.004, 0.003, 0.005]))
BEGAN_S = 2000.0
BIAS = (1.0, -2.0, 0.5, 0.05, -0.03, 0.02)


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf("xarm7")


@pytest.fixture(scope="module")
def run(model: RobotModel) -> Recording:
    limits = MotionLimits.from_model(model, tcp_frame=FRAME, tcp_speed=1.0)
    plan = plan_payload_motion(
        model, limits, duration=3.0, n_tare=3, still=0.6, n_candidates=20, mean_angular_speed=1.5
    )
    plant = MujocoPlant(model, sensor_frame=FRAME, payload=PAYLOAD)
    noise = SensorNoise(wrench_bias=BIAS)
    robot = SimulatedRobot(plant, plan.trajectory.q[0], noise, np.random.default_rng(3))
    return robot.record(plan.trajectory, rate_hz=100.0, wrench_frame=FRAME)


@pytest.fixture(scope="module")
def alone(model: RobotModel, run: Recording) -> PayloadSession:
    """The recording in a session of its own."""
    session = new_session(model)
    session.replay(run)
    return session


def new_session(model: RobotModel) -> PayloadSession:
    return PayloadSession(model, FRAME, OnlinePayload(load_shape("box 0.2 0.2 0.16")))


def test_the_newest_moment_tells_the_part_without_marks_or_order(
    model: RobotModel, run: Recording, alone: PayloadSession
) -> None:
    parts = KnownLoads(
        {
            name: KnownLoad.measured(mass, 0.02, np.array([0.0, 0.02, 0.03]), 0.005, 0.15)
            for name, mass in (("part", 0.8), ("other", 1.1))
        }
    )
    used = alone.online.n_samples
    live, sensor = alone.held_data(0.3)
    assert np.ptp(live.time) > 0.2 and alone.online.n_samples == used
    found = parts.probabilities(live, sensor)
    assert next(iter(found)) == "part" and found["part"] > 0.95
    assert run.wrench is not None and alone.calibration is not None
    stamps = run.wrench.stamps_ns
    last = dataclasses.replace(
        run, wrench=run.wrench.select(np.flatnonzero(stamps > stamps[-1] - 900_000_000))
    )
    recorded, tared = held_data(last, model, FRAME, alone.calibration)
    assert next(iter(parts.probabilities(recorded, tared))) == "part"
    with pytest.raises(EstimationError, match="needs a tare"):
        new_session(model).held_data(0.3)
    frozen = PayloadSession(model, FRAME, OnlinePayload(), calibration=alone.calibration)
    for k in range(50):
        state = np.zeros(len(model.joint_names))
        frozen.add_joints(10_000_000 * k, state, state, state)
        frozen.add_wrench(10_000_000 * k, BIAS)
    with pytest.raises(EstimationError, match="Only 1 wrench sample"):
        frozen.held_data(0.3)


def test_the_payload_and_the_sensors_bias_are_found(model: RobotModel, run: Recording) -> None:
    session = new_session(model)
    session.replay(run)
    estimate = session.online.estimate()
    np.testing.assert_allclose(estimate.values[:4], PAYLOAD[:4], atol=5e-3)
    assert session.calibration is not None
    np.testing.assert_allclose(session.calibration.bias, BIAS, atol=0.03)
    assert estimate.physically_consistent


def test_a_sensor_slower_than_its_topic_is_weighed_as_if_it_were_not(
    model: RobotModel, run: Recording, alone: PayloadSession
) -> None:
    """Each reading held five times, as of 100 Hz on a bus of 500 Hz; and spikes while it is tared."""
    assert run.wrench is not None
    stamps = (run.wrench.stamps_ns[:, None] + 2_000_000 * np.arange(5)).ravel()
    held = np.repeat(run.wrench.wrench, 5, axis=0)
    session = new_session(model)
    repeated = dataclasses.replace(run, wrench=WrenchStream(FRAME, stamps, held))
    session.replay(repeated)
    assert len(session.data()) == pytest.approx(len(alone.data()), abs=5)
    assert session.n_repeated == pytest.approx(4 * len(session.data()), rel=0.02)
    weighing = weigh_motion(repeated, model, FRAME, load_shape("box 0.2 0.2 0.16"))
    assert "80% of the wrench samples repeat" in " ".join(weighing.notes)
    np.testing.assert_allclose(weighing.estimate.values[:4], PAYLOAD[:4], atol=5e-3)

    first = next(mark for mark in run.marks if mark.label.startswith("tare"))
    at = int(np.searchsorted(run.wrench.stamps_ns, first.stamp_ns)) + 40
    spiked = run.wrench.wrench.copy()
    spiked[at] += 100.0
    session = new_session(model)
    session.replay(dataclasses.replace(run, wrench=dataclasses.replace(run.wrench, wrench=spiked)))
    assert session.calibration is not None
    np.testing.assert_allclose(session.calibration.bias, BIAS, atol=0.03)


def test_a_wrench_or_calibration_of_another_frame_is_refused(
    model: RobotModel, run: Recording
) -> None:
    assert run.wrench is not None
    elsewhere = dataclasses.replace(run, wrench=dataclasses.replace(run.wrench, frame="link1"))
    with pytest.raises(SysIdError, match="in frame 'link1'"):
        new_session(model).replay(elsewhere)
    other = SensorCalibration("link1", np.zeros(6), np.zeros(4), np.eye(10))
    online = OnlinePayload(load_shape("box 0.2 0.2 0.16"))
    with pytest.raises(SysIdError, match="calibration is in frame 'link1'"):
        PayloadSession(model, FRAME, online, calibration=other)


def state_of(filtered: FilteredJointStream, k: int) -> tuple[np.ndarray, ...]:
    """q, v, a and their standard deviations, as the logger publishes them."""
    assert filtered.v is not None and filtered.a is not None and filtered.q_sd is not None
    assert filtered.v_sd is not None and filtered.a_sd is not None
    sd = np.array([filtered.q_sd[k], filtered.v_sd[k], filtered.a_sd[k]])
    return filtered.q[k], filtered.v[k], filtered.a[k], sd


def motion_stamps(session: PayloadSession) -> np.ndarray:
    """Stamps of the motion samples, corrected for the delay of the sensor [ns]."""
    after = np.round(1e9 * session.data().time).astype(np.int64)
    assert session.calibration is not None
    return session.first_stamp_ns + after - max(0, round(1e9 * session.calibration.delay[0]))


def test_the_running_estimate_knows_the_motions_covariance_and_the_tare(
    model: RobotModel, run: Recording
) -> None:
    session = new_session(model)
    filtered = session.replay(run)
    data, calibration = session.data(), session.calibration
    assert calibration is not None
    # The same by hand: filter's covariance at the wrenches' stamps, sensor as tared.
    rows = np.searchsorted(filtered.stamps_ns, motion_stamps(session))
    known = dataclasses.replace(
        data, covariance=filtered_motion_covariance(model, FRAME, filtered)[rows]
    )
    running = RunningMAP(
        session.online.shape, sensor=SensorModel().tared(calibration, session.tare_age_s)
    )
    expected = running.fit(known)
    np.testing.assert_allclose(session.online.estimate().values, expected.values, rtol=1e-9)
    for other in (
        RunningMAP(session.online.shape).fit(known),
        RunningMAP(
            session.online.shape, sensor=SensorModel().tared(calibration, session.tare_age_s)
        ).fit(data),
    ):
        assert not np.allclose(other.values, expected.values, rtol=1e-6)


def test_a_tare_narrows_the_bias_of_a_described_sensor_but_not_its_gains(
    model: RobotModel, run: Recording
) -> None:
    shape = load_shape("box 0.2 0.2 0.16")
    sds = []
    for sensor in (SensorModel(gain=0.1), SensorModel(), SensorModel.named("calibrated")):
        session = PayloadSession(model, FRAME, OnlinePayload(shape, sensor=sensor))
        session.replay(run)
        sds.append(session.online.estimate().standard_deviations[0])
    assert sds[0] > 2.0 * sds[1] > 4.0 * sds[2]


def test_late_marks_and_wrenches_change_nothing(model: RobotModel, run: Recording) -> None:
    expected = new_session(model)
    filtered = expected.replay(run)
    assert run.wrench is not None
    live = new_session(model)
    rng = np.random.default_rng(0)
    # Arrival: stamp plus a random delay, some of it far beyond the estimator's patience.
    arrivals = [
        (stamp + int(rng.exponential(2e7)), "joints", k)
        for k, stamp in enumerate(filtered.stamps_ns.tolist())
    ]
    arrivals.sort()  # joint states stay in order
    arrivals += [
        (stamp + int(rng.exponential(5e7)), "wrench", k)
        for k, stamp in enumerate(run.wrench.stamps_ns.tolist())
    ]
    arrivals += [
        (m.stamp_ns + int(rng.exponential(5e8)), "mark", k) for k, m in enumerate(run.marks)
    ]
    order = sorted(arrivals)
    joints_in_order = iter(range(len(filtered)))
    for now, kind, k in order:
        if kind == "joints":
            j = next(joints_in_order)
            live.add_joints(int(filtered.stamps_ns[j]), *state_of(filtered, j))
        elif kind == "wrench":
            live.add_wrench(int(run.wrench.stamps_ns[k]), run.wrench.wrench[k])
        else:
            live.add_mark(run.marks[k].stamp_ns, run.marks[k].label)
        if now % 50 == 0:
            live.advance(now - 100_000_000)
    live.finish()
    assert live.online.n_samples == expected.online.n_samples
    np.testing.assert_array_equal(live.online.estimate().values, expected.online.estimate().values)


def arriving(
    run: Recording, joint_stamps_ns: np.ndarray, rng: np.random.Generator, disorder_ms: int = 50
) -> list[tuple[str, int]]:
    """Samples in the order of their arrival, wrenches and marks so much early or late."""
    assert run.wrench is not None
    stamps = {
        "joints": joint_stamps_ns.tolist(),
        "wrench": run.wrench.stamps_ns.tolist(),
        "mark": [mark.stamp_ns for mark in run.marks],
    }
    delays = {"joints": 0.0, "wrench": 1e6 * disorder_ms, "mark": 1e6 * disorder_ms}
    out = [
        (stamp + delays[kind] * rng.uniform(-1, 1), kind, k)
        for kind, all_ in stamps.items()
        for k, stamp in enumerate(all_)
    ]
    return [(kind, k) for _, kind, k in sorted(out)]


def take(session: PayloadSession, run: Recording, state: Callable[..., Any], item: Any) -> None:
    kind, k = item
    if kind == "joints":
        session.add_joints(*state(k))
    elif kind == "wrench":
        assert run.wrench is not None
        session.add_wrench(int(run.wrench.stamps_ns[k]), run.wrench.wrench[k])
    else:
        session.add_mark(run.marks[k].stamp_ns, run.marks[k].label)


class Collecting(OnlinePayload):
    """Estimates nothing: what a session gives it is in `session.data()`."""

    def update(self, data: PayloadData) -> tuple[()]:
        return ()


@pytest.fixture(scope="module")
def filtered(run: Recording) -> FilteredJointStream:
    return JointFilter.filter_stream(run.joints)[0]


def later(run: Recording, seconds: float, *, marked: bool, load: float = 1.0) -> Recording:
    """The recording at another time, with other forces; `marked` as a run, as the executor does."""
    by = round(seconds * 1e9)
    assert run.wrench is not None
    marks = [dataclasses.replace(mark, stamp_ns=mark.stamp_ns + by) for mark in run.marks]
    if marked:
        marks.insert(0, dataclasses.replace(marks[0], label=RUN_START))
    wrench = WrenchStream(FRAME, run.wrench.stamps_ns + by, load * run.wrench.wrench)
    return dataclasses.replace(run, wrench=wrench, marks=tuple(marks))


@settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate])  # unshrunk
@given(
    back_s=st.just(0.0) | st.floats(0.0, 1000.0) | st.floats(-1000.0, -20.0),
    n_first=st.integers(400, 2000),
    disorder_ms=st.sampled_from([0, 50, 300]),
    swaps=st.integers(0, 30),
    every=st.integers(20, 400),
    seed=st.integers(0, 2**32),
)
@example(back_s=0.0, n_first=1000, disorder_ms=300, swaps=0, every=50, seed=0)
@example(back_s=-100.0, n_first=1500, disorder_ms=50, swaps=30, every=100, seed=1)
@example(back_s=-100.0, n_first=1500, disorder_ms=0, swaps=0, every=20, seed=1)
def test_a_second_recording_in_a_session_gives_what_it_gives_alone(
    model: RobotModel,
    run: Recording,
    filtered: FilteredJointStream,
    alone: PayloadSession,
    back_s: float,
    n_first: int,
    disorder_ms: int,
    swaps: int,
    every: int,
    seed: int,
) -> None:
    """The second recording is the first one replayed, or is stamped earlier or later.

    The first recording was broken off, and messages around the change arrive in any order. If the
    second is stamped later, the begin of the run has to be marked.
    """
    rng, marked = np.random.default_rng(seed), back_s < 0.0
    session = PayloadSession(model, FRAME, Collecting())
    items = []
    for seconds, load in ((BEGAN_S + back_s, 1.5), (BEGAN_S, 1.0)):
        recording = later(run, seconds, marked=marked, load=load)
        stamps = filtered.stamps_ns + round(seconds * 1e9)
        order = arriving(recording, stamps, rng, disorder_ms)
        items += [(recording, stamps, item) for item in order[: None if items else n_first]]
    # The last of the first are on their way when the second begins.
    for k in rng.integers(n_first - 20, n_first + 20, swaps):
        if {items[k][2][0], items[k + 1][2][0]} != {"joints"}:
            items[k], items[k + 1] = items[k + 1], items[k]
    for n, (recording, stamps, item) in enumerate(items):
        take(session, recording, lambda k, at=stamps: (int(at[k]), *state_of(filtered, k)), item)
        if n % every == 0:
            session.advance()
    session.finish()
    assert session.calibration is not None and alone.calibration is not None
    np.testing.assert_array_equal(session.calibration.bias, alone.calibration.bias)
    found, expected = session.data(), alone.data()
    stamps = motion_stamps(alone) + round(BEGAN_S * 1e9)
    np.testing.assert_array_equal(motion_stamps(session), stamps)
    np.testing.assert_array_equal(found.wrench, expected.wrench)
    np.testing.assert_array_equal(found.regressor, expected.regressor)


def test_tare_marks_that_come_late_replace_a_kept_tare_without_a_loss(
    model: RobotModel, run: Recording, filtered: FilteredJointStream, alone: PayloadSession
) -> None:
    kept = SensorCalibration(FRAME, np.ones(6), np.zeros(4), np.eye(10))
    session = PayloadSession(
        model, FRAME, OnlinePayload(load_shape("box 0.2 0.2 0.16")), calibration=kept
    )
    items = arriving(run, filtered.stamps_ns, np.random.default_rng(1))
    late = items.index(("mark", 0)) + 400
    items = [x for x in items[:late] if x[0] != "mark"] + [
        *[("mark", k) for k in range(len(run.marks)) if ("mark", k) in items[:late]],
        *items[late:],
    ]
    for n, item in enumerate(items):
        if item == ("mark", 0):
            session.tare_anew()
        take(session, run, lambda k: (int(filtered.stamps_ns[k]), *state_of(filtered, k)), item)
        if n % 50 == 0:
            session.advance()
    session.finish()
    np.testing.assert_array_equal(session.online.estimate().values, alone.online.estimate().values)


def test_a_recording_without_tare_postures_is_refused(model: RobotModel, run: Recording) -> None:
    import dataclasses

    marks = tuple(m for m in run.marks if not m.label.startswith("tare_"))
    with pytest.raises(EstimationError, match="not tared"):
        new_session(model).replay(dataclasses.replace(run, marks=marks))


def test_a_recording_without_marks_has_no_data(model: RobotModel, run: Recording) -> None:
    import dataclasses

    session = new_session(model)
    session.replay(dataclasses.replace(run, marks=()))
    with pytest.raises(EstimationError, match="marks of a payload motion"):
        session.data()


def test_a_recording_without_wrench_is_refused(model: RobotModel, run: Recording) -> None:
    import dataclasses

    empty = WrenchStream(FRAME, np.empty(0), np.empty((0, 6)))
    for wrench in (None, empty):
        with pytest.raises(SysIdError, match="no wrench"):
            new_session(model).replay(dataclasses.replace(run, wrench=wrench))


def test_filtering_twice_gives_the_same_bits(run: Recording) -> None:
    one, _ = JointFilter.filter_stream(run.joints)
    two, _ = JointFilter.filter_stream(run.joints)
    assert one.a is not None and two.a is not None
    np.testing.assert_array_equal(one.a, two.a)


def test_a_load_taken_up_during_the_motion_is_weighed_from_then_on(
    model: RobotModel, run: Recording
) -> None:
    """Extra force of 0.4 kg at the centre of mass, from the middle of the oscillation."""
    still = new_session(model)
    still.replay(run)
    data, stamps = still.data(), motion_stamps(still)
    assert still.last_change is None
    at, end = int(stamps[len(stamps) // 2]), int(stamps[-1])
    assert run.wrench is not None
    extra = np.zeros((len(run.wrench), 6))
    for axis in range(6):
        added = data.regressor[:, axis] @ (0.5 * PAYLOAD)
        extra[:, axis] = np.interp(run.wrench.stamps_ns, stamps, added)
    during = (run.wrench.stamps_ns >= at) & (run.wrench.stamps_ns <= end)
    wrench = run.wrench.wrench + extra * during[:, None]
    loaded = dataclasses.replace(run, wrench=WrenchStream(FRAME, run.wrench.stamps_ns, wrench))
    session = new_session(model)
    session.replay(loaded)
    first = session.changes[0]
    assert first.kind.value == "attached" and 0 <= first.stamp_ns - at < 0.5e9
    assert session.first_stamp_ns >= first.stamp_ns
    if len(session.changes) == 1:
        assert session.online.estimate()["payload.m"] == pytest.approx(1.2, rel=0.03)
