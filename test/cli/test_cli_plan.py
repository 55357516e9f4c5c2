# SPDX-License-Identifier: Apache-2.0
"""`sysid plan payload` and `sysid plan arm`: files, JSON and refusals."""

from __future__ import annotations

import inspect
import json
import re

import numpy as np
import pytest
from two_joint_arm import URDF as TWO_JOINTS
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_cli.app import run as cli_run
from sysid_cli.plan import plan
from sysid_core.errors import ExcitationError
from sysid_core.planning import Trajectory
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import load_closed_chain

QUICK_ARM = ["--period", "8", "--candidates", "4", "--starts", "1", "--iterations", "2"]
WRIST_ONLY = [
    part
    for joint in ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint")
    for part in ("--lock", joint)
]


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["plan", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_payload_motion_is_planned_checked_and_written(tmp_path):
    text = run(
        "payload",
        "xarm7",
        "--out",
        tmp_path,
        "--duration",
        4,
        "--ground",
        0,
        "--json",
        "-",
        "--held",
        "0.2,0.3,0.05,0,0,0.1",
    )
    plan = json.loads(text)
    assert plan == json.loads((tmp_path / "plan.json").read_text())
    assert plan["wrist_joints"] == ["joint5", "joint6", "joint7"]
    assert max(plan["usage"].values()) <= 1.0
    trajectory = Trajectory.load(tmp_path / "trajectory.npz")
    trajectory.belongs_to(RobotModel.from_urdf("xarm7"))
    held = {"size": [0.2, 0.3, 0.05], "centre": [0.0, 0.0, 0.1], "mass": 0.0}
    assert trajectory.limits["held"] == held
    page = (tmp_path / "report.html").read_text()
    assert "postures: safe." in page and page.count('class="chart"') == 4


def test_an_arm_motion_is_planned_checked_and_written(tmp_path):
    text = run(
        "arm",
        "ur5",
        "--tcp-frame",
        "tool0",
        "--out",
        tmp_path,
        *WRIST_ONLY,
        *QUICK_ARM,
        "--json",
        "-",
    )
    plan = json.loads(text)
    assert plan["maximally_exciting"] and plan["rank"] == plan["structural_rank"]
    assert len(plan["joint_names"]) == 3
    assert (tmp_path / "trajectory.npz").is_file()
    assert "maximally exciting" in (tmp_path / "report.html").read_text()


def test_another_robot_refuses_the_file(tmp_path):
    run("payload", "xarm7", "--out", tmp_path, "--duration", 3, "--tare", 0)
    with pytest.raises(ExcitationError, match="was made for"):
        Trajectory.load(tmp_path / "trajectory.npz").belongs_to(RobotModel.from_urdf("ur5"))


def test_an_unsafe_plan_writes_nothing(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ExcitationError, match="None of"):
        run("payload", "xarm7", "--speed", 9, "--out", out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--workspace", "1,2,3", "not a list of 6 numbers"),
        ("--held", "a,b,c", "not a list of 3 or 6 numbers"),
        ("--posture", "1,2", "not a list of 7 numbers"),
    ],
)
def test_malformed_options_are_named(tmp_path, option, value, message):
    with pytest.raises(ExcitationError, match=message):
        run("payload", "xarm7", "--out", tmp_path, option, value)


def test_help_shows_units_and_the_command_s_own_defaults():
    text = run("arm", "--help")
    assert "[m/s]" in text and "default: 60]" in text  # candidates; of servos 40
    assert "default: 40]" in run("servos", "--help")


def test_motions_of_a_closed_chain_are_planned_checked_and_written(tmp_path):
    text = run(
        "loops", "own-leg", "--out", tmp_path, "--motions", 1, "--duration", 4, "--candidates", 3,
        "--generations", 1, "--tcp-speed", 5, "--acceleration", 60, "--json", "-",
    )  # fmt: skip
    plan = json.loads(text)
    assert len(plan["actuated"]) == 6 and len(plan["passive"]) == 9
    trajectory = Trajectory.load(tmp_path / "trajectory.npz")
    trajectory.belongs_to(load_closed_chain("own-leg").model)
    assert len(trajectory.joint_names) == 15
    page = (tmp_path / "report.html").read_text()
    charts = map(json.loads, re.findall(r'<script type="application/json">(.*?)</script>', page))
    (efforts,) = (
        c for c in charts if c["layout"].get("panels", [{}])[0]["title"] == "torque / limit"
    )
    assert {t["name"] for t in efforts["data"] if t["panel"] == 0} == set(plan["actuated"])
    run("show", tmp_path / "trajectory.npz", "own-leg", "--out", tmp_path / "again.html")
    drives = "Torques of the drives with their nominal friction and the forces of the loops"
    assert drives in (tmp_path / "again.html").read_text()
    with pytest.raises(ExcitationError, match="not safe"):
        run("loops", "own-leg", "--out", tmp_path, "--duration", 4, "--ground", 1)


def test_a_plan_whose_contact_was_not_checked_is_not_called_safe(tmp_path):
    (tmp_path / "robot.urdf").write_text(TWO_JOINTS)  # its links have no shapes
    said = run("postures", tmp_path / "robot.urdf", "--out", tmp_path, "--count", 6)
    assert "Contact was not checked for any link." in said and "safe" not in said
    page = (tmp_path / "report.html").read_text()
    assert "Contact was not checked for any link." in page


def test_messages_keep_their_brackets(capsys, monkeypatch):
    def fail() -> None:
        raise ExcitationError("limit [m] is wrong", remedy="give [deg, m]")

    monkeypatch.setattr("sysid_cli.base.app", fail)
    with pytest.raises(SystemExit):
        cli_run()
    said = capsys.readouterr().err
    assert "[m]" in said and "[deg, m]" in said


@pytest.mark.parametrize("command", ["arm", "payload", "sequential", "check", "show"])
def test_planning_knows_how_the_base_is_mounted(command: str) -> None:
    known = {c.name or c.callback.__name__: c.callback for c in plan.registered_commands}
    assert {"gravity", "mount"} <= set(inspect.signature(known[command]).parameters)


def test_a_motion_for_servos_needs_no_torques_and_has_a_slow_and_a_full_pass(tmp_path):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(TWO_JOINTS, encoding="utf-8")
    out = tmp_path / "plan"
    options = ("--period", 4, "--candidates", 3, "--still", 0.5, "--tcp-speed", 2)
    run("servos", urdf, "--out", out, *options)
    motion = Trajectory.load(out / "trajectory.npz")
    spans = {s.label: (s.start, s.end) for s in motion.segments}
    speed = {}
    for label in ("slow", "full"):
        begin, end = spans[label]
        inside = (motion.time >= begin) & (motion.time <= end)
        speed[label] = np.abs(motion.v[inside]).max()
        assert np.ptp(motion.q[inside], axis=0).min() > 0.1
    assert np.isinf(motion.limits["effort"]).all()
    assert speed["slow"] == pytest.approx(0.25 * speed["full"], rel=0.02)
