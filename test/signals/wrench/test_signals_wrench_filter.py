# SPDX-License-Identifier: Apache-2.0
"""The wrench filter: readings and bias with standard deviations that hold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sysid_core.errors import SignalError
from sysid_core.signals.wrench import WrenchFilter

BIAS = np.array([0.3, -0.8, 1.5, 0.01, -0.015, 0.02])
SD = np.repeat([0.1, 0.005], 3)
PERIOD = 2_000_000  # [ns]


def tared(rng: np.random.Generator, expected: np.ndarray, count: int = 500) -> WrenchFilter:
    wrench_filter = WrenchFilter()
    for k in range(count):
        wrench_filter.update(k * PERIOD, expected + BIAS + SD * rng.normal(size=6), expected)
    return wrench_filter


def test_bias_of_a_tare_lies_within_its_standard_deviation(rng: np.random.Generator) -> None:
    weight = np.array([0.0, 0.0, -9.81, 0.1, 0.0, 0.0])
    errors = []
    for _ in range(20):
        wrench_filter = tared(rng, weight, count=300)
        state = wrench_filter.update(300 * PERIOD, weight + BIAS)
        assert wrench_filter.tared
        assert_allclose(state.bias_sd, SD / np.sqrt(300), rtol=0.2)
        errors.append((state.bias - BIAS) / state.bias_sd)
    assert np.mean(np.abs(errors) < 2.0) > 0.9


def test_bias_stays_after_the_tare_and_the_wrench_is_free_of_it(rng: np.random.Generator) -> None:
    wrench_filter = tared(rng, np.zeros(6))
    bias = wrench_filter.update(500 * PERIOD, BIAS).bias
    load = np.array([5.0, 0.0, -20.0, 0.5, 1.0, 0.0])
    for k in range(501, 2000):
        share = 0.5 - 0.5 * np.cos(np.pi * min((k - 501) / 250, 1.0))  # picked up in half a second
        state = wrench_filter.update(k * PERIOD, share * load + BIAS + SD * rng.normal(size=6))
    assert_array_equal(state.bias, bias)
    assert (np.abs(state.wrench - load) < 3.0 * state.wrench_sd).all()
    assert (state.wrench_sd < 0.5 * SD).all()


def test_bias_is_zero_and_unknown_before_a_tare_and_after_forgetting_it(
    rng: np.random.Generator,
) -> None:
    fresh = WrenchFilter()
    assert not fresh.tared
    assert (fresh.update(0, np.ones(6)).bias_sd > 1.0).all()
    wrench_filter = tared(rng, np.zeros(6))
    wrench_filter.forget_bias()
    assert not wrench_filter.tared
    assert_array_equal(wrench_filter.update(600 * PERIOD, BIAS).bias, np.zeros(6))


def test_a_wrench_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(SignalError, match=r"shape \(3,\)"):
        WrenchFilter().update(0, np.zeros(3))
