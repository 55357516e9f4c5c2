# SPDX-License-Identifier: Apache-2.0
"""Covariance of estimates, and the parameter directions that the data excite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.estimation.fit.correlated_residuals import score_covariance
from sysid_core.estimation.fit.regression import Regression
from sysid_core.estimation.fit.weighting import Weights
from sysid_core.robot import Array

_UNTOUCHED = 1e-11  # of the largest singular value after equilibration, as in `solve_compressed`
_OPEN = 1e4  # natural scales: deviation of a direction that the data don't touch


@dataclass(frozen=True, eq=False)
class ParameterUncertainty:
    r"""Covariance of b estimates, and the number of excited directions.

    A direction is shown when its standard deviation is below the natural scale of the parameters
    in it: the data then say more than a guess from the robot's size.

    Attributes:
        covariance: Covariance of the estimates, with the residuals' correlation in time, (b, b).
        prior: Natural covariance of the parameters, shape (b, b).
        ratios: Variance over natural variance, direction by direction, ascending, shape (b,).
        directions: The directions, columns, in units of the parameters' natural scale, (b, b).
    """

    covariance: Array
    prior: Array
    ratios: Array
    directions: Array
    tolerance: float = 1.0

    @classmethod
    def from_data(cls, R: Array, M: Array, prior: Array) -> ParameterUncertainty:
        r"""Sandwich covariance `H^-1 M H^-1` from the normal matrix `H = R^T R` and the score
        covariance M.

        Columns are equilibrated first: they may differ by many decades without being dependent.

        Args:
            R: Factor of the normal matrix, shape (m, b); may be singular.
            M: Covariance of the right side `Y^T psi`, shape (b, b).
            prior: Natural covariance, shape (b, b).
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
        return cls._of(covariance, prior)

    @classmethod
    def _of(cls, covariance: Array, prior: Array) -> ParameterUncertainty:
        sd = np.sqrt(np.diag(prior))
        natural = prior / np.outer(sd, sd)
        ratios, U = scipy.linalg.eigh(covariance / np.outer(sd, sd), natural)
        return cls(covariance, prior, np.maximum(ratios, 0.0), natural @ U)

    def widened(self, factors: Array, added: Array) -> ParameterUncertainty:
        """Copy with scaled standard deviations and added variances, shapes (b,)."""
        wider = self.covariance * np.outer(factors, factors) + np.diag(added)
        return self._of(wider, self.prior)

    @property
    def rank(self) -> int:
        """Number of directions excited by the data."""
        return int(np.sum(self.ratios < self.tolerance))

    @property
    def prior_dominated(self) -> NDArray[np.bool_]:
        """Mask of the parameters with a standard deviation above their natural scale, shape (b,)."""
        return np.asarray(np.diag(self.covariance) >= self.tolerance * np.diag(self.prior))

    def sentences(self, names: Sequence[str], limit: int = 8) -> tuple[str, ...]:
        """Sentences on weakly excited directions with their parameters, the weakest first."""
        out = []
        order = np.argsort(self.ratios)[::-1]
        unseen = [i for i in order if self.ratios[i] >= self.tolerance]
        for i in unseen[:limit]:
            u = self.directions[:, i]
            top = np.argsort(np.abs(u))[::-1][:4]
            parts = [names[k] for k in top if abs(u[k]) > 0.3 * abs(u[top[0]])]
            out.append(
                f"Poorly excited by these data: {' with '.join(parts)} (standard deviation"
                f" {_times(float(np.sqrt(self.ratios[i])))} the natural scale)."
            )
        if len(unseen) > limit:
            out.append(f"{len(unseen) - limit} further directions are poorly excited.")
        return tuple(out)


def scores_of_joints(
    regression: Regression,
    columns: Sequence[int],
    residual: Array,
    weights: Weights,
    normal: Array,
) -> Array:
    r"""Covariance of the weighted right-hand side `sum_j Y_j^T psi_j`, shape (b, b).

    Residuals are smaller than the noise by what the fit has taken up, `T_j = tr(H^{-1} M_j)` of
    joint j's squares S_j: hence the factor `S_j / (S_j - T_j)`, which is K / (K - p) for white noise.

    Args:
        regression: K samples of n torques.
        columns: The b columns that were estimated.
        residual: Shape (K, n).
        weights: Those of the fit.
        normal: Factor of the normal matrix H, shape (m, b).
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
