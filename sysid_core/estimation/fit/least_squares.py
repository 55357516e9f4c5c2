# SPDX-License-Identifier: Apache-2.0
"""Least squares on base parameters: ordinary, weighted by joint, or robust."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.fit.compressed import Compressed, compress
from sysid_core.estimation.fit.model_error import model_error
from sysid_core.estimation.fit.regression import Regression
from sysid_core.estimation.fit.uncertainty import ParameterUncertainty, scores_of_joints
from sysid_core.estimation.fit.weighting import Weighting, settled_weights
from sysid_core.identifiability import BaseParameters, condition_number, measure_excitation
from sysid_core.robot import Array


class LeastSquares:
    r"""Least squares on the base parameters, without physical consistency.

    Args:
        weighting: How residuals are weighted: `none` (OLS), `joint` (WLS) or `robust` (IRLS).
        fixed: Parameters that keep their prior values (see `Regression.free_columns`).

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
        shown = measure_excitation(base, *excitation_rows(regression, compressed, free))
        return Estimate(
            method=self.name,
            names=base.base_names,
            values=pi_b,
            units=tuple(regression.units[i] for i in columns),
            covariance=uncertainty.covariance,
            verdicts=base_verdicts(base, uncertainty),
            combinations=combinations_of(base),
            residual_rms=regression.residual_rms(residual),
            condition_number=condition_number(weights.R),
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
    """Rows of the data and of ideal motion in the free columns, unweighted, for the measure of
    excitation.
    """
    R = compressed.weighted(np.ones(len(regression.joints)))[0]
    return R[:, free], regression.structure[:, free]


def base_verdicts(
    base: BaseParameters, uncertainty: ParameterUncertainty
) -> tuple[ParameterVerdict, ...]:
    """Verdict of every base parameter."""
    weak = uncertainty.prior_dominated
    return tuple(
        ParameterVerdict.PRIOR_DOMINATED
        if weak[i]
        else (ParameterVerdict.IDENTIFIABLE if base.is_alone(i) else ParameterVerdict.COMBINATION)
        for i in range(base.rank)
    )


def combinations_of(base: BaseParameters) -> dict[str, dict[str, float]]:
    """Linear combination that each base parameter stands for, except single parameters."""
    return {
        name: base.combination(i) for i, name in enumerate(base.base_names) if not base.is_alone(i)
    }
