# SPDX-License-Identifier: Apache-2.0
r"""By how much measured torques lag behind measured positions.

Friction turns over at reversals, later than a smooth sign says: where the model lacks that, it looks
like a delay of ten milliseconds. Equations near a joint's reversal are therefore left out here, and
the friction terms of geared arms are estimated beside the delay.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.arm.motion_choice import held_out_error
from sysid_core.estimation.fit import LeastSquares, compress
from sysid_core.estimation.recorded import TorqueDelay, delay_step, settled_delay
from sysid_core.robot import GEARED_ARM_TERMS, Array

REACH = 1e-3  # [s]: how far from the given delay another start is looked for
NUDGE = 0.05  # of the shortest wave's period, for the derivative with respect to the delay
FEW = 5000  # samples that are enough to find a start
ENOUGH = 6_000  # samples that are enough for the estimate
FAST = 0.1  # [rad/s]: slower joints' equations, and those nearby, are left out
_FIT = LeastSquares("joint")


def torque_delay(equations: ArmEquations, rounds: int = 20) -> TorqueDelay:
    r"""Estimate the delay together with the parameters.

    Gauss-Newton steps (`delay_step`) with the motion shifted. Where torques are fitted up to
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
    found = settled_delay(lambda delay: _delay_step(rich, delay, pi), _start(few), rounds)
    if not found.significant:
        return found
    here, there = held_out_error(few), held_out_error(few.with_delay(found.seconds))
    return replace(found, error=here, corrected_error=there)


def _delay_step(equations: ArmEquations, delay: float, pi: Array) -> tuple[float, float]:
    """By how much the delay is (still) larger, and the standard deviation of that [s]."""
    nudge = NUDGE / equations.processing.torque_cutoff_hz
    shifted = equations.with_delay(delay)
    keep = shifted.moving()

    def torque_change(values: Array) -> Array:
        earlier, later = (
            equations.with_delay(delay + by).regression(pi, keep).predict(values)
            for by in (-nudge, nudge)
        )
        return (later - earlier) / (2.0 * nudge)

    return delay_step(shifted.regression(pi, keep, fast=FAST), torque_change)


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
