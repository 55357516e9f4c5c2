# SPDX-License-Identifier: Apache-2.0
"""The executor: nothing moves unchecked, and everything stops smoothly."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sysid_core.errors import ExcitationError
from sysid_core.excitation import (
    MotionBuilder,
    MotionChecker,
    MotionLimits,
    Trajectory,
    check_motion,
)
from sysid_core.excitation.execution import (
    Command,
    Executor,
    ExecutorSettings,
    ExecutorState,
    Measured,
    MonitorLimits,
    PathFollower,
)
from sysid_core.excitation.payload import oscillation
from sysid_core.robot import RobotModel

MODEL = RobotModel.from_urdf("ur5")
LIMITS = MotionLimits.from_model(MODEL, tcp_frame="tool0", tcp_speed=1.0)
HOME = np.array([0.0, -1.2, 1.2, -1.2, -1.5, 0.0])
AWAY = HOME + 0.05
QUICK = ExecutorSettings(slow_start=0.3, settle_time=0.05, settle_timeout=1.0)


def lively_trajectory() -> Trajectory:
    """A wrist oscillation that uses most of the acceleration limit."""
    builder = MotionBuilder(MotionChecker(MODEL, LIMITS), HOME, rate_hz=200)
    builder.rest(0.2, "still")
    builder.play(
        *oscillation(HOME, [3, 4, 5], [0.28, 0.34, 0.36], 3.0, ramp=0.7, rate_hz=200), "oscillation"
    )
    builder.rest(0.2, "settle")
    return builder.build()


TRAJECTORY = lively_trajectory()
Change = Callable[[Measured, float], Measured | None]


def play(
    *,
    q_start: np.ndarray = AWAY,
    steps: np.ndarray | None = None,
    change: Change = lambda measured, now: measured,
    during: ExecutorState | None = None,
    after: float = 0.0,
    cancel_after: float = np.inf,
    executor: Executor | None = None,
) -> tuple[list[float], list[Command]]:
    """A run with a robot that follows perfectly; `change` falsifies what it measures.

    The change begins `after` seconds after the state `during` was entered.
    """
    executor = executor or Executor(MODEL, TRAJECTORY, LIMITS, settings=QUICK)
    executor.start()
    now, q, v = 0.0, q_start, np.zeros(6)
    times, commands, entered = [], [], None
    for k in range(100_000):
        if executor.state is during and entered is None:
            entered = now
        measured: Measured | None = Measured(now, MODEL.joint_names, q, v)
        if entered is not None and now - entered >= after:
            measured = change(measured, now)
        if entered is not None and now - entered >= cancel_after:
            executor.cancel()
        command = executor.step(now, measured)
        times.append(now)
        commands.append(command)
        if command.q is not None:
            q, v = command.q, command.v
        if command.state.is_final:
            return times, commands
        now += 0.005 if steps is None else steps[k % len(steps)]
    raise AssertionError("the run does not end")


def states(commands: list[Command]) -> list[str]:
    return list(dict.fromkeys(c.state.value for c in commands))


def assert_smooth(times: list[float], commands: list[Command], q_start: np.ndarray) -> None:
    """Velocity jumps stay below a_max dt, positions follow velocities, the end is at rest."""
    moving = [(t, c) for t, c in zip(times, commands, strict=True) if c.q is not None]
    t = np.array([t for t, _ in moving])
    q, v = (np.array([getattr(c, key) for _, c in moving]) for key in ("q", "v"))
    dt = np.diff(t)[:, None]
    assert np.all(np.abs(np.diff(v, axis=0)) <= LIMITS.acceleration * dt * (1 + 1e-9) + 1e-12)
    assert np.all(np.abs(v) <= LIMITS.velocity)
    np.testing.assert_array_equal(v[0], 0.0)
    np.testing.assert_array_equal(v[-1], 0.0)
    np.testing.assert_allclose(q[0], q_start, atol=1e-12)
    error = np.abs(np.diff(q, axis=0) - 0.5 * dt * (v[:-1] + v[1:]))
    assert np.all(error <= 0.5 * LIMITS.acceleration * dt**2 + 1e-3 * dt)


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
@settings(max_examples=20, deadline=None)
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
@settings(max_examples=10, deadline=None)
@given(steps=st.lists(st.floats(0.0005, 0.2), min_size=1, max_size=30))
def test_irregular_steps_never_break_the_acceleration_limit(steps):
    # A robot that stands between commands this far apart falls behind the moving target.
    monitor = MonitorLimits.from_limits(LIMITS, tracking_error=1.0)
    executor = Executor(MODEL, TRAJECTORY, LIMITS, monitor, QUICK)
    times, commands = play(steps=np.array(steps), executor=executor)
    assert commands[-1].state is ExecutorState.DONE
    assert_smooth(times, commands, AWAY)


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


def test_nothing_is_commanded_before_all_checks_pass():
    unsafe = LIMITS.replace(tcp_speed=0.01)
    executor = Executor(MODEL, TRAJECTORY, unsafe, settings=QUICK)
    _, commands = play(executor=executor)
    assert [c.state for c in commands] == [ExecutorState.ABORTED]
    assert commands[0].q is None
    assert "tcp speed of tool0" in commands[0].message


def test_a_robot_that_moves_is_not_taken_over():
    _, commands = play(
        change=lambda m, now: dataclasses.replace(m, v=m.v + 0.5), during=ExecutorState.CHECKING
    )
    assert states(commands) == ["aborted"]
    assert commands[-1].q is None
    assert "are moving" in commands[-1].message


def test_an_unsafe_way_to_the_start_is_refused():
    far = np.array([0.0, -1.2, 1.2, -1.2, -1.5, 0.0])
    far[2] = 2.95  # forearm folded onto the upper arm
    far[1] = -0.2
    _, commands = play(q_start=far)
    assert states(commands) == ["checking", "aborted"] or states(commands) == ["aborted"]
    assert commands[-1].q is None
    assert "way to the start" in commands[-1].message


def test_planning_time_does_not_count_as_a_stale_state():
    executor = Executor(MODEL, TRAJECTORY, LIMITS, settings=QUICK)
    executor.start()
    old = Measured(0.0, MODEL.joint_names, AWAY, np.zeros(6))
    executor.step(0.0, old)
    # The planner took 3 s; the newest state is still the old one, then a fresh one comes.
    assert executor.step(3.0, old).state is ExecutorState.CHECKING
    fresh = dataclasses.replace(old, stamp=3.01)
    assert executor.step(3.01, fresh).state is ExecutorState.MOVING_TO_START


def test_slow_start_and_speed_scale_stretch_the_motion():
    full = [c for c in play()[1] if c.state is ExecutorState.EXECUTING]
    half_speed = dataclasses.replace(QUICK, speed_scale=0.5)
    executor = Executor(MODEL, TRAJECTORY, LIMITS, settings=half_speed)
    half = [c for c in play(executor=executor)[1] if c.state is ExecutorState.EXECUTING]
    assert len(half) == pytest.approx(2 * len(full), rel=0.05)
    peaks = [max(np.abs(c.v).max() for c in run) for run in (full, half)]
    assert peaks[1] == pytest.approx(0.5 * peaks[0], rel=1e-3)


def test_a_robot_that_does_not_settle_aborts():
    _, commands = play(
        change=lambda m, now: dataclasses.replace(m, v=m.v + 0.1), during=ExecutorState.SETTLING
    )
    assert states(commands)[-1] == "aborted"
    assert "does not come to rest" in commands[-1].message


def test_a_finished_executor_can_start_again_but_a_running_one_not():
    executor = Executor(MODEL, TRAJECTORY, LIMITS, settings=QUICK)
    play(executor=executor)
    play(executor=executor, q_start=TRAJECTORY.q[-1])
    assert executor.state is ExecutorState.DONE
    executor.start()
    with pytest.raises(ExcitationError, match="is checking"):
        executor.start()


def test_cancelling_an_idle_executor_does_nothing():
    executor = Executor(MODEL, TRAJECTORY, LIMITS)
    executor.cancel()
    assert executor.step(0.0, None).state is ExecutorState.IDLE


def test_columns_in_another_order_play_the_same_motion():
    order = [5, 3, 1, 0, 2, 4]
    shuffled = dataclasses.replace(
        TRAJECTORY,
        joint_names=tuple(MODEL.joint_names[i] for i in order),
        **{key: getattr(TRAJECTORY, key)[:, order] for key in ("q", "v", "a")},
    )
    executor = Executor(MODEL, shuffled, LIMITS, settings=QUICK)
    one, two = play()[1], play(executor=executor)[1]
    np.testing.assert_array_equal(
        [c.q for c in one if c.q is not None], [c.q for c in two if c.q is not None]
    )


def test_the_stop_as_a_trajectory_is_the_stop_step_by_step():
    follower = PathFollower(TRAJECTORY, LIMITS.acceleration)
    for _ in range(170):
        follower.advance(0.01, 1.0)
    assert np.abs(follower.v).max() > 0.3
    stop = follower.stopping_trajectory(rate_hz=100.0)
    np.testing.assert_array_equal(stop.q[0], follower.q)
    np.testing.assert_array_equal(stop.v[-1], 0.0)
    for row in range(1, len(stop.time) - 1):
        follower.advance(0.01, 0.0)
        np.testing.assert_array_equal(stop.q[row], follower.q)
    assert follower.rate == 0.0


@pytest.mark.parametrize("bad", [{"speed_scale": 0.0}, {"speed_scale": 1.5}, {"slow_start": -1.0}])
def test_settings_out_of_range_are_refused(bad):
    with pytest.raises(ExcitationError, match=next(iter(bad))):
        ExecutorSettings(**bad)


def test_the_example_of_the_manual_runs_to_its_end(capsys):
    manual = Path(__file__).parents[2] / "docs" / "motions.md"
    (block,) = re.findall(r"```python\n(.*?)```", manual.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, str(manual), "exec"), {})
    assert capsys.readouterr().out == "done\n"
