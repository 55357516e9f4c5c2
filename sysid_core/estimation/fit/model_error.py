# SPDX-License-Identifier: Apache-2.0
r"""Contribution of model errors to the standard deviations, from fits that each omit one block of
motion.

Effects that the model lacks (hysteresis, elasticity, temperature) leave residuals that are
functions of the motion. These residuals appear uncorrelated after a second, but repeat with the
next similar motion, which their autocorrelation does not show. Fits that each omit one block of the
motion do show it: if the model were correct, the scatter of these fits would be the one that the
sandwich covariance states. Friction also differs from recording to recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.estimation.fit.regression import Regression
from sysid_core.estimation.fit.uncertainty import ParameterUncertainty
from sysid_core.estimation.fit.weighting import Weights
from sysid_core.robot import Array

# Of the delete-a-block jackknife: of 6, 8 and 10 the best log score between disjoint recordings on
# either half of twelve real arms (benchmarks/recordings/deviations.py of d83b43fb1).
BLOCKS = 8
# Friction between recordings, relative deviation, where one recording doesn't show it: of .01 to .12 the
# best score on five days of a UR10e; on a KR300's three runs, which would take .05 to .12, it helps, too.
DAYS = 0.02
DAYS_WORTH = 2.0  # recordings that this is worth: the two arms differ by a factor of four
_NOTABLE = 1.2  # factor of deviations from which a model error is mentioned
_OPEN = 0.1  # of a natural deviation: a prior that weak keeps what a block alone shows finite


@dataclass(frozen=True, eq=False)
class ModelScatter:
    """Scatter of the estimates over blocks of motion, relative to their covariance.

    Attributes:
        factors: Factors on the standard deviations of the base parameters, shape (b,).
        between: Additional variances due to different friction between recordings, shape (b,).
        days: Relative standard deviation of friction between recordings, the source of `between`.
        inertial: Mask of the inertial parameters, shape (b,).
        recordings: Number of recordings between which friction was compared.
    """

    factors: Array
    between: Array
    days: float
    inertial: NDArray[np.bool_]
    recordings: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Return sentences on the model error, for the notes of the result."""
        groups = (self.factors[of] for of in (self.inertial, ~self.inertial))
        inertial, friction = (float(np.median(x)) if len(x) else 1.0 for x in groups)
        out = []
        if max(inertial, friction) > _NOTABLE:
            out.append(
                "Fits without one block of the motion differ by more than the noise: standard"
                " deviations are enlarged by the measured model error, for inertial parameters"
                f" {inertial:.1f} times, for friction and drives"
                f" {friction:.1f} times (medians)."
            )
        if self.recordings == 1 and not np.all(self.inertial):
            out.append(
                "Single recording: the standard deviations of friction include a typical"
                " day-to-day variation,"
                f" {100 * self.days:.0f} %, not the variation of this robot."
            )
        return tuple(out)


def model_error(
    regression: Regression,
    columns: Sequence[int],
    values: Array,
    residual: Array,
    weights: Weights,
    alone: ParameterUncertainty,
) -> ModelScatter:
    r"""Return the scatter of fits that each omit one block of motion, relative to their covariance.

    The blocks have equal numbers of samples, and no motion occurs in two of them; otherwise a model
    error that repeats in every period would occur in all.

    Args:
        regression: Equations for K samples of n torques.
        columns: Indices of the b estimated columns (base parameters).
        values: Estimates of the parameters, shape (b,).
        residual: Residuals, shape (K, n).
        weights: Weights of the fit.
        alone: Covariance of the b parameters from the residuals' correlation in time alone.
    """
    inertial = np.asarray(columns) < regression.n_inertial
    sums = _block_sums(regression, columns, residual, weights, regression.motion_blocks(BLOCKS))
    factors = scatter_factors(*sums, alone.covariance, alone.prior)
    symbols = [regression.names[i].rsplit(".", 1)[-1] for i in columns]
    rubs = np.array([symbol.startswith("F_") for symbol in symbols]) & ~inertial
    size = np.where(rubs, values**2, 0.0)
    own = np.diag(alone.covariance) * factors**2
    scatter = None
    if (count := len(regression.recordings)) > 1:
        samples = np.arange(len(regression.tau))
        of_recording = np.searchsorted(regression.recordings, samples, side="right") - 1
        H, right = _block_sums(regression, columns, residual, weights, of_recording)
        scatter = block_scatter(H, right, alone.prior, leave_out=False)
    days = spread_between(size, own, scatter, max(1, count))
    return ModelScatter(factors, days**2 * size / max(1, count), days, inertial, count)


def spread_between(size: Array, own: Array, scatter: Array | None, count: int) -> float:
    r"""Return the relative standard deviation of friction between recordings.

    The variance of the estimate theta_j, computed from the influence of each of R recordings on it,
    is `V_j = C_j + tau^2 theta_j^2 / R`, where tau is the relative standard deviation to be
    determined. Each parameter gives a value of `tau^2`, weighted by the share of its variance that
    is due to differences between recordings. These values are averaged with `DAYS`, the value found
    on other arms.

    Args:
        size: Squared values theta^2 of friction parameters, 0 for other parameters, shape (b,).
        own: Variances C without the differences between recordings, shape (b,).
        scatter: Variances V from the recordings' influences, shape (b,); None: single recording.
        count: Number R of recordings.
    """
    if scatter is None:
        return DAYS
    clear = size > 0.0
    usual = DAYS**2 * size[clear] / count
    weight = (count - 1) * (usual / (own[clear] + usual)) ** 2
    said = (scatter[clear] - own[clear]) * count / size[clear]
    total = DAYS_WORTH * DAYS**2 + np.sum(weight * said)
    return float(np.sqrt(max(0.0, total) / (DAYS_WORTH + np.sum(weight))))


