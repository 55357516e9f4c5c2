# SPDX-License-Identifier: Apache-2.0
"""Velocities of drivers that measure none."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from sysid_core.execution import Continuity, PositionRates


def test_rates_are_differences_over_the_time_asked_for():
    rates = PositionRates(over=0.05)
    speed = np.array([0.3, -2.0])
    found = [rates.update(0.01 * k, 0.01 * k * speed) for k in range(20)]
    assert found[4] is None
    assert found[5] == pytest.approx(speed) and found[-1] == pytest.approx(speed)


def test_a_clock_that_stands_still_gives_no_rates_and_takes_no_memory():
    rates = PositionRates()
    tracemalloc.start()
    for k in range(20_000):
        assert rates.update(5.0, np.full(6, 1e-6 * k)) is None
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 100_000


def test_a_state_that_cannot_follow_stays_impossible_however_often_it_is_looked_at():
    """The executor looks faster than states arrive: the second look made a false state possible."""
    continuity, true, false = Continuity(np.ones(2)), np.zeros(2), np.array([0.0, 0.5])
    assert not continuity.breaks(0.00, 0.00, true)
    assert [continuity.breaks(0.01 * k, 0.01, false) for k in (1, 2, 3)] == [True] * 3
    assert continuity.breaks(0.04, 0.04, true) and not continuity.breaks(0.05, 0.05, true)


def test_the_monitor_says_how_much_of_each_limit_is_used():
    from sysid_core.execution import Measured, MonitorLimits
    from sysid_core.execution.monitor import ExecutionMonitor
    from sysid_core.planning import MotionLimits
    from sysid_core.robot import RobotModel

    model = RobotModel.from_urdf("ur5")
    limits = MonitorLimits.from_limits(MotionLimits.from_model(model, tcp_speed=2.0))
    monitor = ExecutionMonitor(model, limits)
    assert monitor.used == {}
    q, v = (limits.lower + limits.upper) / 2, np.zeros(6)
    q[2], v[5] = q[2] + 0.4 * (limits.upper - limits.lower)[2], -0.3 * limits.velocity[5]
    assert monitor.fault(1.0, Measured(1.0, model.joint_names, q, v), q + 0.05) is None
    used = monitor.used
    assert used["position"] == pytest.approx(0.8, abs=2e-3)
    assert used["velocity"] == pytest.approx(0.3, abs=2e-3)
    assert used["tracking error"] == pytest.approx(0.5, abs=2e-3) and used["TCP speed"] < 1.0
