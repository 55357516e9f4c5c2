# SPDX-License-Identifier: Apache-2.0
"""Baseline for all methods: mass from the forces, with uniform density."""

from __future__ import annotations

import numpy as np

from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload.data import CompressedWrenches, positive_mass
from sysid_core.estimation.payload.density_prior import DensityPrior
from sysid_core.estimation.payload.result import linear_error_covariance, shrunk_estimate
from sysid_core.estimation.payload.wrench_estimator import WrenchEstimator
from sysid_core.robot.shapes import Shape


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
