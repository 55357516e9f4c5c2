# SPDX-License-Identifier: Apache-2.0
r"""Penalised quintic splines, whose cut-off and order are chosen by generalised cross-validation.

A spline \(s(t) = \sum_i c_i B_i(t)\) minimises
\(\sum_k (z_k - s(t_k))^2 + \lambda\, |D^m c|^2\) (P. Eilers, B. Marx, *Flexible smoothing with
B-splines and penalties* (1996), eq. (3)). Its response is that of a Butterworth filter of order m
run forwards and backwards, \(1 / (1 + (f/f_c)^{2m})\), but it needs neither equal steps nor values
beyond the ends. m = 3 is the Rauch-Tung-Striebel smoother of a motion driven by white jerk.

\(\lambda\) (as a cut-off \(f_c\)) and m minimise \(K\,|z - Hz|^2 / \operatorname{tr}(I - H)^2\) (P.
Craven, G. Wahba, *Smoothing noisy data with spline functions* (1979), eq. (1.9)) with the trace
from random probes (D. Girard, *A fast "Monte-Carlo cross-validation" procedure* (1989)). Maximum
likelihood with the white-jerk model is not used, because for the smooth motions of robots it
selects a density that is 10 to 10⁵ times too high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy

from sysid_core.signals.recording import Array

_DEGREE = 5  # accelerations are cubic, jerk is continuous
_ORDERS = (3, 5, 8)  # of the penalised derivative that are tried: steepnesses of the low-pass
_KNOTS_PER_PERIOD = 6.0  # of the cut-off: the spline itself then damps nothing that passes
_SLOWEST_HZ, _FASTEST_HZ, _RATIO = 0.3, 60.0, 1.3  # cut-offs tried
_RATE_SHARE = 0.3  # of the sampling rate: the highest cut-off
_PROBES = 4  # random vectors for the trace of the hat matrix (Hutchinson 1990)
_RIDGE = 1e-13  # of the band's largest entry: rounding


@dataclass(frozen=True, eq=False)
class _Fit:
    """Smoothed signals and probes for one cut-off and order."""

    cutoff_hz: float
    order: int
    spline: Any  # BSpline with values (…, n + probes)
    residual: Array  # mean square, (n + probes,)
    freedom: float  # trace of H


def fit_splines(time: Array, z: Array) -> tuple[Array, Array]:
    """Smooth signals by penalised splines; cross-validation chooses the cut-off and order of each.

    Args:
        time: Strictly increasing times, shape (K,) [s].
        z: Signals, shape (K, n).

    Returns:
        Value, first and second derivative at `time`, shape (K, n, 3), and the standard deviation of a
        sample's noise, shape (n,).
    """
    K, n = z.shape
    probes = np.random.default_rng(0).normal(size=(K, _PROBES))
    centre = z.mean(axis=0)
    both = np.hstack([z - centre, probes])
    fits = [fit for hz in _cutoffs(time) for fit in _fit(time, both, hz, _ORDERS)]
    score = np.array([f.residual[:n] / (1.0 - f.freedom / K) ** 2 for f in fits])
    best = np.argmin(score, axis=0)
    least_smooth = max(fits, key=lambda f: (f.cutoff_hz, f.order))
    # E|(I - H) z|² is the noise's, which the probes show; the motion is in reach of this fit.
    variance = least_smooth.residual[:n] / least_smooth.residual[n:].mean()
    values = np.empty((K, n, 3))
    for index in np.unique(best).tolist():
        mine = np.flatnonzero(best == index)
        chosen = fits[index].spline
        spline = scipy.interpolate.BSpline.construct_fast(
            chosen.t, np.ascontiguousarray(chosen.c[:, mine]), _DEGREE
        )
        for d in range(3):
            values[:, mine, d] = spline(time, d)
    values[:, :, 0] += centre
    return values, np.sqrt(variance)


def _cutoffs(time: Array) -> list[float]:
    """Candidate cut-off frequencies, the highest first [Hz]."""
    span = float(time[-1] - time[0])
    fastest = min(_RATE_SHARE * (len(time) - 1) / span, _FASTEST_HZ)
    slowest = min(max(_SLOWEST_HZ, 1.0 / span), fastest)
    steps = np.arange(int(np.log(fastest / slowest) / np.log(_RATIO)) + 1)
    return list((fastest / _RATIO**steps).tolist())


def _fit(time: Array, z: Array, cutoff_hz: float, orders: Sequence[int]) -> list[_Fit]:
    """Fit splines with one cut-off: knots as dense as the cut-off requires, and one penalty for
    each order.
    """
    start, end = float(time[0]), float(time[-1])
    intervals = max(round(_KNOTS_PER_PERIOD * cutoff_hz * (end - start)), max(orders))
    step = (end - start) / intervals
    knots = start + step * np.arange(-_DEGREE, intervals + _DEGREE + 1)
    knots[_DEGREE], knots[-_DEGREE - 1] = start, end  # exactly
    basis = scipy.interpolate.BSpline.design_matrix(time, knots, _DEGREE)
    gram, right = basis.T @ basis, basis.T @ z
    fits = []
    for order in orders:
        # |2 sin(π f_c h)|^2m is the penalty's response at the cut-off.
        weight = len(time) / intervals / (2.0 * np.sin(np.pi * cutoff_hz * step)) ** (2 * order)
        band = weight * _penalty(order, intervals + _DEGREE)
        for k in range(_DEGREE + 1):
            band[-1 - k, k:] += gram.diagonal(k)
        band[-1] += _RIDGE * band[-1].max()  # knots in a gap rest on the penalty alone
        coefficients = scipy.linalg.cho_solve_banded(
            (scipy.linalg.cholesky_banded(band), False), right
        )
        residual = z - basis @ coefficients
        probes = slice(-_PROBES, None)
        left = np.sum(residual[:, probes] * z[:, probes]) / np.sum(np.square(z[:, probes]))
        fits.append(
            _Fit(
                float(cutoff_hz),
                order,
                scipy.interpolate.BSpline.construct_fast(knots, coefficients, _DEGREE),
                np.einsum("kj,kj->j", residual, residual) / len(time),
                float(1.0 - left) * len(time),
            )
        )
    return fits


def _penalty(order: int, n: int) -> Array:
    """Upper band of DᵀD, where D computes differences of a given order, with the band width of a
    quintic spline's Gram matrix.
    """
    difference = _difference(order)
    width = max(order, _DEGREE)
    band = np.zeros((width + 1, n))
    for i in range(order + 1):
        for j in range(i, order + 1):
            band[width - (j - i), j : n - order + j] += difference[i] * difference[j]
    return band


@cache
def _difference(order: int) -> tuple[float, ...]:
    out = np.array([1.0])
    for _ in range(order):
        out = np.convolve(out, [1.0, -1.0])
    return tuple(out.tolist())
