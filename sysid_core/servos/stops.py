# SPDX-License-Identifier: Apache-2.0
"""Mechanical stops: positions at which a joint stands still although its servo model moves further."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.servos.bodies import Array
from sysid_core.servos.examine import HALF_TOOTH
from sysid_core.servos.fit import TRIAL_STEP, JointMotion, errors
from sysid_core.servos.recording import ROUNDING

Stops = tuple[float, float]  # smallest and largest position [rad]
FREE: Stops = (-np.inf, np.inf)
# [rad] Within the farthest position that was measured: what hobby servos' gears and stops yield to their
# torque, in steps of about an increment of a 12-bit encoder.
_STEP = 0.002
_TRIED = _STEP * np.arange(11)
_ANYWHERE = np.pi  # [rad] from the middle of a joint in which its stops are, each angle as likely
# A joint without a stop must not get one: positions beyond it would be lost.
_ODDS = 20.0
_SURE = 500.0  # of a likelihood's logarithm: beyond it the numbers end
_WORST = 0.95  # quantile of blocks' errors: what a model without any stop misses, too


def find_stops(motions: Sequence[JointMotion], p: Array, limits: Stops) -> Stops:
    """Return the mechanical stops of a joint, infinite where the motions show none.

    If there is a stop, it is at the farthest measured position. Each block of time in which the
    simulated joint would pass it has an error variance of its own, and contributes to the
    log-likelihood half the logarithm of the ratio of its squared errors without and with the stop;
    errors that also occur far from both ends are not counted. A stop is accepted if it is more
    likely than none, with its position unknown; half of the prior is near the limit of the robot's
    description.

    Args:
        motions: Motions of the joint.
        p: Parameters of its servo in the order of `TERMS`.
        limits: Smallest and largest position in the robot's description [rad].
    """
    blocks = np.concatenate([m.block for m in motions])
    counts = np.maximum(np.bincount(blocks), 1)

    def squares(stops: Stops) -> Array:
        r = errors([m.within(*stops) for m in motions], p, TRIAL_STEP)
        return np.asarray(np.bincount(blocks, r**2) / counts)

    free = squares(FREE)
    ends = [max(float((side * m.q).max()) for m in motions) for side in (-1.0, 1.0)]
    # What the model misses far from both ends, where no stop can be.
    far = squares((_TRIED[-1] - ends[0], ends[1] - _TRIED[-1])) == free
    if not far.any():
        return FREE
    usual = float(np.quantile(free[far], _WORST)) + ROUNDING**2
    found = []
    for side, end, limit in zip((-1.0, 1.0), ends, limits, strict=True):
        tried = side * (end - _TRIED)
        held = [squares((x, np.inf) if side < 0 else (-np.inf, x)) for x in tried]
        likelier = np.array([0.5 * np.log((free + usual) / (x + usual)).sum() for x in held])
        near = np.abs(tried - limit) < HALF_TOOTH
        density = 0.5 / _ANYWHERE + 0.25 / HALF_TOOTH * near
        evidence = float((np.exp(np.minimum(likelier, _SURE)) * density).sum() * _STEP)
        found.append(float(tried[np.argmax(likelier)]) if evidence > _ODDS else side * np.inf)
    return found[0], found[1]
