# SPDX-License-Identifier: Apache-2.0
"""Change points: noticed soon, and false ones as rare as stated."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import EstimationError
from sysid_fleet.drift import Series, monitor, run_length, spread_of, threshold

WATCHED = 13  # of a robot with six joints: friction, offsets, load
LENGTH = 365.0 * WATCHED / 0.3  # the registry's default rate


def simulated(
    rng: np.random.Generator, robots: int, nights: int, rise: float = 0.0
) -> tuple[list[Series], list[int]]:
    """Friction of a fleet: varies by 2 % between nights, has errors of about 1 %, falls by 1 % per
    degree.
    """
    fleet, truth = [], []
    for _ in range(robots):
        warmth = 25.0 + 5.0 * rng.normal(size=nights) + 3.0 * np.sin(np.arange(nights) / 30.0)
        own = 0.01 * np.exp(0.3 * rng.normal(size=nights))
        x = 1.0 - 0.01 * (warmth - 25.0) + 0.02 * rng.normal(size=nights)
        x += own * rng.normal(size=nights)
        begins = int(rng.integers(8, nights - 3)) if rise else nights
        x[begins:] *= 1.0 + rise
        fleet.append(Series(np.arange(nights) * 86400.0, x, own, warmth))
        truth.append(begins)
    return fleet, truth


def test_run_lengths_are_the_literatures() -> None:
    # Montgomery, "Introduction to statistical quality control", table 9.3: two-sided 168 and 465.
    assert run_length(0.5, 4.0) / 2.0 == pytest.approx(168.0, rel=0.02)
    assert run_length(0.5, 5.0) / 2.0 == pytest.approx(465.0, rel=0.02)
    assert run_length(1.0, threshold(1.0, 20000.0)) == pytest.approx(20000.0, rel=0.01)


def test_run_length_is_that_of_simulated_sums(rng: np.random.Generator) -> None:
    h, lengths = threshold(1.0, 200.0), []
    for _ in range(1500):
        total, n = 0.0, 0
        while total < h:
            total, n = max(0.0, total + min(rng.normal(), 3.5) - 1.0), n + 1
        lengths.append(n)
    assert np.mean(lengths) == pytest.approx(200.0, rel=0.08)


def test_a_rise_of_15_percent_is_noticed_within_three_nights(rng: np.random.Generator) -> None:
    fleet, truth = simulated(rng, 100, 30, rise=0.15)
    spread = spread_of(fleet)
    assert spread.slope == pytest.approx(-0.01, rel=0.1)
    soon = 0
    for series, begins in zip(fleet, truth, strict=True):
        found = monitor(series, spread, shift=2.0, run_length=LENGTH)
        soon += any(begins <= c.noticed < begins + 3 for c in found.changes)
        for change in found.changes[:1]:
            assert abs(change.begins - begins) <= 2
            assert change.after / change.before == pytest.approx(1.15, abs=0.06)
    assert soon >= 95


def test_false_alarms_are_as_rare_as_stated(rng: np.random.Generator) -> None:
    fleet, _ = simulated(rng, 120, 365)
    spread = spread_of(fleet)
    alarms = sum(len(monitor(s, spread, shift=2.0, run_length=LENGTH).changes) for s in fleet)
    # 120 parameter-years are 9.2 robot-years: 2.8 alarms are expected, 10 have a chance of 1e-3.
    assert alarms <= 10


def test_one_wild_night_is_no_change(rng: np.random.Generator) -> None:
    fleet, _ = simulated(rng, 20, 30)
    x = np.array(fleet[0].value)
    x[20] *= 3.0
    wild = Series(fleet[0].time, x, fleet[0].deviation, fleet[0].regressor)
    found = monitor(wild, spread_of(fleet), shift=2.0, run_length=LENGTH)
    assert not found.changes and found.level[20] > 0.3


def test_estimates_that_agree_to_rounding_are_no_change(rng: np.random.Generator) -> None:
    x = 0.2347 + np.where(np.arange(12) == 5, 2.0**-54, 0.0)
    same = Series(np.arange(12) * 86400.0, x, np.full(12, 0.4), np.full(12, np.nan))
    assert not monitor(same, spread_of([same]), shift=2.0, run_length=LENGTH).changes


def test_pooled_values_begin_at_the_change(rng: np.random.Generator) -> None:
    fleet, truth = simulated(rng, 30, 40, rise=0.3)
    found = monitor(fleet[0], spread_of(fleet), shift=2.0, run_length=LENGTH)
    value, deviation = found.pooled
    assert abs(found.since - truth[0]) <= 1 and value == pytest.approx(1.3, abs=5 * deviation)


def test_a_single_estimate_has_no_spread() -> None:
    with pytest.raises(EstimationError, match="several nights"):
        spread_of([Series(*(np.zeros(1),) * 4)])
