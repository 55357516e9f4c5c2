# SPDX-License-Identifier: Apache-2.0
"""Stops and the dead-man, against a controller that samples as ros2_controllers' does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cosimulation import PERIOD, FollowingRobot, Log, World, run
from joint_trajectory_controller import JointTrajectoryController

from sysid_core.execution import (
    Executor,
    ExecutorSettings,
    ExecutorState,
    Measured,
    MonitorLimits,
)
from sysid_core.planning import MotionChecker, MotionLimits, Trajectory
from sysid_core.planning.payload.motion import oscillation
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.robot import RobotModel

MODEL = RobotModel.from_urdf("ur5")
LIMITS = MotionLimits.from_model(MODEL, tcp_frame="tool0", tcp_speed=1.0)
HOME = np.array([0.0, -1.2, 1.2, -1.2, -1.5, 0.0])
ROLLING = ExecutorSettings(slow_start=0.5, horizon=0.65, resend=0.1, clocked=True)
MIDDLE = 2.4  # [s] after the beginning: the wrist oscillates at full speed


def lively() -> Trajectory:
    builder = MotionBuilder(MotionChecker(MODEL, LIMITS), HOME, rate_hz=100)
    builder.rest(0.2, "still")
    builder.play(
        *oscillation(HOME, [3, 4, 5], [0.28, 0.34, 0.36], 3.0, ramp=0.7, rate_hz=100), "oscillation"
    )
    return builder.build()


TRAJECTORY = lively()


def world(scaling: float = 1.0, from_desired: bool = False, **settings: Any) -> World:
    executor = Executor(
        MODEL,
        TRAJECTORY,
        LIMITS,
        MonitorLimits.from_limits(LIMITS, tracking_error=0.1, stale_after=0.2),
        dataclasses.replace(ROLLING, **settings),
    )
    controller = JointTrajectoryController(6, scaled=True, from_desired=from_desired)
    return World(executor, controller, FollowingRobot(HOME + 0.02), scaling=scaling)


def peak(log: Log) -> float:
    """Largest measured acceleration over its limit."""
    return float(np.max(np.abs(log.array("a")) / LIMITS.acceleration))


def still_after(log: Log, t: float) -> float:
    """Duration of the robot's motion after a time [s]."""
    moving = np.max(np.abs(log.array("v")), axis=1) > 1e-3
    return float(log.array("t")[moving].max() - t)


def commanded(log: Log) -> float:
    """Largest commanded acceleration of a control period over its limit."""
    a = np.diff(log.array("command"), 2, axis=0) / PERIOD**2
    return float(np.max(np.abs(a) / LIMITS.acceleration))


def on_time(k: int) -> float:
    return 0.0035 + 0.0015 * (k % 3)


def often_late(k: int) -> float:
    return 0.4 if k % 3 == 1 else 0.0035


@pytest.mark.parametrize(
    ("scaling", "says", "latency"),
    [
        (1.0, "topic", often_late),
        (0.95, "topic", often_late),
        (0.9, "feedback time", on_time),
        (0.9, "feedback place", on_time),
        (0.8, "topic", on_time),
        (0.5, "feedback time", often_late),
    ],
)
def test_a_robot_with_its_speed_slider_down_is_followed_without_a_step_however_late_goals_come(
    scaling, says, latency
):
    w = world(scaling)
    w.told_scaling = says == "topic"
    w.controller.says_time = says == "feedback time"
    log = run(MODEL, w, latency=latency)
    assert log.message == "done" and w.executor.worst_error < 0.1
    assert peak(log) <= 1.0
    if says == "topic":  # else the first goal of the way to the start is of another speed
        assert commanded(log) <= 1.05
        assert max(step for _, step in w.controller.steps) < 2e-5


@pytest.mark.parametrize("scaling", [0.985, 0.96])
@pytest.mark.parametrize("says_time", [True, False])
def test_a_slider_just_below_100_percent_that_no_topic_tells_is_noticed(scaling, says_time):
    """At each take-over the controller sets its time to the clock, so that its rate averaged over
    many goals looks like 1.
    """
    w = world(scaling)
    w.told_scaling, w.controller.says_time = False, says_time
    log = run(MODEL, w)
    assert log.message == "done" and peak(log) <= 1.0
    assert max(step for _, step in w.controller.steps) < 2e-5


def test_a_stop_whose_slider_goes_down_meanwhile_isnt_taken_for_its_end():
    w = world()
    w.told_scaling = False

    def lower(w: World, t: float, log: Log) -> None:
        w.scaling = float(np.interp(t, [2.4685, 2.9685], [1.0, 0.3]))
        if t > 2.6329:
            w.executor.cancel()

    log = run(MODEL, w, lower)
    assert log.state[-1] is ExecutorState.ABORTED and peak(log) <= 1.0


