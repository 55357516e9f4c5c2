# SPDX-License-Identifier: Apache-2.0
r"""By how much measured torques lag behind measured positions.

`tau(t) = tau_hat(t - d)` is linearised in d, which adds the column `d tau_hat / d d` to the
regression; Gauss-Newton repeats that with the delay taken out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.fit import LeastSquares, Regression
from sysid_core.estimation.recorded.estimator import full_parameters
from sysid_core.robot import Array

_DELAY = "delay"
_FIT = LeastSquares("joint")


@dataclass(frozen=True)
class TorqueDelay:
    """A delay common to all joints.

    Attributes:
        seconds: Delay, positive where torques lag behind positions [s].
        sd: Standard deviation, with the residuals' correlation in time [s].
        error: Relative error on held-out blocks of time as the equations are.
        corrected_error: The same with the motion shifted by the delay.
    """

    seconds: float
    sd: float
    error: float = float("nan")
    corrected_error: float = float("nan")

    @property
    def significant(self) -> bool:
        """Whether it is more than two standard deviations and a tenth of a millisecond."""
        return abs(self.seconds) > max(2.0 * self.sd, 1e-4)

    @property
    def worth_correcting(self) -> bool:
        """Whether it is significant and its correction doesn't worsen predictions of held-out data."""
        return self.significant and not self.corrected_error > self.error


def settled_delay(
    step: Callable[[float], tuple[float, float]], start: float, rounds: int
) -> TorqueDelay:
    """Gauss-Newton steps until one is small beside its standard deviation.

    Args:
        step: From a delay that is taken out to what is left of it, and the deviation of that [s].
        start: Delay to start from [s].
        rounds: Most steps; a last one that isn't small yet counts as deviation.
    """
    delay, sd, change = start, float("nan"), float("inf")
    for _ in range(rounds):
        change, sd = step(delay)
        delay += change
        if abs(change) < max(0.1 * sd, 1e-6):
            return TorqueDelay(delay, sd)
    return TorqueDelay(delay, max(sd, abs(change)))


def delay_step(
    regression: Regression, torque_change: Callable[[Array], Array]
) -> tuple[float, float]:
    """By how much the delay is (still) larger, and the standard deviation of that [s].

    Args:
        regression: Equations with the delay that is known taken out.
        torque_change: From all parameters to `d tau_hat / d d`, shape (p,) to (K, n).

    Raises:
        EstimationError: The torques don't vary.
    """
    values = full_parameters(regression, _FIT.fit(regression), ())
    used = True if regression.used is None else regression.used
    change = np.where(used, torque_change(values), 0.0)
    if not np.any(change):
        raise EstimationError(
            "The torques don't vary: a delay can't be seen.",
            remedy="Give a recording in which the robot moves, or the delay as a number.",
        )
    estimate = _FIT.fit(_with_delay(regression, change))
    if _DELAY not in estimate.names:  # others explain what it would: nothing is known of it
        return 0.0, float("inf")
    i = estimate.names.index(_DELAY)
    return float(estimate.values[i]), float(np.sqrt(estimate.covariance[i, i]))


def _with_delay(regression: Regression, change: Array) -> Regression:
    """The equations with one more parameter, the delay, whose column is the torques' change."""
    s, p = regression.structure.shape
    structure = np.zeros((s + 1, p + 1))
    structure[:s, :p], structure[s, p] = regression.structure, 1.0
    return replace(
        regression,
        Y=np.concatenate([regression.matrix, change[:, :, None]], axis=2),
        names=(*regression.names, _DELAY),
        units=(*regression.units, "s"),
        prior=np.append(regression.prior, 0.0),
        prior_sd=np.append(regression.prior_sd, 1.0),
        non_negative=np.append(regression.non_negative, False),
        structure=structure,
    )
