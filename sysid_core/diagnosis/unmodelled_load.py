# SPDX-License-Identifier: Apache-2.0
"""Comparison of the load's mass from joint torques with that from a force-torque sensor."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from sysid_core.diagnosis.evidence import evidence, tool_masses
from sysid_core.diagnosis.explain import ODDS
from sysid_core.diagnosis.hypotheses import MASSES_SD, SHARES, Fault
from sysid_core.diagnosis.samples import collect_samples
from sysid_core.errors import SysIdError
from sysid_core.reasons import Reason, Verdict
from sysid_core.robot import DriveTrain, RobotModel
from sysid_core.signals import Recording


def compare_with_torques(model: RobotModel, recording: Recording, mass: float) -> Verdict:
    """Warn if the joint torques of a recording imply a mass that is very different from the
    estimate.

    Args:
        model: The robot, as during the tare.
        recording: Joint states; without measured torques, the verdict is empty.
        mass: Mass according to a force-torque sensor [kg].
    """
    joints = recording.joints
    if joints.effort is None or not joints.effort_kind.is_torque or not mass > 0.0:
        return Verdict()
    try:
        drives = DriveTrain.direct(model.joint_names)
        samples = collect_samples(model, [recording], drives, count=300)
    except SysIdError:  # no motion, no joints: nothing to compare with
        return Verdict()
    masses = [x for x in tool_masses(model) if x > 0.0]
    if not masses:  # a description without masses
        return Verdict()
    loaded = [evidence(samples, tool=x) for x in masses]
    tool = max(loaded, key=lambda found: found.log)
    gain = logsumexp([found.log for found in loaded]) - np.log(len(loaded))
    gain += np.log(SHARES[Fault.TOOL]) - evidence(samples).log
    found, sd = tool.inertial[-10] - model.pi[-1, 0], tool.inertial_sd[-10]
    if gain < np.log(ODDS) or found <= 0.0:
        return Verdict()
    # All masses of the description, by which the torques weigh, may be off by a factor.
    if abs(np.log(found / mass)) < 2.0 * np.hypot(MASSES_SD, sd / found):
        return Verdict()
    link = model.body_names[-1]
    reason = Reason.warning("masses-disagree", mass=found, sd=sd, link=link, ratio=found / mass)
    return Verdict((reason,))
