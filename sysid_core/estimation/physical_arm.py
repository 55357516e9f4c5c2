"""Physically consistent parameters of a whole robot by convex optimisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import EstimationError, SolverError
from sysid_core.estimation.bounded import bounded_fit
from sysid_core.estimation.covariance import correlated_information
from sysid_core.estimation.estimate import Estimate, Verdict
from sysid_core.estimation.information import Information
from sysid_core.estimation.least_squares import (
    RobustLoss,
    Weighting,
    robust_weights,
    variance_floor,
)
from sysid_core.estimation.lmi import pseudo_inertia_expression, solve_convex
from sysid_core.estimation.regression import (
    RANK_TOLERANCE,
    Compressed,
    Regression,
    compress,
    condition_number,
    excited_rank,
    solve_compressed,
)
from sysid_core.robot import Array, is_physically_consistent, pseudo_inertia_from_pi


class Prior(str, Enum):
    """How the distance to the prior is measured."""

    QUADRATIC = "quadratic"  # squared, in natural scales
    ENTROPIC = "entropic"  # Bregman divergence of the log-determinant, per body


class PhysicalArm:
    r"""Least squares over all parameters with every body physically consistent.

    `min sum_k w_k ||tau_k - Y_k pi||^2 + rho d(pi, pi_0)` subject to a positive definite
    pseudo-inertia of every body and `F_c, F_v, I_a >= 0` (Zhang et al. 2024, eq. 29-31, as the
    convex program that it is). The prior decides only what the data leave open. With
    `Prior.ENTROPIC`, d is `tr(P_0^-1 P) - log det(P_0^-1 P) - 4` per body (Lee, Wensing and Park
    2020), which doesn't depend on frames or units.

    Args:
        prior: Distance to the URDF's values.
        prior_weight: rho. 1 takes the natural scales of `Regression.prior_sd` as standard
            deviations; it is weak against thousands of samples.
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
        self.weighting = Weighting(weighting)
        self.loss = RobustLoss(loss)
        self.fixed = tuple(fixed)
        self.mass_bounds = dict(mass_bounds or {})
        self.com_boxes = {k: (tuple(a), tuple(b)) for k, (a, b) in (com_boxes or {}).items()}
        self.margin = float(margin)
        self.max_lag = max_lag
        if not self.prior_weight > 0.0:
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
        unknown = (set(self.mass_bounds) | set(self.com_boxes)) - set(regression.bodies)
        if unknown:
            raise EstimationError(
                f"Bounds were given for unknown bodies {sorted(unknown)}.",
                remedy=f"Bodies: {', '.join(regression.bodies)}.",
            )
        free = regression.free_columns(self.fixed)
        s = regression.prior_sd
        prior_rows = np.sqrt(self.prior_weight) / s[free]
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
        full = self._solve(regression, free, R, r)
        pi = full[free]
        residual = tau - Y @ pi
        w = weights if weights.ndim == 1 else np.mean(weights, axis=0)
        M = correlated_information(Y, residual, w, regression.starts, self.max_lag)
        precision = np.diag(prior_rows**2)
        information = Information.from_data(
            R.T @ R + precision, M + precision, np.diag(s[free] ** 2)
        )
        covariance = np.zeros((len(free), len(free)))
        covariance[np.ix_(free, free)] = information.covariance
        return self._estimate(regression, free, full, covariance, residual, data, R, M)

    def _solve(self, regression: Regression, free: NDArray[np.bool_], R: Array, r: Array) -> Array:
        """All parameters, in units of their natural scale for the solver's sake."""
        if not np.any(free[: regression.n_inertial]):
            return bounded_fit(regression, free, R, r, self.prior_weight)
        s, start = regression.prior_sd, regression.prior
        z = cp.Variable(int(np.sum(free)))
        spread = np.zeros((len(free), int(np.sum(free))))
        spread[np.flatnonzero(free), np.arange(spread.shape[1])] = s[free]
        pi = start + spread @ z
        factor, rest = R * s[free], r - R @ start[free]
        rho = np.sqrt(self.prior_weight)
        quadratic = np.ones(int(np.sum(free)))
        objective = []
        constraints = []
        inertial_free = free[: regression.n_inertial].reshape(-1, 10)
        for i, body in enumerate(regression.bodies):
            if not np.any(inertial_free[i]):
                continue
            block = slice(10 * i, 10 * i + 10)
            length = float(np.sqrt(s[10 * i + 4] / s[10 * i]))
            mass = float(s[10 * i])
            P = pseudo_inertia_expression(pi[block] / mass, length)
            constraints.append(P - self.margin * np.eye(4) >> 0)
            if self.prior is Prior.ENTROPIC:
                d = np.array([1.0 / length] * 3 + [1.0])
                P_0 = _definite(pseudo_inertia_from_pi(start[block]) * np.outer(d, d) / mass)
                objective.append(
                    self.prior_weight * (cp.trace(np.linalg.inv(P_0) @ P) - cp.log_det(P))
                )
                quadratic[: int(np.sum(free[: 10 * i + 10]))][-int(np.sum(inertial_free[i])) :] = (
                    0.0
                )
            if body in self.mass_bounds:
                least, most = self.mass_bounds[body]
                constraints += [pi[10 * i] >= least, pi[10 * i] <= most]
            if body in self.com_boxes:
                least_c, most_c = (np.array(corner) for corner in self.com_boxes[body])
                h = pi[10 * i + 1 : 10 * i + 4]
                constraints += [h >= pi[10 * i] * least_c, h <= pi[10 * i] * most_c]
        bounded = np.flatnonzero(free & regression.non_negative)
        if len(bounded):
            constraints.append(pi[bounded] >= 0.0)
        kept = quadratic > 0.0
        stacked = np.vstack([factor, rho * np.diag(quadratic)[kept]])
        target = np.concatenate([rest, np.zeros(int(np.sum(kept)))])
        Q, R_all = np.linalg.qr(stacked)
        objective.append(cp.sum_squares(R_all @ z - Q.T @ target))
        # Objectives of about one suit the solver's tolerances, however many samples there are.
        total = cp.sum(objective) / np.sqrt(max(float(np.sum(target**2)), 1.0))
        solve_convex(cp.Problem(cp.Minimize(total), constraints), "the arm's parameters")
        if z.value is None or not np.all(np.isfinite(z.value)):
            raise SolverError("The solver returned no parameters.")
        values = start + spread @ z.value
        values[bounded] = np.maximum(values[bounded], 0.0)  # the solver's tolerance
        return values

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
        seen = Information.from_data(
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


def _definite(P: Array, least: float = 1e-4) -> Array:
    """The same matrix with its eigenvalues lifted to a part of the largest: a usable prior."""
    lam, U = np.linalg.eigh(P)
    return np.asarray((U * np.maximum(lam, least * max(float(lam[-1]), 1e-12))) @ U.T)


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
