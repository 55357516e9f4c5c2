# SPDX-License-Identifier: Apache-2.0
"""Filters against filterpy and against truth drawn from their own model."""

from __future__ import annotations

import numpy as np
import pytest
from filterpy.common import (
    Q_continuous_white_noise,
    kinematic_state_transition,
    van_loan_discretization,
)
from filterpy.kalman import KalmanFilter
from numpy.testing import assert_allclose, assert_array_equal

from sysid_core.errors import SignalError
from sysid_core.signals import JointStream, SampleOutcome
from sysid_core.signals.filters import JointFilter
from sysid_core.signals.filters.kalman import NoiseEstimator, NoiseLevels
from sysid_core.signals.filters.tuned_bank import TunedBank
from sysid_core.signals.wrench import WrenchFilter

NAMES = ("a", "b", "c")
NOISE = NoiseLevels(np.array([1e-4, 3e-4, 1e-3]), np.array([50.0, 500.0, 20.0]), np.array(5e-3))


def integrators(order: int) -> np.ndarray:
    return np.eye(order + 1, k=1)


def stamps(rng: np.random.Generator, count: int, rate_hz: float) -> np.ndarray:
    """Irregular: periods between a half and one and a half of the nominal one."""
    return 10**18 + np.cumsum((rng.uniform(0.5, 1.5, count) / rate_hz * 1e9).astype(np.int64))


def draw(
    rng: np.random.Generator, count: int = 1500, rate_hz: float = 200.0
) -> tuple[JointStream, np.ndarray]:
    """Measured positions and velocities, and the true (q, v, a), from the filters' own model."""
    t_ns = stamps(rng, count, rate_hz)
    n = len(NAMES)
    x = np.zeros((count, n, 3))
    for k in range(1, count):
        dt = (t_ns[k] - t_ns[k - 1]) * 1e-9
        F, Q = van_loan_discretization(integrators(2), np.array([[0.0], [0.0], [1.0]]), dt)[:2]
        L = np.linalg.cholesky((Q + Q.T) / 2)
        x[k] = x[k - 1] @ F.T + np.sqrt(NOISE.density)[:, None] * (rng.normal(size=(n, 3)) @ L.T)
    q = x[:, :, 0] + NOISE.measurement_sd * rng.normal(size=(count, n))
    v = x[:, :, 1] + NOISE.rate_sd * rng.normal(size=(count, n))
    return JointStream(NAMES, t_ns, q, v=v), x


def within(errors: np.ndarray, sd: np.ndarray, factor: float = 2.0) -> float:
    return float(np.mean(np.abs(errors) < factor * sd))


@pytest.fixture(scope="module")
def drawn() -> tuple[JointStream, np.ndarray]:
    return draw(np.random.default_rng(20220517))


def oracle(stream: JointStream, joint: int) -> KalmanFilter:
    """filterpy's filter on one joint's positions, from a given start."""
    kf = KalmanFilter(dim_x=3, dim_z=1)
    sd = NOISE.measurement_sd[joint]
    kf.x = np.array([[stream.q[0, joint]], [0.0], [0.0]])
    kf.P = np.diag([sd**2, 10.0**2, 100.0**2])
    kf.H, kf.R = np.array([[1.0, 0.0, 0.0]]), np.array([[sd**2]])
    for k in range(1, len(stream)):
        dt = (stream.stamps_ns[k] - stream.stamps_ns[k - 1]) * 1e-9
        Q = Q_continuous_white_noise(3, dt=dt, spectral_density=NOISE.density[joint])
        kf.predict(F=kinematic_state_transition(2, dt), Q=Q)
        kf.update(stream.q[k, joint])
    return kf


def test_bank_gives_the_states_and_covariances_of_filterpy(
    drawn: tuple[JointStream, np.ndarray],
) -> None:
    stream = drawn[0].select(slice(0, 300))
    filters = TunedBank(NoiseLevels(NOISE.measurement_sd, NOISE.density), np.zeros(3, dtype=bool))
    filters.start(stream.q[0], None, np.tile([10.0, 100.0], (3, 1)))
    for k in range(1, len(stream)):
        filters.update((stream.stamps_ns[k] - stream.stamps_ns[k - 1]) * 1e-9, stream.q[k])
    bank = filters.bank
    for joint in range(3):
        kf = oracle(stream, joint)
        sd = np.sqrt(np.diag(kf.P))
        apart = np.abs(bank.x[joint] - kf.x[:, 0])
        assert (apart < 1e-12 * (sd + np.abs(kf.x[:, 0]))).all()
        assert_allclose((bank.P[joint] - kf.P) / np.outer(sd, sd), 0.0, atol=1e-12)


