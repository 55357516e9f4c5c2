# SPDX-License-Identifier: Apache-2.0
"""Wrench that the current payload estimate predicts if the payload does not change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.payload.ball_prior import ball_prior, conditioned
from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class ExpectedWrench:
    """Payload and sensor bias from the samples so far, with a weak prior.

    A strong prior of the body (its shape, or a small size) may be wrong; its error would then look
    like a change of the load at every reversal of the motion.

    Attributes:
        pi: Inertial parameters, shape (10,).
        covariance: Covariance of `pi`, shape (10, 10).
        bias: Bias of the sensor, shape (6,) [N, N m].
    """

    pi: Array
    covariance: Array
    bias: Array

    @classmethod
    def of(cls, R: Array, r: Array, back: Array, pi: Array, extent: float) -> ExpectedWrench:
        """Return the expected wrench from compressed data (R, r) and the map back to the bias
        (`eliminate_nuisances`).

        Args:
            R: Triangular factor of the data, shape (p, 10).
            r: Right-hand side of the data, shape (p,).
            back: Rows of the bias in the map, shape (6, 11); (0, 11) for a sensor without bias.
            pi: Present estimate of the parameters, shape (10,).
            extent: Size of the space that contains the object [m].
        """
        mean, C = ball_prior(pi, extent / 2.0, extent / 2.0)
        (found,), (left,), _ = conditioned(R, r, mean[None], C[None])
        bias = back[:, -1] - back[:, :-1] @ found if len(back) else np.zeros(6)
        return cls(found, left, bias)

    def at(self, regressor: Array) -> tuple[Array, Array]:
        """Return the predicted wrench and its standard deviation, shape (6,) each, for the
        regressor of a motion (6, 10).
        """
        variance = ((regressor @ self.covariance) * regressor).sum(axis=1)
        return regressor @ self.pi + self.bias, np.sqrt(np.maximum(variance, 0.0))
