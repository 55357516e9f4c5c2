# SPDX-License-Identifier: Apache-2.0
"""Least squares: ordinary, weighted by joint and robust on base parameters, and physically
consistent by convex optimisation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.fit.consistent_problem import (
    Prior,
    bounded_fit,
    build_consistent_problem,
    solve_consistent,
)
from sysid_core.estimation.fit.model_error import model_error
from sysid_core.estimation.fit.regression import Compressed, Regression, compress
from sysid_core.estimation.fit.uncertainty import ParameterUncertainty, scores_of_joints
from sysid_core.estimation.fit.weighting import Weighting, Weights, settled_weights
from sysid_core.identifiability import BaseParameters, Excitation
from sysid_core.robot import Array, is_physically_consistent


class LeastSquares:
    r"""Least squares on the base parameters, without physical consistency.

    Args:
        weighting: Weighting of the residuals: `none` (OLS), `joint` (WLS) or `robust` (IRLS).
        fixed: Names of parameters that keep their prior values (see `Regression.free_columns`).

    References:
        Gautier (1997), "Dynamic identification of robots with power model" (base parameters by
        WLS); Huber (1981), "Robust Statistics", section 7.6 (covariance of robust estimates).

    Examples:
        >>> from sysid_core.estimation.fit import Regression
        >>> rng = np.random.default_rng(0)
        >>> Y = rng.normal(size=(500, 1, 2))
        >>> regression = Regression(
        ...     Y=Y, tau=Y @ [0.5, 2.0] + rng.normal(size=(500, 1)), names=("j.F_c", "j.F_v"),
        ...     units=("N m", "N m s/rad"), joints=("j",), bodies=(), prior=np.zeros(2),
        ...     prior_sd=np.ones(2), non_negative=np.ones(2, dtype=bool), structure=np.eye(2),
        ... )
        >>> estimate = LeastSquares().fit(regression)
        >>> [f"{x:.1f} +- {sd:.2f}" for x, sd in zip(estimate.values, estimate.standard_deviations)]
        ['0.5 +- 0.05', '2.0 +- 0.06']
    """

    def __init__(
        self,
        weighting: Weighting | str = Weighting.NONE,
        *,
        fixed: Sequence[str] = (),
    ) -> None:
        self.weighting = Weighting(weighting)
        self.fixed = tuple(fixed)

    @property
    def name(self) -> str:
        """Name of the method: `ols`, `wls` or `irls`."""
        return {"none": "ols", "joint": "wls", "robust": "irls"}[self.weighting.value]

    def fit(self, regression: Regression) -> Estimate:
        """Estimate the base parameters; fixed ones keep their prior values.

        Args:
            regression: Measurement equations.

        Raises:
            EstimationError: A fixed parameter is unknown, or nothing is left to estimate.
        """
        free = regression.free_columns(self.fixed)
        base = regression.base_of(free)
        columns = np.flatnonzero(free)[list(base.independent)]
        known = np.where(free, 0.0, regression.prior)
        compressed = compress(regression)
        pi_b, weights = settled_weights(regression, compressed, self.weighting, columns, known)
        values = known.copy()
        values[columns] = pi_b
        residual = regression.tau - regression.predict(values)
        normal = weights.normal(regression, compressed, columns.tolist(), known)
        M = scores_of_joints(regression, columns.tolist(), residual, weights, normal)
        prior = base.regrouping @ np.diag(regression.prior_sd[free] ** 2) @ base.regrouping.T
        alone = ParameterUncertainty.from_data(normal, M, prior)
        error = model_error(regression, columns.tolist(), pi_b, residual, weights, alone)
        uncertainty = alone.widened(error.factors, error.between)
        shown = Excitation.measured(base, *excitation_rows(regression, compressed, free))
        return Estimate(
            method=self.name,
            names=base.base_names,
            values=pi_b,
            units=tuple(regression.units[i] for i in columns),
            covariance=uncertainty.covariance,
            verdicts=base_verdicts(base, uncertainty),
            combinations=combinations_of(base),
            residual_rms=regression.residual_rms(residual),
            condition_number=Excitation.scaled_condition(weights.R),
            rank=shown.rank,
            structural_rank=base.rank,
            rank_tolerance=shown.tolerance,
            n_samples=regression.n_samples,
            changes=weights.changes,
            notes=(*weights.notes, *error.notes, *uncertainty.sentences(base.base_names)),
        )


def excitation_rows(
    regression: Regression, compressed: Compressed, free: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return the unweighted rows of the data and of an ideal motion in the free columns, from which
    the excitation is computed.
    """
    R = compressed.weighted(np.ones(len(regression.joints)))[0]
    return R[:, free], regression.structure[:, free]


