# SPDX-License-Identifier: Apache-2.0
"""Estimator made from a function of the user, with measured standard deviations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit.consistent_problem import (
    Prior,
    build_consistent_problem,
    solve_consistent,
)
from sysid_core.estimation.fit.least_squares import (
    LeastSquares,
    base_verdicts,
    estimate_of_all,
    lifted_covariance,
)
from sysid_core.estimation.fit.model_error import BLOCKS, moderated
from sysid_core.estimation.fit.regression import Regression, compress
from sysid_core.estimation.fit.uncertainty import ParameterUncertainty
from sysid_core.estimation.fit.weighting import Weighting, settled_weights
from sysid_core.robot import Array


class OwnMethod:
    r"""Estimator made from a function that returns the parameters of a `Regression`.

    The function is called with all data, and once without each of 8 blocks of the motion. The
    scatter of these results gives the standard deviations (delete-a-block jackknife); they are never
    smaller than those of weighted least squares, so that a function which returns its prior is not
    reported as accurate. A bias of the function is not included.

    If the parameters of every body are physically consistent, all parameters are reported;
    otherwise the base parameters, as for ordinary least squares.

    Args:
        function: Function of a `Regression` with K samples, n joints and p parameters, which returns
            the parameters, shape (p,), in the order of `names`.

    References:
        Kuensch 1989 (jackknife for correlated samples); Smyth 2004 (few degrees of freedom).

    Examples:
        >>> from sysid_core.estimation.fit import Regression
        >>> rng = np.random.default_rng(0)
        >>> Y = rng.normal(size=(800, 1, 2))
        >>> regression = Regression(
        ...     Y=Y, tau=Y @ [0.5, 2.0] + rng.normal(size=(800, 1)), names=("j.F_c", "j.F_v"),
        ...     units=("N m", "N m s/rad"), joints=("j",), bodies=(), prior=np.zeros(2),
        ...     prior_sd=np.ones(2), non_negative=np.ones(2, dtype=bool), structure=np.eye(2),
        ... )
        >>> def median_of_ratios(r):
        ...     return np.median(r.tau[:, 0] / r.matrix[:, 0, 0]), 2.0
        >>> OwnMethod(median_of_ratios).fit(regression).method
        'median_of_ratios'
    """

    fixed: tuple[str, ...] = ()

    def __init__(self, function: Callable[[Regression], ArrayLike]) -> None:
        if not callable(function):
            raise EstimationError(
                f"'{type(function).__name__}' is not a method of estimation.",
                remedy="Give a function of a `Regression`, or an object with `name`, `fixed` and `fit`.",
            )
        self.function = function

    @property
    def name(self) -> str:
        """Name of the function, or of its type if it has none."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def fit(self, regression: Regression) -> Estimate:
        """Estimate the parameters and their standard deviations.

        Args:
            regression: Measurement equations.

        Raises:
            EstimationError: The function does not return p finite numbers.
        """
        usual = LeastSquares("joint").fit(regression)
        base, s = regression.base, regression.prior_sd
        values = self._values(regression)
        block = regression.motion_blocks(BLOCKS)
        without = [self._values(_selected(regression, block != b)) for b in range(BLOCKS)]
        moved = base.regrouping @ (np.array(without) - values).T  # (b, BLOCKS)
        scatter = (BLOCKS - 1) * np.var(moved, axis=1)
        natural = (base.regrouping * s**2) @ base.regrouping.T
        variance = np.diag(usual.covariance)
        known = (variance > 0.0) & (variance < np.diag(natural))
        factors = np.ones(len(variance))
        if np.any(known):
            ratios = moderated(scatter[known] / variance[known], BLOCKS - 1)
            factors[known] = np.sqrt(np.maximum(ratios, 1.0))
        covariance = usual.covariance * np.outer(factors, factors)
        seen = ParameterUncertainty.of(covariance, natural)
        measured = replace(
            usual,
            method=self.name,
            values=base.base_values(values),
            covariance=covariance,
            verdicts=base_verdicts(base, seen),
            residual_rms=regression.residual_rms(regression.tau - regression.predict(values)),
            notes=seen.sentences(base.base_names),
        )
        free, none = np.ones(len(values), dtype=bool), np.zeros(len(values), dtype=bool)
        covariance = lifted_covariance(base.regrouping, seen, s)
        whole = estimate_of_all(regression, base, measured, values, covariance, free, none)
        return measured if whole.physically_consistent is False else whole

    def _values(self, regression: Regression) -> Array:
        values = np.asarray(self.function(regression), dtype=float)
        p = len(regression.names)
        if values.shape != (p,) or not np.all(np.isfinite(values)):
            raise EstimationError(
                f"'{self.name}' returned an array of shape {values.shape}"
                f" with {int(np.sum(~np.isfinite(values)))} values that are not finite.",
                remedy=f"Return {p} finite numbers, one for each of `regression.names`.",
            )
        return values


def nearest_consistent(regression: Regression, values: ArrayLike) -> Array:
    """Return the physically consistent parameters whose torques are closest to those of the given
    parameters along the motion of the data; what the motion does not determine stays close to the
    prior.

    Args:
        regression: Measurement equations with p parameters.
        values: Parameters, shape (p,).

    Returns:
        Parameters, shape (p,), for the export to simulators.

    Raises:
        SolverError: No optimum was found.
    """
    p = len(regression.names)
    free = np.ones(p, dtype=bool)
    _, weights = settled_weights(
        regression, compress(regression), Weighting.JOINT, np.arange(p), np.zeros(p)
    )
    right = weights.R @ np.asarray(values, dtype=float)
    problem = build_consistent_problem(
        regression, free, weights.R, right, np.ones(p), Prior.QUADRATIC
    )
    return solve_consistent(problem)[0]


def _selected(regression: Regression, keep: NDArray[np.bool_]) -> Regression:
    """Equations of the samples in a mask of shape (K,); each omitted sample ends a gapless span."""
    index = np.flatnonzero(keep)
    starts = np.isin(index, regression.starts) | (np.diff(index, prepend=-2) > 1)
    first = np.searchsorted(index, regression.recordings)

    def of(values: Array | None) -> Array | None:
        return None if values is None else values[index]

    return replace(
        regression,
        Y=regression.matrix[index],
        tau=regression.tau[index],
        starts=tuple(np.flatnonzero(starts).tolist()),
        used=None if regression.used is None else regression.used[index],
        time=of(regression.time),
        motion_time=of(regression.motion_time),
        recordings=tuple(np.unique(first[first < len(index)]).tolist()),
    )
