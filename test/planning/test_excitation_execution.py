# SPDX-License-Identifier: Apache-2.0
"""The executor: states, stops and faults."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from executor_play import (
    AWAY,
    HOME,
    LIMITS,
    MODEL,
    QUICK,
    TRAJECTORY,
    Change,
    assert_smooth,
    play,
    states,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sysid_core.execution import (
    Executor,
    ExecutorState,
    Measured,
    MonitorLimits,
)
from sysid_core.planning import (
    check_motion,
)


def test_the_test_motion_is_safe_and_lively():
    check = check_motion(MODEL, TRAJECTORY, LIMITS)
    assert check.is_safe, check.violations
    assert check.usage["acceleration"] > 0.7


def test_a_run_goes_through_all_states_and_ends_at_the_end():
    times, commands = play()
    assert states(commands) == ["checking", "moving_to_start", "executing", "settling", "done"]
    np.testing.assert_allclose(commands[-1].q, TRAJECTORY.q[-1], atol=1e-12)
    assert_smooth(times, commands, AWAY)
    segments = list(dict.fromkeys(c.segment for c in commands if c.segment))
    assert segments == ["still", "oscillation", "settle"]


def test_progress_rises_from_0_to_1_while_executing():
    progress = [c.progress for c in play()[1] if c.state is ExecutorState.EXECUTING]
    assert progress[0] < 0.01 and progress[-1] == 1.0
    assert np.all(np.diff(progress) >= 0)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    during=st.sampled_from([ExecutorState.MOVING_TO_START, ExecutorState.EXECUTING]),
    after=st.floats(0.0, 3.5),
    steps=st.lists(st.floats(0.001, 0.05), min_size=1, max_size=20),
)
@example(during=ExecutorState.EXECUTING, after=1.0, steps=[0.046875])
@example(during=ExecutorState.EXECUTING, after=1.8, steps=[0.03125])
@example(during=ExecutorState.MOVING_TO_START, after=2.5, steps=[0.03125])
def test_any_abort_is_smooth_and_ends_at_rest(during, after, steps):
    times, commands = play(during=during, cancel_after=after, steps=np.array(steps))
    assert commands[-1].state in (ExecutorState.ABORTED, ExecutorState.DONE)
    assert_smooth(times, commands, AWAY)
    # The stop stays on the path that was checked.
    for c in commands:
        if c.state is ExecutorState.ABORTING and during is ExecutorState.EXECUTING:
            distance = np.abs(TRAJECTORY.q - c.q).max(axis=1).min()
            assert distance < 0.02


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(steps=st.lists(st.floats(0.0005, 0.2), min_size=1, max_size=30))
def test_irregular_steps_never_break_the_acceleration_limit(steps):
    # A robot that stands between commands this far apart falls behind the moving target.
    monitor = MonitorLimits.from_limits(LIMITS, tracking_error=1.0)
    executor = Executor(MODEL, TRAJECTORY, LIMITS, monitor, QUICK)
    times, commands = play(steps=np.array(steps), executor=executor)
    assert commands[-1].state is ExecutorState.DONE
    assert_smooth(times, commands, AWAY)


def test_a_robot_that_holds_its_position_during_a_stall_of_the_executor_does_not_jump_afterwards():
    settings = dataclasses.replace(QUICK, longest_step=0.01)
    executor = Executor(MODEL, TRAJECTORY, LIMITS, settings=settings)
    _, commands = play(steps=np.array([0.005] * 49 + [0.15]), executor=executor)
    assert commands[-1].state is ExecutorState.DONE
    q, v = (np.array([getattr(c, key) for c in commands if c.q is not None]) for key in "qv")
    assert np.abs(np.diff(q, axis=0)).max() < 0.011 * np.abs(v).max()


FAULTS: dict[str, tuple[Change, str]] = {
    "stale": (lambda m, now: dataclasses.replace(m, stamp=now - 1.0), "stale|older"),
    "none": (lambda m, now: None, "no joint state"),
    "nan": (lambda m, now: dataclasses.replace(m, q=np.full(6, np.nan)), "NaN"),
    "nan wrench": (lambda m, now: dataclasses.replace(m, wrench=np.full(6, np.nan)), "NaN"),
    "joints": (
        lambda m, now: dataclasses.replace(m, joint_names=("x", *m.joint_names[1:])),
        "wrong joint set.*shoulder_pan_joint",
    ),
    "length": (lambda m, now: dataclasses.replace(m, q=m.q[:5]), "wrong joint set"),
    "tracking": (lambda m, now: dataclasses.replace(m, q=m.q + 0.2), "tracking error"),
    "velocity": (lambda m, now: dataclasses.replace(m, v=m.v + 9.0), "velocity of"),
    "effort": (lambda m, now: dataclasses.replace(m, effort=np.full(6, 1e3)), "effort of"),
    "force": (
        lambda m, now: dataclasses.replace(m, wrench=np.array([0, 0, 500.0, 0, 0, 0])),
        "force is 500",
    ),
    "torque": (
        lambda m, now: dataclasses.replace(m, wrench=np.array([0, 0, 0, 0, 90.0, 0])),
        "torque is 90",
    ),
    "past": (lambda m, now: dataclasses.replace(m, stamp=now - 0.06), "clock jump"),
    "future": (lambda m, now: dataclasses.replace(m, stamp=now + 5.0), "clock jump"),
}


@pytest.mark.parametrize("name", sorted(set(FAULTS) - {"tracking"}))
def test_every_fault_stops_a_running_motion_smoothly(name):
    change, message = FAULTS[name]
    times, commands = play(change=change, during=ExecutorState.EXECUTING, after=1.5)
    assert states(commands)[-2:] == ["aborting", "aborted"]
    assert_smooth(times, commands, AWAY)
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(commands[-1].message)


def test_the_stop_of_a_robot_that_does_not_follow_begins_where_it_is():
    held = {}

    def blocked(m: Measured, now: float) -> Measured:
        held.setdefault("q", m.q)
        return dataclasses.replace(m, q=held["q"], v=np.zeros(6))

    _, commands = play(change=blocked, during=ExecutorState.EXECUTING, after=1.5)
    stop = [c for c in commands if c.state is ExecutorState.ABORTING]
    assert "tracking error" in commands[-1].message and commands[-1].state.value == "aborted"
    for c in [*stop[1:], commands[-1]]:
        np.testing.assert_array_equal(c.q, held["q"])  # it is not pushed towards the plan


# Tracking needs a command, and time to run backwards an earlier state.
@pytest.mark.parametrize("name", sorted(set(FAULTS) - {"tracking", "past"}))
def test_every_fault_before_the_start_means_that_nothing_moves(name):
    change, _ = FAULTS[name]
    _, commands = play(change=change, during=ExecutorState.CHECKING)
    assert states(commands) == ["aborted"]
    assert all(c.q is None and c.v is None for c in commands)


def test_measured_joint_limit_and_tcp_speed_are_watched():
    monitor = MonitorLimits.from_limits(LIMITS)
    narrow = dataclasses.replace(monitor, upper=np.minimum(monitor.upper, HOME + 0.5))
    executor = Executor(MODEL, TRAJECTORY, LIMITS, narrow, QUICK)
    assert "position of wrist" in play(executor=executor)[1][-1].message
    slow = dataclasses.replace(monitor, tcp_speed=0.05)
    executor = Executor(MODEL, TRAJECTORY, LIMITS, slow, QUICK)
    assert "TCP speed" in play(executor=executor)[1][-1].message


def test_a_clock_that_jumps_stops_the_robot_without_a_leap():
    for jump in (5.0, -0.5):
        executor = Executor(MODEL, TRAJECTORY, LIMITS, settings=QUICK)
        executor.start()
        now, shift, q, v, last = 0.0, 0.0, AWAY, np.zeros(6), None
        while not executor.state.is_final:
            if executor.state is ExecutorState.EXECUTING and executor.motion is not None:
                shift = jump if now > 4.0 else 0.0
            command = executor.step(now + shift, Measured(now + shift, MODEL.joint_names, q, v))
            if last is not None and command.v is not None:
                jump_v = np.abs(command.v - last)
                assert np.all(jump_v <= LIMITS.acceleration * 0.005 * (1 + 1e-9))
            if command.q is not None:
                q, v, last = command.q, command.v, command.v
            now += 0.005
        assert "clock jump" in command.message
        assert executor.state is ExecutorState.ABORTED


def test_a_clock_that_jumps_back_while_stopping_does_not_prolong_the_motion():
    lead = dataclasses.replace(QUICK, stop_lead=0.05)
    executor = Executor(MODEL, TRAJECTORY, LIMITS, settings=lead)
    executor.start()
    now, shift, q, v, after = 0.0, 0.0, AWAY, np.zeros(6), 0
    while not executor.state.is_final:
        if executor.state is ExecutorState.ABORTING:
            shift, after = -100.0, after + 1
        if now > 3.0:
            executor.cancel()
        time = now + shift
        command = executor.step(time, Measured(time, MODEL.joint_names, q, v))
        if command.q is not None:
            q, v = command.q, command.v
        now += 0.005
    assert 10 <= after < 100  # 0.05 s of lead, then a stop within half a second