def test_standard_deviations_cover_the_truth(drawn: tuple[JointStream, np.ndarray]) -> None:
    stream, x = drawn
    filtered, _ = JointFilter.filter_stream(stream, noise=NOISE)
    for k, key in enumerate("qva"):
        error, sd = getattr(filtered, key) - x[:, :, k], getattr(filtered, f"{key}_sd")
        assert 0.92 < within(error, sd) < 0.98  # 0.954 nominal, correlated in time


def test_estimated_noise_covers_the_truth_too(drawn: tuple[JointStream, np.ndarray]) -> None:
    stream, x = drawn
    filtered, _ = JointFilter.filter_stream(stream)
    assert within((filtered.a - x[:, :, 2])[300:], filtered.a_sd[300:]) > 0.88
    assert within((filtered.v - x[:, :, 1])[300:], filtered.v_sd[300:]) > 0.88


def test_a_robot_at_rest_stays_finite_for_long() -> None:
    joint_filter = JointFilter(2)
    for k in range(5000):
        sample = joint_filter.update(k * 1_000_000, [0.3, -1.0])
    assert_allclose(sample.q, [0.3, -1.0], atol=1e-9)
    assert_allclose(sample.a, 0.0, atol=1e-6)
    assert np.isfinite(sample.a_sd).all() and (sample.a_sd > 0.0).all()


