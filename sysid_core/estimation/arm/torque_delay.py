"""By how much measured torques lag behind measured positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.fit import (
    LeastSquares,
    compress,
    score_covariance,
    solve_compressed,
)
from sysid_core.robot import Array

REACH = 1e-3  # [s]: how far from the given delay another start is looked for
NUDGE = 0.05  # of the shortest wave's period, for the derivative with respect to the delay: over
# less, samples step over friction's reversals
FEW = 5000  # samples that are enough to find a start


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


def torque_delay(equations: ArmEquations, rounds: int = 20) -> TorqueDelay:
    r"""Estimate the delay together with the parameters.

    `tau(t) = tau_hat(t - d)` is linearised in d, which adds the column `d tau_hat / d d` to the
    regression; Gauss-Newton repeats that with the motion shifted. Where torques are fitted up to
    frequencies so high that a wave could be mistaken for the next one, it starts from the best of
    delays up to a millisecond, a quarter of the shortest wave apart.

    Args:
        equations: The data.
        rounds: Most Gauss-Newton steps; Coulomb friction at reversals makes the first ones short.
            A last step that isn't small yet counts as deviation.

    Raises:
        EstimationError: The torques don't vary.
    """
    delay, sd = _start(equations), float("nan")
    nudge = NUDGE / equations.processing.torque_cutoff_hz
    for _ in range(rounds):
        shifted = equations.with_delay(delay)
        fit = identify_equations(shifted, LeastSquares("joint"))
        pi = fit.pi.ravel()
        keep = shifted.moving()
        regression = shifted.regression(pi, keep)
        earlier, later = (
            equations.with_delay(delay + by).regression(pi, keep).predict(fit.parameters)
            for by in (-nudge, nudge)
        )
        change = (later - earlier) / (2.0 * nudge)
        if not np.any(change):
            raise EstimationError("The torques don't vary: a delay can't be seen.")
        Y_b = regression.base.base_regressor(regression.Y)
        augmented: Array = np.concatenate([Y_b, change[:, :, None]], axis=2)
        data = compress(augmented, regression.tau)
        weights = 1.0 / np.maximum(data.variances(np.append(fit.estimate.values, 0.0)), 1e-18)
        R, r = data.weighted(weights)
        solution = solve_compressed(R, r)
        M = score_covariance(
            augmented, regression.tau - augmented @ solution, weights, regression.starts, 400
        )
        H = np.linalg.pinv(R.T @ R, rcond=1e-12, hermitian=True)
        sd = float(np.sqrt(max((H @ M @ H)[-1, -1], 0.0)))
        delay, step = delay + float(solution[-1]), abs(float(solution[-1]))
        if step < max(0.1 * sd, 1e-6):
            return TorqueDelay(delay, sd)
    return TorqueDelay(delay, max(sd, step))


def _start(equations: ArmEquations) -> float:
    """Delay to start from [s]: where least is left of some thousand samples, joint by joint."""
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
        Y_b = regression.base.base_regressor(regression.Y)
        left[here + k * step] = float(np.sum(np.log(compress(Y_b, regression.tau).rest + 1e-300)))
    return min(left, key=left.__getitem__)
