# SPDX-License-Identifier: Apache-2.0
r"""Payload by least squares under physical consistency (Wensing, Kim and Slotine 2018).

    min |A pi - b|^2   s.t.  P(pi) > 0,  and, where a shape is given,  tr(P(pi) Q) >= 0

where Q describes an ellipsoid around the shape: some density inside it can have these parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import pseudo_inertia_expression, solve_convex
from sysid_core.estimation.payload.data import CompressedWrenches
from sysid_core.estimation.payload.ordinary import least_squares_covariance, least_squares_solution
from sysid_core.estimation.payload.result import payload_estimate, verdicts_from_rank
from sysid_core.estimation.payload.wrench_estimator import WrenchEstimator
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array, pseudo_inertia_from_pi
from sysid_core.robot.shapes import Shape

if TYPE_CHECKING:
    import cvxpy as cp
else:
    cp = lazy_import("cvxpy")

_MARGIN = 1e-7  # of the scaled pseudo-inertia, so that the result is consistent in floats too


class PayloadLMI(WrenchEstimator):
    """Least squares over the physically consistent parameters.

    Args:
        shape: Bounds the density by the ellipsoid around the shape's bounding box; None: only the
            pseudo-inertia must be positive.
        length: Typical length, for the solver's scaling [m].
    """

    def __init__(self, shape: Shape | None = None, *, length: float = 0.1) -> None:
        self.shape = shape
        self.length = length

    @property
    def method(self) -> str:
        """Name in reports."""
        return "LMI" if self.shape is None else "LMI (realisable density)"

    def solve(self, wrenches: CompressedWrenches, *, source: str = "") -> Estimate:
        """Estimate from compressed data.

        The covariance is that of the unconstrained solution: an upper bound.

        Raises:
            SolverError: No optimum was certified.
        """
        pi = least_squares_solution(wrenches)
        notes: tuple[str, ...] = ()
        if not self._is_allowed(pi):
            R = np.vstack([wrenches.force[:, :10], wrenches.torque[:, :10]])
            pi, notes = self._nearest_allowed(R, pi)
        return payload_estimate(
            self.method,
            pi,
            least_squares_covariance(wrenches),
            verdicts_from_rank(wrenches),
            wrenches,
            source=source,
            notes=notes,
        )

    def _is_allowed(self, pi: Array) -> bool:
        """Whether the unconstrained solution keeps all constraints."""
        P = pseudo_inertia_from_pi(pi)
        d = np.array([1.0 / self.length] * 3 + [1.0])
        if not pi[0] > 0 or np.linalg.eigvalsh(P * np.outer(d, d))[0] < _MARGIN * pi[0]:
            return False
        return self.shape is None or float(np.trace(P @ bounding_ellipsoid(self.shape))) >= 0.0

    def _nearest_allowed(self, R: Array, free: Array) -> tuple[Array, tuple[str, ...]]:
        """Minimise `|R (pi - free)|` under the constraints, R of shape (p, 10); with notes."""
        mass = max(abs(float(free[0])), 1e-3)
        scale = mass * np.array([1.0] + [self.length] * 3 + [self.length**2] * 6)
        y = cp.Variable(10)
        P = pseudo_inertia_expression(cp.multiply(scale, y), self.length) / mass
        constraints = [P >> _MARGIN * np.eye(4)]
        if self.shape is not None:
            d = np.array([self.length] * 3 + [1.0])
            Q = bounding_ellipsoid(self.shape) * np.outer(d, d)
            constraints.append(cp.trace(P @ Q) >= 0)
        weights = np.asarray(np.linalg.qr(R * scale, mode="r"))
        weights = weights / max(float(np.linalg.norm(weights)), 1e-12)
        objective = cp.sum_squares(weights @ (y - free / scale))
        problem = cp.Problem(cp.Minimize(objective), constraints)
        notes = solve_convex(problem, "the payload").notes
        return scale * np.asarray(y.value), notes


def bounding_ellipsoid(shape: Shape) -> Array:
    r"""`Q` with `[x; 1]^T Q [x; 1] >= 0` inside the smallest ellipsoid around the bounding box.

    Returns:
        Shape (4, 4) (Wensing et al. 2018, eq. 20).
    """
    centre = 0.5 * (shape.lower + shape.upper)
    E = np.diag(1.0 / (3.0 * (0.5 * shape.size) ** 2))
    Q = np.zeros((4, 4))
    Q[:3, :3] = -E
    Q[:3, 3] = Q[3, :3] = E @ centre
    Q[3, 3] = 1.0 - centre @ E @ centre
    return Q
