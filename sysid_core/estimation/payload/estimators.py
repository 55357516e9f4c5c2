# SPDX-License-Identifier: Apache-2.0
"""Payload estimators of the literature, to compare with: those that use only compressed wrenches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.estimation.payload.data import CompressedWrenches
from sysid_core.estimation.payload.entropic import EntropicRegression, HomogeneousBody
from sysid_core.estimation.payload.least_squares import (
    PayloadOLS,
    RecursiveTotalLeastSquares,
    WrenchEstimator,
    least_squares_solution,
)
from sysid_core.estimation.payload.point_mass import PointMassDiscretization, solve_cone_program
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array, pseudo_inertia_from_pi
from sysid_core.robot.shapes import Shape

if TYPE_CHECKING:
    import clarabel
else:
    clarabel = lazy_import("clarabel")


_COLUMNS, _ROWS = np.tril_indices(4)  # of the upper triangle, column by column
_MARGIN = 1e-7  # of the scaled pseudo-inertia, so that the result is consistent in floats too
_LENGTH = 0.1  # typical length, for the solver's scaling [m]


class PayloadLMI(PayloadOLS):
    r"""Least squares over physically consistent payload parameters (Wensing, Kim and Slotine 2018).

    `min |A pi - b|^2` subject to a positive definite pseudo-inertia, `P(pi) > 0`. The covariance is
    that of the unconstrained solution, which is an upper bound. `solve` raises a `SolverError` if no
    optimum was found.
    """

    method = "LMI"

    def _parameters(self, wrenches: CompressedWrenches) -> Array:
        pi = least_squares_solution(wrenches)
        if self._is_allowed(pi):
            return pi
        R = np.vstack([wrenches.force[:, :10], wrenches.torque[:, :10]])
        return self._nearest_allowed(R, pi)

    def _is_allowed(self, pi: Array) -> bool:
        """True if the unconstrained solution satisfies all constraints."""
        P = pseudo_inertia_from_pi(pi)
        d = np.array([1.0 / _LENGTH] * 3 + [1.0])
        least = np.linalg.eigvalsh(P * np.outer(d, d))[0]
        return bool(pi[0] > 0 and least >= _MARGIN * pi[0])

    def _nearest_allowed(self, R: Array, free: Array) -> Array:
        """Minimise `|R (pi - free)|` subject to the constraints, R of shape (p, 10)."""
        mass = max(abs(float(free[0])), 1e-3)
        scale = mass * np.array([1.0] + [_LENGTH] * 3 + [_LENGTH**2] * 6)
        d = np.array([1.0 / _LENGTH] * 3 + [1.0])
        P = pseudo_inertia_from_pi(np.diag(scale)) * np.outer(d, d) / mass  # of units, (10, 4, 4)
        weights = np.asarray(np.linalg.qr(R * scale, mode="r"))
        weights = weights / max(float(np.linalg.norm(weights)), 1e-12)
        p = len(weights)
        # The last unknown is the distance |W (y - free)|.
        A, b = np.zeros((11 + p, 11)), np.zeros(11 + p)
        A[:10, :10], b[:10] = -_triangle(P).T, -_MARGIN * _triangle(np.eye(4))
        A[10, 10], A[11:, :10], b[11:] = -1.0, -weights, -weights @ (free / scale)
        cones: list[Any] = [clarabel.PSDTriangleConeT(4), clarabel.SecondOrderConeT(1 + p)]
        none, distance = scipy.sparse.csc_matrix((11, 11)), np.eye(11)[10]
        return scale * solve_cone_program(none, distance, A, b, cones, "the payload")[:10]


def _triangle(matrix: ArrayLike) -> Array:
    """Upper triangles of symmetric matrices (..., 4, 4) in the form of Clarabel's semidefinite
    cone, (..., 10).

    The entries are ordered by columns; those off the diagonal are multiplied by the square root of
    two.
    """
    S = np.asarray(matrix, dtype=float)
    return np.asarray(S[..., _ROWS, _COLUMNS] * np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(2.0)))


def rivals(shape: Shape | None = None) -> dict[str, Callable[..., WrenchEstimator]]:
    """Return the constructors of the estimators by name, such as `ols`; their options are keywords.

    Args:
        shape: Shape of the object, in the sensor frame; None: estimators without a shape only.
    """
    made: dict[str, Callable[..., WrenchEstimator]] = {
        "ols": PayloadOLS,
        "rtls": RecursiveTotalLeastSquares,
        "lmi": PayloadLMI,
    }
    if shape is None:
        return made
    return made | {
        "pmd": partial(PointMassDiscretization, shape),
        "pmd-squared": partial(PointMassDiscretization, shape, squared=True),
        "geo": partial(EntropicRegression, shape),
        "homogeneous": partial(HomogeneousBody, shape),
    }
