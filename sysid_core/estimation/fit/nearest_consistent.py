# SPDX-License-Identifier: Apache-2.0
"""The physically consistent body nearest to an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sysid_core.estimation.fit.pseudo_inertia_lmi import pseudo_inertia_expression, solve_convex
from sysid_core.estimation.fit.spd import inverse
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array

if TYPE_CHECKING:
    import cvxpy as cp
else:
    cp = lazy_import("cvxpy")


def nearest_consistent(pi: Array, covariance: Array, length: float) -> Array:
    r"""`argmin_x (x - pi)^T C^{-1} (x - pi)` over all bodies, `P(x) > 0`.

    Args:
        pi: Estimated parameters, shape (10,).
        covariance: C, shape (10, 10).
        length: About the size of the body [m], for the solver's scaling.

    Returns:
        Shape (10,).

    Raises:
        SolverError: No optimum was certified.
    """
    sd = np.sqrt(np.diag(covariance))
    x = cp.Variable(10)  # in standard deviations
    root = np.linalg.cholesky(inverse(covariance / np.outer(sd, sd)))
    mass_scale = max(abs(float(pi[0])), float(sd[0]), 1e-6)
    P = pseudo_inertia_expression(cp.multiply(sd / mass_scale, x), length=length)
    distance = cp.sum_squares(root.T @ (x - pi / sd))
    solve_convex(cp.Problem(cp.Minimize(distance), [P >> 1e-7 * np.eye(4)]), "the consistent body")
    return sd * np.asarray(x.value)
