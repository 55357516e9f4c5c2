# SPDX-License-Identifier: Apache-2.0
"""By how much the efforts of a recording lag behind its positions."""

from __future__ import annotations

import numpy as np

from sysid_core.errors import SysIdError
from sysid_core.estimation.arm import (
    ArmEquations,
    Processing,
    torque_delay,
)
from sysid_core.estimation.recorded import TorqueDelay
from sysid_core.robot import DriveTrain, FrictionModel, RobotModel
from sysid_core.signals import EffortKind, Recording

_WINDOW_NS = 60_000_000_000  # of the motion that shows the delay
_VAGUE_S = 10e-3  # a deviation of more says nothing


def effort_lag(recording: Recording, model: RobotModel) -> TorqueDelay | None:
    """The delay from a minute in the midst of the motion; None where it doesn't show.

    Args:
        recording: Joint states with efforts; motor currents say nothing without gains.
        model: The robot, joints that weren't recorded held.
    """
    joints = recording.joints
    if joints.effort is None or joints.effort_kind is EffortKind.MOTOR_CURRENT:
        return None
    moves = np.any(np.diff(joints.q, axis=0) != 0.0, axis=1)
    if not moves.any():
        return None
    since = joints.stamps_ns[1:][moves] - joints.stamps_ns[0]
    middle = int(joints.stamps_ns[0]) + int(np.median(since))
    part = recording.window(middle - _WINDOW_NS // 2, middle + _WINDOW_NS // 2)
    friction = FrictionModel(DriveTrain.direct(model.joint_names))
    try:
        lag = torque_delay(ArmEquations.build(model, [part], friction, Processing()))
    except SysIdError:
        return None
    return lag if lag.sd < _VAGUE_S else None
