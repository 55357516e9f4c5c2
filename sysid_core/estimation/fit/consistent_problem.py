# SPDX-License-Identifier: Apache-2.0
"""Convex program of `ConsistentLeastSquares`: least squares over physically consistent bodies."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.errors import SolverError
from sysid_core.estimation.fit.regression import Regression
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array, pseudo_inertia_from_pi
from sysid_core.settings import Kind

if TYPE_CHECKING:
    import cvxpy as cp
else:
    cp = lazy_import("cvxpy")

# Column k: the pseudo-inertia of the k-th unit parameter, row by row.
_BASIS = pseudo_inertia_from_pi(np.eye(10)).reshape(10, 16).T
_MARGIN = 1e-5  # smallest eigenvalue of the pseudo-inertia relative to the body's natural one
_ZERO = 1e-9  # eigenvalues below this part of the largest count as zero


def symmetric(M: Array) -> Array:
    """Return the symmetric part of a matrix."""
    return 0.5 * (M + M.T)


def root(M: Array) -> Array:
    """Return the square root R of a symmetric matrix, with `R^T R` the nearest positive
    semi-definite matrix (after scaling its diagonal to one).

    Args:
        M: Symmetric matrix, shape (n, n).
    """
    scale = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(symmetric(M / np.outer(scale, scale)))
    values = np.where(values > _ZERO * max(float(values[-1]), 0.0), values, 0.0)
    return (vectors * np.sqrt(values)).T * scale


def inverse(M: Array) -> Array:
    """Return the inverse of a positive definite matrix after scaling its diagonal to one."""
    scale = 1.0 / np.sqrt(np.diag(M))
    factor = scipy.linalg.cho_factor(symmetric(M * np.outer(scale, scale)))
    return scipy.linalg.cho_solve(factor, np.diag(scale)) * scale[:, None]


def pseudo_inertia_expression(pi: cp.Expression, length: float = 1.0) -> cp.Expression:
    r"""Return the pseudo-inertia `P(pi)` of one body as an affine 4 x 4 expression: Zhang et al.
    (2024), eq. (30), (31).

    Args:
        pi: Inertial parameters, shape (10,).
        length: Unit of length [m], for the scaling of the solver: the result is `D P D` with `D =
            diag(1/length, 1/length, 1/length, 1)`, positive definite if and only if P is.
    """
    d = np.array([1.0 / length] * 3 + [1.0])
    scaled = np.outer(d, d).ravel()[:, None] * _BASIS
    return cp.reshape(scaled @ pi, (4, 4), order="C")


@dataclass(frozen=True)
class Certificate:
    """Optimality certificate of a solved convex program.

    Attributes:
        what: Name of the problem, for messages.
        primal_residual: Relative violation of the primal constraints.
        dual_residual: Relative violation of the dual constraints.
        gap: Relative gap between primal and dual objective.
        almost_solved: True if the solver stopped at its reduced tolerances (5e-5 of the objective
            instead of 1e-8).
    """

    what: str
    primal_residual: float
    dual_residual: float
    gap: float
    almost_solved: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """Note if the problem was solved only approximately; otherwise empty."""
        if not self.almost_solved:
            return ()
        return (
            f"The convex problem of {self.what} is solved only approximately (gap {self.gap:.1g},"
            " residuals"
            f" {self.primal_residual:.1g} and {self.dual_residual:.1g}): the solver reached only"
            " its reduced accuracy, and weakly excited parameters may have larger errors than"
            " stated.",
        )


def solve_convex(problem: cp.Problem, what: str) -> Certificate:
    """Solve a convex program with Clarabel, and raise an error unless the optimum is found.

    Args:
        problem: Convex program; its variables get the optimal values.
        what: Name of the problem, for messages.

    Returns:
        Certificate with the residuals and the gap stated by the solver.

    Raises:
        SolverError: The problem is infeasible, unbounded or not solved.
    """
    try:
        with warnings.catch_warnings():  # the certificate says it
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            data, chain, undo = problem.get_problem_data(cp.CLARABEL, solver_opts={})
            raw = chain.solve_via_data(problem, data, solver_opts={})
            problem.unpack_results(raw, chain, undo)
    except cp.error.SolverError as err:
        raise SolverError(
            f"The convex problem of {what} could not be solved: {err}.",
            remedy="Check the data for extreme values, or relax the bounds.",
        ) from err
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise SolverError(
            f"The convex problem of {what} is {problem.status}.",
            remedy="Bounds or fixed parameters contradict physical consistency: relax them.",
            status=problem.status,
        )
    gap = abs(raw.obj_val - raw.obj_val_dual)
    return Certificate(
        what,
        float(raw.r_prim),
        float(raw.r_dual),
        float(gap / max(1.0, min(abs(raw.obj_val), abs(raw.obj_val_dual)))),
        problem.status == cp.OPTIMAL_INACCURATE,
    )


def nearest_consistent(pi: Array, covariance: Array, length: float) -> Array:
    r"""Return the physically consistent parameters nearest to pi: `argmin_x (x - pi)^T C^{-1} (x -
    pi)` with `P(x) > 0` for all bodies.

    Args:
        pi: Estimated parameters, shape (10,).
        covariance: Covariance C of the parameters, shape (10, 10).
        length: Approximate size of the body [m], for the scaling of the solver.

    Returns:
        Physically consistent parameters, shape (10,).

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


