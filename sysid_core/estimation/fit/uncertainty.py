# SPDX-License-Identifier: Apache-2.0
"""Covariance of estimates, and the parameter directions that the data excite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.fit.regression import Regression
from sysid_core.estimation.fit.weighting import Weights
from sysid_core.robot import Array

MOST_LAG = 400  # samples, longest correlation of residuals that is looked for: 4 s at 100 Hz
_UNTOUCHED = 1e-11  # of the largest singular value after equilibration, as in `solve_compressed`
_LISTED = 8  # directions that a note names
_OPEN = 1e4  # natural scales: deviation of a direction that the data don't touch


def span_slices(starts: Sequence[int], n_samples: int) -> list[slice]:
    """Return the slice of samples of each gapless span."""
    bounds = [*starts, n_samples]
    return [slice(a, b) for a, b in pairwise(bounds) if b > a]


def autocovariance(
    residual: ArrayLike, starts: Sequence[int], max_lag: int, count: float | None = None
) -> Array:
    r"""Return the autocovariance of residuals over all spans, `gamma_l = mean_k e_k e_{k+l}`, l = 0
    .. max_lag; (K,) to (max_lag+1,).

    Args:
        residual: Residuals, 0 where an equation is left out, shape (K,).
        starts: Index of the first sample of each gapless span.
        max_lag: Largest lag [samples].
        count: Number of equations in use; None: all K.
    """
    e = np.asarray(residual, dtype=float)
    total = np.zeros(max_lag + 1)
    for part in span_slices(starts, len(e)):
        piece = e[part]
        size = scipy.fft.next_fast_len(len(piece) + max_lag + 1, real=True)
        spectrum = np.abs(scipy.fft.rfft(piece, size)) ** 2
        total += scipy.fft.irfft(spectrum, size)[: max_lag + 1]
    return total / max(len(e) if count is None else count, 1)


def correlation_lag(gamma: Array) -> int:
    """Return the first lag at which the correlation falls below 5 %."""
    below = np.flatnonzero(np.abs(gamma) < 0.05 * gamma[0])
    return int(below[0]) if len(below) else len(gamma) - 1


def score_covariance(
    blocks: Iterable[tuple[slice, Array]],
    scores: Array,
    starts: Sequence[int],
    max_lag: int = MOST_LAG,
    counts: Array | None = None,
    columns: Sequence[int] | None = None,
) -> Array:
    r"""Return the covariance `M_j = Cov(sum_k y_jk psi_jk)` of scores that are stationary but
    correlated in time.

    `M_j = sum_l kappa_l gamma_j(l) sum_k y_jk y_{j,k+l}^T`: each joint's autocovariance gamma of the
    weighted residuals psi, tapered by the Parzen window kappa (Newey and West 1987, with the
    noise's own covariance instead of the scores'). Joints are taken as independent.

    Args:
        blocks: Slices of the samples with their rows of the regressor, (k, n, p), in order of time.
        scores: Weighted residuals, zero where an equation is left out, shape (K, n).
        starts: Index of the first sample of each gapless span.
        max_lag: Largest correlation lag [samples].
        counts: Number of equations in use of each joint, shape (n,); None: all K.
        columns: Indices of the b columns of the regressor in use; None: all.

    Returns:
        Covariance matrix of each joint, shape (n, b, b).
    """
    K, n = scores.shape
    max_lag = max(1, min(max_lag, K // 4))
    kernels = []
    for j in range(n):
        count = None if counts is None else float(counts[j])
        gamma = autocovariance(scores[:, j], starts, max_lag, count)
        lag = min(max_lag, 3 * correlation_lag(gamma) + 1)
        kernels.append(gamma[: lag + 1] * _parzen(lag))
    parts, reach, first_part = span_slices(starts, K), max(map(len, kernels)), 0
    half = tail = None  # half of the sum: the other one is its transpose
    begins = set(starts)
    for rows, Y in blocks:
        if rows.start in begins:
            tail = None
        held = window = Y if tail is None else np.concatenate([tail, Y])
        chosen = np.arange(Y.shape[2]) if columns is None else np.asarray(columns)
        half = np.zeros((n, len(chosen), len(chosen))) if half is None else half
        first = rows.stop - len(held)
        while first_part < len(parts) and parts[first_part].stop <= rows.start:
            first_part += 1
        for part in parts[first_part:]:
            if part.start >= rows.stop:
                break
            low = max(part.start, first)
            new = max(part.start, rows.start) - low
            window = held[low - first : min(part.stop, rows.stop) - first]
            for j in range(n):
                used = np.flatnonzero(np.any(window[:, j, chosen] != 0.0, axis=0))
                y = window[:, j, chosen[used]]
                half[j][np.ix_(used, used)] += y[new:].T @ _lagged(y, kernels[j])[new:]
        tail = held[-reach:].copy()
        del Y, held, window  # the next block is made without this one in memory
    if half is None:
        raise EstimationError(
            "There are no samples.", remedy="Give a recording in which the robot moves."
        )
    return half + np.swapaxes(half, 1, 2)


def _parzen(lag: int) -> Array:
    """Parzen weights, which decrease from 1 to 0 and have a non-negative spectrum, so that M stays
    positive semi-definite.
    """
    x = np.arange(lag + 1) / (lag + 1)
    return np.where(x <= 0.5, 1.0 - 6.0 * x**2 * (1.0 - x), 2.0 * (1.0 - x) ** 3)


def _lagged(y: Array, gamma: Array) -> Array:
    """`gamma_0 y_k / 2 + sum_l gamma_l y_{k-l}` of every column."""
    size = scipy.fft.next_fast_len(len(y) + len(gamma), real=True)
    kernel = np.append(0.5 * gamma[0], gamma[1:])
    spectrum = scipy.fft.rfft(kernel, size)[:, None] * scipy.fft.rfft(y, size, axis=0)
    return np.asarray(scipy.fft.irfft(spectrum, size, axis=0)[: len(y)])


@dataclass(frozen=True, eq=False)
class ParameterUncertainty:
    r"""Covariance of b estimates, and the number of excited directions.

    A direction is determined if its standard deviation is below the natural scale of its
    parameters, so that the data contain more information than a guess from the size of the robot.

    Attributes:
        covariance: Covariance of the estimates for residuals correlated in time, shape (b, b).
        prior: Prior covariance of the parameters, from their natural scales, shape (b, b).
        ratios: Variance relative to the prior variance of each direction, ascending, shape (b,).
        directions: Columns: directions in units of the parameters' natural scales, shape (b, b).
    """

    covariance: Array
    prior: Array
    ratios: Array
    directions: Array
    tolerance: float = 1.0

    @classmethod
    def from_data(cls, R: Array, M: Array, prior: Array) -> ParameterUncertainty:
        r"""Return the sandwich covariance `H^-1 M H^-1` from the normal matrix `H = R^T R` and the
        score covariance M.

        The columns are scaled first, because they may differ by many orders of magnitude without
        being dependent.

        Args:
            R: Factor of the normal matrix, shape (m, b); may be rank-deficient.
            M: Covariance of the right-hand side `Y^T psi`, shape (b, b).
            prior: Prior covariance of the parameters, from their natural scales, shape (b, b).
        """
        sd = np.sqrt(np.diag(prior))
        scale = np.linalg.norm(R, axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        _, s, Vt = np.linalg.svd(R / scale, full_matrices=True)
        s = np.append(s, np.zeros(len(Vt) - len(s)))
        shown = s > _UNTOUCHED * max(float(s[0]), 1e-300)
        V = Vt.T / scale[:, None]  # directions in the parameters' own units
        inverse = (V[:, shown] / s[shown] ** 2) @ V[:, shown].T
        open_ = V[:, ~shown] / sd[:, None]
        open_ = _OPEN * sd[:, None] * open_ / np.linalg.norm(open_, axis=0)
        covariance = inverse @ M @ inverse + open_ @ open_.T
        return cls.of(covariance, prior)

    @classmethod
    def of(cls, covariance: Array, prior: Array) -> ParameterUncertainty:
        """Return the uncertainty from the covariance of the estimates and the prior covariance from
        the natural scales, each of shape (b, b).
        """
        sd = np.sqrt(np.diag(prior))
        natural = prior / np.outer(sd, sd)
        ratios, U = scipy.linalg.eigh(covariance / np.outer(sd, sd), natural)
        return cls(covariance, prior, np.maximum(ratios, 0.0), natural @ U)

    def widened(self, factors: Array, added: Array) -> ParameterUncertainty:
        """Return a copy with scaled standard deviations and added variances, shapes (b,)."""
        wider = self.covariance * np.outer(factors, factors) + np.diag(added)
        return self.of(wider, self.prior)

    @property
    def rank(self) -> int:
        """Number of directions excited by the data."""
        return int(np.sum(self.ratios < self.tolerance))

    @property
    def prior_dominated(self) -> NDArray[np.bool_]:
        """Mask of the parameters with a standard deviation above their natural scale, shape (b,)."""
        return np.asarray(np.diag(self.covariance) >= self.tolerance * np.diag(self.prior))

    def sentences(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return sentences on weakly excited directions with their parameters, the weakest first."""
        out = []
        order = np.argsort(self.ratios)[::-1]
        unseen = [i for i in order if self.ratios[i] >= self.tolerance]
        for i in unseen[:_LISTED]:
            u = self.directions[:, i]
            top = np.argsort(np.abs(u))[::-1][:4]
            parts = [names[k] for k in top if abs(u[k]) > 0.3 * abs(u[top[0]])]
            out.append(
                f"Poorly excited by these data: {' with '.join(parts)} (standard deviation"
                f" {_times(float(np.sqrt(self.ratios[i])))} the natural scale)."
            )
        if len(unseen) > _LISTED:
            out.append(f"{len(unseen) - _LISTED} further directions are poorly excited.")
        return tuple(out)


