"""Physical consistency as a linear matrix inequality, for cvxpy."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np

from sysid_core.errors import SolverError
from sysid_core.robot import pseudo_inertia_from_pi

# Column k: the pseudo-inertia of the k-th unit parameter, row by row.
_BASIS = pseudo_inertia_from_pi(np.eye(10)).reshape(10, 16).T


def pseudo_inertia_expression(pi: cp.Expression, length: float = 1.0) -> cp.Expression:
    r"""`P(pi)` of one body as an affine 4 x 4 expression (see `pseudo_inertia_from_pi`).

    Zhang, Haugk and Vasudevan (2024), eqs. (30), (31).

    Args:
        pi: Inertial parameters, shape (10,).
        length: Lengths are measured in this unit [m], for the solver's sake: the result is
            `D P D` with `D = diag(1/length, 1/length, 1/length, 1)`, definite when P is.
    """
    d = np.array([1.0 / length] * 3 + [1.0])
    scaled = np.outer(d, d).ravel()[:, None] * _BASIS
    return cp.reshape(scaled @ pi, (4, 4), order="C")


def solve_convex(problem: cp.Problem, what: str) -> tuple[str, ...]:
    """Solve with Clarabel, and say so where no optimum is certified.

    Args:
        problem: It is solved in place.
        what: Named in notes and errors.

    Returns:
        Nothing, or a sentence for the result's notes where the solver stopped at its reduced
        tolerances (5e-5 of the objective instead of 1e-8).

    Raises:
        SolverError: Infeasible, unbounded or not solved.
    """
    try:
        with warnings.catch_warnings():  # the status says it
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as err:
        raise SolverError(
            f"The convex problem of {what} could not be solved: {err}.",
            remedy="Check the data for absurd values, or loosen the bounds.",
        ) from err
    if problem.status == cp.OPTIMAL:
        return ()
    if problem.status == cp.OPTIMAL_INACCURATE:
        return (
            f"The convex problem of {what} is almost solved: the solver reached its reduced"
            " accuracy only, and what the data hardly show may be off by more than it says.",
        )
    raise SolverError(
        f"The convex problem of {what} is {problem.status}.",
        remedy="Bounds or fixed parameters contradict physical consistency: loosen them.",
        status=problem.status,
    )
