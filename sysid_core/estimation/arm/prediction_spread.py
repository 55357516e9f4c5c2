# SPDX-License-Identifier: Apache-2.0
r"""Jackknife test of whether the recordings determine the torques of other motions.

The fit is repeated with each block of time left out (delete-a-block jackknife, Künsch 1989). Where
the recordings are too short or excite too little, these fits explain what they saw alike and predict
other motions differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.arm.block_scores import BlockScores
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.spans import filled
from sysid_core.robot import Array, RobotModel, joint_torque_regressor
from sysid_core.robot.loops import DrivenRobot, try_assemble

NO_PRIOR = 1e-6  # weight of the prior that stands for none
_WIDER = 1.5  # typical positions span so much more than the recorded ones
_FURTHER = 0.3  # [rad] and so much, where joints turn
_LEAST = 0.3  # of the liveliest joint's velocity and acceleration
_SAMPLES = 200  # random states: the spread's own error is 5 %


@dataclass(frozen=True)
class PredictionSpread:
    """Scatter of torque predictions over fits that each omit one part of the recordings.

    Typical motion is as fast as the recorded one, and wider by a half and 0.3 rad.

    Attributes:
        spread: Standard deviation of predicted efforts, in units of the fit's residual.
        relative: The same in units of the efforts of typical motion.
        joints: Joint to its own spread.
    """

    spread: float
    relative: float
    joints: dict[str, float]

    @property
    def worst(self) -> tuple[str, ...]:
        """Joints with the largest scatter, at most three."""
        order = sorted(self.joints, key=lambda joint: -self.joints[joint])
        return tuple(j for j in order[:3] if self.joints[j] > 0.5 * self.joints[order[0]])


def prediction_spread(
    equations: ArmEquations,
    parameters: Array,
    prior_weight: float = NO_PRIOR,
    *,
    fixed: Sequence[str] = (),
) -> PredictionSpread:
    r"""Scatter of predictions of a typical motion over fits that each omit one block of time.

    With predictions y_b, b = 1 … B, of the fits without block b, the jackknife's variance is
    `(B - 1) / B sum_b (y_b - mean(y))^2`; root mean squares over samples and joints, joints in the
    unit of their efforts.

    Args:
        equations: The recordings.
        parameters: All parameters of the fit, inertial then friction, shape (p,).
        prior_weight: rho of the fit's prior.
        fixed: What the fit held, as in an estimator's `fixed`.
    """
    split = equations.model.n_bodies * 10
    scores = BlockScores.build(equations, parameters[:split])
    fits = scores.fits_without_blocks(prior_weight, parameters, fixed)
    q, v, a = _typical_motion(equations)
    rigid = joint_torque_regressor(equations.model, q, v, a)
    Y = np.concatenate(
        [rigid, equations.friction.regressor(q, v, a, rigid @ parameters[:split])], axis=2
    )
    predicted = np.einsum("kjp,bp->bkj", Y, fits) / scores.gains
    B = len(predicted)
    variance = (B - 1) / B * np.sum((predicted - predicted.mean(axis=0)) ** 2, axis=0)
    used = ~equations.unmeasured()
    spread = np.sqrt(np.mean(variance, axis=0))[used]
    residual = (scores.residual(parameters) / np.abs(scores.gains))[used]
    size = np.sqrt(np.mean((Y @ parameters / scores.gains) ** 2, axis=0))[used]

    def ratio(x: Array, y: Array) -> float:
        return float(np.linalg.norm(x) / max(float(np.linalg.norm(y)), 1e-300))

    floor = np.maximum(residual, 1e-6 * np.linalg.norm(size))
    names = np.array(equations.model.joint_names)[used].tolist()
    joints = dict(zip(names, (spread / floor).tolist(), strict=True))
    return PredictionSpread(ratio(spread, floor), ratio(spread, size), joints)


def _typical_motion(equations: ArmEquations) -> tuple[Array, Array, Array]:
    """Random states with the spread of the recorded ones, each (K, n)."""
    rng = np.random.default_rng(0)
    model = equations.model
    q, v, a = (
        np.concatenate([filled(getattr(span.motion, key)) for span in equations.spans])
        for key in "qva"
    )
    middle, half = 0.5 * (q.min(axis=0) + q.max(axis=0)), 0.5 * np.ptp(q, axis=0)
    slides = np.array([name in model.prismatic_joints for name in model.joint_names])
    reach = _WIDER * half + np.where(slides, 0.0, _FURTHER)
    lower, upper = model.position_limits
    low = np.minimum(np.maximum(middle - reach, lower), middle - half)
    high = np.maximum(np.minimum(middle + reach, upper), middle + half)
    shape = (_SAMPLES, model.nv)
    sd_v, sd_a = (np.sqrt(np.mean(x**2, axis=0)) for x in (v, a))
    out = [_postures(model, rng.uniform(low, high, shape), q, rng)]
    for sd in (sd_v, sd_a):
        least = np.where(slides, 0.0, _LEAST * np.max(sd[~slides], initial=0.0))
        out.append(rng.normal(size=shape) * np.maximum(sd, least))
    return out[0], out[1], out[2]


def _postures(model: RobotModel, wide: Array, recorded: Array, rng: np.random.Generator) -> Array:
    """Random positions (K, n); where the loops cannot be closed, recorded positions replace them."""
    if not isinstance(model, DrivenRobot):
        return wide
    lost = ~try_assemble(model.chain, wide).assembled
    out = wide.copy()
    out[lost] = recorded[rng.integers(len(recorded), size=int(np.sum(lost)))]
    return out
