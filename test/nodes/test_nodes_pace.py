# SPDX-License-Identifier: Apache-2.0
"""Pace of simulated time."""

from __future__ import annotations

import pytest

from sysid_nodes.simulated_robot.pace import LockStep, WallPace
from sysid_nodes.trajectory_executor.config import TrajectoryExecutorConfig


def simulate(pace: WallPace, walls: list[float], simulated: float = 0.0) -> float:
    """Simulated time after ticks at times of the wall clock [s]."""
    for wall in walls:
        simulated += pace.due(wall, simulated)
    return simulated


def ticks(begin: float, end: float) -> list[float]:
    return [begin + 0.005 * k for k in range(1, round((end - begin) / 0.005) + 1)]


def test_the_wall_clock_is_caught_up_with_in_small_steps() -> None:
    pace = WallPace(10.0, 0.0)
    assert simulate(pace, [11.0]) == pytest.approx(0.02)
    assert simulate(pace, ticks(11.0, 11.5), 0.02) == pytest.approx(1.5)


def test_in_lock_step_a_late_command_stops_the_time_and_a_stall_of_the_robot_is_not_caught_up() -> (
    None
):
    pace = LockStep(10.0, 0.0, patience=3.0)
    t = simulate(pace, [*ticks(10.0, 10.1), 12.0])  # nobody streams; it stalled for 1.9 s
    assert t == pytest.approx(0.12)
    pace.commanded("effort_commands", 12.0, t)
    late = simulate(pace, ticks(12.0, 14.5), t)
    assert t < late <= t + 0.03
    pace.commanded("effort_commands", 14.5, late)
    assert late < simulate(pace, ticks(14.5, 14.6), late) <= late + 0.03


def test_time_waits_for_an_executor_that_moves_the_robot_and_for_no_other() -> None:
    pace = LockStep(0.0, 0.0, patience=5.0)
    pace.reported("executing", 0.0, 0.0)
    waits_at = simulate(pace, ticks(0.0, 3.0))
    longest = TrajectoryExecutorConfig()  # a stall ends the motion after this
    assert 0.1 < waits_at < min(longest.stale_s, longest.max_step_s)
    pace.reported("executing", 3.0, 0.0)  # sent before, but late
    assert simulate(pace, ticks(3.0, 4.0), waits_at) == waits_at
    pace.reported("done", 4.0, waits_at)
    assert simulate(pace, ticks(4.0, 5.0), waits_at) == pytest.approx(1.0 + waits_at, abs=0.03)


def test_time_runs_slower_where_it_is_told_to() -> None:
    pace = LockStep(10.0, 0.0, patience=3.0, pace=0.25)
    assert simulate(pace, ticks(10.0, 12.0)) == pytest.approx(0.5)


def test_time_goes_on_without_a_commander_that_is_gone_or_has_ended() -> None:
    pace = LockStep(0.0, 0.0, patience=0.5)
    pace.commanded("effort_commands", 0.0, 0.0)
    assert simulate(pace, ticks(0.0, 0.4)) < 0.03
    assert simulate(pace, ticks(0.4, 1.6), 0.02) > 0.9
    pace.commanded("setpoint", 1.6, 1.0, last=True)
    assert simulate(pace, ticks(1.6, 1.8), 1.0) == pytest.approx(1.2, abs=0.03)
