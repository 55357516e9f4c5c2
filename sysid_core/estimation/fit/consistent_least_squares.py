"""Physically consistent parameters of a whole robot by convex optimisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate, Verdict
from sysid_core.estimation.fit.bounded import bounded_fit
from sysid_core.estimation.fit.consistent_problem import Consistency, Prior, consistent_fit
from sysid_core.estimation.fit.correlated_residuals import score_covariance
from sysid_core.estimation.fit.least_squares import (
    RobustLoss,
    Weighting,
    robust_weights,
    variance_floor,
)
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
from sysid_core.robot import Array, is_physically_consistent


class ConsistentLeastSquares:
    r"""Least squares over all parameters with every body physically consistent.

    `min sum_k w_k ||tau_k - Y_k pi||^2 + rho d(pi, pi_0)` subject to a positive definite
    pseudo-inertia of every body and `F_c, F_v, I_a >= 0` (Zhang et al. 2024, eq. 30-32, as the
    convex program that it is). The prior decides only what the data leave open. With
    `Prior.ENTROPIC`, d is `tr(P_0^-1 P) - log det(P_0^-1 P) - 4` per body (Lee, Wensing and Park
    2020), which doesn't depend on frames or units.

    Args:
        prior: Distance to the URDF's values.
        prior_weight: rho. 1 takes the natural scales of `Regression.prior_sd` as standard
            deviations; it is weak against thousands of samples.
        prior_weights: Link, joint or symbol to a rho of its own.
        weighting: Of the residuals.
        loss: For robust weighting.
        fixed: Parameters that keep their prior values (see `Regression.free_columns`).
        mass_bounds: Body to (least, most) mass [kg].
        com_boxes: Body to (least, most) centre of mass [m], two corners in the body frame.
        margin: Smallest eigenvalue of the pseudo-inertia relative to the body's natural one.
        max_lag: Longest correlation of the residuals that the covariance looks for, in samples.
    """

    def __init__(
        self,
        prior: Prior | str = Prior.QUADRATIC,
        *,
        prior_weight: float = 1.0,
        prior_weights: Mapping[str, float] | None = None,
        weighting: Weighting | str = Weighting.JOINT,
        loss: RobustLoss | str = RobustLoss.TUKEY,
        fixed: Sequence[str] = (),
        mass_bounds: Mapping[str, tuple[float, float]] | None = None,
        com_boxes: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
        margin: float = 1e-5,
        max_lag: int = 400,
    ) -> None:
        self.prior = Prior(prior)
        self.prior_weight = float(prior_weight)
        self.prior_weights = dict(prior_weights or {})
        self.weighting = Weighting(weighting)
        self.loss = RobustLoss(loss)
        self.fixed = tuple(fixed)
        self.consistency = Consistency(margin, dict(mass_bounds or {}), dict(com_boxes or {}))
        self.max_lag = max_lag
        if not all(rho > 0.0 for rho in (self.prior_weight, *self.prior_weights.values())):
            raise EstimationError(
                "The prior needs a positive weight: without one, what the data leave open is"
                " arbitrary, and links of 150 kg fit as well as any."
            )

    @property
    def name(self) -> str:
        """What the result is signed with."""
        return "lmi" if self.prior is Prior.QUADRATIC else "entropic"

    def fit(self, regression: Regression) -> Estimate:
        """Estimate all parameters.

        Args:
            regression: Measurement equations.

        Raises:
            SolverError: No optimum was found.
        """
        limited = {*self.consistency.mass_bounds, *self.consistency.com_boxes}
        unknown = limited - set(regression.bodies)
        if unknown:
            raise EstimationError(
                f"Bounds were given for unknown bodies {sorted(unknown)}.",
                remedy=f"Bodies: {', '.join(regression.bodies)}.",
            )
        free = regression.free_columns(self.fixed)
        s = regression.prior_sd
        rho = self._rho(regression)
        prior_rows = np.sqrt(rho[free]) / s[free]
        tau = regression.tau - regression.Y[:, :, ~free] @ regression.prior[~free]
        Y = regression.Y[:, :, free]
        start = regression.prior[free]
        floor = variance_floor(regression.tau)
        data = compress(Y, tau)
        # Without constraints until the weights settle; then once with them.
        weights: Array = np.ones(tau.shape[1])
        R, r = data.weighted(weights)
        pi = start
        for _ in range({"none": 1, "joint": 5, "robust": 20}[self.weighting.value]):
            pi, previous = (
                solve_compressed(
                    np.vstack([R, np.diag(prior_rows)]), np.concatenate([r, prior_rows * start])
                ),
                pi,
            )
            if self.weighting is Weighting.ROBUST:
                weights = robust_weights(tau - Y @ pi, self.loss, floor)
                R, r = compress(Y, tau, weights).weighted(np.ones(tau.shape[1]))
            else:
                variance = np.maximum(data.variances(pi), floor)
                if self.weighting is Weighting.NONE:
                    variance[:] = np.mean(variance)
                weights = 1.0 / variance
                R, r = data.weighted(weights)
            if np.all(np.abs(pi - previous) <= 1e-3 * s[free]):
                break
        if np.any(free[: regression.n_inertial]):
            full, notes = consistent_fit(regression, free, R, r, rho, self.prior, self.consistency)
        else:
            full, notes = bounded_fit(regression, free, R, r, rho[free]), ()
        pi = full[free]
        residual = tau - Y @ pi
        w = weights if weights.ndim == 1 else np.mean(weights, axis=0)
        M = score_covariance(Y, residual, w, regression.starts, self.max_lag)
        precision = np.diag(prior_rows**2)
        information = ParameterUncertainty.from_data(
            R.T @ R + precision, M + precision, np.diag(s[free] ** 2)
        )
        covariance = np.zeros((len(free), len(free)))
        covariance[np.ix_(free, free)] = information.covariance
        estimate = self._estimate(regression, free, full, covariance, residual, data, R, M)
        return replace(estimate, notes=(*notes, *estimate.notes))

    def _rho(self, regression: Regression) -> Array:
        """Weight of every parameter's prior, shape (p,)."""
        rho = np.full(len(regression.names), self.prior_weight)
        for name, weight in self.prior_weights.items():
            rho[~regression.free_columns((name,))] = weight
        return rho

    def _estimate(
        self,
        regression: Regression,
        free: NDArray[np.bool_],
        values: Array,
        covariance: Array,
        residual: Array,
        data: Compressed,
        R: Array,
        M: Array,
    ) -> Estimate:
        base = regression.base_of(free)
        K_d = base.regrouping
        columns = R[:, list(base.independent)]
        seen = ParameterUncertainty.from_data(
            columns.T @ columns,
            M[np.ix_(base.independent, base.independent)],
            K_d @ np.diag(regression.prior_sd[free] ** 2) @ K_d.T,
        )
        bodies = values[: regression.n_inertial].reshape(-1, 10)
        return Estimate(
            method=self.name,
            names=regression.names,
            values=values,
            units=regression.units,
            covariance=covariance,
            verdicts=_verdicts(regression, free, covariance, K_d),
            consistent={
                body: bool(ok)
                for body, ok in zip(
                    regression.bodies, is_physically_consistent(bodies), strict=True
                )
            },
            residual_rms=dict(
                zip(regression.rows, np.sqrt(np.mean(residual**2, axis=0)).tolist(), strict=True)
            ),
            condition_number=condition_number(columns),
            rank=excited_rank(
                base.base_regressor(data.weighted(np.ones(len(regression.rows)))[0]),
                base.base_regressor(regression.structure[:, free]),
            ),
            structural_rank=base.rank,
            rank_tolerance=RANK_TOLERANCE,
            n_samples=regression.n_samples,
            notes=seen.sentences(base.base_names),
        )


def _verdicts(
    regression: Regression, free: NDArray[np.bool_], covariance: Array, regrouping: Array
) -> tuple[Verdict, ...]:
    """From the structure first, then from what the data add to the prior."""
    # The row space of the regrouping is what motion can show; a parameter alone lies inside it.
    Q = np.linalg.qr(regrouping.T)[0]
    shown = np.zeros(len(free))
    shown[free] = np.sum(Q**2, axis=1)
    sd = np.sqrt(np.diag(covariance))
    out = []
    for i, is_free in enumerate(free):
        if not is_free:
            out.append(Verdict.PRIOR_DOMINATED)
        elif shown[i] < 1e-9:
            out.append(Verdict.UNIDENTIFIABLE)
        elif shown[i] < 1.0 - 1e-9:
            out.append(Verdict.COMBINATION)
        elif sd[i] > np.sqrt(0.5) * regression.prior_sd[i]:
            out.append(Verdict.PRIOR_DOMINATED)
        else:
            out.append(Verdict.IDENTIFIABLE)
    return tuple(out)
