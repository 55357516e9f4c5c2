# SPDX-License-Identifier: Apache-2.0
"""An arm that touches a table: its rest by mechanics, and the table found from its motion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import sysid_core
from sysid_core.errors import ModelError
from sysid_core.robot import RobotModel
from sysid_core.servos import ServoModel, ServoRecording, Term, identify_servos, save_servos
from sysid_core.servos.ground import Ground, Surface, _arm_rollout, _lowest, clearance, find_ground
from sysid_core.servos.model import JointServo, warm_up
from sysid_core.servos.rollout import drive_rollout, follow_commands

SHAPE = (
    '<collision><origin xyz="0.1 0 0"/><geometry><box size="0.2 0.04 0.04"/></geometry></collision>'
)
URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.15 0 0"/><mass value="0.3"/>
<inertia ixx="0.001" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.1 0 0"/><mass value="0.15"/>
<inertia ixx="0.0005" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>SHAPE</link>
<joint name="lift" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="9" velocity="9"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="9" velocity="9"/></joint></robot>"""
LEVEL = -0.15  # [m]
COMPLIANCE = np.array([0.05, 0.08])


@pytest.fixture(scope="module")
def robot() -> RobotModel:
    return RobotModel.from_urdf(URDF.replace("SHAPE", SHAPE))


def arm(robot: RobotModel, ground: Ground | None, friction: float) -> ServoModel:
    terms = {Term.TIME_CONSTANT: 0.05, Term.FRICTION: friction, Term.DELAY: 0.02}
    servos = tuple(
        JointServo(joint, terms | {Term.COMPLIANCE: c})
        for joint, c in zip(robot.joint_names, COMPLIANCE, strict=True)
    )
    return ServoModel(robot, servos, ground)


def motion(robot: RobotModel, ground: Ground | None, lowest: float) -> ServoRecording:
    """Commands that swing down further and further, to `lowest` [rad], at 50 Hz, 12-bit encoders."""
    t = np.arange(0.0, 40.0, 0.02)
    lift = lowest * t / t[-1] * np.sin(0.9 * t)
    target = np.stack([lift, 0.3 * np.sin(1.3 * t)], axis=1)
    q = arm(robot, ground, 0.01).simulate(t, target, t, target[0])
    q = np.round(q * 4096 / (2 * np.pi)) * (2 * np.pi / 4096)
    return ServoRecording("down", robot.joint_names, t, q, t, target)


def test_what_is_compiled_at_set_up_is_all_that_is_used(robot: RobotModel) -> None:
    warm_up()
    for ground in (None, Ground(LEVEL, Surface.of_robot(robot))):
        r = motion(robot, ground, 0.2)
        arm(robot, ground, 0.01).simulate(r.t_target, r.target, r.t, r.q[0])
        clearance(arm(robot, ground, 0.01).tree, Surface.of_robot(robot), r.q)
    compiled = (follow_commands, drive_rollout, _arm_rollout, _lowest)
    assert [len(f.signatures) for f in compiled] == [1, 1, 1, 1]


def test_an_arm_pressed_on_a_table_rests_where_forces_balance(robot: RobotModel) -> None:
    ground = Ground(LEVEL, Surface.of_robot(robot))
    model = arm(robot, ground, 0.0)
    target = np.array([0.6, 0.2])
    q = model.simulate([0.0], [target], np.linspace(0.0, 6.0, 300), [0.0, 0.0])[-1]
    height, change = clearance(model.tree, ground.surface, q[None])
    assert height[0] == pytest.approx(LEVEL, abs=1e-4)
    gravity = pin.computeGeneralizedGravity(robot.pin_model, robot.pin_model.createData(), q)
    of_table = gravity - (target - q) / COMPLIANCE  # what the servos' springs leave to the table
    force = of_table @ change[0] / (change[0] @ change[0])
    assert force > 1.0
    np.testing.assert_allclose(of_table, force * change[0], atol=0.01 * force)


def test_a_table_is_found_where_an_arm_leaned_on_it_and_none_where_it_didnt(
    robot: RobotModel,
) -> None:
    ground = Ground(LEVEL, Surface.of_robot(robot))
    model = arm(robot, None, 0.01)
    parameters = np.array([servo.vector for servo in model.servos])
    heights = []
    for recording in (motion(robot, ground, 0.6), motion(robot, None, 0.6)):
        blocks = [(recording.t // 4.0).astype(np.int64)]
        found = find_ground(model.tree, ground.surface, parameters, [recording], blocks, 0.01)
        heights.append(found and found.height)
    assert heights == [pytest.approx(LEVEL, abs=0.003), None]


def test_an_identified_table_is_kept_with_the_servos(robot: RobotModel, tmp_path: Path) -> None:
    ground = Ground(LEVEL, Surface.of_robot(robot))
    recording = motion(robot, ground, 0.6)
    result = identify_servos([recording], robot)
    assert result.model.ground is not None
    assert result.model.ground.height == pytest.approx(LEVEL, abs=0.004)
    for servo, c in zip(result.model.servos, COMPLIANCE, strict=True):
        assert servo.values[Term.COMPLIANCE] == pytest.approx(c, rel=0.15)
    save_servos(result, tmp_path)
    r = recording
    q = sysid_core.load(tmp_path).simulate(r.t_target, r.target, r.t, r.q[0])
    assert np.sqrt(np.mean((q - r.q) ** 2)) < 0.004
    np.testing.assert_allclose(
        q, result.model.simulate(r.t_target, r.target, r.t, r.q[0]), atol=1e-9
    )


def test_a_table_below_a_robot_without_shapes_is_refused(robot: RobotModel) -> None:
    bare = RobotModel.from_urdf(URDF.replace("SHAPE", ""))
    with pytest.raises(ModelError, match="no collision shapes"):
        identify_servos([motion(robot, None, 0.3)], bare, ground=LEVEL)
