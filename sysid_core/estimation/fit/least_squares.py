"""Least squares on base parameters: ordinary, weighted by joint, robust."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate, Verdict
from sysid_core.estimation.fit.correlated_residuals import score_covariance
from sysid_core.estimation.fit.regression import (
    RANK_TOLERANCE,
    Compressed,
    Regression,
    compress,
    condition_number,
    excited_rank,
    solve_compressed,
)
from sysid_core.estimation.fit.uncertainty import ParameterUncertainty
from sysid_core.identifiability import BaseParameters
from sysid_core.robot import Array


class Weighting(str, Enum):
    """How residuals are weighted."""

    NONE = "none"  # every torque alike (OLS)
    JOINT = "joint"  # each joint by its inverse residual variance (WLS)
    ROBUST = "robust"  # as JOINT, and single samples by a robust loss (IRLS)


class RobustLoss(str, Enum):
    """Loss of scaled residuals u = e / sigma (Holland and Welsch 1977, tuned to 95 % efficiency)."""

    HUBER = "huber"
    TUKEY = "tukey"

    def weights(self, u: Array) -> Array:
        """Weights of the squared residuals, in [0, 1]; never final: points can come back."""
        u = np.abs(u)
        if self is RobustLoss.HUBER:
            return np.where(u <= 1.345, 1.0, 1.345 / np.maximum(u, 1.345))
        return np.where(u <= 4.685, (1.0 - np.minimum(u / 4.685, 1.0) ** 2) ** 2, 0.0)


def robust_weights(residual: Array, loss: RobustLoss, floor: Array) -> Array:
    """Weights of every residual with a scale from the median, shape (K, n)."""
    used = np.where(residual != 0.0, np.abs(residual), np.nan)  # zeros: left out, see above
    used[0] = np.where(np.isnan(used).all(axis=0), 0.0, used[0])
    sigma = np.maximum(1.4826 * np.nanmedian(used, axis=0), np.sqrt(floor))
    return loss.weights(residual / sigma) / sigma**2


def variance_floor(tau: Array) -> Array:
    """Below this a residual is rounding, shape (n,)."""
    return np.maximum(1e-24, 1e-20 * np.mean(tau**2, axis=0))


class LeastSquares:
    r"""Least squares on the base parameters; says nothing of physical consistency.

    Args:
        weighting: Of the residuals.
        loss: For robust weighting.
        fixed: Parameters that keep their prior values (see `Regression.free_columns`).
        iterations: Most rounds of reweighting.
        max_lag: Longest correlation of the residuals that the covariance looks for, in samples.
    """

    def __init__(
        self,
        weighting: Weighting | str = Weighting.NONE,
        *,
        loss: RobustLoss | str = RobustLoss.TUKEY,
        fixed: Sequence[str] = (),
        iterations: int = 20,
        max_lag: int = 400,
    ) -> None:
        self.weighting = Weighting(weighting)
        self.loss = RobustLoss(loss)
        self.fixed = tuple(fixed)
        self.iterations = iterations
        self.max_lag = max_lag
        if iterations < 1:
            raise EstimationError("Least squares needs one round of weighting or more.")

    @property
    def name(self) -> str:
        """What the result is signed with."""
        return {"none": "ols", "joint": "wls", "robust": "irls"}[self.weighting.value]

    def fit(self, regression: Regression) -> Estimate:
        """Estimate the base parameters; those that are fixed keep their prior values.

        Args:
            regression: Measurement equations.
        """
        free = regression.free_columns(self.fixed)
        base = regression.base_of(free)
        known = np.where(free, 0.0, regression.prior)
        tau = regression.tau - regression.Y @ known
        Y_b = base.base_regressor(regression.Y[:, :, free])
        data = compress(Y_b, tau)
        pi_b, weights, R = self._solve(Y_b, tau, data, variance_floor(regression.tau))
        residual = tau - Y_b @ pi_b
        w = weights if weights.ndim == 1 else np.mean(weights, axis=0)
        information = ParameterUncertainty.from_data(
            R.T @ R,
            score_covariance(Y_b, residual, w, regression.starts, self.max_lag),
            base.regrouping @ np.diag(regression.prior_sd[free] ** 2) @ base.regrouping.T,
        )
        units = tuple(np.array(regression.units, dtype=object)[free][list(base.independent)])
        return Estimate(
            method=self.name,
            names=base.base_names,
            values=pi_b,
            units=units,
            covariance=information.covariance,
            verdicts=_verdicts(base, information),
            residual_rms=dict(
                zip(regression.rows, np.sqrt(np.mean(residual**2, axis=0)).tolist(), strict=True)
            ),
            condition_number=condition_number(R),
            rank=excited_rank(
                data.weighted(np.ones(len(regression.rows)))[0],
                base.base_regressor(regression.structure[:, free]),
            ),
            structural_rank=base.rank,
            rank_tolerance=RANK_TOLERANCE,
            n_samples=regression.n_samples,
            notes=information.sentences(base.base_names),
        )

    def _solve(
        self, Y: Array, tau: Array, data: Compressed, floor: Array
    ) -> tuple[Array, Array, Array]:
        """Values, final weights of the squared residuals, and the weighted triangular factor."""
        weights: Array = np.ones(tau.shape[1])
        R, r = data.weighted(weights)
        pi_b = solve_compressed(R, r)
        if self.weighting is Weighting.NONE:
            # One variance for all torques; its value only matters for the covariance.
            weights /= max(float(np.mean(data.variances(pi_b))), float(np.min(floor)))
            return pi_b, weights, R * np.sqrt(weights[0])
        for _ in range(self.iterations):
            if self.weighting is Weighting.JOINT:
                weights = 1.0 / np.maximum(data.variances(pi_b), floor)
                R, r = data.weighted(weights)
            else:
                weights = robust_weights(tau - Y @ pi_b, self.loss, floor)
                R, r = compress(Y, tau, weights).weighted(np.ones(tau.shape[1]))
            previous, pi_b = pi_b, solve_compressed(R, r)
            if np.allclose(pi_b, previous, rtol=1e-6, atol=1e-9 * np.abs(pi_b).max(initial=0.0)):
                break
        return pi_b, weights, R


def _verdicts(base: BaseParameters, information: ParameterUncertainty) -> tuple[Verdict, ...]:
    weak = information.prior_dominated
    return tuple(
        Verdict.PRIOR_DOMINATED
        if weak[i]
        else (Verdict.IDENTIFIABLE if base.is_alone(i) else Verdict.COMBINATION)
        for i in range(base.rank)
    )
