# SPDX-License-Identifier: Apache-2.0
"""Payload estimation by ordinary least squares (Atkeson, An and Hollerbach 1986), without shape or
constraints.
"""

from __future__ import annotations

import numpy as np

from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload.data import CompressedWrenches
from sysid_core.estimation.payload.result import payload_estimate, verdicts_from_rank
from sysid_core.estimation.payload.wrench_estimator import WrenchEstimator
from sysid_core.robot import Array


class PayloadOLS(WrenchEstimator):
    """Ordinary least squares `min |A pi - b|` with equal weights of all six axes; the result may be
    physically inconsistent.

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
        """Estimate the payload from compressed data."""
        pi = least_squares_solution(wrenches)
        return payload_estimate(
            self.method,
            pi,
            least_squares_covariance(wrenches),
            verdicts_from_rank(wrenches),
            wrenches,
            source=source,
        )


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
