# SPDX-License-Identifier: Apache-2.0
"""The executor over a motion guard, which gets each motion once and brakes by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from executor_play import AWAY, LIMITS, MODEL, QUICK, TRAJECTORY, play

from sysid_core.execution import Executor, ExecutorState, Measured, Outgoing
from sysid_core.execution.play import GuardedPlay

DT = 0.005


class Guard:
    """Plays each motion it gets to the end; on request it brakes within 0.25 s."""

    def __init__(self, executor: Executor, slip: float = 0.0) -> None:
        self.executor, self.slip = executor, slip
        self.goals: list[Outgoing] = []
        self.u, self.rate, self.stopped_at = 0.0, 0.0, np.nan

    def moves(self, measured: Measured, now: float) -> Measured:
        """State of the robot, moved by the guard; to be called once per step."""
        out = self.executor.outgoing(now)
        if out is not None:
            self.goals.append(out)
            self.u, self.rate = 0.0, 1.0
        if not self.goals:
            return measured
        motion = self.goals[-1].trajectory
        aborting = self.executor.state is ExecutorState.ABORTING
        self.rate = max(self.rate - 4.0 * DT, 0.0) if aborting else self.rate
        if self.rate > 0.0:
            self.u = min(self.u + DT * self.rate, motion.duration)
            self.executor.clock(self.u, motion.at(self.u)[0], now)
        if self.rate == 0.0 or self.u == motion.duration:
            self.rate = 0.0
            self.executor.finished()
        q, v, _ = motion.at(self.u)
        return replace(measured, q=q + self.slip * self.u, v=v * self.rate)


def guarded() -> Executor:
    return Executor(MODEL, TRAJECTORY, LIMITS, settings=replace(QUICK, guarded=True))


def test_each_motion_is_handed_over_once_and_whole():
    executor = guarded()
    guard = Guard(executor)
    _, commands = play(executor=executor, during=ExecutorState.CHECKING, change=guard.moves)
    assert commands[-1].state is ExecutorState.DONE, commands[-1].message
    way, motion = guard.goals  # to the start, and from there
    assert way.trajectory.q[0] == pytest.approx(AWAY, abs=1e-9)
    assert motion.trajectory.q[-1] == pytest.approx(TRAJECTORY.q[-1], abs=1e-9)
    assert executor.worst_error < 0.01


def test_a_guard_whose_control_loop_was_stalled_is_no_tracking_error():
    """The control loop stood still for 0.15 s, and the next report of the guard is yet to come."""
    guarded_play = GuardedPlay(TRAJECTORY, LIMITS.acceleration, QUICK)
    guarded_play.outgoing(0.0)
    at, middle = guarded_play._played.at, 0.5 * guarded_play._played.duration
    guarded_play.clock(middle, at(middle)[0], 0.0)
    for k in range(1, 31):
        guarded_play.advance(0.005 * k, 0.005, None)
    assert np.abs(at(middle + 0.15)[0] - at(middle)[0]).max() > 0.1
    for u in (middle, middle + 0.07):
        assert guarded_play.expected(0.15, 1.0, at(u)[0]) == pytest.approx(at(u)[0], abs=1e-3)
    late = guarded_play.expected(0.15, 1.0, at(middle - 0.15)[0])  # it doesn't follow the guard
    assert np.abs(late - at(middle - 0.15)[0]).max() > 0.1


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_stop_ends_when_the_guard_holds_the_robot(cancelled):
    executor = guarded()
    guard = Guard(executor, slip=0.0 if cancelled else 0.2)  # falls behind, more and more
    executor.start()
    now, measured = 0.0, Measured(0.0, MODEL.joint_names, AWAY, np.zeros(6))
    stops_at = None
    while not executor.state.is_final:
        command = executor.step(now, measured)
        if cancelled and command.state is ExecutorState.EXECUTING and command.progress > 0.4:
            executor.cancel()
        now += DT
        slipping = guard.slip if command.state is not ExecutorState.MOVING_TO_START else 0.0
        guard.slip, kept = slipping, guard.slip
        measured = replace(guard.moves(measured, now), stamp=now)
        guard.slip = kept
        if command.state is ExecutorState.ABORTING and stops_at is None:
            stops_at = now
    assert executor.state is ExecutorState.ABORTED
    assert ("cancelled" in executor.message) == cancelled, executor.message
    assert 0.2 < now - stops_at < 1.0 and guard.rate == 0.0
    assert len(guard.goals) == 2  # no goal of the executor's own brakes
