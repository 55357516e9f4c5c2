# SPDX-License-Identifier: Apache-2.0
r"""Delay of measured torques relative to measured positions.

Friction turns over at reversals, later than a smooth sign says: where the model lacks that, it looks
like a delay of ten milliseconds. Equations near a joint's reversal are therefore left out here, and
the friction terms of geared arms are estimated beside the delay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sysid_core.estimation.arm.delay_step import (
    JointDelay,
    TorqueDelay,
    delay_step,
    joint_delays,
    settled_delay,
)
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.arm.motion_choice import held_out_error
from sysid_core.estimation.fit import LeastSquares, Regression, compress
from sysid_core.robot import GEARED_ARM_TERMS, Array

REACH = 1e-3  # [s]: how far from the given delay another wave is looked for
# [s]: other starts, since steps from 0 don't reach 50 ms. What is later is no delay of a channel.
FAR, APART = 0.1, 0.02
NUDGE = 0.05  # of the shortest wave's period, for the derivative with respect to the delay
FEW = 5000  # samples that are enough to find a start
ENOUGH = 6_000  # samples that are enough for the estimate
FAST = 0.1  # [rad/s]: slower joints' equations, and those nearby, are left out
CLEAR = 2.0  # standard deviations, from which on a joint's delay is estimated in several steps
ROUNDS = 6  # most of them
_FIT = LeastSquares("joint")


@dataclass(frozen=True)
class ArmLags:
    """Estimated delays of the efforts relative to the positions.

    Attributes:
        common: Of all joints.
        joints: Of every joint beside the common one.
    """

    common: TorqueDelay
    joints: tuple[JointDelay, ...] = ()


def torque_delay(equations: ArmEquations, rounds: int = 20) -> TorqueDelay:
    r"""Estimate the common delay of the efforts together with the parameters.

    Gauss-Newton steps (`delay_step`) with the motion shifted. It starts from the best of
    delays up to `FAR`; where torques are fitted up to frequencies so high that a wave could be
    mistaken for the next one, of delays up to a millisecond, a quarter of the shortest wave apart.

    Args:
        equations: The data.
        rounds: Most Gauss-Newton steps. A last step that isn't small yet counts as deviation.

    Raises:
        EstimationError: The torques don't vary.
    """
    few, rich, pi = _with_geared_friction(equations)
    found = settled_delay(lambda delay: _delay_step(rich, delay, pi), _start(few), rounds)
    if not found.significant:
        return found
    here, there = held_out_error(few), held_out_error(few.with_delay(found.seconds))
    return replace(found, error=here, corrected_error=there)


def torque_lags(equations: ArmEquations) -> ArmLags:
    """Estimate the common delay and the delay of each joint together with the parameters.

    Args:
        equations: The data.

    Raises:
        EstimationError: The torques don't vary.
    """
    common = torque_delay(equations)
    _, rich, pi = _with_geared_friction(equations)
    joints = joint_delays(*_around(rich, common.seconds, pi))
    # A step from zero is short of a large delay: the clearest one is taken out, and estimated again.
    clearest = max(range(len(joints)), key=lambda j: abs(joints[j].seconds) / joints[j].sd)
    taken, first = np.zeros(len(joints)), joints[clearest]
    if abs(first.seconds) < CLEAR * first.sd:
        return ArmLags(common, joints)
    for _ in range(ROUNDS):
        taken[clearest] += joints[clearest].seconds
        here = rich.with_efforts_earlier(taken)
        joints = joint_delays(*_around(here, common.seconds, pi))
        if abs(joints[clearest].seconds) < 0.1 * joints[clearest].sd:
            break
    moved = replace(joints[clearest], seconds=joints[clearest].seconds + float(taken[clearest]))
    return ArmLags(common, (*joints[:clearest], moved, *joints[clearest + 1 :]))


def _with_geared_friction(equations: ArmEquations) -> tuple[ArmEquations, ArmEquations, Array]:
    """Few samples, the same with the friction of geared arms, and inertial parameters for loads."""
    few = equations.spread(ENOUGH)
    rich = few.with_friction(few.friction.with_terms(GEARED_ARM_TERMS))
    pi = few.prior if np.any(few.unmeasured()) else identify_equations(few, _FIT).pi.ravel()
    return few, rich, pi


def _delay_step(equations: ArmEquations, delay: float, pi: Array) -> tuple[float, float]:
    """Remaining delay and its standard deviation [s]."""
    return delay_step(*_around(equations, delay, pi))


def _around(
    equations: ArmEquations, delay: float, pi: Array
) -> tuple[Regression, Callable[[Array], Array]]:
    """Equations after removal of a delay, and the derivative of their torques with respect to it."""
    nudge = NUDGE / equations.processing.torque_cutoff_hz
    shifted = equations.with_delay(delay)
    keep = shifted.moving()

    def torque_change(values: Array) -> Array:
        earlier, later = (
            equations.with_delay(delay + by).regression(pi, keep).predict(values)
            for by in (-nudge, nudge)
        )
        return (later - earlier) / (2.0 * nudge)

    return shifted.regression(pi, keep, fast=FAST), torque_change


def _start(equations: ArmEquations) -> float:
    """Initial value of the delay [s], from a coarse grid search on some thousand samples."""
    here = equations.processing.delay
    step = 0.25 / equations.processing.torque_cutoff_hz
    waves, far = int(REACH / step), round(FAR / APART)
    starts = {k * step for k in range(-waves, waves + 1)}
    starts |= {k * APART for k in range(-far, far + 1)}
    moving = equations.moving()
    stride = max(1, sum(map(np.sum, moving)) // FEW)
    few = [m & (np.arange(len(m)) // 50 % stride == 0) for m in moving]
    left = {}
    for by in sorted(starts, key=abs):
        regression = equations.with_delay(here + by).regression(equations.prior, few)
        left[here + by] = float(np.sum(np.log(compress(regression).rest + 1e-300)))
    return min(left, key=left.__getitem__)