def bounded_fit(
    regression: Regression, free: NDArray[np.bool_], R: Array, r: Array, rho: Array
) -> Array:
    r"""Solve least squares with a prior and non-negative parameters: minimise `||R pi - r||^2 +
    ||sqrt(rho) (pi - pi_0)/s||^2`.

    If only friction and drive parameters are estimated, no matrix inequality is needed; this
    solution is exact and takes milliseconds.

    Args:
        regression: Equations with prior, natural scales and sign constraints of the parameters.
        free: Mask of the parameters to estimate, shape (p,); the others keep their prior values.
        R: Triangular factor of the k free columns, shape (m, k).
        r: Right-hand side of the factor, shape (m,).
        rho: Prior weights of the free parameters, shape (k,).

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


class Prior(Kind):
    """Metric of the distance from the prior."""

    QUADRATIC = "quadratic"  # squared, in natural scales
    ENTROPIC = "entropic"  # Bregman divergence of the log-determinant, per body


@dataclass(frozen=True, eq=False)
class ConsistentProblem:
    r"""Zhang et al. (2024), eq. (32), with a prior: `min ||R pi - r||^2 + sum rho d(pi, pi_0)`.

    Attributes:
        y: Unknowns, shape (k,): free parameters in coordinates in which the objective with
            quadratic prior is `|y|^2`.
        pi: Expressions of all parameters in y, shape (p,).
        fit: Sum of squared residuals, including the quadratic prior.
        divergence: Entropic prior terms, by body; empty for a quadratic prior.
        constraints: Constraints by name: `link3 consistent`, `non-negative`.
        non_negative: Indices of the parameters in the constraint `non-negative`.
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
        regression: Equations with prior, natural scales and sign constraints of the parameters.
        free: Mask of the parameters to estimate, shape (p,); the others keep their prior values.
        R: Triangular factor of the k free columns, shape (m, k).
        r: Right-hand side of the factor, shape (m,).
        rho: Prior weight of each parameter, shape (p,).
        prior: Distance d from the prior (see `ConsistentLeastSquares`).
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
    """Return the optimal values of all parameters, shape (p,), and the certificate of the solver.

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


def _definite(P: Array) -> Array:
    """Copy of a matrix whose smallest eigenvalues are replaced by a fixed fraction of the largest, so
    that it is positive definite and can serve as a prior.
    """
    lam, U = np.linalg.eigh(P)
    return np.asarray((U * np.maximum(lam, 1e-4 * max(float(lam[-1]), 1e-12))) @ U.T)