@pytest.mark.parametrize("noise", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("rate_hz", [125, 500])
def test_deviations_are_true_from_the_start_over_gaps_and_noise_levels(
    rng: np.random.Generator, rate_hz: int, noise: float
) -> None:
    """Normalised squares of q, v and a; docs/evidence/signals.md has the whole range."""
    t = np.arange(0.0, 4.0, 1.0 / rate_hz)
    t = t[(t < 2.0) | (t > 2.3)]  # a gap of 0.3 s
    w = np.array([1.3, 2.1, 2.9])
    s, c = np.sin(t[:, None] * w), np.cos(t[:, None] * w)
    true = 0.8 * np.stack([s, w * c, -w * w * s], axis=2)
    live, squares = JointFilter(3), []
    for stamp, q, x in zip((t * 1e9).astype(int), true[:, :, 0], true, strict=True):
        f = live.update(int(stamp), q + noise * rng.normal(size=3))
        found, sd = np.transpose([f.q, f.v, f.a]), np.transpose([f.q_sd, f.v_sd, f.a_sd])
        squares.append(np.mean(((found - x) / sd) ** 2, axis=0))
    mean = np.array(squares)
    assert (mean[t > 0.2].mean(axis=0) < 2.0).all()
    assert (mean[t > 0.2].mean(axis=0) > 0.4).all()
    assert (mean[(t > 2.3) & (t < 2.8)].mean(axis=0) < 2.5).all()
    assert (mean[t < 1.0].mean(axis=0) < 2.0).all()  # 35 when the first samples believed too much


def test_a_recording_gives_exactly_the_live_numbers(drawn: tuple[JointStream, np.ndarray]) -> None:
    stream, _ = drawn
    live = JointFilter(3)
    samples = [
        live.update(int(stamp), q, v)
        for stamp, q, v in zip(stream.stamps_ns, stream.q, stream.v, strict=True)
    ]
    again, counts = JointFilter.filter_stream(stream)
    for key in ("q", "v", "a", "q_sd", "v_sd", "a_sd"):
        assert_array_equal(getattr(again, key), [getattr(sample, key) for sample in samples])
    assert counts == live.counts and counts.accepted == len(stream)


@pytest.mark.parametrize("step_s", [-5.0, 3.0])
def test_after_a_reset_or_long_gap_a_recording_gives_what_it_gives_alone(
    drawn: tuple[JointStream, np.ndarray], step_s: float
) -> None:
    stream, _ = drawn
    joints, wrenches = JointFilter(3), WrenchFilter()
    begin = int(stream.stamps_ns[0]) - round(step_s * 1e9)
    for k in range(700):  # another one before, with noise of its own
        before = begin + (k - 700) * 4_000_000
        joints.update(before, np.sin([k, 2.0 * k, 3.0 * k]), np.zeros(3))
        wrenches.update(before, np.sin(k) * np.ones(6))
    alone, _ = JointFilter.filter_stream(stream)
    fresh = WrenchFilter()
    assert stream.v is not None
    for k, stamp in enumerate(stream.stamps_ns.tolist()):
        joint = joints.update(stamp, stream.q[k], stream.v[k])
        reading = np.tile(stream.q[k], 2)
        wrench, expected = wrenches.update(stamp, reading), fresh.update(stamp, reading)
        assert_array_equal([joint.q, joint.v], [alone.q[k], alone.v[k]])
        assert_array_equal(wrench.measured, expected.measured)


def test_disordered_and_invalid_samples_are_refused_and_change_nothing() -> None:
    joint_filter = JointFilter(2)
    for k in range(100):
        good = joint_filter.update(k * 10_000_000, [0.001 * k, 0.0])
    nan, inf = [np.nan, 0.0], [np.inf, 0.0]
    outcomes = [
        joint_filter.update(99 * 10_000_000, [9.0, 9.0]).outcome,
        joint_filter.update(95 * 10_000_000, [9.0, 9.0]).outcome,
        joint_filter.update(100 * 10_000_000, nan).outcome,
    ]
    last = joint_filter.update(100 * 10_000_000, inf)
    assert outcomes == [SampleOutcome.DUPLICATE, SampleOutcome.BACKWARD, SampleOutcome.INVALID]
    assert_array_equal(last.q, good.q)
    assert last.outcome.refused and last.stamp_ns == 99 * 10_000_000
    counts = joint_filter.counts
    assert (counts.accepted, counts.duplicates, counts.backward, counts.invalid) == (100, 1, 1, 2)


def test_gaps_and_clock_resets_start_again_and_are_counted() -> None:
    joint_filter = JointFilter(1, max_gap_s=0.1)
    for k in range(50):
        joint_filter.update(k * 10_000_000, [0.01 * k])
    after_gap = joint_filter.update(2_000_000_000, [5.0])
    after_reset = joint_filter.update(0, [-1.0])
    assert after_gap.outcome is after_reset.outcome is SampleOutcome.STARTED
    assert after_gap.q == 5.0 and after_gap.a == 0.0 and after_reset.q == -1.0
    assert (joint_filter.counts.gaps, joint_filter.counts.resets) == (1, 1)


@pytest.mark.parametrize("rate_hz", [125.0, 500.0, 1000.0])
def test_a_spike_is_refused_and_counted_and_the_motion_goes_on(
    rng: np.random.Generator, rate_hz: float
) -> None:
    t = np.arange(int(5 * rate_hz)) / rate_hz
    z = np.sin(t)[:, None] + 1e-5 * rng.normal(size=(len(t), 1))
    spikes = (t > 3.0).argmax() + np.array([0, 40, 41])
    z[spikes] += 0.2
    filtered, counts = JointFilter.filter_stream(JointStream(("a",), (t * 1e9).astype(np.int64), z))
    assert counts.outliers == 3 and len(filtered) == len(t) - 3
    assert np.abs(filtered.a[(len(t) // 2) :]).max() < 2.0


def test_a_joint_that_is_somewhere_else_for_good_starts_again() -> None:
    joint_filter = JointFilter(1)
    outcomes = [
        joint_filter.update(k * 2_000_000, [0.0 if k < 500 else 1.0]).outcome for k in range(510)
    ]
    assert outcomes[500:503] == [SampleOutcome.OUTLIER] * 3
    assert outcomes[503] is SampleOutcome.STARTED
    assert joint_filter.counts.jumps == 1


def test_a_spike_of_one_joint_costs_the_others_nothing(rng: np.random.Generator) -> None:
    t = np.arange(0.0, 4.0, 0.002)
    q = np.sin(np.outer(t, [1.0, 2.0, 3.0])) + 1e-5 * rng.normal(size=(len(t), 3))
    v = np.cos(np.outer(t, [1.0, 2.0, 3.0])) * [1.0, 2.0, 3.0]
    stamps, spiky = (t * 1e9).astype(np.int64), q.copy()
    spiky[[700, 701, 1500], 1] += 0.2
    for rates in (None, v):
        whole, _ = JointFilter.filter_stream(JointStream(("a", "b", "c"), stamps, q, rates))
        gated, counts = JointFilter.filter_stream(
            JointStream(("a", "b", "c"), stamps, spiky, rates)
        )
        assert counts.outliers == 3 and counts.jumps == 0 and len(gated) == len(t)
        assert_allclose(gated.a[:, [0, 2]], whole.a[:, [0, 2]], atol=1e-9)
        assert np.abs(gated.a[600:, 1] - whole.a[600:, 1]).max() < 1.0
        assert gated.q_sd[701, 1] > gated.q_sd[699, 1]


def test_one_joint_that_is_somewhere_else_for_good_starts_again_alone(
    rng: np.random.Generator,
) -> None:
    t = np.arange(0.0, 4.0, 0.002)
    q = 1e-5 * rng.normal(size=(len(t), 2)) + np.sin(t)[:, None]
    moved = q.copy()
    moved[1000:, 1] += 1.0
    stamps = (t * 1e9).astype(np.int64)
    whole, _ = JointFilter.filter_stream(JointStream(("a", "b"), stamps, q))
    jumped, counts = JointFilter.filter_stream(JointStream(("a", "b"), stamps, moved))
    assert counts.outliers == 3 and counts.jumps == 1 and len(jumped) == len(t)
    assert_allclose(jumped.a[:, 0], whole.a[:, 0], atol=1e-9)
    assert_allclose(jumped.q[1003:, 1], moved[1003:, 1], atol=1e-3)


def test_a_wrapping_joint_turns_on(rng: np.random.Generator) -> None:
    t = np.arange(0.0, 10.0, 0.002)
    q = (2.0 * t + np.pi) % (2.0 * np.pi) - np.pi + 1e-5 * rng.normal(size=len(t))
    filtered, counts = JointFilter.filter_stream(
        JointStream(("a",), (t * 1e9).astype(np.int64), q[:, None])
    )
    assert counts.outliers == 0
    assert_allclose(filtered.v[500:], 2.0, atol=0.02)


def test_nothing_is_claimed_before_the_first_good_sample() -> None:
    sample = JointFilter(1).update(0, [np.nan])
    assert sample.outcome is SampleOutcome.INVALID and sample.stamp_ns is None
    assert np.isnan(sample.q).all()


@pytest.mark.parametrize("rate_hz", [100.0, 500.0])
def test_the_start_of_a_motion_after_a_rest_is_followed_within_50_ms(
    rng: np.random.Generator, rate_hz: float
) -> None:
    t = np.arange(int(5 * rate_hz)) / rate_hz
    moving = np.maximum(t - 3.0, 0.0)
    # At rest for three seconds, then off with a jerk of 30 rad/s³ up to 3 rad/s².
    a = np.minimum(30.0 * moving, 3.0)
    v = np.where(moving < 0.1, 15.0 * moving**2, 0.15 + 3.0 * (moving - 0.1))
    q = np.where(
        moving < 0.1, 5.0 * moving**3, 0.005 + 0.15 * (moving - 0.1) + 1.5 * (moving - 0.1) ** 2
    )
    noisy = q + 1e-4 * rng.normal(size=len(t)), v + 1e-3 * rng.normal(size=len(t))
    stream = JointStream(("a",), (t * 1e9).astype(np.int64), noisy[0][:, None], noisy[1][:, None])
    live, _ = JointFilter.filter_stream(stream)
    later = moving > 0.05
    assert np.abs(live.v[later, 0] - v[later]).max() < 0.02
    assert within((live.a[:, 0] - a)[later], live.a_sd[later, 0]) > 0.9
    assert live.a_sd[(t > 2.0) & (moving == 0.0)].max() < 0.1  # and at rest it is calm


def test_efforts_and_velocities_that_are_nan_from_the_start_are_not_measured() -> None:
    with_nan, without = JointFilter(1), JointFilter(1)
    for k in range(50):
        q = [np.sin(0.1 * k)]
        sample = with_nan.update(k * 10_000_000, q, [np.nan], [np.nan])
        plain = without.update(k * 10_000_000, q)
    assert_array_equal(sample.a, plain.a)
    assert sample.effort is None and with_nan.counts.invalid == 0
    with_nan.update(50 * 10_000_000, [0.0], effort=[1.0])
    assert with_nan.update(51 * 10_000_000, [0.0], effort=[np.nan]).outcome.refused


def test_efforts_are_filtered_alike(rng: np.random.Generator) -> None:
    t = np.arange(2000) / 500.0
    truth = 10.0 * np.sin(3.0 * t)[:, None]
    stream = JointStream(
        ("a",),
        (t * 1e9).astype(np.int64),
        np.sin(3.0 * t)[:, None],
        effort=truth + 0.5 * rng.normal(size=(2000, 1)),
    )
    filtered, _ = JointFilter.filter_stream(stream)
    error = (filtered.effort - truth)[500:]
    assert np.sqrt(np.mean(error**2)) < 0.2
    assert within(error, filtered.effort_sd[500:]) > 0.8


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: JointFilter(2).update(0, [1.0]), r"shape \(1,\)"),
        (lambda: JointFilter(1).update(0.5, [1.0]), "nanoseconds"),
        (lambda: JointFilter(1, max_gap_s=0.0), "positive time"),
        (lambda: NoiseLevels(np.array(0.0), np.array(1.0)), "positive"),
        (lambda: NoiseLevels(np.ones(2), np.ones(2)).for_signals(3), "fit 3 signals"),
        (lambda: JointFilter.filter_stream(JointStream(("a",), [0], [[np.nan]])), "None of 1"),
        (lambda: NoiseEstimator(1).levels(), "at least 12 samples"),
    ],
)
def test_misuse_is_named_with_its_remedy(call: object, what: str) -> None:
    with pytest.raises(SignalError, match=what):
        call()
