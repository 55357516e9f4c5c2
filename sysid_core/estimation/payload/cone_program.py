# SPDX-License-Identifier: Apache-2.0
"""Small cone programs, given to Clarabel as they are: cvxpy takes longer to load than all else takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import SolverError
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array

if TYPE_CHECKING:
    import clarabel
else:
    clarabel = lazy_import("clarabel")

_SOLVED = ("Solved", "AlmostSolved", "InsufficientProgress")
_COLUMNS, _ROWS = np.tril_indices(4)  # of the upper triangle, column by column


def solve_cone_program(
    P: scipy.sparse.csc_matrix, q: Array, A: Array, b: Array, cones: list[Any], what: str
) -> Array:
    """`min x^T P x / 2 + q^T x, b - A x in cones`.

    Args:
        P: Upper triangle, shape (n, n).
        q: Shape (n,).
        A: Shape (m, n).
        b: Shape (m,).
        cones: Clarabel's, of m rows together.
        what: Name of the problem, for errors.

    Raises:
        SolverError: There is no optimum.
    """
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(P, q, scipy.sparse.csc_matrix(A), b, cones, settings).solve()
    if str(solution.status) not in _SOLVED:
        raise SolverError(
            f"Clarabel ended {what} as '{solution.status}'.",
            remedy="Check the wrench and the shape for absurd sizes.",
        )
    return np.array(solution.x)


def triangle(matrix: ArrayLike) -> Array:
    """Upper triangles of symmetric matrices (..., 4, 4) as Clarabel's cone of definite ones has them, (..., 10).

    Column by column, what is off the diagonal times the root of two.
    """
    S = np.asarray(matrix, dtype=float)
    return np.asarray(S[..., _ROWS, _COLUMNS] * np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(2.0)))
