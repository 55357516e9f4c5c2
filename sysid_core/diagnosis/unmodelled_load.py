# SPDX-License-Identifier: Apache-2.0
"""Loads with different masses by joint torques and force-torque sensor, or too heavy for the arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.diagnosis.evidence import evidence
from sysid_core.diagnosis.explain import ODDS
from sysid_core.diagnosis.hypotheses import MASSES_SD, SHARES, Fault
from sysid_core.diagnosis.samples import collect_samples
from sysid_core.errors import SysIdError
from sysid_core.estimation.loaded_arm import with_load
from sysid_core.reasons import Verdict, failure, warning
from sysid_core.robot import Array, DriveTrain, RobotModel
from sysid_core.signals import Recording

_PEAK = 2.0  # times the URDF's limit that a drive may give for a moment
_POSTURES = 200


def compare_with_torques(model: RobotModel, recording: Recording, mass: float) -> Verdict:
    """Warn if the joint torques of a recording need a very different mass than the estimate.

    Args:
        model: The robot, as it was tared.
        recording: Joint states; those without measured torques say nothing.
        mass: What a force-torque sensor weighed [kg].
    """
    joints = recording.joints
    if joints.effort is None or not joints.effort_kind.is_torque or not mass > 0.0:
        return Verdict()
    try:
        drives = DriveTrain.direct(model.joint_names)
        samples = collect_samples(model, [recording], drives, count=300)
    except SysIdError:  # no motion, no joints: nothing to compare with
        return Verdict()
    tool = evidence(samples, tool=True)
    gain = tool.log - evidence(samples).log + np.log(SHARES[Fault.TOOL])
    found, sd = tool.inertial[-10] - model.pi[-1, 0], tool.inertial_sd[-10]
    if gain < np.log(ODDS) or found <= 0.0 or abs(np.log(found / mass)) < 2.0 * MASSES_SD:
        return Verdict()
    link = model.body_names[-1]
    reason = warning("masses-disagree", mass=found, sd=sd, link=link, ratio=found / mass)
    return Verdict((reason,))


def judge_carried_mass(model: RobotModel, frame: str, pi: ArrayLike, q: Array) -> Verdict:
    """Fail if the gravity torque of a load would exceed twice the torque limits of the joints.

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
