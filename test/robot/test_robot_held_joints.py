# SPDX-License-Identifier: Apache-2.0
"""Joints that are held, frames that are mounted, and hashes that white space doesn't change."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from sysid_core import robot
from sysid_core.errors import ModelError, SignalError
from sysid_core.robot import RobotModel, StaticTransform, received_urdf
from sysid_core.signals.wrench import SensorFrame

ARM = tuple(f"panda_joint{i}" for i in range(1, 8))


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return RobotModel.from_urdf("panda")


@pytest.mark.parametrize(
    "choice", [{"joints": ["panda_joint*"]}, {"measured": ARM}, {"lock": ["panda_finger_joint*"]}]
)
def test_fingers_are_held_and_their_mass_stays(panda: RobotModel, choice: dict) -> None:
    arm = panda.holding(**choice)
    assert arm.joint_names == ARM
    assert np.isclose(arm.pi[:, 0].sum(), panda.pi[:, 0].sum())
    assert arm.urdf_hash == panda.urdf_hash
    assert "panda_finger_joint1 at 0" in arm.held_text


def test_the_parameter_then_the_state_then_the_description_say_where_a_joint_is_held(
    panda: RobotModel,
) -> None:
    arm = panda.holding(
        lock=["panda_finger_joint1=0.01"],
        measured=ARM,
        positions={"panda_finger_joint1": 0.02, "panda_finger_joint2": 0.03},
    )
    assert arm.locked == {"panda_finger_joint1": 0.01, "panda_finger_joint2": 0.03}
    blind = panda.holding(measured=[n for n in panda.joint_names if n != "panda_joint4"])
    upper = panda.position_limits[1][3]
    assert upper < 0 and blind.locked == {"panda_joint4": pytest.approx(upper)}


def test_rods_that_nobody_measures_are_held_where_the_description_puts_them() -> None:
    leg = RobotModel.from_urdf(Path(robot.__file__).parent / "reference_robots" / "own_leg.urdf")
    rods = [name for name in leg.joint_names if "_rod" in name]
    measured = [name for name in leg.joint_names if name not in rods]
    held = leg.holding(measured=measured)
    assert list(held.joint_names) == measured and len(rods) == 6
    assert held.locked == dict.fromkeys(rods, 0.0)
    assert np.isclose(held.pi[:, 0].sum(), leg.pi[:, 0].sum())
    assert all(f"{name} at 0" in held.held_text for name in rods)


def test_options_that_lock_joints_are_words_of_a_shell() -> None:
    joints = ["left finger", "j1", "it's"]
    assert shlex.split(RobotModel.lock_options(joints)) == [
        x for j in joints for x in ("--lock", j)
    ]


@pytest.mark.parametrize(
    "choice",
    [
        {"joints": ["nobody"]},
        {"lock": ["nobody"]},
        {"lock": ["panda_joint1=nan"]},
        {"measured": []},
    ],
)
def test_joints_that_do_not_fit_are_refused_with_what_to_do(
    panda: RobotModel, choice: dict
) -> None:
    with pytest.raises(ModelError) as caught:
        panda.holding(**choice)
    assert caught.value.remedy


def test_white_space_and_comments_make_no_other_robot(panda: RobotModel) -> None:
    text = panda.urdf_xml
    spaced = text.replace("\n", "\n\n  ") + "\n---\n".replace("---", "<!-- saved -->")
    assert RobotModel.from_urdf(spaced).urdf_hash == panda.urdf_hash
    assert RobotModel.from_urdf(text.replace("0.333", "0.334", 1)).urdf_hash != panda.urdf_hash


@pytest.mark.parametrize("text", ["panda", "/etc/passwd", "", "<robot" + " " * 20_000_001])
def test_a_description_from_the_network_is_never_a_path_or_a_name(text: str) -> None:
    with pytest.raises(ModelError):
        received_urdf(text)


def test_comments_without_end_are_read_in_no_time() -> None:
    with pytest.raises(ModelError):
        RobotModel.from_urdf("<robot name='x'>" + "<!--" * 200_000)


def test_a_mounted_sensor_has_the_pose_that_was_given(panda: RobotModel) -> None:
    tool = panda.with_frame("ft", "panda_link8", [0, 0, 0.1, 0, 0, np.pi / 2])
    q = np.zeros((1, tool.nv))
    ft, flange = (tool.frame_motion(f, q, q, q).R_WF[0] for f in ("ft", "panda_link8"))
    np.testing.assert_allclose(flange.T @ ft, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)
    with pytest.raises(ModelError, match="already"):
        panda.with_frame("panda_link8", "panda_link7")
    with pytest.raises(ModelError, match="six finite"):
        panda.with_frame("ft", "panda_link8", [0.1])


def test_drivers_frames_that_are_no_links_are_taken_and_remarked() -> None:
    sensor = SensorFrame(RobotModel.from_urdf("ur5"), "tool0")
    assert sensor.check("tool0") == ""
    assert "tool0_controller" in sensor.check("tool0_controller")
    assert sensor.check("tool0_controller", ["tool0_controller"]) == ""
    with pytest.raises(SignalError, match="another pose"):
        sensor.check("base_link")
    with pytest.raises(SignalError, match="accepted are"):
        sensor.check("anything", ["tool0_controller"])


def test_a_tool_centre_point_that_is_not_the_flange_is_refused_with_its_pose(rng) -> None:
    ur = RobotModel.from_urdf("ur5")
    q = rng.uniform(-2, 2, 6)
    data = ur.pin_model.createData()
    pin.framesForwardKinematics(ur.pin_model, data, q)
    flange = data.oMf[ur.frame_id("base")].actInv(data.oMf[ur.frame_id("tool0")])

    def controller(tool: pin.SE3, parent: str = "base") -> StaticTransform:
        pose = flange * tool
        rotation = pin.Quaternion(pose.rotation).coeffs()
        return StaticTransform(parent, "tool0_controller", tuple(pose.translation), tuple(rotation))

    uncalibrated = pin.SE3(np.eye(3), np.array([0.002, 0.0, -0.003]))
    SensorFrame(ur, "tool0").check_place(q, controller(uncalibrated))
    tool = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.5), np.array([0.0, 0.03, 0.15]))
    with pytest.raises(SignalError, match=r"153 mm and 28\.6 degrees") as err:
        SensorFrame(ur, "tool0").check_place(q, controller(tool))
    assert "[0.0000, 0.0300, 0.1500, 0.0000, 0.0000, 0.5000]" in err.value.remedy
    SensorFrame(ur, "tool0").check_place(q, controller(tool, "map"))
    mounted = ur.with_frame("tool0_controller", "tool0", [0, 0.03, 0.15, 0, 0, 0.5])
    SensorFrame(mounted, "tool0_controller").check_place(q, controller(tool))
