# SPDX-License-Identifier: Apache-2.0
"""Closed chains as robots of their driven joints."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from loop_mechanisms import four_bar, states

from sysid_core.errors import ModelError
from sysid_core.estimation.arm.equations import arm_structural_rows
from sysid_core.identifiability import BaseParameters, ConstrainedRanks
from sysid_core.robot import (
    DriveTrain,
    FrictionModel,
    RobotModel,
)
from sysid_core.robot.loops import ClosedChain, DrivenRobot, JointDrive, load_closed_chain


def test_torques_of_the_driven_joints_are_the_projected_ones(leg, rng):
    robot = DrivenRobot.of(leg)
    q, v, a = states(leg, rng)
    Y = robot.torque_regressor(q, v, a)
    bare = dataclasses.replace(leg, drives={})
    expected = bare.torques(bare.motion(q, v, a, ordered=False))
    np.testing.assert_allclose(Y @ robot.pi.ravel(), expected, atol=1e-10)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), expected, atol=1e-10)


def test_friction_of_passive_joints_is_known(leg, rng):
    q, v, a = states(leg, rng)
    bare = dataclasses.replace(leg, drives={})
    drive = JointDrive(F_c=0.3, F_v=0.2, beta=0.1)
    rough = bare.with_drives({leg.passive[2]: drive})
    motion = leg.motion(q, v, a, ordered=False)
    np.testing.assert_allclose(
        DrivenRobot.of(rough).passive_torques(q, v, a),
        rough.torques(motion) - bare.torques(motion),
        atol=1e-10,
    )
    assert DrivenRobot.of(bare).passive_torques(q, v, a) == 0.0


def test_a_chain_without_loops_is_the_robot_itself(rng):
    model = RobotModel.from_urdf("ur5")
    robot = DrivenRobot.of(ClosedChain(model))
    q, v, a = rng.normal(size=(3, 20, 6))
    np.testing.assert_allclose(
        robot.torque_regressor(q, v, a), model.torque_regressor(q, v, a), atol=1e-12
    )
    assert robot.joint_names == model.joint_names
    for mine, its in zip(robot.position_limits, model.position_limits, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_other_masses_and_another_mounting_keep_the_loops(leg, rng):
    q, v, a = states(leg, rng, 5)
    robot = DrivenRobot.of(leg)
    heavy = robot.with_pi(2.0 * robot.pi)
    assert isinstance(heavy, DrivenRobot) and heavy.joint_names == leg.actuated
    np.testing.assert_allclose(
        heavy.inverse_dynamics(q, v, a), 2.0 * robot.inverse_dynamics(q, v, a), atol=1e-9
    )
    turned = robot.with_gravity([9.81, 0.0, 0.0])
    assert isinstance(turned, DrivenRobot)
    np.testing.assert_array_equal(turned.chain.model.gravity, [9.81, 0.0, 0.0])


def test_joints_of_loops_are_not_locked():
    with pytest.raises(ModelError, match="can't be locked"):
        DrivenRobot.of(four_bar("point")).with_locked(["drive"])


def test_angles_written_with_nine_digits_do_not_raise_the_rank(shared_data):
    chain = load_closed_chain(shared_data / "dvrk_psm" / "psm_loops.yaml")
    ranks = ConstrainedRanks.of(chain, np.random.default_rng(1))
    assert (ranks.inertial.rank, ranks.with_drives.rank) == (24, 38)
    robot = DrivenRobot.of(chain)
    friction = FrictionModel(DriveTrain.direct(robot.joint_names))
    names = (*robot.parameter_names, *friction.names)
    base = BaseParameters.sampled(arm_structural_rows(robot, friction), names)
    assert len(base.base_names) == 38
