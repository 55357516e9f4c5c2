# SPDX-License-Identifier: Apache-2.0
"""Motions of other programs, imported and checked; the commands that do so."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import ExcitationError
from sysid_core.planning import MotionLimits, Obstacle, Trajectory, read_motion
from sysid_core.planning.cell import Plane
from sysid_core.planning.transfer import straight_move
from sysid_core.robot import RobotModel

START = np.array([0.0, -1.2, 1.2, 0.0, 0.3, 0.0])
GOAL = START + [0.4, 0.2, -0.2, 0.3, 0.0, 0.2]


@pytest.fixture(scope="module")
def ur5() -> RobotModel:
    return RobotModel.from_urdf("ur5")


@pytest.fixture(scope="module")
def move(ur5) -> Trajectory:
    motion = straight_move(START, GOAL, 6.0, 100.0)
    return Trajectory(ur5.name, ur5.urdf_hash, ur5.joint_names, *motion)


def as_message(move: Trajectory, step: int, keys: tuple[str, ...]) -> dict:
    points = []
    for k in range(0, len(move.time), step):
        t = round(move.time[k] * 1e9)
        point = {"time_from_start": {"sec": t // 10**9, "nanosec": t % 10**9}}
        for key, values in zip(
            ("positions", "velocities", "accelerations"), (move.q, move.v, move.a), strict=True
        ):
            if key in keys:
                point[key] = values[k].tolist()
        points.append(point)
    return {"joint_names": list(move.joint_names), "points": points}


@pytest.mark.parametrize(
    ("keys", "tolerance"),
    [
        (("positions",), 1e-3),
        (("positions", "velocities"), 1e-4),
        (("positions", "velocities", "accelerations"), 1e-9),
    ],
)
def test_a_joint_trajectory_is_what_it_was_made_from(ur5, move, tmp_path, keys, tolerance):
    """MoveIt nests it: DisplayTrajectory has a list of RobotTrajectory."""
    file = tmp_path / "plan.yaml"
    file.write_text(
        yaml.safe_dump({"trajectory": [{"joint_trajectory": as_message(move, 50, keys)}]})
    )
    found = read_motion(file, ur5)
    np.testing.assert_allclose(found.q, move.q, atol=tolerance)
    np.testing.assert_allclose(found.v, move.v, atol=20 * tolerance)


def test_joints_are_mapped_by_name(ur5, move, tmp_path):
    message = as_message(move, 50, ("positions",))
    message["joint_names"].reverse()
    for point in message["points"]:
        point["positions"].reverse()
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(message))
    found = read_motion(file, ur5)
    columns = ur5.columns_from(found.joint_names)
    np.testing.assert_allclose(found.q[:, columns], move.q, atol=1e-3)


def wide_limits(ur5: RobotModel) -> MotionLimits:
    """Limits of a motion that is faster than usual, in a cell."""
    return MotionLimits.from_model(
        ur5,
        tcp_frame="tool0",
        tcp_speed=5.0,
        acceleration=50.0,
        ground_height=-2.0,
        planes=[Plane((1.0, 0.0, 0.0), -3.0, "wall")],
        obstacles=[
            Obstacle("crate", (0.0, 3.0, 0.0), box=(0.2, 0.2, 0.2)),
            Obstacle("bucket", (0.0, -3.0, 0.0), cylinder=(0.1, 0.2)),
        ],
        workspace=((-4.0,) * 3, (4.0,) * 3),
    )


def test_a_table_is_read_and_the_command_says_whether_it_is_safe(ur5, move, tmp_path):
    file = tmp_path / "motion.csv"
    rows = np.column_stack([move.time, move.q])[::20]
    np.savetxt(file, rows, delimiter=",", header=",".join(["time", *move.joint_names]), comments="")
    np.testing.assert_allclose(read_motion(file, ur5).q, move.q, atol=1e-3)
    checked = tmp_path / "motion.npz"
    result = CliRunner().invoke(app, ["plan", "check", str(file), "ur5", "--out", str(checked)])
    assert result.exit_code == 0 and "safe" in result.output
    assert Trajectory.load(checked).limits["tcp_frame"] == "tool0"
    rows[:, 0] /= 20.0
    np.savetxt(file, rows, delimiter=",", header=",".join(["time", *move.joint_names]), comments="")
    result = CliRunner().invoke(app, ["plan", "check", str(file), "ur5"])
    assert result.exit_code == 1 and "tcp speed" in result.output
    # A planned motion is compared with what it was planned for.
    fast = dataclasses.replace(read_motion(file, ur5), limits=wide_limits(ur5).as_dict())
    fast.save(checked)
    result = CliRunner().invoke(app, ["plan", "check", str(checked), "ur5"])
    assert result.exit_code == 0 and "in the plan" in result.output


def test_the_page_of_a_motion_is_written(ur5, move, tmp_path):
    file, page = tmp_path / "motion.npz", tmp_path / "motion.html"
    dataclasses.replace(move, limits=wide_limits(ur5).as_dict()).save(file)
    result = CliRunner().invoke(app, ["plan", "show", str(file), "ur5", "--out", str(page)])
    assert result.exit_code == 0
    assert "postures: safe." in page.read_text() and "path of tool0 is coloured" in page.read_text()
    assert all(name in page.read_text() for name in ("crate", "bucket", "ground", "wall"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "{}",
        "joint_names: [a]\npoints: []",
        "joint_names: [a]\npoints: [{}]",
        "[1, 2",
        "a: .nan",
    ],
)
def test_what_is_no_motion_is_said(ur5, tmp_path, text):
    for name in ("motion.yaml", "motion.csv", "motion.json"):
        (tmp_path / name).write_text(text)
        with pytest.raises(ExcitationError, match="can't be used"):
            read_motion(tmp_path / name, ur5)
    with pytest.raises(ExcitationError, match="can't be used"):
        read_motion(tmp_path / "absent.yaml", ur5)


def test_another_robot_s_motion_is_refused(move, tmp_path):
    file = tmp_path / "plan.yaml"
    file.write_text(yaml.safe_dump(as_message(move, 100, ("positions",))))
    with pytest.raises(ExcitationError, match="has no joints"):
        read_motion(file, RobotModel.from_urdf("panda"))


def test_fingers_are_named_before_anything_long_starts(tmp_path):
    with pytest.raises(ExcitationError, match="--lock panda_finger_joint1 --lock"):
        CliRunner().invoke(
            app, ["plan", "arm", "panda", "--out", str(tmp_path)], catch_exceptions=False
        )