def base_verdicts(
    base: BaseParameters, uncertainty: ParameterUncertainty
) -> tuple[ParameterVerdict, ...]:
    """Return the identifiability verdict of every base parameter."""
    weak = uncertainty.prior_dominated
    return tuple(
        ParameterVerdict.PRIOR_DOMINATED
        if weak[i]
        else (ParameterVerdict.IDENTIFIABLE if base.is_alone(i) else ParameterVerdict.COMBINATION)
        for i in range(base.rank)
    )


def combinations_of(base: BaseParameters) -> dict[str, dict[str, float]]:
    """Return the linear combination of parameters that each base parameter represents, except where
    it is a single parameter.
    """
    return {
        name: base.combination(i) for i, name in enumerate(base.base_names) if not base.is_alone(i)
    }


class ConsistentLeastSquares:
    r"""Least squares over all parameters, with every body physically consistent.

    `min sum_k w_k ||tau_k - Y_k pi||^2 + rho d(pi, pi_0)` subject to a positive definite
    pseudo-inertia of every body and `F_c, F_v, I_a >= 0` (Zhang et al. 2024, eq. 30-32, solved as a
    convex program). The prior determines only the parameters that the data leave undetermined. With
    `Prior.ENTROPIC`, d is `tr(P_0^-1 P) - log det(P_0^-1 P) - 4` per body (Lee, Wensing and Park
    2020), which does not depend on frames or units.

    The estimate without prior is stored in `measured`: base parameters with standard deviations. A
    parameter has a standard deviation if the data determine it individually, or if a prior was
    declared.

    Args:
        prior: Metric of the distance to the URDF's values.
        prior_weight: Weight rho of the prior. With 1, the natural scales of `Regression.prior_sd`
            are the standard deviations of the prior, which is a weak prior compared with thousands
            of samples. The reported standard deviations do not depend on rho.
        prior_sd: Declared standard deviation of the URDF's inertial parameters relative to their
            natural scale (such as a CAD tolerance of 0.05), or a mapping by link, joint or symbol;
            rho becomes `1 / prior_sd^2`.
        weighting: Weighting of the residuals.
        fixed: Names of parameters that keep their prior values (see `Regression.free_columns`).
    """

    def __init__(
        self,
        prior: Prior | str = Prior.QUADRATIC,
        *,
        prior_weight: float = 1.0,
        prior_sd: float | Mapping[str, float] | None = None,
        weighting: Weighting | str = Weighting.JOINT,
        fixed: Sequence[str] = (),
    ) -> None:
        self.prior = Prior(prior)
        self.prior_weight = float(prior_weight)
        self.prior_weights: Mapping[str, float] = {}  # of links, joints or symbols
        given = {} if prior_sd is None else prior_sd
        self.prior_sd = dict(given) if isinstance(given, Mapping) else {"inertials": float(given)}
        self.weighting = Weighting(weighting)
        self.fixed = tuple(fixed)
        weights = (self.prior_weight, *self.prior_weights.values(), *self.prior_sd.values())
        if not all(rho > 0.0 for rho in weights):
            raise EstimationError(
                "The weight of the prior must be positive; otherwise parameters that the data do"
                " not determine are arbitrary (links of 150 kg fit as well).",
                remedy="Give a prior weight above zero.",
            )

    @property
    def name(self) -> str:
        """Name of the method: `lmi` or `entropic`."""
        return "lmi" if self.prior is Prior.QUADRATIC else "entropic"

    def fit(self, regression: Regression) -> Estimate:
        """Estimate all parameters.

        Args:
            regression: Measurement equations.

        Raises:
            EstimationError: A prior is given for an unknown body or parameter.
            SolverError: No optimum was found.
        """
        free = regression.free_columns(self.fixed)
        columns = np.flatnonzero(free)
        start, s = regression.prior[free], regression.prior_sd[free]
        rho, declared = self._prior(regression)
        prior_rows = np.sqrt(rho[free]) / s
        known = np.where(free, 0.0, regression.prior)
        compressed = compress(regression)
        # Without constraints until the weights settle; then once with them.
        _, weights = settled_weights(
            regression,
            compressed,
            self.weighting,
            columns,
            known,
            (np.diag(prior_rows), prior_rows * start),
        )
        values, notes = self._constrained(regression, free, weights, rho)
        data = compressed.of(columns.tolist(), known)
        of_data = weights.normal(regression, compressed, columns.tolist(), known)
        normal = np.vstack([of_data, np.diag(prior_rows)])
        residual = regression.tau - regression.predict(values)
        M = scores_of_joints(regression, columns.tolist(), residual, weights, normal)
        base = regression.base_of(free)
        independent = list(base.independent)
        R, natural = of_data[:, independent], (base.regrouping * s**2) @ base.regrouping.T
        alone = ParameterUncertainty.from_data(R, M[np.ix_(independent, independent)], natural)
        error = model_error(
            regression,
            columns[independent].tolist(),
            base.base_values(values[free]),
            residual,
            weights,
            alone,
        )
        seen = alone.widened(error.factors, error.between)
        lifted, of_base = lifted_covariance(base.regrouping, seen, s), seen.covariance
        if np.any(declared[free]):
            G = R.T @ R @ base.regrouping
            scores = G.T @ seen.covariance @ G  # of the right side, with the model's error
            lifted = _shrunken_covariance(normal, scores, rho[free], declared[free], s)
            of_base = base.regrouping @ lifted @ base.regrouping.T
        measured = self._measured(regression, base, columns, values, residual, data, weights, seen)
        measured = replace(measured, covariance=of_base)
        covariance = np.zeros((len(free), len(free)))
        covariance[np.ix_(free, free)] = lifted
        return replace(
            estimate_of_all(regression, base, measured, values, covariance, free, declared),
            method=self.name,
            changes=weights.changes,
            notes=(*notes, *weights.notes, *error.notes, *measured.notes),
        )

    def _constrained(
        self, regression: Regression, free: NDArray[np.bool_], weights: Weights, rho: Array
    ) -> tuple[Array, tuple[str, ...]]:
        """All parameters with converged weights and the constraints, shape (p,), and notes."""
        if not np.any(free[: regression.n_inertial]):
            return bounded_fit(regression, free, weights.R, weights.r, rho[free]), ()
        values, certificate = solve_consistent(
            build_consistent_problem(regression, free, weights.R, weights.r, rho, self.prior)
        )
        return values, certificate.notes

    def _prior(self, regression: Regression) -> tuple[Array, NDArray[np.bool_]]:
        """Weight of every parameter's prior, shape (p,), and a mask of the parameters whose prior
        the user has declared as known.
        """
        rho = np.full(len(regression.names), self.prior_weight)
        for name, weight in self.prior_weights.items():
            rho[regression.columns_of(name)] = weight
        declared = np.zeros(len(rho), dtype=bool)
        for name, sd in self.prior_sd.items():
            of = regression.columns_of(name)
            rho[of], declared[of] = 1.0 / sd**2, True
        return rho, declared

    def _measured(
        self,
        regression: Regression,
        base: BaseParameters,
        columns: NDArray[np.intp],
        values: Array,
        residual: Array,
        data: Compressed,
        weights: Weights,
        seen: ParameterUncertainty,
    ) -> Estimate:
        """Estimate of the base parameters from the data alone, without the prior."""
        independent = list(base.independent)
        unweighted = data.weighted(np.ones(len(regression.joints)))[0]
        shown = Excitation.measured(base, unweighted, regression.structure[:, columns])
        return Estimate(
            method=f"{self.name}, base parameters",
            names=base.base_names,
            values=base.base_values(values[columns]),
            units=tuple(regression.units[i] for i in columns[independent]),
            covariance=seen.covariance,
            verdicts=base_verdicts(base, seen),
            residual_rms=regression.residual_rms(residual),
            condition_number=Excitation.scaled_condition(weights.R[:, independent]),
            rank=shown.rank,
            structural_rank=base.rank,
            rank_tolerance=shown.tolerance,
            n_samples=regression.n_samples,
            notes=seen.sentences(base.base_names),
            combinations=combinations_of(base),
        )


