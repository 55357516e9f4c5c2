# SPDX-License-Identifier: Apache-2.0
"""The limits file, the tool frame, and the cell around the robot."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import ExcitationError, ModelError, SysIdError
from sysid_core.planning import (
    LimitsFile,
    MotionChecker,
    MotionLimits,
    Obstacle,
    Trajectory,
    check_motion,
)
from sysid_core.planning.cell import Plane
from sysid_core.planning.transfer import straight_move
from sysid_core.robot import RobotModel

ROOT = Path(__file__).resolve().parents[2]
FINGERS = ["panda_finger_joint1", "panda_finger_joint2"]


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return RobotModel.from_urdf("panda")


SRDF = """<robot name="ur5">
  <disable_collisions link1="wrist_3_link" link2="forearm_link" reason="Never"/>
  <disable_collisions link1="gripper" link2="wrist_3_link" reason="Adjacent"/>
</robot>"""


def test_pairs_of_links_that_an_srdf_allows_may_touch_and_no_others(tmp_path):
    model = RobotModel.from_urdf("ur5")
    limits = MotionLimits.from_model(model)
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    rng = np.random.default_rng(0)
    postures = rng.uniform(lower, upper, (40, model.nv))
    before = [MotionChecker(model, limits).contacts(q) for q in postures]
    found = {tuple(name.rsplit("_", 1)[0] for name in pair) for c in before for pair in c}
    assert len(found) > 1
    one, other = sorted(found)[0]
    file = tmp_path / "ur5.srdf"
    file.write_text(SRDF.replace("forearm_link", one).replace("wrist_3_link", other))
    pairs = LimitsFile.contacts_of_srdf(file, {f.name for f in model.pin_model.frames})
    assert pairs == ((other, one),)  # the gripper isn't on this robot
    cli = CliRunner().invoke(
        app, ["limits", "init", "ur5", "--srdf", str(file), "--out", str(tmp_path / "l.yaml")]
    )
    assert cli.exit_code == 0 and "1 pairs" in cli.output
    again = LimitsFile.read(tmp_path / "l.yaml", model)
    assert again.allowed_contacts == pairs
    checker = MotionChecker(model, limits.replace(allowed_contacts=pairs))
    after = [checker.contacts(q) for q in postures]
    links = {frozenset(name.rsplit("_", 1)[0] for name in pair) for c in after for pair in c}
    assert links == {frozenset(pair) for pair in found} - {frozenset((one, other))}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<robot", "can't be read"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><robot/>", "entities"),
        ("<robot/>", "no pairs"),
        ('<robot><disable_collisions link1="a" link2="b"/></robot>', "this robot's links"),
    ],
)
def test_what_is_no_srdf_of_this_robot_is_refused(tmp_path, text, said):
    file = tmp_path / "robot.srdf"
    file.write_text(text)
    with pytest.raises(ModelError, match=said):
        LimitsFile.contacts_of_srdf(file, {"base_link", "tool0"})


def test_limits_survive_the_file(panda, tmp_path):
    limits, sources = MotionLimits.initial(
        panda,
        ground_height=-0.1,
        workspace=((-1, -1, -0.5), (1, 1, 1.5)),
        planes=[Plane((0, 2, 0), -0.8, "wall")],
        obstacles=[
            Obstacle("table", (0.6, 0, 0.1), box=(0.4, 0.8, 0.2)),
            Obstacle("ball", sphere=0.1),
        ],
    )
    assert any("Franka" in source for source in sources)
    file = tmp_path / "limits.yaml"
    file.write_text(
        LimitsFile.text(limits, robot="panda", urdf_hash=panda.urdf_hash, sources=sources)
    )
    back = LimitsFile.read(file, panda)
    kept = {k: v for k, v in limits.as_dict().items() if k != "notes"}
    assert {k: v for k, v in back.as_dict().items() if k != "notes"} == kept
    arm = panda.with_locked(FINGERS)
    np.testing.assert_allclose(LimitsFile.read(file, arm).acceleration, limits.acceleration[:7])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("velocity: 2.175", "velocity: .nan"), "panda_joint1.velocity"),
        (("velocity: 2.175", "velocity: -1"), "panda_joint1.velocity"),
        (("acceleration:", "acceleratoin:"), "acceleratoin"),
        (("panda_joint1:", "joint_one:"), "joint_one"),
        (("schema: robot_sysid/limits/1", "schema: other"), "schema"),
        (("speed: 0.25", "speed: [1"), "not valid YAML"),
    ],
)
def test_a_wrong_entry_is_named(panda, tmp_path, change, said):
    limits, _ = MotionLimits.initial(panda)
    file = tmp_path / "limits.yaml"
    file.write_text(LimitsFile.text(limits).replace(*change, 1))
    with pytest.raises(ExcitationError, match=said):
        LimitsFile.read(file, panda)


@pytest.mark.parametrize(("vendor", "robot"), [("ur", "ur5"), ("xarm", "xarm7")])
def test_a_bringup_file_gives_planner_and_executor_the_same_limits(vendor, robot):
    config = pytest.importorskip("sysid_nodes.trajectory_executor.config", reason="needs rclpy")
    limits = pytest.importorskip("sysid_nodes.trajectory_executor.limits", reason="needs rclpy")
    model = RobotModel.from_urdf(robot)
    file = ROOT / "config" / f"bringup_{vendor}.yaml"
    section = yaml.safe_load(file.read_text())["trajectory_executor"]
    keys = {f.name for f in dataclasses.fields(config.TrajectoryExecutorConfig)}
    limit_keys = ("tcp_frame", "tcp_speed", "acceleration", "ground_height")
    given = {key: section[key] for key in limit_keys if key in section and key in keys}
    executor = limits.motion_limits(config.TrajectoryExecutorConfig(**given), model)
    assert LimitsFile.read(file, model).as_dict() == executor.as_dict()
    assert executor.ground_height == 0.0


def test_a_ros_parameter_file_gives_the_same_limits(panda, tmp_path):
    common, own = {"joints": list(panda.joint_names)}, {"tcp_speed": 0.11, "acceleration": 1.5}
    found = []
    for wrapped in (False, True):
        raw = {"common": common, "trajectory_executor": own}
        if wrapped:
            named = {"/**": common, "/left/trajectory_executor": own}
            raw = {key: {"ros__parameters": section} for key, section in named.items()}
        path = tmp_path / f"{wrapped}.yaml"
        path.write_text(yaml.safe_dump(raw))
        found.append(LimitsFile.read(path, panda).as_dict())
        assert LimitsFile.driven_robot(panda, path).joint_names == panda.joint_names
    assert found[0] == found[1] and found[1]["tcp_speed"] == 0.11


def test_moveits_joint_limits_tighten_those_of_the_description(tmp_path):
    model = RobotModel.from_urdf("ur5")
    file = tmp_path / "joint_limits.yaml"
    entries = {
        "elbow_joint": {"has_velocity_limits": True, "max_velocity": 1.0},
        "wrist_1_joint": {"has_velocity_limits": True, "max_velocity": 99.0},
        "wrist_2_joint": {"has_acceleration_limits": True, "max_acceleration": 2.0},
    }
    file.write_text(yaml.safe_dump({"joint_limits": entries}))
    limits, usual = LimitsFile.read(file, model), MotionLimits.from_model(model)
    assert limits.velocity[2] == 1.0 and limits.velocity[3] == usual.velocity[3]
    assert limits.acceleration[4] == 2.0 and limits.acceleration[0] == usual.acceleration[0]
    file.write_text(yaml.safe_dump({"joint_limits": {"another": {}}}))
    with pytest.raises(ExcitationError, match="another"):
        LimitsFile.read(file, model)


def test_the_command_writes_a_file_that_is_read_back(tmp_path):
    file = tmp_path / "limits.yaml"
    arguments = ["limits", "init", "ur5", "--out", str(file)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    limits = LimitsFile.read(file, RobotModel.from_urdf("ur5"))
    assert limits.tcp_frame == "tool0" and limits.tcp_speed == 0.25
    with pytest.raises(SysIdError, match="exists already"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


# --- the tool frame


@pytest.mark.parametrize("robot", ["tiago", "tiago_no_hand", "baxter", "tiago_pro"])
def test_a_sensor_on_the_base_is_never_the_tool(robot):
    model = RobotModel.from_urdf(robot)
    limits = MotionLimits.from_model(model)
    q = np.zeros((1, model.nv))
    from sysid_core.planning import MotionChecker

    checker = MotionChecker(model, limits.replace(self_collision=False))
    assert checker.tcp_speed(q, q + 1.0)[0] > 0.1
    last = [f.name for f in model.pin_model.frames][-1]
    with pytest.raises(ExcitationError, match="does not move with any joint"):
        MotionLimits.from_model(model, tcp_frame=last)


def test_the_tool_frame_is_named(panda):
    assert any("'panda_hand_tcp'" in note for note in MotionLimits.from_model(panda).notes)


# --- the cell


def swing(model: RobotModel) -> Trajectory:
    start = np.array([0.0, -1.2, 1.2, 0.0, 0.3, 0.0])
    motion = straight_move(start, start + [1.5, 0, 0, 0, 0, 0], 8.0, 100.0)
    return Trajectory(model.name, model.urdf_hash, model.joint_names, *motion)


def test_obstacles_and_planes_are_kept_away_from():
    model = RobotModel.from_urdf("ur5")
    limits = MotionLimits.from_model(model, tcp_speed=1.0)
    motion = swing(model)
    assert check_motion(model, motion, limits).is_safe
    from sysid_core.planning.geometry import RobotGeometry

    geometry = RobotGeometry(model, "tool0")
    ends = [geometry.extent(q) for q in motion.q[::20]]
    farthest = max(high[1] for _, high in ends)
    wall = limits.replace(planes=(Plane((0, -1, 0), -(farthest - 0.05), "wall"),))
    (violation,) = check_motion(model, motion, wall).violations
    assert (violation.kind, violation.where) == ("plane", "wall")
    assert -violation.value == pytest.approx(farthest, abs=0.01)
    beyond = limits.replace(planes=(Plane((0, -1, 0), -(farthest + 0.05), "wall"),))
    assert check_motion(model, motion, beyond).is_safe
    pillar = limits.replace(obstacles=(Obstacle("pillar", (0.35, 0.45, 0.3), box=(0.1, 0.1, 2.0)),))
    assert any("pillar" in v.where for v in check_motion(model, motion, pillar).violations)
    far = limits.replace(obstacles=(Obstacle("pillar", (2.0, 2.0, 0.3), cylinder=(0.1, 2.0)),))
    assert check_motion(model, motion, far).is_safe


@pytest.mark.parametrize(
    "wrong",
    [{}, {"box": (1, 1)}, {"sphere": -1.0}, {"sphere": 1.0, "box": (1, 1, 1)}, {"mesh": "no.stl"}],
)
def test_malformed_obstacles_are_refused(wrong):
    with pytest.raises(ExcitationError, match=r"[oO]bstacle .thing"):
        Obstacle("thing", **wrong).shape()


@pytest.mark.parametrize(
    ("robot", "hand"),
    [
        ("panda", "panda_hand"),
        ("xarm7", "link_eef"),
        ("tiago", "hand_"),
        ("kinova", "j2s6s200_end_"),
    ],
)
def test_the_tool_frame_of_an_arm_with_fingers_is_its_hand(robot: str, hand: str) -> None:
    frame = MotionLimits.from_model(RobotModel.from_urdf(robot)).tcp_frame
    assert frame.startswith(hand) and "finger" not in frame and "flex" not in frame
