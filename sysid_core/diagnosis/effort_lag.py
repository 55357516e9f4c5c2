# SPDX-License-Identifier: Apache-2.0
"""Delay of the efforts relative to the positions of a recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_core.errors import SysIdError
from sysid_core.estimation.arm import ArmEquations, Processing, TorqueDelay
from sysid_core.robot import DriveTrain, FrictionModel, RobotModel
from sysid_core.signals import EffortKind, Recording

_WINDOW_NS = 60_000_000_000  # of the motion that shows the delay


def effort_lag(recording: Recording, model: RobotModel) -> TorqueDelay | None:
    """Estimate the delay of the efforts relative to the positions from one minute in the middle of
    the motion; None if the motion does not determine it.

    Args:
        recording: Joint states with efforts; motor currents are scaled to the torques that the
            robot description predicts.
        model: The robot, with joints that were not recorded held fixed.
    """
    joints = recording.joints
    if joints.effort is None:
        return None
    moves = np.any(np.diff(joints.q, axis=0) != 0.0, axis=1)
    if not moves.any():
        return None
    since = joints.stamps_ns[1:][moves] - joints.stamps_ns[0]
    middle = int(joints.stamps_ns[0]) + int(np.median(since))
    part = recording.window(middle - _WINDOW_NS // 2, middle + _WINDOW_NS // 2)
    friction = FrictionModel(DriveTrain.direct(model.joint_names))
    try:
        equations = ArmEquations.build(model, [part], friction, Processing())
        if joints.effort_kind is EffortKind.MOTOR_CURRENT:
            part = _as_torques(part, model, equations)
            equations = ArmEquations.build(model, [part], friction, Processing())
        lag = TorqueDelay.of(equations)
    except SysIdError:
        return None
    return lag if lag.shows else None


def _as_torques(recording: Recording, model: RobotModel, equations: ArmEquations) -> Recording:
    """Convert motor currents to approximate torques, which are accurate enough for the estimate of
    a delay.

    If the currents of a joint do not resemble its torques, they are scaled to the size of the
    torques.
    """
    assert recording.joints.effort is not None
    regression = equations.regression(equations.prior, equations.moving())
    torques = regression.predict(regression.prior)
    joints, gains = recording.joints, np.ones(len(recording.joints.names))
    for j, name in enumerate(model.joint_names):
        current = regression.tau[:, j] - regression.tau[:, j].mean()
        torque = torques[:, j] - torques[:, j].mean()
        gain = float(torque @ torque) / max(float(torque @ current), 1e-12)
        size = float(np.linalg.norm(torque) / max(float(np.linalg.norm(current)), 1e-12))
        gains[joints.names.index(name)] = gain if 0.5 * size < gain < 2.0 * size else size
    scaled = replace(
        joints, effort=recording.joints.effort * gains, effort_kind=EffortKind.ACTUATOR_TORQUE
    )
    return replace(recording, joints=scaled)
