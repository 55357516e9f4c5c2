# SPDX-License-Identifier: Apache-2.0
r"""By how much measured torques lag behind measured positions.

Friction turns over at reversals, later than a smooth sign says: where the model lacks that, it looks
like a delay of ten milliseconds. Equations near a joint's reversal are therefore left out here, and
the friction terms of geared arms are estimated beside the delay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identify import full_parameters, identify_equations
from sysid_core.estimation.arm.model_choice import held_out_error
from sysid_core.estimation.fit import LeastSquares, Regression, compress
from sysid_core.robot import GEARED_ARM_TERMS, Array

REACH = 1e-3  # [s]: how far from the given delay another start is looked for
NUDGE = 0.05  # of the shortest wave's period, for the derivative with respect to the delay
FEW = 5000  # samples that are enough to find a start
ENOUGH = 6_000  # samples that are enough for the estimate
FAST = 0.1  # [rad/s]: slower joints' equations, and those nearby, are left out
DELAY = "delay"
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


def torque_delay(equations: ArmEquations, rounds: int = 20) -> TorqueDelay:
    r"""Estimate the delay together with the parameters.

    `tau(t) = tau_hat(t - d)` is linearised in d, which adds the column `d tau_hat / d d` to the
    regression; Gauss-Newton repeats that with the motion shifted. Where torques are fitted up to
    frequencies so high that a wave could be mistaken for the next one, it starts from the best of
    delays up to a millisecond, a quarter of the shortest wave apart.

    Args:
        equations: The data.
        rounds: Most Gauss-Newton steps. A last step that isn't small yet counts as deviation.

    Raises:
        EstimationError: The torques don't vary.
    """
    few = equations.spread(ENOUGH)
    rich = few.with_friction(few.friction.with_terms(GEARED_ARM_TERMS))
    pi = few.prior if np.any(few.unmeasured()) else identify_equations(few, _FIT).pi.ravel()
    delay, sd, step = _start(few), float("nan"), float("inf")
    for _ in range(rounds):
        change, sd = _delay_step(rich, delay, pi)
        delay, step = delay + change, abs(change)
        if step < max(0.1 * sd, 1e-6):
            break
    found = TorqueDelay(delay, sd if step < max(0.1 * sd, 1e-6) else max(sd, step))
    if not found.significant:
        return found
    here, there = held_out_error(few), held_out_error(few.with_delay(delay))
    return replace(found, error=here, corrected_error=there)


def _delay_step(equations: ArmEquations, delay: float, pi: Array) -> tuple[float, float]:
    """By how much the delay is (still) larger, and the standard deviation of that [s]."""
    nudge = NUDGE / equations.processing.torque_cutoff_hz
    shifted = equations.with_delay(delay)
    keep = shifted.moving()
    regression = shifted.regression(pi, keep, fast=FAST)
    values = full_parameters(regression, _FIT.fit(regression), ())
    earlier, later = (
        equations.with_delay(delay + by).regression(pi, keep).predict(values)
        for by in (-nudge, nudge)
    )
    used = True if regression.used is None else regression.used
    change = np.where(used, (later - earlier) / (2.0 * nudge), 0.0)
    if not np.any(change):
        raise EstimationError(
            "The torques don't vary: a delay can't be seen.",
            remedy="Give a recording in which the robot moves, or the delay as a number.",
        )
    estimate = _FIT.fit(_with_delay(regression, change))
    i = estimate.names.index(DELAY)
    return float(estimate.values[i]), float(np.sqrt(estimate.covariance[i, i]))


def _with_delay(regression: Regression, change: Array) -> Regression:
    """The equations with one more parameter, the delay, whose column is the torques' change."""
    s, p = regression.structure.shape
    structure = np.zeros((s + 1, p + 1))
    structure[:s, :p], structure[s, p] = regression.structure, 1.0
    return replace(
        regression,
        Y=np.concatenate([regression.matrix, change[:, :, None]], axis=2),
        names=(*regression.names, DELAY),
        units=(*regression.units, "s"),
        prior=np.append(regression.prior, 0.0),
        prior_sd=np.append(regression.prior_sd, 1.0),
        non_negative=np.append(regression.non_negative, False),
        structure=structure,
    )


def _start(equations: ArmEquations) -> float:
    """Delay to start from [s]: coarse grid search on some thousand samples."""
    here = equations.processing.delay
    step = 0.25 / equations.processing.torque_cutoff_hz
    n = int(REACH / step)
    if n == 0:
        return here
    moving = equations.moving()
    stride = max(1, sum(map(np.sum, moving)) // FEW)
    few = [m & (np.arange(len(m)) // 50 % stride == 0) for m in moving]
    left = {}
    for k in range(-n, n + 1):
        shifted = equations.with_delay(here + k * step)
        regression = shifted.regression(equations.prior, few)
        left[here + k * step] = float(np.sum(np.log(compress(regression).rest + 1e-300)))
    return min(left, key=left.__getitem__)