def lifted_covariance(regrouping: Array, seen: ParameterUncertainty, s: Array) -> Array:
    r"""Covariance of all p parameters that agrees with the given covariance of the base parameters,
    shape (p, p).

    Directions that the data do not determine have the natural covariance `N = diag(s^2)` of the
    parameters' natural scales s: `C = L C_b L^T + N - L R N` with the regrouping R and
    `L = N R^T (R N R^T)^{-1}`, so that `R C R^T = C_b`.
    """
    scale = np.sqrt(np.diag(seen.prior))
    inverse = scipy.linalg.pinvh(seen.prior / np.outer(scale, scale)) / np.outer(scale, scale)
    L = (s[:, None] ** 2 * regrouping.T) @ inverse
    return np.asarray(L @ seen.covariance @ L.T + np.diag(s**2) - L @ (regrouping * s**2))


def _shrunken_covariance(
    normal: Array, M: Array, rho: Array, declared: NDArray[np.bool_], s: Array
) -> Array:
    """Covariance of the estimate that a declared prior pulls towards its mean (sandwich formula,
    Huber 1981, 7.6), shape (p, p).

    The error of the prior itself is included: its declared uncertainty, or the natural scale s if
    none is declared.
    """
    belief = np.where(declared, 1.0 / rho, 1.0)
    M_prior = np.diag(rho**2 * belief / s**2)
    return ParameterUncertainty.from_data(normal, M + M_prior, np.diag(s**2)).covariance