@pytest.mark.parametrize("scaling", [1.0, 0.8])
def test_an_executor_on_a_busy_machine_makes_no_step(scaling):
    w = world(scaling)
    stalls = np.random.default_rng(3).uniform(0.05, 0.4, 200)
    ends = np.cumsum(stalls + 0.25)

    def stalled(t: float) -> bool:  # a stall of each length, then it runs for a quarter of a second
        k = int(np.searchsorted(ends, t))
        return t > ends[k] - stalls[k]

    w.executor.monitor.limits = dataclasses.replace(
        w.executor.monitor.limits, max_step=0.5, stale_after=0.5
    )
    log = run(MODEL, w, latency=often_late, stalled=stalled)
    assert log.message == "done" and peak(log) <= 1.0 and commanded(log) <= 1.0
    assert max(step for _, step in w.controller.steps) < 2e-5


@pytest.mark.parametrize("says", ["topic", "feedback time", "feedback place"])
@pytest.mark.parametrize("stall", [0.0, 0.1, 0.2])
def test_a_goal_may_be_later_than_all_before_after_a_stall_of_the_executor(says: str, stall: float):
    """If the next goal might come too late, the robot comes to rest, and the motion continues from there."""
    w = world()
    w.told_scaling = says == "topic"
    w.controller.says_time = says == "feedback time"
    begin = MIDDLE + 0.05
    late: list[float] = []

    def begins(w: World, t: float, log: Log) -> None:
        late[:] = [0.44] if t > begin else []

    log = run(
        MODEL,
        w,
        begins,
        latency=lambda k: late[0] if late else on_time(k),
        stalled=lambda t: begin < t < begin + stall,
    )
    assert log.message == "done" and peak(log) <= 1.0
    assert max(step for _, step in w.controller.steps) < 5e-5


@pytest.mark.parametrize("by", [0.0, 0.05, 0.15, 0.3, 0.45])
def test_a_slider_that_is_moved_during_a_motion_is_followed_without_a_step(by: float):
    """If goals rolled on however late they come, the peak would be 1.2 to 30 times the limit."""
    w = world(slider=True)

    def move(w: World, t: float, log: Log) -> None:
        times = [MIDDLE, MIDDLE + 0.5, MIDDLE + 3.0, MIDDLE + 3.5]  # the robot's own ramps
        w.scaling = float(np.interp(t, times, [1.0, 0.6, 0.6, 1.0]))

    log = run(MODEL, w, move, latency=lambda k: by + on_time(k))
    assert log.message == "done" and peak(log) <= 1.0
    assert max(step for _, step in w.controller.steps) < 2e-5


@pytest.mark.parametrize("scaling", [1.0, 0.9, 0.65, 0.5])
def test_a_cancel_stops_within_the_limits(scaling):
    w = world(scaling)

    def cancel(w: World, t: float, log: Log) -> None:
        if t > MIDDLE / scaling:
            w.executor.cancel()

    log = run(MODEL, w, cancel)
    assert log.state[-1] is ExecutorState.ABORTED
    assert peak(log) <= 1.0 and commanded(log) <= 1.0
    k = log.state.index(ExecutorState.ABORTING)
    at_end = log.command[-100] - log.command[log.state.index(ExecutorState.ABORTED)]
    assert np.max(np.abs(at_end)) < 2e-5  # the hold of its end isn't behind the stop
    # The goal under way comes to its end: no other could be a step, however late it came.
    assert still_after(log, log.t[k]) < ROLLING.horizon + 0.05 + 0.7 / scaling


def late_after(begin: float, by: float) -> tuple[Callable[..., None], Callable[[int], float]]:
    """A cancel at a time [s], and goals that are late by so much from then on [s]."""
    cancelled = []

    def cancel(w: World, t: float, log: Log) -> None:
        if t > begin and not cancelled:
            cancelled.append(t)
            w.executor.cancel()

    return cancel, lambda k: by if cancelled else on_time(k)


@pytest.mark.parametrize("by", [0.08, 0.2, 0.5])
def test_a_network_that_stalls_in_the_moment_of_a_cancel_makes_no_step(by: float):
    cancel, latency = late_after(MIDDLE, by)
    w = world()
    log = run(MODEL, w, cancel, latency=latency)
    assert log.state[-1] is ExecutorState.ABORTED
    assert peak(log) <= 1.0 and commanded(log) <= 1.05
    assert max(step for _, step in w.controller.steps) < 2e-5


