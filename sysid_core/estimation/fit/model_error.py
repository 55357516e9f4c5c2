# SPDX-License-Identifier: Apache-2.0
r"""Model error in deviations: how far fits without one block of the motion differ.

What a model lacks (hysteresis, elasticity, temperature) leaves residuals that are functions of the
motion. They look uncorrelated after a second and come back with the next similar motion, which no
correlation in time shows. Fits that leave out one block of the motion each do: were the model right,
they would scatter as the sandwich covariance says. Friction also differs from recording to recording.
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
# either half of twelve real arms (benchmarks/recordings/deviations.py).
BLOCKS = 8
_NOTABLE = 1.2  # factor of deviations from which a model error is mentioned
_OPEN = 0.1  # of a natural deviation: a prior that weak keeps what a block alone shows finite


@dataclass(frozen=True, eq=False)
class ModelError:
    """By how much estimates scatter more over blocks of motion than their covariance says.

    Attributes:
        factors: Factors of the deviations of the base parameters, shape (b,).
        inertial: Which of them are inertial, shape (b,).
        recordings: How many recordings the friction was compared between.
    """

    factors: Array
    inertial: NDArray[np.bool_]
    recordings: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the result."""
        groups = (self.factors[of] for of in (self.inertial, ~self.inertial))
        inertial, friction = (float(np.median(x)) if len(x) else 1.0 for x in groups)
        out = []
        if max(inertial, friction) > _NOTABLE:
            out.append(
                "Fits without one block of the motion each differ by more than noise: deviations are"
                f" widened by measured model error, inertial parameters {inertial:.1f} times,"
                f" friction and drives {friction:.1f} times (medians)."
            )
        if self.recordings == 1:
            out.append(
                "One recording: by how much friction differs from day to day isn't in its"
                " deviations."
            )
        return tuple(out)


def model_error(
    regression: Regression,
    columns: Sequence[int],
    residual: Array,
    weights: Weights,
    alone: ParameterUncertainty,
) -> ModelError:
    r"""Compare fits that leave out one block of motion each with their covariance.

    Recordings aren't left out: one may show what the others don't (a load, a joint); their influences
    `H^{-1} Y_b^T psi_b` are compared instead (Liang and Zeger 1986). Blocks hold equally many samples,
    and no motion is in two of them: a model error that comes back in every period would be in all.

    Args:
        regression: K samples of n torques.
        columns: The b columns that were estimated: base parameters.
        residual: Shape (K, n).
        weights: Those of the fit.
        alone: Of the b parameters, from the residuals' correlation in time alone.
    """
    inertial = np.asarray(columns) < regression.n_inertial
    sums = _block_sums(regression, columns, residual, weights, regression.motion_blocks(BLOCKS))
    factors = scatter_factors(*sums, alone.covariance, alone.prior)
    if len(regression.recordings) > 1:
        of_recording = np.searchsorted(
            regression.recordings, np.arange(len(regression.tau)), side="right"
        )
        sums = _block_sums(regression, columns, residual, weights, of_recording - 1)
        between = scatter_factors(*sums, alone.covariance, alone.prior, leave_out=False)
        factors = np.where(inertial, factors, np.maximum(factors, between))
    return ModelError(factors, inertial, len(regression.recordings))


def scatter_factors(
    H: Array, right: Array, covariance: Array, natural: Array, *, leave_out: bool = True
) -> Array:
    r"""Factors by which fits scatter more over blocks than their covariance says, shape (b,).

    Without block k of B the estimate moves by `d_k = -(H - H_k + w N^{-1})^{-1} Y_k^T psi_k`, N the
    natural covariance and w small; the delete-a-block jackknife's variance (Kuensch 1989) is
    `(B - 1) / B sum_k (d_k - mean(d))^2`. Its ratio to the sandwich's variance is chi-square about
    a true one, which differs from parameter to parameter: ratios are drawn together as far as their
    own scatter allows (`moderated`). What the data don't show gets the mean ratio.

    Args:
        H: Normal matrix of every block, shape (B, b, b).
        right: Right side of every block, shape (B, b).
        covariance: Of the estimates, from the residuals' correlation in time alone, shape (b, b).
        natural: Natural covariance of the parameters, shape (b, b).
        leave_out: Blocks are left out; else their influences on the fit to everything count.
    """
    sd = np.sqrt(np.diag(natural))
    weak = scipy.linalg.pinvh(natural / np.outer(sd, sd)) * _OPEN**2
    H, right = H * np.outer(sd, sd), right * sd
    total, B, variance = H.sum(axis=0), len(H), np.diag(covariance) / sd**2
    known = (variance > 0.0) & (variance < 1.0)
    if B < 2 or not np.any(known):
        return np.ones(len(sd))
    used = total + weak - H if leave_out else [total + weak] * B
    moved = np.array([scipy.linalg.pinvh(A) @ side for A, side in zip(used, right, strict=True)])
    share = (B - 1) / B if leave_out else B / (B - 1)
    scatter = share * np.sum((moved - moved.mean(axis=0)) ** 2, axis=0)
    found = np.maximum(1.0, moderated(scatter[known] / variance[known], B - 1))
    factors = np.full(len(sd), np.sqrt(np.mean(found)))
    factors[known] = np.sqrt(found)
    return factors


def moderated(ratios: Array, dof: int) -> Array:
    """Variances with some degrees of freedom, drawn towards their common distribution.

    True ratios are inverse-gamma; its two parameters come from mean and variance of the logarithms
    (Smyth 2004, "Linear models and empirical Bayes methods", section 6.2). Estimates are then
    Student-distributed: variances are such that 1.96 deviations hold 95 % (GUM, annex G).

    Args:
        ratios: Estimated ratios of variances, shape (b,).
        dof: Degrees of freedom of each.
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
    """Normal matrix and right side `Y^T psi` of every block, (B, b, b) and (B, b)."""
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
