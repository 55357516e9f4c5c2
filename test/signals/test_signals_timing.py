# SPDX-License-Identifier: Apache-2.0
"""Stamps: what is wrong with them is found, counted and never papered over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from sysid_core.errors import SignalError
from sysid_core.signals import JointStream, StreamMonitor, WrenchStream, in_order, interpolate_at
from sysid_core.signals.timing import check_timing

STAMPS = arrays(np.int64, st.integers(0, 60), elements=st.integers(0, 3_000_000_000))


@given(STAMPS)
def test_kept_samples_increase_and_every_sample_is_accounted_for(stamps: np.ndarray) -> None:
    report, rows = check_timing(stamps, reset_s=1.0)
    kept = stamps[rows]
    assert (np.diff(kept) > 0).all()
    dropped = report.duplicates + report.backward + report.invalid + report.before_reset
    assert report.kept + dropped == report.samples == len(stamps)


@given(STAMPS)
def test_what_is_in_order_already_is_left_alone(stamps: np.ndarray) -> None:
    stamps = np.unique(stamps)
    report, rows = check_timing(stamps, max_gap_s=10.0)
    assert_array_equal(rows, np.arange(len(stamps)))
    assert report.kept == report.samples and report.gaps == 0


@given(STAMPS, st.data())
def test_invalid_samples_are_dropped_whatever_their_stamp(
    stamps: np.ndarray, data: st.DataObject
) -> None:
    valid = data.draw(arrays(np.bool_, len(stamps)))
    report, rows = check_timing(stamps, valid=valid)
    assert valid[rows].all()
    assert report.invalid == np.count_nonzero(~valid)


@given(
    st.lists(st.integers(1, 10**9), min_size=2, max_size=40),
    st.floats(0.001, 2.0),
    st.lists(st.integers(-(10**9), 40 * 10**9), max_size=40),
)
def test_nothing_is_interpolated_across_a_gap_or_beyond_the_ends(
    steps: list[int], max_gap_s: float, at: list[int]
) -> None:
    stamps = np.cumsum(steps)
    values, known = interpolate_at(at, stamps, 2.0 * stamps, max_gap_s=max_gap_s)
    for t, value, is_known in zip(at, values, known, strict=True):
        after = np.searchsorted(stamps, t)
        exact = after < len(stamps) and stamps[after] == t
        inside = 0 < after < len(stamps)
        near = inside and (stamps[after] - stamps[after - 1]) * 1e-9 <= max_gap_s
        assert is_known == bool(exact or near)
        assert np.isnan(value) if not is_known else value == pytest.approx(2.0 * t)


def test_each_fault_is_counted_once() -> None:
    ms = 1_000_000
    stamps = np.array([5000, 5010, 100, 110, 110, 120, 115, 130, 140, 400, 410]) * ms
    valid = np.ones(len(stamps), dtype=bool)
    valid[8] = False
    report, rows = check_timing(stamps, valid=valid, max_gap_s=0.1)
    assert_array_equal(stamps[rows], np.array([100, 110, 120, 130, 400, 410]) * ms)
    assert (report.resets, report.before_reset) == (1, 2)
    assert (report.duplicates, report.backward, report.invalid) == (1, 1, 1)
    assert report.gaps == 1 and report.longest_gap_s == pytest.approx(0.27)
    assert report.rate_hz == pytest.approx(100.0)
    assert len(report.notes("/joint_states")) == 5


def test_streams_are_put_in_order_with_their_values() -> None:
    q = np.arange(4.0)[:, None]
    v = np.array([[0.0], [np.nan], [0.0], [0.0]])
    joints, report = in_order(JointStream(("a",), [0, 10, 20, 20], q, v=v))
    assert_array_equal(joints.q[:, 0], [0.0, 2.0])
    assert (report.invalid, report.duplicates) == (1, 1)
    wrench, report = in_order(WrenchStream("ft", [3, 2, 4], np.zeros((3, 6))))
    assert_array_equal(wrench.stamps_ns, [3, 4])
    assert report.backward == 1


def test_stamps_that_do_not_increase_are_refused() -> None:
    with pytest.raises(SignalError, match="must increase"):
        interpolate_at([0], [0, 0], [1.0, 2.0], max_gap_s=1.0)


def test_monitor_counts_rate_losses_and_faults() -> None:
    monitor = StreamMonitor(max_gap_s=0.05, stale_s=0.2)
    ms = 1_000_000
    for k in range(500):
        if k not in (200, 300, 301):
            monitor.add(k * 2 * ms, k * 2 * ms + 300_000)
    monitor.add(998 * ms)  # once more
    monitor.add(990 * ms)  # late
    monitor.add(1000 * ms, valid=False)
    monitor.add(1100 * ms)  # after a gap
    seen = monitor.statistics(1150 * ms)
    assert seen.received == 501 and seen.lost == 3 + 49
    assert (seen.duplicates, seen.backward, seen.invalid, seen.gaps) == (1, 1, 1, 1)
    assert seen.longest_gap_ms == pytest.approx(100.0)
    assert seen.latency_ms == pytest.approx(0.3)
    assert not seen.stale and monitor.statistics(1400 * ms).stale


def test_monitor_tells_rate_and_jitter(rng: np.random.Generator) -> None:
    monitor = StreamMonitor()
    stamps = np.arange(3000) * 2e6 + rng.normal(size=3000) * 1e5
    for stamp in stamps.astype(np.int64).tolist():
        monitor.add(stamp)
    seen = monitor.statistics(int(stamps[-1]))
    assert seen.rate_hz == pytest.approx(500.0, rel=0.01)
    assert_allclose(seen.period_jitter_ms, 0.1 * np.sqrt(2.0), rtol=0.1)
    assert seen.lost == 0 and np.isnan(seen.latency_ms)


def test_a_stream_that_never_came_is_stale() -> None:
    assert StreamMonitor().statistics(0).stale
    with pytest.raises(SignalError, match="positive times"):
        StreamMonitor(stale_s=0.0)
