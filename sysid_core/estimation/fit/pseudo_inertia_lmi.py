# SPDX-License-Identifier: Apache-2.0
"""Physical consistency as a linear matrix inequality, and a convex solver with certificate."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sysid_core.errors import SolverError
from sysid_core.estimation.fit.spd import inverse
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array, pseudo_inertia_from_pi

if TYPE_CHECKING:
    import cvxpy as cp
else:
    cp = lazy_import("cvxpy")

# Column k: the pseudo-inertia of the k-th unit parameter, row by row.
_BASIS = pseudo_inertia_from_pi(np.eye(10)).reshape(10, 16).T


def pseudo_inertia_expression(pi: cp.Expression, length: float = 1.0) -> cp.Expression:
    r"""Pseudo-inertia `P(pi)` of one body as an affine 4 x 4 expression: Zhang et al. (2024), eq.
    (30), (31).

    Args:
        pi: Inertial parameters, shape (10,).
        length: Lengths are measured in this unit [m], for the solver's sake: the result is
            `D P D` with `D = diag(1/length, 1/length, 1/length, 1)`, definite when P is.
    """
    d = np.array([1.0 / length] * 3 + [1.0])
    scaled = np.outer(d, d).ravel()[:, None] * _BASIS
    return cp.reshape(scaled @ pi, (4, 4), order="C")


@dataclass(frozen=True)
class Certificate:
    """Optimality certificate of a solved convex program.

    Attributes:
        what: Name of the problem, for sentences.
        primal_residual: Relative violation of the constraints.
        dual_residual: Relative violation of the dual ones.
        gap: Distance of primal and dual objective over their size.
        almost_solved: Whether the solver stopped at its reduced tolerances (5e-5 of the objective
            instead of 1e-8).
    """

    what: str
    primal_residual: float
    dual_residual: float
    gap: float
    almost_solved: bool

    def is_optimal(self, tolerance: float = 1e-6) -> bool:
        """True if both residuals and the duality gap are below a tolerance."""
        return max(self.primal_residual, self.dual_residual, self.gap) <= tolerance

    @property
    def notes(self) -> tuple[str, ...]:
        """Note if the problem was solved only approximately; otherwise empty."""
        if not self.almost_solved:
            return ()
        return (
            f"The convex problem of {self.what} is solved only approximately (gap {self.gap:.1g}, residuals"
            f" {self.primal_residual:.1g} and {self.dual_residual:.1g}): the solver reached only its reduced accuracy, and weakly excited parameters may have larger errors than stated."
            "",
        )


def solve_convex(problem: cp.Problem, what: str) -> Certificate:
    """Solve a convex program with Clarabel; anything but an optimum is an error.

    Args:
        problem: Its variables get their values.
        what: Name of the problem in notes and errors.

    Returns:
        Residuals and gap as the solver states them.

    Raises:
        SolverError: Infeasible, unbounded or not solved.
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
    r"""Physically consistent parameters nearest to pi: `argmin_x (x - pi)^T C^{-1} (x - pi)` with
    `P(x) > 0` for all bodies.

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
