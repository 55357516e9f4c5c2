# SPDX-License-Identifier: Apache-2.0
"""Noise of a recorded motion, from its samples alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sysid_core.signals.timing import sample_noise

RATE = 125.0
T = np.arange(2500) / RATE


def series(rng: np.random.Generator, t: np.ndarray) -> np.ndarray:
    """Positions of five harmonics."""
    w = 2.0 * np.pi / 10.0 * np.arange(1, 6)
    A, B = 0.3 * rng.normal(size=(2, 3, 5))
    return np.sin(np.outer(t, w)) @ (A / w).T - np.cos(np.outer(t, w)) @ (B / w).T


def swings(rng: np.random.Generator, t: np.ndarray) -> np.ndarray:
    """Rests and minimum-jerk moves."""
    q = np.zeros((len(t), 3))
    for j in range(3):
        begin = 0.3 * (j + 1)
        while begin < t[-1]:
            length, step = rng.uniform(0.6, 1.5), 0.6 * rng.normal()
            s = np.clip((t - begin) / length, 0.0, 1.0)
            q[:, j] += step * (10 * s**3 - 15 * s**4 + 6 * s**5)
            begin += length + rng.uniform(0.2, 1.0)
    return q


@pytest.mark.parametrize("motion", [series, swings])
@pytest.mark.parametrize("noise", [1e-5, 1e-4, 1e-3])
def test_noise_of_a_motion_is_told_from_the_motion(
    rng: np.random.Generator, motion, noise: float
) -> None:
    z = motion(rng, T) + noise * rng.normal(size=(len(T), 3))
    assert_allclose(sample_noise(T, z), noise, rtol=0.15)


def test_irregular_stamps_are_no_noise(rng: np.random.Generator) -> None:
    t = np.cumsum(rng.uniform(0.5, 1.5, 2500)) / RATE
    z = series(rng, t) + 1e-4 * rng.normal(size=(len(t), 3))
    assert_allclose(sample_noise(t, z), 1e-4, rtol=0.15)


@pytest.mark.parametrize("seed", range(10))
def test_any_layout_of_stamps_has_a_finite_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = np.unique(rng.uniform(0.0, 4.0, rng.integers(20, 400)))
    t[rng.integers(0, len(t)) :] += rng.uniform(0.0, 1.0)
    assert np.isfinite(sample_noise(t, np.sin(t)[:, None])).all()
