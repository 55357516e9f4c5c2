# SPDX-License-Identifier: Apache-2.0
r"""Payload of known shape: the homogeneous body as the baseline of all methods, and entropic regression
(Lee, Wensing and Park 2020), which stays close to it.

    min_pi |A pi - b|^2 + gamma [ tr(P_0^-1 P) - log det(P_0^-1 P) - 4 ]

with the pseudo-inertia P(pi) and that of the homogeneous body P_0 (the Bregman divergence of
-log det). Convex, and its solutions are physically consistent.
"""

from __future__ import annotations

import numpy as np

from sysid_core.errors import EstimationError, SolverError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload.data import CompressedWrenches, positive_mass
from sysid_core.estimation.payload.density_prior import DensityPrior
from sysid_core.estimation.payload.least_squares import WrenchEstimator
from sysid_core.estimation.payload.result import linear_error_covariance, shrunk_estimate
from sysid_core.robot import Array, pseudo_inertia_from_pi
from sysid_core.robot.shapes import Shape

_BASIS = pseudo_inertia_from_pi(np.eye(10))  # (10, 4, 4)


class HomogeneousBody(WrenchEstimator):
    """Estimator of the mass from the forces; all other parameters follow from the shape with
    uniform density.

    Args:
        shape: Shape of the object, in the sensor frame.
    """

    method = "homogeneous"

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.prior = DensityPrior(shape, contrast=1.0)

    def solve(self, wrenches: CompressedWrenches, *, source: str = "") -> Estimate:
        """Estimate the payload from compressed data."""
        pi = self.shape.homogeneous(weigh(self.shape, wrenches))
        unit = self.shape.homogeneous(1.0)
        F = wrenches.force[:, :10]
        gain = np.outer(unit, F @ unit) / float(np.sum((F @ unit) ** 2))
        prior = self.prior.covariance(pi[0])
        noise = wrenches.noise_sd()[0] ** 2 * gain @ gain.T
        covariance = linear_error_covariance(gain @ F, noise, pi, prior)
        return shrunk_estimate(self.method, pi, covariance, prior, wrenches, source)


def weigh(shape: Shape, wrenches: CompressedWrenches) -> float:
    """Return the mass of the homogeneous body that fits the forces best [kg].

    Raises:
        EstimationError: The mass is not positive.
    """
    unit = shape.homogeneous(1.0)
    predicted, measured = wrenches.force[:, :10] @ unit, wrenches.force[:, 10]
    return positive_mass(float(predicted @ measured), float(predicted @ predicted))


class EntropicRegression(WrenchEstimator):
    """Least squares with the entropic distance from the homogeneous body of a shape as
    regularisation.

    Args:
        shape: Shape of the object, in the sensor frame.
        weight: Weight `gamma` of the distance; the default was chosen on random objects.
    """

    method = "GEO"

    def __init__(self, shape: Shape, *, weight: float = 1.0) -> None:
        if not weight > 0:
            raise EstimationError(
                "The weight of the prior must be greater than zero.",
                remedy="Omit it to use the default.",
            )
        self.shape = shape
        self.weight = weight
        self.prior = DensityPrior(shape, contrast=1.0)

    def solve(self, wrenches: CompressedWrenches, *, source: str = "") -> Estimate:
        """Estimate the payload from compressed data."""
        prior_pi = self.shape.homogeneous(weigh(self.shape, wrenches))
        R = np.vstack([wrenches.force, wrenches.torque])
        pi, curvature = minimise_entropic(R[:, :10], R[:, 10], prior_pi, self.weight)
        G = 2.0 * R[:, :10].T @ R[:, :10]
        gain = np.linalg.inv(curvature)
        prior = self.prior.covariance(pi[0])
        covariance = linear_error_covariance(
            gain @ G, gain @ (4.0 * wrenches.noise_moment()) @ gain.T, pi, prior
        )
        return shrunk_estimate(self.method, pi, covariance, prior, wrenches, source)


def minimise_entropic(R: Array, r: Array, prior_pi: Array, weight: float) -> tuple[Array, Array]:
    """Minimise the data misfit plus the weighted divergence by Newton's method.

    Args:
        R: Triangular factor of the data, shape (p, 10).
        r: Right-hand side of the data, shape (p,).
        prior_pi: Parameters of a consistent body, shape (10,).
        weight: Weight `gamma` of the divergence.

    Returns:
        Parameters pi, shape (10,), and the Hessian of the objective there, shape (10, 10).

    Raises:
        SolverError: The iteration did not converge.
    """
    pull = np.einsum("ij,kji->k", np.linalg.inv(pseudo_inertia_from_pi(prior_pi)), _BASIS)

    def value(pi: Array) -> float:
        P = pseudo_inertia_from_pi(pi)
        sign, logdet = np.linalg.slogdet(P)
        if sign <= 0 or np.linalg.eigvalsh(P)[0] <= 0:
            return np.inf
        return float(np.sum((R @ pi - r) ** 2) + weight * (pull @ pi - logdet))

    pi = prior_pi
    current = value(pi)
    for _ in range(200):
        S = np.linalg.inv(pseudo_inertia_from_pi(pi)) @ _BASIS  # (10, 4, 4)
        gradient = 2.0 * R.T @ (R @ pi - r) + weight * (pull - np.einsum("kii->k", S))
        H = 2.0 * R.T @ R + weight * np.einsum("aij,bji->ab", S, S)
        scale = 1.0 / np.sqrt(np.diag(H))
        step = -scale * np.linalg.solve(H * np.outer(scale, scale), scale * gradient)
        decrement = float(-gradient @ step)
        if decrement < 1e-11 * (1.0 + abs(current)) and np.isfinite(value(pi + step)):
            return pi + step, H
        t = 1.0
        while (trial := value(pi + t * step)) > current - 1e-4 * t * decrement and t > 1e-12:
            t *= 0.5
        if t <= 1e-12 and decrement < 1e-6 * (1.0 + abs(current)):
            return pi, H  # at the limit of the arithmetic
        pi, current = pi + t * step, trial
    raise SolverError(
        "The entropic regression did not converge.",
        remedy="Check the wrench and the shape for implausible values.",
    )
