"""By how much measured torques lag behind measured positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm_regression import ArmEquations
from sysid_core.estimation.covariance import correlated_information, stretches
from sysid_core.estimation.identification import identify_equations
from sysid_core.estimation.least_squares import LeastSquares
from sysid_core.estimation.regression import compress, solve_compressed
from sysid_core.robot import Array


@dataclass(frozen=True)
class TorqueDelay:
    """A delay common to all joints.

    Attributes:
        seconds: Positive where torques lag behind positions [s].
        sd: Standard deviation, with the residuals' correlation in time [s].
    """

    seconds: float
    sd: float

    @property
    def significant(self) -> bool:
        """Whether it is more than two standard deviations and a tenth of a millisecond."""
        return abs(self.seconds) > max(2.0 * self.sd, 1e-4)


def torque_delay(equations: ArmEquations, iterations: int = 3) -> TorqueDelay:
    r"""Estimate the delay together with the parameters.

    `tau(t) = tau_hat(t - d)` is linearised as `tau_hat - d d/dt tau_hat`, which adds one column to
    the regression; Gauss-Newton repeats that with the torques shifted.

    Args:
        equations: The data.
        iterations: Gauss-Newton steps.
    """
    delay, sd = equations.processing.delay, float("nan")
    for _ in range(iterations):
        shifted = equations.with_delay(delay)
        fit = identify_equations(shifted, LeastSquares("joint"))
        regression = shifted.regression(fit.pi.ravel())
        predicted = regression.predict(fit.parameters)
        slope = np.zeros_like(predicted)
        for part in stretches(regression.starts, len(predicted)):
            if part.stop - part.start > 3:
                slope[part] = np.gradient(predicted[part], 1.0 / regression.rate_hz, axis=0)
        if not np.any(slope):
            raise EstimationError("The torques don't vary: a delay can't be seen.")
        Y_b = regression.base.base_regressor(regression.Y)
        augmented: Array = np.concatenate([Y_b, -slope[:, :, None]], axis=2)
        data = compress(augmented, regression.tau)
        weights = 1.0 / np.maximum(data.variances(np.append(fit.estimate.values, 0.0)), 1e-18)
        R, r = data.weighted(weights)
        solution = solve_compressed(R, r)
        M = correlated_information(
            augmented, regression.tau - augmented @ solution, weights, regression.starts, 400
        )
        H = np.linalg.pinv(R.T @ R, rcond=1e-12, hermitian=True)
        sd = float(np.sqrt(max((H @ M @ H)[-1, -1], 0.0)))
        delay += float(solution[-1])
    return TorqueDelay(delay, sd)
