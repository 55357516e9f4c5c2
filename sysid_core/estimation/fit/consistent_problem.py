# SPDX-License-Identifier: Apache-2.0
"""Convex program of `ConsistentLeastSquares`: least squares over physically consistent bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.errors import SolverError
from sysid_core.estimation.fit.pseudo_inertia_lmi import (
    Certificate,
    pseudo_inertia_expression,
    solve_convex,
)
from sysid_core.estimation.fit.regression import Regression
from sysid_core.kinds import Kind
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array, pseudo_inertia_from_pi

if TYPE_CHECKING:
    import cvxpy as cp
else:
    cp = lazy_import("cvxpy")


_MARGIN = 1e-5  # smallest eigenvalue of the pseudo-inertia relative to the body's natural one


class Prior(Kind):
    """Metric of the distance from the prior."""

    QUADRATIC = "quadratic"  # squared, in natural scales
    ENTROPIC = "entropic"  # Bregman divergence of the log-determinant, per body


@dataclass(frozen=True, eq=False)
class ConsistentProblem:
    r"""Zhang et al. (2024), eq. (32), with a prior: `min ||R pi - r||^2 + sum rho d(pi, pi_0)`.

    Attributes:
        y: Unknowns: free parameters in the directions that data and quadratic prior show alike,
            in which the objective is `|y|^2` but for what is entropic, shape (k,).
        pi: All parameters as expressions of y, shape (p,).
        fit: Squared residuals, with the quadratic prior.
        divergence: Entropic prior of each body, where there is one.
        constraints: Constraints by name: `link3 consistent`, `non-negative`.
        non_negative: Which parameters the last one is about, indices.
    """

    y: cp.Variable
    pi: cp.Expression
    fit: cp.Expression
    divergence: Mapping[str, cp.Expression]
    constraints: Mapping[str, cp.Constraint]
    non_negative: NDArray[np.intp]

    @property
    def program(self) -> cp.Problem:
        """Convex program in the form of cvxpy."""
        objective = sum(self.divergence.values(), self.fit)
        return cp.Problem(cp.Minimize(objective), list(self.constraints.values()))


def build_consistent_problem(
    regression: Regression,
    free: NDArray[np.bool_],
    R: Array,
    r: Array,
    rho: Array,
    prior: Prior,
) -> ConsistentProblem:
    r"""Build the program `min ||R pi - r||^2 + sum rho d(pi, pi_0)` over physically consistent
    parameters.

    Zhang et al. (2024), eq. (32), with a prior and the constraints of eq. (30).

    Args:
        regression: Prior, scales and signs.
        free: Parameters that are estimated, shape (p,); the others keep their prior.
        R: Triangular factor of the free columns, shape (m, k).
        r: Its right side, shape (m,).
        rho: Weight of every parameter's prior, shape (p,).
        prior: Distance d, as `ConsistentLeastSquares` describes it.
    """
    s, start = regression.prior_sd, regression.prior
    k = int(np.sum(free))
    rows = np.vstack([R * s[free], np.diag(np.sqrt(rho[free]))])
    target = np.concatenate([r - R @ start[free], np.zeros(k)])
    Q, factor = np.linalg.qr(rows)
    z_0 = scipy.linalg.solve_triangular(factor, Q.T @ target)
    spread = np.zeros((len(free), k))
    spread[free] = s[free, None] * scipy.linalg.solve_triangular(factor, np.eye(k))
    centre = start.copy()
    centre[free] += s[free] * z_0
    y = cp.Variable(k)
    pi = centre + spread @ y
    fit, divergence = cp.sum_squares(y), {}
    constraints: dict[str, cp.Constraint] = {}
    for i, body in enumerate(regression.bodies):
        block = slice(10 * i, 10 * i + 10)
        if not np.any(free[block]):
            continue
        mass, length = float(s[10 * i]), float(np.sqrt(s[10 * i + 4] / s[10 * i]))
        P = pseudo_inertia_expression(pi[block] / mass, length)
        constraints[f"{body} consistent"] = P >> _MARGIN * np.eye(4)  # Zhang eq. (30)
        if prior is Prior.ENTROPIC:
            d = np.array([1.0 / length] * 3 + [1.0])
            P_0 = _definite(pseudo_inertia_from_pi(start[block]) * np.outer(d, d) / mass)
            bregman = cp.trace(np.linalg.inv(P_0) @ P) - cp.log_det(P)
            divergence[body] = rho[10 * i] * bregman
    bounded = np.flatnonzero(free & regression.non_negative)
    if len(bounded):
        constraints["non-negative"] = pi[bounded] / s[bounded] >= 0.0
    if divergence:  # the inertial parameters' quadratic prior is none
        entropic = np.arange(len(free)) < regression.n_inertial
        kept = np.concatenate([np.ones(len(R), dtype=bool), ~entropic[free]])
        fit = cp.sum_squares(Q[kept] @ y - (target - rows @ z_0)[kept])
    return ConsistentProblem(y, pi, fit, divergence, constraints, bounded)


def solve_consistent(problem: ConsistentProblem) -> tuple[Array, Certificate]:
    """Optimal values of all parameters, shape (p,), and the certificate of the solver.

    Raises:
        SolverError: No optimum was found.
    """
    certificate = solve_convex(problem.program, "the arm's parameters")  # Zhang eq. (32)
    values = problem.pi.value
    if values is None or not np.all(np.isfinite(values)):
        raise SolverError(
            "The solver returned no parameters.",
            remedy="Check the data for NaN and extreme values, or increase the weight of the prior.",
        )
    values = np.array(values)
    bounded = problem.non_negative
    values[bounded] = np.maximum(values[bounded], 0.0)  # the solver's tolerance
    return values, certificate


def _definite(P: Array, least: float = 1e-4) -> Array:
    """Matrix with its eigenvalues raised to a fraction of the largest, so that it can serve as a
    prior.
    """
    lam, U = np.linalg.eigh(P)
    return np.asarray((U * np.maximum(lam, least * max(float(lam[-1]), 1e-12))) @ U.T)
