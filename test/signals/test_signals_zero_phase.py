# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import SignalError
from sysid_core.signals import JointStream
from sysid_core.signals.filters import ZeroPhaseFilter
from sysid_core.signals.filters.zero_phase import resample


def stream(time: np.ndarray, with_velocity: bool = True) -> JointStream:
    q = np.sin(2.0 * time)[:, None]
    v = 2.0 * np.cos(2.0 * time)[:, None] if with_velocity else None
    return JointStream(("a",), np.round(time * 1e9).astype(np.int64), q, v, effort=q.copy())


def test_a_slow_sine_passes_without_delay_and_a_fast_one_is_stopped():
    t = np.arange(0.0, 10.0, 0.01)
    low_pass = ZeroPhaseFilter(5.0)
    slow, fast = np.sin(2 * np.pi * 0.5 * t), np.sin(2 * np.pi * 25.0 * t)
    assert low_pass.apply(slow + fast, 100.0)[50:-50] == pytest.approx(slow[50:-50], abs=2e-3)


def test_ends_are_not_dragged_to_zero():
    constant = np.full(500, 7.0)
    assert ZeroPhaseFilter(3.0).apply(constant, 100.0) == pytest.approx(constant)
    ramp = np.linspace(5.0, 9.0, 500)
    assert ZeroPhaseFilter(3.0).apply(ramp, 100.0) == pytest.approx(ramp, abs=1e-4)


def test_a_cutoff_above_nyquist_changes_nothing():
    x = np.random.default_rng(0).normal(size=50)
    assert np.array_equal(ZeroPhaseFilter(60.0).apply(x, 100.0), x)


def test_central_differences_are_of_fourth_order():
    errors = []
    for rate in (50.0, 100.0):
        t = np.arange(0.0, 2.0, 1.0 / rate)
        error = ZeroPhaseFilter.central_difference(np.sin(3.0 * t), rate) - 3.0 * np.cos(3.0 * t)
        errors.append(np.max(np.abs(error[2:-2])))
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.05)


@pytest.mark.parametrize("with_velocity", [True, False])
def test_irregular_samples_give_smooth_motion_with_derivatives(with_velocity):
    rng = np.random.default_rng(1)
    t = np.cumsum(rng.uniform(0.008, 0.012, 1500))
    out = ZeroPhaseFilter(10.0).smooth(stream(t - t[0], with_velocity), 100.0)
    s = out.time[50:-50]
    assert np.diff(out.stamps_ns) == pytest.approx(1e7, abs=1)
    assert out.v[50:-50, 0] == pytest.approx(2.0 * np.cos(2.0 * s), abs=5e-3)
    assert out.a[50:-50, 0] == pytest.approx(-4.0 * np.sin(2.0 * s), abs=5e-2)


def test_lower_rates_are_filtered_before_samples_are_dropped():
    t = np.arange(0.0, 4.0, 1e-3)
    noisy = stream(t)
    fast = JointStream(
        noisy.names,
        noisy.stamps_ns,
        noisy.q,
        noisy.v,
        effort=np.sin(2 * np.pi * 110.0 * t)[:, None],
    )
    assert np.max(np.abs(resample(fast, 100.0).effort[20:-20])) < 1e-2  # no alias at 10 Hz


def test_gaps_split_and_disorder_is_refused():
    t = np.concatenate([np.arange(0, 1, 0.01), np.arange(1.5, 2.5, 0.01)])
    parts = stream(t).split_at_gaps(0.1)
    assert [len(p) for p in parts] == [100, 100]
    t[30] = t[29]
    with pytest.raises(SignalError, match="sample 30"):
        stream(t).split_at_gaps(0.1)


def test_a_few_samples_or_a_senseless_cutoff_are_refused():
    with pytest.raises(SignalError, match="too short"):
        ZeroPhaseFilter(5.0).apply(np.zeros(5), 100.0)
    for few in (0, 1):
        with pytest.raises(SignalError, match="too short"):
            ZeroPhaseFilter(5.0).smooth(stream(np.arange(few) / 100.0), 100.0)
    with pytest.raises(SignalError, match="positive cut-off"):
        ZeroPhaseFilter(0.0)
