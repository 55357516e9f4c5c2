# SPDX-License-Identifier: Apache-2.0
"""The offline smoother against filterpy, Butterworth's response, and known motions."""

from __future__ import annotations

import numpy as np
import pytest
from filterpy.common import Q_continuous_white_noise, kinematic_state_transition
from filterpy.kalman import KalmanFilter
from numpy.testing import assert_allclose
from scipy.signal import butter, sosfiltfilt

from sysid_core.errors import SignalError
from sysid_core.signals import JointStream
from sysid_core.signals.filters import central_difference, fit_splines
from sysid_core.signals.filters.penalised_spline import _PROBES, _fit
from sysid_core.signals.filters.zero_phase import outliers, smooth_joints

RATE = 125.0
T = np.arange(2500) / RATE
FUNDAMENTAL = 2.0 * np.pi / 10.0


def stream(t: np.ndarray, q: np.ndarray) -> JointStream:
    names = tuple(f"j{k}" for k in range(q.shape[1]))
    return JointStream(names, np.round(t * 1e9).astype(np.int64), q)


def series(rng: np.random.Generator, t: np.ndarray, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Positions and accelerations of five harmonics."""
    w = FUNDAMENTAL * np.arange(1, 6)
    A, B = 0.3 * rng.normal(size=(2, n, 5))
    c, s = np.cos(np.outer(t, w)), np.sin(np.outer(t, w))
    return (s @ (A / w).T - c @ (B / w).T), (c @ (B * w).T - s @ (A * w).T)


def swings(rng: np.random.Generator, t: np.ndarray, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rests and minimum-jerk moves."""
    q, a = np.zeros((len(t), n)), np.zeros((len(t), n))
    for j in range(n):
        begin = 0.3 * (j + 1)
        while begin < t[-1]:
            length, step = rng.uniform(0.6, 1.5), 0.6 * rng.normal()
            s = np.clip((t - begin) / length, 0.0, 1.0)
            q[:, j] += step * (10 * s**3 - 15 * s**4 + 6 * s**5)
            a[:, j] += step * 60 * s * (1 - s) * (1 - 2 * s) / length**2
            begin += length + rng.uniform(0.2, 1.0)
    return q, a


def best_butterworth(q: np.ndarray, a: np.ndarray, inner: slice) -> float:
    """RMS error of the acceleration with cut-off and order chosen by the truth."""
    errors = []
    for cutoff in np.geomspace(1.0, 0.4 * RATE, 26):
        for order in (2, 4, 8):
            pad = min(len(q) - 1, int(3 * RATE / cutoff))
            sections = butter(order, 2 * cutoff / RATE, output="sos")
            smooth = sosfiltfilt(sections, q, axis=0, padlen=pad)
            found = central_difference(central_difference(smooth, RATE), RATE)
            errors.append(np.sqrt(np.mean((found - a)[inner] ** 2)))
    return min(errors)


@pytest.mark.parametrize(
    ("motion", "share"), [(series, 0.7), (swings, 1.1)], ids=["fourier", "swings"]
)
def test_accelerations_compare_with_the_best_butterworth_that_knows_the_truth(
    rng: np.random.Generator, motion, share: float
) -> None:
    shares = []
    for noise in (1e-5, 1e-4, 1e-3):
        q, a = motion(rng, T)
        z = q + noise * rng.normal(size=q.shape)
        inner = slice(125, -125)
        error = (smooth_joints(stream(T, z)).a - a)[inner]
        shares.append(np.sqrt(np.mean(error**2)) / best_butterworth(z, a, inner))
        assert_allclose(fit_splines(T, z)[1], noise, rtol=0.15)
    assert np.exp(np.mean(np.log(shares))) < share


def test_order_three_is_the_rauch_tung_striebel_smoother_of_filterpy(
    rng: np.random.Generator,
) -> None:
    t, sd, cutoff = T[:500], 1e-3, 4.0
    z = np.sin(3.0 * t) + sd * rng.normal(size=len(t))
    density = (2.0 * np.pi * cutoff) ** 6 * sd**2 / RATE  # half the power passes at the cut-off
    kf = KalmanFilter(dim_x=3, dim_z=1)
    kf.x, kf.P = np.array([[z[0]], [0.0], [0.0]]), np.diag([sd**2, 1e2, 1e4])
    kf.F = kinematic_state_transition(2, 1.0 / RATE)
    kf.Q = Q_continuous_white_noise(3, dt=1.0 / RATE, spectral_density=density)
    kf.H, kf.R = np.array([[1.0, 0.0, 0.0]]), np.array([[sd**2]])
    x, P = kf.batch_filter(z)[:2]
    x, P = kf.rts_smoother(x, P)[:2]
    spline = _fit(t, np.column_stack([z, rng.normal(size=(len(t), _PROBES))]), cutoff, (3,))[
        0
    ].spline
    for d in range(3):
        apart = (spline(t, d)[:, 0] - x[:, d, 0])[100:-100] / np.sqrt(P[100:-100, d, d])
        assert np.sqrt(np.mean(apart**2)) < 0.3  # its penalty is on differences, not the jerk


def test_exact_positions_give_accelerations_to_a_percent() -> None:
    w = 2.0 * np.pi * np.array([0.2, 0.5, 1.0])
    for rate in (100.0, 1000.0):
        t = np.arange(int(5 * rate)) / rate
        q = np.sin(w * t[:, None])
        smooth = smooth_joints(stream(t, q))
        inner = slice(len(t) // 10, -len(t) // 10)
        assert np.abs((smooth.a + w**2 * q)[inner] / w**2).max() < 0.01


def test_irregular_stamps_cost_nothing(rng: np.random.Generator) -> None:
    t = np.cumsum(rng.uniform(0.5, 1.5, 2500)) / RATE
    q, a = series(rng, t)
    smooth = smooth_joints(stream(t, q + 1e-4 * rng.normal(size=q.shape)))
    assert np.sqrt(np.mean((smooth.a - a)[125:-125] ** 2)) < 1e-3


@pytest.mark.parametrize("seed", range(10))
def test_any_layout_of_stamps_has_a_finite_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = np.unique(rng.uniform(0.0, 4.0, rng.integers(20, 400)))
    t[rng.integers(0, len(t)) :] += rng.uniform(0.0, 1.0)
    values, noise = fit_splines(t, np.sin(t)[:, None])
    assert np.isfinite(values).all() and np.isfinite(noise).all()


def test_a_wrapping_joint_turns_on() -> None:
    t = np.arange(0.0, 5.0, 0.002)
    q = (2.0 * t + np.pi) % (2.0 * np.pi) - np.pi
    smooth = smooth_joints(stream(t, q[:, None]))
    assert_allclose(smooth.v, 2.0, atol=1e-4)
    assert np.abs(smooth.a).max() < 1e-3


@pytest.mark.parametrize("length", [1, 2, 3])
def test_spikes_are_bridged(rng: np.random.Generator, length: int) -> None:
    t = np.arange(0.0, 5.0, 0.002)
    z = np.sin(t)[:, None] + 1e-5 * rng.normal(size=(len(t), 1))
    clean = smooth_joints(stream(t, z))
    assert not outliers(t, z).any()
    z[1200 : 1200 + length] += 0.2
    assert length <= outliers(t, z).sum() <= 12
    smooth = smooth_joints(stream(t, z))
    assert_allclose(smooth.a, clean.a, atol=0.02)


def test_coarse_encoders_and_rests_have_no_outliers(rng: np.random.Generator) -> None:
    q, _ = swings(rng, T)
    assert not outliers(T, np.round(q / 1e-3) * 1e-3).any()


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: smooth_joints(stream(0.0 * T, np.zeros((2500, 1)))), "in_order"),
        (lambda: smooth_joints(stream(T[:20], np.full((20, 1), np.nan))), "'j0' at sample 0"),
        (lambda: smooth_joints(JointStream(("a",), [0, 1], [[0.0], [0.0]])), "too short"),
    ],
)
def test_misuse_is_named_with_its_remedy(call, what: str) -> None:
    with pytest.raises(SignalError, match=what):
        call()
