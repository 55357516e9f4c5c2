# SPDX-License-Identifier: Apache-2.0
"""Fourier series."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import ExcitationError
from sysid_core.planning.bases import FourierBasis


@pytest.mark.parametrize("n_harmonics", [3, 5, 8])
def test_series_starts_and_ends_at_rest_for_any_coefficients(n_harmonics, rng):
    basis = FourierBasis(7.0, n_harmonics)
    q, v, a = basis.motion([0.0, 7.0], [0.3, -0.1], rng.normal(size=(basis.n_free, 2)))
    np.testing.assert_allclose(q, [[0.3, -0.1]] * 2, atol=1e-12)
    np.testing.assert_allclose(v, 0.0, atol=1e-12)
    np.testing.assert_allclose(a, 0.0, atol=1e-11)


def test_velocity_and_acceleration_are_derivatives_of_the_series(rng):
    basis = FourierBasis(5.0, 4)
    time = np.linspace(0.0, 5.0, 5001)
    q, v, a = basis.motion(time, [0.0], rng.normal(size=(basis.n_free, 1)))
    inner = slice(1, -1)
    np.testing.assert_allclose(np.gradient(q, time, axis=0)[inner], v[inner], atol=1e-4)
    np.testing.assert_allclose(np.gradient(v, time, axis=0)[inner], a[inner], atol=1e-3)
    jerk = basis.matrices(time)[3] @ np.ones(basis.n_free)
    a = basis.matrices(time)[2] @ np.ones(basis.n_free)
    np.testing.assert_allclose(np.gradient(a, time)[inner], jerk[inner], atol=1e-3)


def test_series_holds_only_its_harmonics(rng):
    basis = FourierBasis(10.0, 5)
    time = np.arange(200) * 10.0 / 200
    _, v, _ = basis.motion(time, [0.0], rng.normal(size=(basis.n_free, 1)))
    spectrum = np.abs(np.fft.rfft(v[:, 0])) / 200
    assert spectrum[0] < 1e-12 and spectrum[6:].max() < 1e-12
    assert np.all(spectrum[1:6] > 1e-6)


def test_two_harmonics_are_too_few():
    with pytest.raises(ExcitationError, match="3 or more harmonics"):
        FourierBasis(10.0, 2)
