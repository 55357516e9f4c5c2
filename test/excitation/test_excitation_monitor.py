# SPDX-License-Identifier: Apache-2.0
"""Velocities of drivers that measure none."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from sysid_core.excitation.execution import PositionRates


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
