"""The convex program behind `ConsistentLeastSquares`: least squares over bodies that can exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import cvxpy as cp
import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from sysid_core.errors import SolverError
from sysid_core.estimation.fit.pseudo_inertia_lmi import pseudo_inertia_expression, solve_convex
from sysid_core.estimation.fit.regression import Regression
from sysid_core.robot import Array, pseudo_inertia_from_pi


class Prior(str, Enum):
    """How the distance to the prior is measured."""

    QUADRATIC = "quadratic"  # squared, in natural scales
    ENTROPIC = "entropic"  # Bregman divergence of the log-determinant, per body


@dataclass(frozen=True, eq=False)
class Consistency:
    """What parameters must fulfil.

    Attributes:
        margin: Smallest eigenvalue of the pseudo-inertia relative to the body's natural one.
        mass_bounds: Body to (least, most) mass [kg].
        com_boxes: Body to (least, most) centre of mass [m], two corners in the body frame.
    """

    margin: float
    mass_bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    com_boxes: Mapping[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=dict)


def consistent_fit(
    regression: Regression,
    free: NDArray[np.bool_],
    R: Array,
    r: Array,
    rho: Array,
    prior: Prior,
    consistency: Consistency,
) -> tuple[Array, tuple[str, ...]]:
    r"""`min ||R pi - r||^2 + sum rho d(pi, pi_0)` over the consistent parameters.

    Zhang, Haugk, Vasudevan 2024, eq. 32, with a prior; the distance d is that of `ConsistentLeastSquares`.

    Args:
        regression: Prior, scales and signs.
        free: Parameters that are estimated, shape (p,); the others keep their prior.
        R: Triangular factor of the free columns.
        r: Its right side.
        rho: Weight of every parameter's prior, shape (p,).
        prior: Distance d.
        consistency: Constraints.

    Returns:
        All parameters, shape (p,), and notes on the solution's accuracy.

    Raises:
        SolverError: No optimum was found.
    """
    s, start = regression.prior_sd, regression.prior
    k = int(np.sum(free))
    weight = np.sqrt(rho[free])
    entropic = np.zeros(len(free), dtype=bool)
    entropic[: regression.n_inertial] = prior is Prior.ENTROPIC
    # In natural scales first; then in the directions that data and quadratic prior show alike:
    # pi = centre + spread y, where the objective is |y|^2 but for what is entropic.
    rows = np.vstack([R * s[free], np.diag(weight)])
    target = np.concatenate([r - R @ start[free], np.zeros(k)])
    Q, factor = np.linalg.qr(rows)
    z_0 = scipy.linalg.solve_triangular(factor, Q.T @ target)
    spread = np.zeros((len(free), k))
    spread[free] = s[free, None] * scipy.linalg.solve_triangular(factor, np.eye(k))
    centre = start.copy()
    centre[free] += s[free] * z_0
    y = cp.Variable(k)
    pi = centre + spread @ y
    objective, constraints = [], []
    for i, body in enumerate(regression.bodies):
        block = slice(10 * i, 10 * i + 10)
        if not np.any(free[block]):
            continue
        mass, length = float(s[10 * i]), float(np.sqrt(s[10 * i + 4] / s[10 * i]))
        P = pseudo_inertia_expression(pi[block] / mass, length)
        constraints.append(P - consistency.margin * np.eye(4) >> 0)
        if prior is Prior.ENTROPIC:
            d = np.array([1.0 / length] * 3 + [1.0])
            P_0 = _definite(pseudo_inertia_from_pi(start[block]) * np.outer(d, d) / mass)
            objective.append(rho[10 * i] * (cp.trace(np.linalg.inv(P_0) @ P) - cp.log_det(P)))
        if body in consistency.mass_bounds:
            least, most = consistency.mass_bounds[body]
            constraints += [pi[10 * i] >= least, pi[10 * i] <= most]
        if body in consistency.com_boxes:
            low, high = (np.array(corner) for corner in consistency.com_boxes[body])
            h = pi[10 * i + 1 : 10 * i + 4]
            constraints += [h >= pi[10 * i] * low, h <= pi[10 * i] * high]
    bounded = np.flatnonzero(free & regression.non_negative)
    if len(bounded):
        constraints.append(pi[bounded] / s[bounded] >= 0.0)
    if prior is Prior.ENTROPIC:
        kept = np.concatenate([np.ones(len(R), dtype=bool), ~entropic[free]])
        rest = (target - rows @ z_0)[kept]
        objective.append(cp.sum_squares(Q[kept] @ y - rest))
    else:
        objective.append(cp.sum_squares(y))
    notes = solve_convex(
        cp.Problem(cp.Minimize(cp.sum(objective)), constraints), "the arm's parameters"
    )
    if y.value is None or not np.all(np.isfinite(y.value)):
        raise SolverError("The solver returned no parameters.")
    values = centre + spread @ y.value
    values[bounded] = np.maximum(values[bounded], 0.0)  # the solver's tolerance
    return values, notes


def _definite(P: Array, least: float = 1e-4) -> Array:
    """The same matrix with its eigenvalues lifted to a part of the largest: a usable prior."""
    lam, U = np.linalg.eigh(P)
    return np.asarray((U * np.maximum(lam, least * max(float(lam[-1]), 1e-12))) @ U.T)
