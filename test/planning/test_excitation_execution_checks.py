# SPDX-License-Identifier: Apache-2.0
"""The executor: what it checks before and while it plays."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from executor_play import AWAY, LIMITS, MODEL, QUICK, TRAJECTORY, play, states

from sysid_core.errors import ExcitationError
from sysid_core.execution import Executor, ExecutorSettings, ExecutorState, Measured


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
    assert "motion to the start" in commands[-1].message


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


@pytest.mark.parametrize("bad", [{"speed_scale": 0.0}, {"speed_scale": 1.5}, {"slow_start": -1.0}])
def test_settings_out_of_range_are_refused(bad):
    with pytest.raises(ExcitationError, match=next(iter(bad))):
        ExecutorSettings(**bad)