@pytest.mark.parametrize("phase", [0.011, 0.027, 0.043])
@pytest.mark.parametrize("by", [0.0, 0.3])
def test_a_limit_that_is_exceeded_stops_earlier_without_a_step(phase: float, by: float):
    w = world(stop_lead=0.06)

    def hit(w: World, t: float, log: Log) -> None:
        if t > MIDDLE + phase:
            w.falsify = spike

    log = run(MODEL, w, hit, latency=lambda k: by + on_time(k))
    assert log.message.startswith("wrench: force is 900")
    assert peak(log) <= 1.0 and commanded(log) <= 1.05
    assert max(step for _, step in w.controller.steps) < 2e-5
    k = log.state.index(ExecutorState.ABORTING)
    assert still_after(log, log.t[k]) < (0.9 if by == 0.0 else 1.3)


@pytest.mark.parametrize("phase", [0.0, 0.017, 0.034, 0.051, 0.068, 0.085])
@pytest.mark.parametrize("by", [0.15, 0.3, 0.5])
def test_the_stop_of_an_exceeded_limit_may_be_later_than_all_goals_before(phase: float, by: float):
    """With a lead of 0.06 s the peaks were 3 to 29 times the limit."""
    w, late = world(), []

    def hit(w: World, t: float, log: Log) -> None:
        if t > MIDDLE + phase:
            w.falsify, late[:] = spike, [by]

    log = run(MODEL, w, hit, latency=lambda k: late[0] if late else on_time(k))
    assert log.message.startswith("wrench: force is 900")
    assert peak(log) <= 1.0 and commanded(log) <= 1.05
    assert max(step for _, step in w.controller.steps) < 2e-5


@pytest.mark.parametrize("scaling", [1.0, 0.5])
def test_an_executor_that_is_killed_leaves_a_robot_that_stops_within_a_second(scaling):
    w = world(scaling)
    at = []

    def kill(w: World, t: float, log: Log) -> None:
        if t > MIDDLE / scaling and not w.killed:
            w.killed = True
            at.append(t)

    log = run(MODEL, w, kill)
    stopping = 0.7 / scaling
    assert 0.1 < still_after(log, at[0]) < ROLLING.horizon + 0.2 + stopping
    assert peak(log) <= 1.0
    assert np.max(np.abs(log.v[-1])) < 1e-3


@pytest.mark.parametrize("by", [0.0, 0.3])
def test_an_arm_that_is_held_up_is_not_pushed_towards_the_plan(by: float):
    w = world()

    def block(w: World, t: float, log: Log) -> None:
        w.robot.blocked = t > MIDDLE

    log = run(MODEL, w, block, latency=lambda k: on_time(k) + (by if w.robot.blocked else 0.0))
    assert "tracking error" in log.message
    k = next(i for i, t in enumerate(log.t) if t > log.since(ExecutorState.ABORTING) + 0.03 + by)
    push = np.abs(log.array("command")[k:] - log.q[k])
    assert push.max() < 0.01  # it was 0.1 rad when the stop began


@pytest.mark.parametrize("by", [0.0, 0.3, 0.5])
def test_a_robot_that_falls_behind_stops_within_the_limits_however_late_the_goal_comes(by: float):
    w, weak = world(), []

    def weaken(w: World, t: float, log: Log) -> None:
        if t > MIDDLE:
            weak.append(t)
            w.robot.weaken(float(np.interp(t, [weak[0], weak[0] + 0.5], [66.0, 25.0])))

    log = run(MODEL, w, weaken, latency=lambda k: on_time(k) + (by if weak else 0.0))
    assert log.message.startswith("tracking error") and peak(log) <= 1.0


def test_goals_replace_each_other_without_a_step_where_the_controller_starts_from_its_command():
    w = world(from_desired=True)
    log = run(MODEL, w)
    assert log.message == "done" and peak(log) <= 1.0
    assert max(step for _, step in w.controller.steps) < 2e-5


def nan(m: Measured, now: float) -> Measured:
    return dataclasses.replace(m, q=np.full(len(m.q), np.nan))


class Gone:
    """No more states arrive: the last one stays the newest."""

    def __init__(self) -> None:
        self.last: Measured | None = None

    def __call__(self, m: Measured, now: float) -> Measured | None:
        self.last = self.last or m
        return self.last


def earlier(m: Measured, now: float) -> Measured:
    return dataclasses.replace(m, stamp=m.stamp - 0.5)


def elsewhere(m: Measured, now: float) -> Measured:
    """As a second publisher says: the stop began there, 20 to 80 times the acceleration limit."""
    return dataclasses.replace(m, q=m.q + 0.2)


def endless(m: Measured, now: float) -> Measured:
    """The stop began there and lasted 10 years: no memory was enough for it."""
    v = np.full(6, 1e9)
    return dataclasses.replace(m, q=m.q + 0.2, v=v, effort=np.full(6, np.inf))