def estimate_of_all(
    regression: Regression,
    base: BaseParameters,
    measured: Estimate,
    values: Array,
    covariance: Array,
    free: NDArray[np.bool_],
    declared: NDArray[np.bool_],
) -> Estimate:
    """Return the estimate of all p parameters that corresponds to an estimate of the base
    parameters.

    Args:
        regression: Measurement equations.
        base: Base parameters of the free columns.
        measured: Estimate of the base parameters.
        values: Estimates, shape (p,).
        covariance: Their covariance, shape (p, p).
        free: Mask of the parameters that were estimated, shape (p,).
        declared: Mask of the parameters that the user declared as known, shape (p,).
    """
    verdicts = _verdicts(regression, free, base, measured)
    return replace(
        measured,
        names=regression.names,
        values=values,
        units=regression.units,
        covariance=covariance,
        verdicts=verdicts,
        consistent=_consistency(regression, values),
        combinations={},
        unknown=tuple(
            name
            for name, verdict, told in zip(regression.names, verdicts, declared, strict=True)
            if verdict is not ParameterVerdict.IDENTIFIABLE and not told
        ),
        measured=measured,
    )


def _consistency(regression: Regression, values: Array) -> dict[str, bool]:
    """Physical consistency of each body, by name, from parameters (p,)."""
    bodies = values[: regression.n_inertial].reshape(-1, 10)
    found = is_physically_consistent(bodies)
    return {body: bool(ok) for body, ok in zip(regression.bodies, found, strict=True)}


def _verdicts(
    regression: Regression, free: NDArray[np.bool_], base: BaseParameters, measured: Estimate
) -> tuple[ParameterVerdict, ...]:
    """Identifiability verdicts of the parameters: from the structure first, then from the standard
    deviations of the base parameters.
    """
    # The row space of the regrouping is what motion can show; a parameter alone lies inside it.
    Q = np.linalg.qr(base.regrouping.T)[0]
    shown = np.zeros(len(free))
    shown[free] = np.sum(Q**2, axis=1)
    of_base = dict(zip(measured.names, measured.verdicts, strict=True))
    out = []
    for name, is_free, share in zip(regression.names, free, shown, strict=True):
        if not is_free:
            out.append(ParameterVerdict.PRIOR_DOMINATED)
        elif share < 1e-9:
            out.append(ParameterVerdict.UNIDENTIFIABLE)
        elif share < 1.0 - 1e-9:
            out.append(ParameterVerdict.COMBINATION)
        else:
            out.append(of_base.get(name, ParameterVerdict.PRIOR_DOMINATED))
    return tuple(out)
