# SPDX-License-Identifier: Apache-2.0
"""Payload estimation by ordinary and total least squares, and the interface of all estimators that use
only compressed wrenches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload.data import CompressedWrenches, PayloadData
from sysid_core.estimation.payload.result import payload_estimate, verdicts_from_rank
from sysid_core.robot import Array


class WrenchEstimator(ABC):
    """Base class of estimators that compress a recording before they fit it.

    Attributes:
        dynamism_scale: Constant `c_1` with which the wrenches must be weighted (Nadeau et al. 2022,
            eq. 9); None: no weights.
    """

    dynamism_scale: float | None = None

    @property
    @abstractmethod
    def method(self) -> str:
        """Name of the method in reports."""

    @abstractmethod
    def solve(self, wrenches: CompressedWrenches, *, source: str = "") -> Estimate:
        """Estimate from compressed wrenches."""

    def fit(self, data: PayloadData, *, residual_frame: ArrayLike | None = None) -> Estimate:
        """Estimate the payload from a whole recording.

        Args:
            data: Wrenches and motions of the recording.
            residual_frame: Poses of the sensor, shape (K, 4, 4), see
                `CompressedWrenches.from_data`; None: sensor axes.
        """
        wrenches = CompressedWrenches.from_data(
            data, self.dynamism_scale, residual_frame=residual_frame
        )
        return self.solve(wrenches, source=data.source)


class PayloadOLS(WrenchEstimator):
    """Ordinary least squares `min |A pi - b|` with equal weights of all six axes (Atkeson, An and
    Hollerbach 1986); the result may be physically inconsistent.

    If the motion does not excite all parameters, the minimum-norm solution is used (with scaled
    columns).

    Examples:
        >>> from sysid_core.estimation.payload import PayloadData
        >>> from sysid_core.robot import wrench_regressor
        >>> rng = np.random.default_rng(0)
        >>> a, omega, alpha = rng.normal(size=(3, 200, 3))
        >>> pi = np.array([2.0, 0.0, 0.1, 0.2, 0.03, 0.0, 0.03, 0.0, 0.0, 0.02])
        >>> wrench = wrench_regressor(a, omega, alpha) @ pi
        >>> data = PayloadData(np.arange(200) * 0.01, wrench, a, omega, alpha, np.zeros((200, 3)))
        >>> (PayloadOLS().fit(data).values.round(6) + 0.0).tolist()
        [2.0, 0.0, 0.1, 0.2, 0.03, 0.0, 0.03, 0.0, 0.0, 0.02]
    """

    method = "OLS"

    def solve(self, wrenches: CompressedWrenches, *, source: str = "") -> Estimate:
        """Estimate the payload from compressed data; the covariance is that of the unconstrained
        solution.
        """
        return payload_estimate(
            self.method,
            self._parameters(wrenches),
            least_squares_covariance(wrenches),
            verdicts_from_rank(wrenches),
            wrenches,
            source=source,
        )

    def _parameters(self, wrenches: CompressedWrenches) -> Array:
        return least_squares_solution(wrenches)


def least_squares_solution(wrenches: CompressedWrenches) -> Array:
    """Return the unconstrained, unweighted solution, shape (10,)."""
    R = np.vstack([wrenches.force, wrenches.torque])
    length = np.linalg.norm(R[:, :10], axis=0)
    length = np.where(length > 0, length, 1.0)
    y: Array = np.linalg.lstsq(R[:, :10] / length, R[:, 10], rcond=1e-9)[0]
    return y / length


def least_squares_covariance(wrenches: CompressedWrenches) -> Array:
    """Return the covariance of the unconstrained solution for independent noise of forces and
    torques, shape (10, 10).

    Directions that the data do not determine get a variance of 1e6 in the units of the parameters.
    """
    F, T = wrenches.force[:, :10], wrenches.torque[:, :10]
    sd_force, sd_torque = wrenches.noise_sd()
    G = F.T @ F + T.T @ T
    inverse = np.linalg.inv(G + 1e-12 * np.trace(G) * np.eye(10) + 1e-300 * np.eye(10))
    middle = sd_force**2 * F.T @ F + sd_torque**2 * T.T @ T
    kernel = np.eye(10) - inverse @ G
    return inverse @ middle @ inverse.T + 1e6 * kernel @ kernel.T


class RecursiveTotalLeastSquares(WrenchEstimator):
    r"""Recursive total least squares (Kubus, Kroger and Wahl 2008): noise in the motion as well as in the wrench; the estimate is
    the smallest singular vector of `[A | b]`.

    The triangular factor `R`, updated with every sample, has the same singular values and right
    singular vectors as `[A | b]` of all data; a singular value decomposition of all data therefore
    has the same result. If several vectors have zero residual, the minimum-norm solution is used.
    """

    method = "RTLS"

    def solve(self, wrenches: CompressedWrenches, *, source: str = "") -> Estimate:
        """Estimate the payload from compressed data.

        Raises:
            EstimationError: The problem has no solution (the wrench doesn't depend on the motion).
        """
        R = np.vstack([wrenches.force, wrenches.torque])
        _, s, Vt = np.linalg.svd(R)
        smallest = Vt[s <= max(1e-10 * s[0], s[-1])]
        last = smallest[:, 10]
        weight = float(last @ last)
        if weight < 1e-20:
            raise EstimationError(
                "Total least squares has no solution for these data.",
                remedy="Turn the object about more axes while recording.",
            )
        pi = -(last @ smallest[:, :10]) / weight
        covariance = least_squares_covariance(wrenches) * (1.0 + float(pi @ pi))
        return payload_estimate(
            self.method, pi, covariance, verdicts_from_rank(wrenches), wrenches, source=source
        )