def twice(m: Measured, now: float) -> Measured:
    """The step raised an error, so that nothing stopped a streamed motion."""
    names, q, v = (*m.joint_names, m.joint_names[0]), np.append(m.q, m.q[0]), np.append(m.v, 0.0)
    return dataclasses.replace(m, joint_names=names, q=q, v=v)


def spike(m: Measured, now: float) -> Measured:
    return dataclasses.replace(m, wrench=np.array([0.0, 0.0, 900.0, 0.0, 0.0, 0.0]))


def dead_wrench(m: Measured, now: float) -> Measured:
    return dataclasses.replace(m, wrench=np.zeros(6), wrench_stamp=1000.0 + MIDDLE)


@pytest.mark.parametrize(
    ("falsify", "words"),
    [
        (nan, "NaN"),
        (Gone(), "stale state"),
        (earlier, "clock jump"),
        (elsewhere, "tracking error"),
        (twice, "occurs twice"),
        (endless, "infinite value in the measured effort"),
        (spike, "force is 900"),
        (dead_wrench, "stale wrench"),
    ],
    ids=lambda x: getattr(x, "__name__", type(x).__name__) if callable(x) else "",
)
def test_a_fault_of_the_measurements_stops_within_the_limits(
    falsify: Callable[[Measured, float], Measured | None], words: str
):
    w = world()

    def fail(w: World, t: float, log: Log) -> None:
        if t > MIDDLE:
            w.falsify = falsify

    log = run(MODEL, w, fail)
    assert words in log.message
    assert peak(log) <= 1.0 and max(step for _, step in w.controller.steps) < 2e-5


@pytest.mark.parametrize("jump", [3.0, -3.0])
def test_a_clock_that_is_set_stops_within_the_limits(jump: float):
    w = world()

    def step(w: World, t: float, log: Log) -> None:
        w.clock_offset = jump if t > MIDDLE else 0.0

    log = run(MODEL, w, step)
    assert "clock jump" in log.message and peak(log) <= 1.0


def test_a_controller_whose_words_are_lost_is_not_waited_for_for_ever():
    """As after a break of the network: states arrive, but not the report of the last goal's end."""
    w = world()

    def lose(w: World, t: float, log: Log) -> None:
        w.silent = t > MIDDLE

    log = run(MODEL, w, lose, longest=40.0)
    assert log.state[-1] is ExecutorState.ABORTED and "does not report the end" in log.message
    assert peak(log) <= 1.0 and log.t[-1] < 25.0


def test_a_guard_that_never_begins_is_not_waited_for_for_ever():
    executor = world(guarded=True).executor
    executor.start()
    for k in range(2500):
        now = 1000.0 + 0.01 * k
        executor.step(now, Measured(now, MODEL.joint_names, HOME, 0.0 * HOME))
        executor.outgoing(now)
    assert executor.state in (ExecutorState.ABORTING, ExecutorState.ABORTED)
    assert "does not report the end" in executor.message


def test_a_process_that_stalls_finds_its_robot_standing():
    w = world()
    until = []

    def stall(w: World, t: float, log: Log) -> None:
        if t > MIDDLE and not until:
            until.append(t + 1.2)
            w.killed = True
        if until and t > until[0]:
            w.killed = False

    log = run(MODEL, w, stall)
    assert "stalled" in log.message and peak(log) <= 1.0


def test_goals_of_one_motion_say_the_same_where_they_overlap():
    w = world()
    log = run(MODEL, w)
    assert PERIOD < 0.01 and len(log.goals) > 10
    for first, second in zip(log.goals[5:-1], log.goals[6:], strict=True):
        common = set(np.round(first.stamp + first.time, 4)) & set(
            np.round(second.stamp + second.time, 4)
        )
        assert len(common) > 5
    assert all(not goal.v[-1].any() for goal in log.goals)


def test_a_driver_with_noisy_velocities_is_played_on_with_another_rest_velocity():
    rng = np.random.default_rng(0)

    def noisy(m: Measured, now: float) -> Measured:
        return dataclasses.replace(m, v=m.v + rng.normal(0.0, 0.03, len(m.v)))

    refused, played = world(), world(rest_velocity=0.2)
    refused.falsify = played.falsify = noisy
    assert "see rest_velocity" in run(MODEL, refused).message
    assert run(MODEL, played).message == "done"


@pytest.mark.parametrize("told", [0.0, 0.01])  # a share of 1 taken for one per cent, too
def test_a_paused_robot_gets_nothing_that_it_could_go_on_with_later(told: float):
    w = world()

    def hold(w: World, t: float, log: Log) -> None:
        if t > MIDDLE:
            w.scaling = told

    log = run(MODEL, w, hold, longest=12.0)
    assert "paused" in log.message and log.state[-1] is ExecutorState.ABORTED
    assert w.controller.goal is not None and w.controller.goal.outcome == "canceled"
