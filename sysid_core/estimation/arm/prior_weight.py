# SPDX-License-Identifier: Apache-2.0
"""Choice of the weight of the prior by cross-validation on blocks of time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sysid_core.estimation.arm.block_scores import BlockScores
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.arm.spans import Estimator
from sysid_core.estimation.fit import LeastSquares
from sysid_core.robot import Array

WEIGHTS = (1.0, 10.0, 100.0, 1e3, 1e4)  # of the prior that are tried; the first is the weakest
WITHIN = 0.03  # relative: held-out errors of one recording that differ by less are the same
WORSE = 0.1  # relative: a residual larger by more than with the weakest prior contradicts the data


def choose_prior_weight(
    equations: ArmEquations,
) -> tuple[float, dict[float, float]]:
    """Weight of the prior with the smallest held-out error, and the errors of all candidates.

    The largest weight that isn't clearly worse than the best (as Breiman's rule of one standard
    error does, Hastie et al. 2009, section 7.10): blocks of one recording show too little of what
    other motions need.

    Args:
        equations: The data.
    """
    scores = BlockScores.build(equations, rough_loads(equations))
    errors = {rho: scores.relative_error(None, rho) for rho in WEIGHTS}
    least = min(errors.values())
    return max(rho for rho, error in errors.items() if error <= (1.0 + WITHIN) * least), errors


def lowered_prior_weight(
    equations: ArmEquations,
    weight: float,
    estimator: Callable[[float], Estimator],
) -> float:
    """Weight of the prior, reduced until physical consistency no longer contradicts the prior.

    `choose_prior_weight` judges fits without constraints. Where drives' gains contradict each other
    only impossible bodies come near the data with a strong prior: possible ones then have a much
    larger residual than with a weaker prior.

    Args:
        equations: The data.
        weight: Weight to begin with.
        estimator: Makes the constrained estimator for a weight.
    """
    scores = BlockScores.build(equations, equations.prior, 1)

    def residual(rho: float) -> float:
        found = identify_equations(equations, estimator(rho))
        rms = scores.residual(found.parameters) * np.sqrt(scores.regression.counts)
        return float(np.linalg.norm(rms / scores.gains))

    least = WEIGHTS[0]
    if weight <= least:
        return weight
    most = (1.0 + WORSE) * residual(least)
    while weight > least and residual(weight) > most:
        weight /= 10.0
    return weight


def rough_loads(equations: ArmEquations) -> Array:
    """Inertial parameters that are accurate enough for the load torque in friction terms.

    Where a joint's efforts weren't measured, least squares may make anything of what it carries.
    """
    if not equations.friction.needs_load or np.any(equations.unmeasured()):
        return equations.prior
    return identify_equations(equations, LeastSquares("joint")).pi.ravel()