def scatter_factors(
    H: Array, right: Array, covariance: Array, natural: Array, *, leave_out: bool = True
) -> Array:
    r"""Return the ratio of the scatter of the estimates over blocks to their standard deviations,
    shape (b,).

    Measured ratios of variances have a chi-square distribution about the true ones, which differ
    between parameters; the measured ones are therefore shrunk towards their common distribution
    (`moderated`). Parameters that the data do not determine keep their standard deviation.

    Args:
        H: Normal matrix of each of B blocks, shape (B, b, b).
        right: Right-hand side of each block, shape (B, b).
        covariance: Covariance of the estimates, from the residuals' correlation in time alone, shape (b, b).
        natural: Prior covariance of the parameters, from their natural scales, shape (b, b).
        leave_out: True for fits that omit a block, as in `block_scatter`.
    """
    variance = np.diag(covariance) / np.diag(natural)
    known = (variance > 0.0) & (variance < 1.0)
    factors = np.ones(len(variance))
    if len(H) < 2 or not np.any(known):
        return factors
    scatter = block_scatter(H, right, natural, leave_out=leave_out) / np.diag(natural)
    # Beyond the natural scale the data say nothing, however far.
    most = (1.0 + 1e-9) / variance[known]
    found = np.clip(moderated(scatter[known] / variance[known], len(H) - 1), 1.0, most)
    factors[known] = np.sqrt(found)
    return factors


def block_scatter(H: Array, right: Array, natural: Array, *, leave_out: bool) -> Array:
    r"""Return the variances of the estimate from all blocks, computed from the scatter of fits to
    single blocks, shape (b,).

    If block k of B is omitted, the estimate changes by
    `d_k = -(H - H_k + w N^{-1})^{-1} Y_k^T psi_k` with the prior covariance N from the natural
    scales and a small weight w. The variance of the delete-a-block jackknife (Kuensch 1989) is
    `(B - 1) / B sum_k (d_k - mean(d))^2`.

    Args:
        H: Normal matrix of each of B blocks, shape (B, b, b).
        right: Right-hand side of each block, shape (B, b).
        natural: Prior covariance of the parameters, from their natural scales, shape (b, b).
        leave_out: True for fits that omit a block; False for the influence of each block on the fit
            to all blocks (Liang and Zeger 1986), if a single block may determine a parameter alone
            (a load, a joint).
    """
    sd = np.sqrt(np.diag(natural))
    weak = scipy.linalg.pinvh(natural / np.outer(sd, sd)) * _OPEN**2
    H, right, B = H * np.outer(sd, sd), right * sd, len(H)
    total = H.sum(axis=0) + weak
    used = total - H if leave_out else [total] * B
    moved = np.array([scipy.linalg.pinvh(A) @ side for A, side in zip(used, right, strict=True)])
    share = (B - 1) / B if leave_out else B / (B - 1)
    return np.asarray(share * np.sum((moved - moved.mean(axis=0)) ** 2, axis=0) * sd**2)


def moderated(ratios: Array, dof: int) -> Array:
    """Return the variance estimates with few degrees of freedom, shrunk towards their common
    distribution.

    True ratios are inverse-gamma; its two parameters come from mean and variance of the logarithms
    (Smyth 2004, "Linear models and empirical Bayes methods", section 6.2). The errors of the
    estimates then have a Student distribution; the variances are scaled such that ± 1.96 standard
    deviations contain 95 % (GUM, annex G).

    Args:
        ratios: Estimated ratios of variances, shape (b,).
        dof: Degrees of freedom of each estimated ratio.
    """
    ratios = np.maximum(ratios, 1e-12)
    log = np.log(ratios) - scipy.special.digamma(dof / 2) + np.log(dof / 2)
    surplus = (np.var(log, ddof=1) if len(log) > 1 else 0.0) - scipy.special.polygamma(1, dof / 2)
    if surplus <= 0.0:  # all alike, but for chance
        return np.full(len(ratios), np.mean(ratios))
    half = _inverse_trigamma(float(surplus))  # of the prior's degrees of freedom
    usual = np.exp(np.mean(log) + scipy.special.digamma(half) - np.log(half))
    together = 2.0 * half + dof
    student = scipy.special.stdtrit(together, 0.975) / scipy.special.ndtri(0.975)
    return np.asarray((2.0 * half * usual + dof * ratios) / together * student**2)


def _inverse_trigamma(y: float) -> float:
    """x with trigamma(x) = y > 0."""
    low, high = 0.5 * min(1.0 / y, y**-0.5), 1.0 + 1.0 / y + y**-0.5
    return float(scipy.optimize.brentq(lambda x: scipy.special.polygamma(1, x) - y, low, high))


def _block_sums(
    regression: Regression,
    columns: Sequence[int],
    residual: Array,
    weights: Weights,
    block: NDArray[np.intp],
) -> tuple[Array, Array]:
    """Normal matrix and right-hand side `Y^T psi` of every block, (B, b, b) and (B, b)."""
    chosen, count = list(columns), int(block.max()) + 1
    roots = np.sqrt(weights.of_equations(regression))
    scores = weights.scores(residual)
    H = np.zeros((count, len(chosen), len(chosen)))
    right = np.zeros((count, len(chosen)))
    for rows, Y in regression.blocks():
        for b in np.unique(block[rows]):
            own = block[rows] == b
            kept = Y[own][:, :, chosen]
            right[b] += np.einsum("kji,kj->i", kept, scores[rows][own])
            weighted = (kept * roots[rows][own][:, :, None]).reshape(-1, len(chosen))
            H[b] += weighted.T @ weighted
            del kept, weighted
        del Y  # the next block is made without this one in memory
    return H, right
