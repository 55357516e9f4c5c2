# SPDX-License-Identifier: Apache-2.0
"""What goals that replace each other cost where a robot plays slower than it is asked to."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.excitation.trajectory import Trajectory

JITTER = 0.002  # of the time at which a goal is taken over: a control period, the network [s]
SERVO = 66.0  # bandwidth of a robot behind its controller: UR's servoj looks 30 ms ahead [rad/s]


def share_with_seams(motion: Trajectory, acceleration: ArrayLike, scaling: float) -> float:
    r"""Share of a motion's speed at which the steps between its goals keep the acceleration limits.

    A controller sets its own time to the clock when it takes over a goal, and runs it at the speed
    scaling `r` afterwards. A goal that comes `dt` later than foreseen so begins with a step of
    `dt |v| min(r, 1 - r)` (timed by its stamp, or begun at once), which a critically damped servo
    of bandwidth `w` answers with `w^2` times that. With the share `k` of the speed, of the limits

    `k^2 r^2 + k w^2 dt min(r, 1 - r) max|v| / a_max <= 1`.

    Args:
        motion: What is played.
        acceleration: Limits, shape (n,) [rad/s^2].
        scaling: Scaling of the robot, 0 to 1.

    Returns:
        Above 0, at most 1; 1 at full speed.
    """
    r = float(np.clip(scaling, 0.0, 1.0))
    ratio = np.abs(motion.v).max(axis=0) / np.asarray(acceleration, dtype=float)
    step = SERVO**2 * JITTER * min(r, 1.0 - r) * float(ratio.max())
    if r == 0.0 or step == 0.0:
        return 1.0
    return min((np.sqrt(step**2 + 4.0 * r**2) - step) / (2.0 * r**2), 1.0)
