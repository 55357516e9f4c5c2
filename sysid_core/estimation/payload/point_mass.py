# SPDX-License-Identifier: Apache-2.0
r"""Point-mass discretisation: non-negative masses in the cells of the object's shape.

Nadeau, Giamou, Kelly 2022, problem 1 (eq. 8):

    min_{m >= 0}  |(1 - w) o (Ã m - b)|_2 + |w o (A m - b)|_2 + lambda |m|_2

with the gravity-only model Ã, the full model A and the dynamism weight w of each sample. The
weights are applied element by element (the paper prints `w^T(.)`, a single number, which would
leave all but one combination of the residuals unseen).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from sysid_core.errors import EstimationError, SolverError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload.data import CompressedWrenches
from sysid_core.estimation.payload.density_prior import DensityPrior
from sysid_core.estimation.payload.entropic import weigh
from sysid_core.estimation.payload.least_squares import WrenchEstimator
from sysid_core.estimation.payload.result import linear_error_covariance, shrunk_estimate
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array
from sysid_core.robot.shapes import Shape

if TYPE_CHECKING:
    import clarabel
    import osqp
else:
    clarabel = lazy_import("clarabel")
    osqp = lazy_import("osqp")

_REGULARIZATION = 0.1  # `lambda`, above zero: without it, the masses are not unique


class PointMassDiscretization(WrenchEstimator):
    """Point-mass discretisation, problem 1 of Nadeau et al. (2022), as a cone program or, with
    squared terms, a quadratic program.

    Nadeau, Giamou and Kelly (2022), eq. (8).

    Args:
        shape: Shape of the object, in the sensor frame.
        squared: True for the squares of the three norms (a QP for OSQP), False for the paper's
            problem (an SOCP for Clarabel). The optima differ, so each needs its own weights. On
            random objects, the errors of the inertia of the SOCP are 0.35 to 0.7 times those of the
            QP, and it does not take longer.
        dynamism_scale: Dynamism constant `c_1` [-]: in the paper 300 (simulated), 5000 or 25000
            (robot).
    """

    def __init__(
        self,
        shape: Shape,
        *,
        squared: bool = False,
        dynamism_scale: float = 300.0,
    ) -> None:
        self.shape = shape
        self.squared = squared
        self.dynamism_scale = dynamism_scale
        self.prior = DensityPrior(shape, contrast=1.0)

    @property
    def method(self) -> str:
        """Name of the method in reports."""
        return "PMD (squared)" if self.squared else "PMD"

    def solve(self, wrenches: CompressedWrenches, *, source: str = "") -> Estimate:
        """Estimate the payload from compressed data.

        Raises:
            EstimationError: The data were compressed for another dynamism scale.
            SolverError: The solver didn't converge.
        """
        m = self.masses(wrenches)
        pi = self.shape.parameters_per_mass @ m
        covariance, prior = self._covariance(wrenches, m, pi)
        return shrunk_estimate(self.method, pi, covariance, prior, wrenches, source)

    def masses(self, wrenches: CompressedWrenches) -> Array:
        """Return the estimated masses of the cells, shape (n,) [kg].

        Raises:
            EstimationError: The forces imply a negative mass, or the wrenches were compressed for
                another dynamism scale.
            SolverError: The solver didn't converge.
        """
        if wrenches.dynamism_scale != self.dynamism_scale:
            raise EstimationError(
                f"The data were weighted with c_1 = {wrenches.dynamism_scale},"
                f" the estimator expects {self.dynamism_scale:g}.",
                remedy="Compress them with the estimator's own `dynamism_scale`.",
            )
        Phi = self.shape.parameters_per_mass
        E1, e1 = wrenches.reduced[:, :4] @ Phi[:4], wrenches.reduced[:, 14]
        E2, e2 = wrenches.full[:, :10] @ Phi, wrenches.full[:, 10]
        weigh(self.shape, wrenches)  # refuses turned signs, for which all masses would be zero
        if self.squared:
            return _solve_qp(np.vstack([E1, E2]), np.concatenate([e1, e2]), _REGULARIZATION)
        return _solve_socp(E1, e1, E2, e2, _REGULARIZATION)

    def _covariance(self, wrenches: CompressedWrenches, m: Array, pi: Array) -> tuple[Array, Array]:
        """Expected squared error of the linearised estimator, and the covariance of the prior.

        The squared error has three parts: sensor noise, the bias that the gravity-only model and
        the regularisation cause (evaluated at the estimate), and the variation of the density that
        they suppress.
        """
        Phi = self.shape.parameters_per_mass
        R1, R2 = wrenches.reduced, wrenches.full
        y = np.append(pi, -1.0)
        s1 = s2 = s3 = 1.0
        if not self.squared:  # the gradient of |r| is that of |r|^2 / 2, divided by |r|
            tiny = 1e-9 * (1.0 + float(np.linalg.norm(R1[:, 14]) + np.linalg.norm(R2[:, 10])))
            s1 = 1.0 / max(float(np.linalg.norm(R1[:, :4] @ pi[:4] - R1[:, 14])), tiny)
            s2 = 1.0 / max(float(np.linalg.norm(R2 @ y)), tiny)
            s3 = 1.0 / max(float(np.linalg.norm(m)), 1e-12)
        G1 = np.zeros((10, 10))
        G1[:4, :4] = s1 * R1[:, :4].T @ R1[:, :4]
        G1_true = np.zeros((10, 10))
        G1_true[:4] = s1 * R1[:, :4].T @ R1[:, 4:14]
        G2 = s2 * R2[:, :10].T @ R2[:, :10]
        free = Phi[:, m > 1e-6 * m.max()]
        H = free.T @ (G1 + G2) @ free + _REGULARIZATION * s3 * np.eye(free.shape[1])
        gain = free @ np.linalg.solve(H, free.T)
        noise = gain @ (_group_share(wrenches) * (s1 * G1 + s2 * G2)) @ gain.T
        prior = self.prior.covariance(max(float(pi[0]), 1e-9))
        return linear_error_covariance(gain @ (G1_true + G2), noise, pi, prior), prior


def _group_share(wrenches: CompressedWrenches) -> Array:
    """Noise variance of each pair of parameters: the mean over forces and torques, weighted by
    their regressor columns.
    """
    sd_force, sd_torque = wrenches.noise_sd()
    F, T = wrenches.force[:, :10], wrenches.torque[:, :10]
    length_f, length_t = np.linalg.norm(F, axis=0) ** 2, np.linalg.norm(T, axis=0) ** 2
    total = length_f + length_t
    variance = (sd_force**2 * length_f + sd_torque**2 * length_t) / np.where(total > 0, total, 1.0)
    return np.sqrt(np.outer(variance, variance))


_WHAT = "the point-mass problem"


def _solve_socp(E1: Array, e1: Array, E2: Array, e2: Array, weight: float) -> Array:
    """Solve the second-order cone program `min |E1 m - e1| + |E2 m - e2| + weight |m|, m >= 0`."""
    n = E1.shape[1]
    q = np.concatenate([np.zeros(n), [1.0, 1.0, weight]])
    blocks, offsets = [np.hstack([-np.eye(n), np.zeros((n, 3))])], [np.zeros(n)]
    cones = [clarabel.NonnegativeConeT(n)]
    for k, (E, e) in enumerate(((E1, e1), (E2, e2), (np.eye(n), np.zeros(n)))):
        head = np.zeros((1, n + 3))
        head[0, n + k] = -1.0
        blocks += [head, np.hstack([-E, np.zeros((len(e), 3))])]
        offsets += [np.zeros(1), -e]
        cones.append(clarabel.SecondOrderConeT(len(e) + 1))
    P = scipy.sparse.csc_matrix((n + 3, n + 3))
    A, b = np.vstack(blocks), np.concatenate(offsets)
    return np.clip(solve_cone_program(P, q, A, b, cones, _WHAT)[:n], 0.0, None)


def _solve_qp(E: Array, e: Array, weight: float) -> Array:
    """Solve the quadratic program `min |E m - e|^2 + weight |m|^2, m >= 0`.

    The problem is solved by OSQP, or by Clarabel if the first-order steps of OSQP do not reach the
    tolerance in time.
    """
    n = E.shape[1]
    P = scipy.sparse.triu(2.0 * (E.T @ E + weight * np.eye(n)), format="csc")
    q = -2.0 * E.T @ e
    solver = osqp.OSQP()
    solver.setup(
        P=P,
        q=q,
        A=scipy.sparse.eye(n, format="csc"),
        l=np.zeros(n),
        u=np.full(n, np.inf),
        verbose=False,
        eps_abs=1e-9,
        eps_rel=1e-9,
        max_iter=4000,
    )
    result = solver.solve(raise_error=False)
    if result.info.status == "solved":
        return np.clip(np.array(result.x), 0.0, None)
    cones = [clarabel.NonnegativeConeT(n)]
    return np.clip(solve_cone_program(P, q, -np.eye(n), np.zeros(n), cones, _WHAT), 0.0, None)


def solve_cone_program(
    P: scipy.sparse.csc_matrix, q: Array, A: Array, b: Array, cones: list[Any], what: str
) -> Array:
    """Solve `min x^T P x / 2 + q^T x, b - A x in cones` with Clarabel directly, because importing
    cvxpy is slow.

    Args:
        P: Upper triangle of the symmetric matrix of the quadratic term, shape (n, n).
        q: Linear term of the objective, shape (n,).
        A: Constraint matrix, shape (m, n).
        b: Right-hand side of the constraints, shape (m,).
        cones: Cones of Clarabel, of m rows together.
        what: Name of the problem, for error messages.

    Raises:
        SolverError: There is no optimum.
    """
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(P, q, scipy.sparse.csc_matrix(A), b, cones, settings).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved", "InsufficientProgress"):
        raise SolverError(
            f"Clarabel ended {what} as '{solution.status}'.",
            remedy="Check the wrench and the shape for implausible values.",
        )
    return np.array(solution.x)
