# SPDX-License-Identifier: Apache-2.0
"""Loads that are too heavy for the arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.estimation.loaded_arm.known_load import with_load
from sysid_core.reasons import Verdict, failure
from sysid_core.robot import Array, RobotModel

_PEAK = 2.0  # times the URDF's limit that a drive may give for a moment
_POSTURES = 200


def judge_carried_mass(model: RobotModel, frame: str, pi: ArrayLike, q: Array) -> Verdict:
    """Report a failure if the gravity torque of a payload would exceed twice the torque limits of
    the joints.

    Args:
        model: The robot without the load; limits of 0 or infinity aren't looked at.
        frame: What carries the load.
        pi: The load's parameters in that frame, shape (10,).
        q: Postures in which it was carried, shape (K, n).
    """
    rest = q[:: max(1, len(q) // _POSTURES)]
    still = np.zeros_like(rest)
    carrying = with_load(model, frame, pi)
    needed = np.max(np.abs(carrying.inverse_dynamics(rest, still, still)), axis=0, initial=0.0)
    limits = model.effort_limits
    known = np.isfinite(limits) & (limits > 0.0)
    share = np.where(known, needed / np.where(known, limits, 1.0), 0.0)
    j = int(np.argmax(share))
    if share[j] <= _PEAK:
        return Verdict()
    found = failure(
        "load-too-heavy",
        mass=np.asarray(pi)[0],
        joint=model.joint_names[j],
        needed=needed[j],
        limit=limits[j],
    )
    return Verdict((found,))