def scores_of_joints(
    regression: Regression,
    columns: Sequence[int],
    residual: Array,
    weights: Weights,
    normal: Array,
) -> Array:
    r"""Return the covariance of the weighted right-hand side `sum_j Y_j^T psi_j`, shape (b, b).

    Residuals are smaller than the noise, because the fit has absorbed a part of it: of the sum of
    squares S_j of joint j, the part `T_j = tr(H^{-1} M_j)`. The variance of the residuals is
    therefore multiplied by `S_j / (S_j - T_j)`, which is K / (K - p) for white noise.

    Args:
        regression: Equations for K samples of n torques.
        columns: Indices of the b estimated columns.
        residual: Residuals, shape (K, n).
        weights: Weights of the fit.
        normal: Triangular factor of the normal matrix H, shape (m, b).
    """
    scores = weights.scores(residual)
    M = score_covariance(
        regression.blocks(),
        scores,
        regression.starts,
        counts=regression.counts,
        columns=columns,
    )
    squares = np.sum(scores**2, axis=0) / weights.slopes
    norms = np.linalg.norm(normal, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    P = np.linalg.pinv(normal / norms, rcond=_UNTOUCHED) / norms[:, None]  # H^-1 = P P^T
    taken = np.einsum("bi,jbc,ci->j", P, M, P, optimize=True)
    share = np.clip(taken / np.maximum(squares, 1e-300), 0.0, 0.8)
    return np.asarray(np.sum(M / (1.0 - share)[:, None, None], axis=0))


def _times(ratio: float) -> str:
    if ratio > 1e3:
        return "more than 1000 times"
    return f"{ratio:.0f} times" if ratio >= 10.0 else f"{ratio:.2g} times"
