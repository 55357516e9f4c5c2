# SPDX-License-Identifier: Apache-2.0
"""Least squares with non-negative parameters, without estimation of bodies."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.errors import SolverError
from sysid_core.estimation.fit.regression import Regression
from sysid_core.robot import Array


def bounded_fit(
    regression: Regression, free: NDArray[np.bool_], R: Array, r: Array, rho: Array
) -> Array:
    r"""Least squares with a prior and non-negative parameters: minimise `||R pi - r||^2 +
    ||sqrt(rho) (pi - pi_0)/s||^2`.

    Friction and drives alone need no matrix inequality; this is exact and takes milliseconds.

    Args:
        regression: Prior, scales and signs.
        free: Parameters that are estimated, shape (p,); the others keep their prior.
        R: Triangular factor of the free columns.
        r: Its right side.
        rho: Weights of the free parameters' priors.

    Returns:
        All parameters, shape (p,).

    Raises:
        SolverError: No optimum was found.
    """
    s, start = regression.prior_sd[free], regression.prior[free]
    rows = np.vstack([R * s, np.diag(np.sqrt(rho))])
    target = np.concatenate([r - R @ start, np.zeros(len(s))])
    lower = np.where(regression.non_negative[free], -start / s, -np.inf)
    solution = scipy.optimize.lsq_linear(rows, target, (lower, np.inf), method="bvls", tol=1e-14)
    if not solution.success:
        raise SolverError(
            f"The bounded least-squares problem wasn't solved: {solution.message}.",
            remedy="Check the data for NaN and extreme values, or use a --method without bounds.",
        )
    values = np.array(regression.prior, dtype=float)
    values[free] = start + s * solution.x
    bounded = free & regression.non_negative
    values[bounded] = np.maximum(values[bounded], 0.0)  # rounding
    return values
