# SPDX-License-Identifier: Apache-2.0
"""Payload by recursive total least squares (Kubus, Kroger and Wahl 2008)."""

from __future__ import annotations

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload.data import CompressedWrenches
from sysid_core.estimation.payload.ordinary import least_squares_covariance
from sysid_core.estimation.payload.result import payload_estimate, verdicts_from_rank
from sysid_core.estimation.payload.wrench_estimator import WrenchEstimator


class RecursiveTotalLeastSquares(WrenchEstimator):
    r"""Recursive total least squares: noise in the motion as well as in the wrench; the estimate is
    the smallest singular vector of `[A | b]`.

    The triangular factor of `[A | b]` is updated with every sample. Its singular vectors are those
    of all data, so that the result is that of an updated singular value decomposition. If several
    vectors have zero residual, the minimum-norm solution is used.
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
