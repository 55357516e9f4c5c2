# SPDX-License-Identifier: Apache-2.0
"""Residual torques of a running motion are what no model term gives."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import SignalError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Identification, Processing
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm, RobotModel
from sysid_core.signals import EffortKind
from sysid_core.validation import ResidualTorques

MODEL = RobotModel.from_urdf("ur5")
LEFT = np.array([0.3, -0.2, 0.1, 0.0, 0.05, -0.4])


def test_what_the_urdf_leaves_of_a_torque_is_what_was_added_to_it() -> None:
    q, v, a = np.random.default_rng(0).normal(size=(3, 6))
    residuals = ResidualTorques(MODEL)
    with pytest.raises(SignalError, match="No sample"):
        residuals.residual(LEFT, EffortKind.LINK_TORQUE)
    residuals.add(q, v, a)
    measured = MODEL.inverse_dynamics(q[None], v[None], a[None])[0] + LEFT
    left = residuals.residual(measured, EffortKind.ACTUATOR_TORQUE)
    np.testing.assert_allclose(left, LEFT, atol=1e-12)
    assert residuals.residual(measured, EffortKind.MOTOR_CURRENT) is None


def test_an_identified_robot_leaves_currents_in_amperes_with_the_play_of_the_motion_before() -> (
    None
):
    gains = np.array([2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    friction = FrictionModel(
        DriveTrain(MODEL.joint_names, gains), (FrictionTerm.VISCOUS, FrictionTerm.PLAY)
    )
    values = np.concatenate([MODEL.pi.ravel() * 1.1, np.tile([5.0, 2.0], 6)])
    found = Identification(
        MODEL, friction, Processing(), Estimate.__new__(Estimate), values, ()
    )  # the estimate isn't looked at
    t = np.arange(60)[:, None] * 0.02
    q, v, a = 0.5 * np.sin(t + LEFT), 0.5 * np.cos(t + LEFT), -0.5 * np.sin(t + LEFT)
    residuals = ResidualTorques(MODEL, found)
    for sample in zip(q, v, a, strict=True):
        residuals.add(*sample)
    rigid = 1.1 * MODEL.inverse_dynamics(q[-1:], v[-1:], a[-1:])[0]
    current = (rigid + 5.0 * v[-1] + 2.0 * np.sign(v[-1])) / gains
    left = residuals.residual(current + LEFT, EffortKind.MOTOR_CURRENT)
    np.testing.assert_allclose(left, LEFT, atol=1e-9)
