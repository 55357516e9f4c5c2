# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from exported_arm import USUAL, with_drives
from two_joint_arm import URDF

from sysid_core.errors import ModelError
from sysid_core.export.urdf import urdf_of
from sysid_core.robot import RobotModel, example_robots

ROBOTS = [name for name in ("xarm7", "panda", "ur5", "kinova") if name in example_robots()]


def other_pi(model: RobotModel, rng: np.random.Generator) -> np.ndarray:
    return np.array(
        [
            pin.LogCholeskyParameters(0.4 * rng.normal(size=10)).toDynamicParameters()
            for _ in model.body_names
        ]
    )


def written(model: RobotModel, pi: np.ndarray, friction: float = 0.0, **more: object) -> str:
    """URDF with other bodies, and with as much Coulomb and half as much viscous friction."""
    robot = with_drives(model.with_pi(pi), USUAL, F_c=friction, F_v=0.5 * friction)
    return urdf_of(robot, **more)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_written_urdf_gives_the_same_torques(name, rng, tmp_path):
    model = RobotModel.from_urdf(name)
    pi = other_pi(model, rng)
    path = tmp_path / "robot.urdf"
    path.write_text(written(model, pi), encoding="utf-8")
    again = RobotModel.from_urdf(path)
    q, v, a = rng.normal(size=(3, 20, model.nv))
    tau = model.with_pi(pi).inverse_dynamics(q, v, a)
    assert again.joint_names == model.joint_names
    assert again.inverse_dynamics(q, v, a) == pytest.approx(tau, rel=1e-9, abs=1e-9)


@pytest.mark.skipif("ur5" not in ROBOTS, reason="example-robot-data isn't installed")
def test_shapes_of_fixed_links_weigh_nothing_in_mujoco(rng):
    model = RobotModel.from_urdf("ur5")  # its flange is a fixed link with a box
    pi = other_pi(model, rng)
    root = ET.fromstring(written(model, pi))
    for link in root.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            if shape.find("geometry/mesh") is not None:
                link.remove(shape)
    assert root.find(".//box") is not None
    read = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    assert read.body_mass.sum() == pytest.approx(pi[:, 0].sum(), rel=1e-12)


def test_a_transmission_of_a_joint_that_does_not_exist_is_left_out(rng):
    part = '<transmission name="{0}"><joint name="{0}"/></transmission>'
    both = part.format("j1") + part.format("nowhere") + "</robot>"
    model = RobotModel.from_urdf(URDF.replace("</robot>", both))
    root = ET.fromstring(written(model, other_pi(model, rng)))
    assert [one.get("name") for one in root.findall("transmission")] == ["j1"]


def test_friction_goes_to_the_joints_dynamics(rng):
    model = RobotModel.from_urdf(ROBOTS[0])
    xml = written(model, other_pi(model, rng), friction=5.0)
    again = RobotModel.from_urdf(xml)
    assert again.pin_model.damping == pytest.approx(np.full(model.nv, 2.5))
    assert again.pin_model.friction == pytest.approx(np.full(model.nv, 5.0))


def test_what_no_body_can_have_is_not_written(rng):
    model = RobotModel.from_urdf(ROBOTS[0])
    pi = other_pi(model, rng)
    pi[2, 0] = -1.0
    with pytest.raises(ModelError, match=model.body_names[2]):
        written(model, pi)
    with pytest.raises(ModelError, match="of shape"):
        written(model, pi[:2])


@pytest.mark.skipif("panda" not in ROBOTS, reason="example-robot-data isn't installed")
def test_locked_joints_become_fixed_ones_where_they_are(rng):
    whole = RobotModel.from_urdf("panda")
    fingers = {"panda_finger_joint1": 0.03, "panda_finger_joint2": 0.01, "panda_joint7": 0.7}
    model = whole.with_locked({name: fingers[name] for name in list(fingers)[:2]})
    model = model.with_locked({"panda_joint7": 0.7})
    assert model.locked == fingers
    q = np.zeros((20, 9))
    q[:, 6:] = [0.7, 0.03, 0.01]
    v, a = np.zeros((2, 20, 9))
    q[:, :6], v[:, :6], a[:, :6] = rng.normal(size=(3, 20, 6))
    tau = whole.inverse_dynamics(q, v, a)[:, :6]
    assert model.inverse_dynamics(q[:, :6], v[:, :6], a[:, :6]) == pytest.approx(tau)
    again = RobotModel.from_urdf(written(model, model.pi))
    assert again.joint_names == whole.joint_names[:6]
    assert again.inverse_dynamics(q[:, :6], v[:, :6], a[:, :6]) == pytest.approx(tau)


def test_joints_and_links_of_one_name_can_be_locked():
    urdf = """<robot name="twins"><link name="base"/>
    <link name="a"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
    <link name="gripper"><inertial><mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
    <joint name="a" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
    </joint><joint name="gripper" type="prismatic"><parent link="a"/><child link="gripper"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"""
    whole = RobotModel.from_urdf(urdf)
    model = whole.with_locked({"gripper": 0.5})
    assert (model.joint_names, model.body_names) == (("a",), ("a",))
    assert model.pi[0, :2] == pytest.approx([3.0, 0.1 + 1.0])
    model.frame_id("gripper")
    turned = whole.with_locked({"a": 0.5 * np.pi})  # continuous: (cos, sin) inside
    assert turned.inverse_dynamics([[0.0]], [[0.0]], [[0.0]])[0, 0] == pytest.approx(-2 * 9.81)
    assert whole.with_locked([]) is whole
    for joints, message in ((["elbow9"], "elbow9"), (["a", "gripper"], "All joints")):
        with pytest.raises(ModelError, match=message):
            whole.with_locked(joints)


def test_xacro_is_told_from_urdf(tmp_path):
    path = tmp_path / "arm.urdf.xacro"
    path.write_text('<robot name="r"><xacro:include filename="a"/><link name="l"/></robot>')
    with pytest.raises(ModelError, match="xacro file"):
        RobotModel.from_urdf(path)


def test_links_say_in_a_comment_where_their_values_come_from(rng):
    model = RobotModel.from_urdf(ROBOTS[0])
    body = model.body_names[1]
    xml = written(model, other_pi(model, rng), remarks={body: "lmi: mx -- measured"})
    assert "<!-- lmi: mx - measured -->" in xml
    assert RobotModel.from_urdf(xml).joint_names == model.joint_names
