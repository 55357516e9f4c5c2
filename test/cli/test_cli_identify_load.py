# SPDX-License-Identifier: Apache-2.0
"""Loads, locked joints and what users give by mistake, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import EstimationError, ModelError, SignalError, SysIdError
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia

BODY = """<link name="{0}"><inertial><mass value="{1}"/><origin xyz="{2} 0.01 0"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>
<origin xyz="{4} 0 0"/><axis xyz="{5}"/>
<limit lower="-3" upper="3" effort="50" velocity="5"/></joint>"""
URDF = (
    '<robot name="gripped"><link name="base"/>'
    + BODY.format("a", 3.0, 0.1)
    + BODY.format("b", 1.0, 0.12)
    + BODY.format("finger", 0.2, 0.02)
    + JOINT.format("j1", "revolute", "base", "a", 0.0, "0 1 0")
    + JOINT.format("j2", "revolute", "a", "b", 0.25, "0 1 0")
    + JOINT.format("slide", "prismatic", "b", "finger", 0.2, "1 0 0")
    + "</robot>"
)
GAINS = np.array([12.0, 7.0])
OPEN = 0.04  # [m], where the gripper stays
COM = [0.1, 0.0, 0.03]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """Runs without and with 2 kg in the gripper, as currents."""
    folder = tmp_path_factory.mktemp("gripped")
    (folder / "robot.urdf").write_text(URDF)
    arm = RobotModel.from_urdf(URDF).with_locked({"slide": OPEN})
    pi = arm.pi.copy()
    pi[1] += pi_from_mass_com_inertia(2.0, COM, np.eye(3) * 0.01)
    for seed, (name, model) in enumerate(
        (("empty", arm), ("loaded", arm.with_pi(pi)), ("test", arm))
    ):
        rng = np.random.default_rng(seed)
        t = np.arange(0.0, 20.0, 0.01)
        w = 2 * np.pi * 0.12 * np.arange(1, 5)
        A = rng.normal(size=(4, 2)) * 0.4
        q, v = np.sin(t[:, None] * w) @ A, (np.cos(t[:, None] * w) * w) @ A
        a = -(np.sin(t[:, None] * w) * w**2) @ A
        tau = model.inverse_dynamics(q, v, a) + np.tanh(v / 0.01) * [1.0, 0.5] + 0.7 * v
        current = (tau + 0.02 * rng.normal(size=tau.shape)) / GAINS
        np.savetxt(folder / f"{name}.csv", np.column_stack([t, q, v, current]), delimiter=",")
    columns = {
        "schema": "robot_sysid/columns/1",
        "joints": ["j1", "j2"],
        "time": {"column": 0},
        "position": {"columns": [1, 2]},
        "velocity": {"columns": [3, 4]},
        "effort": {"columns": [5, 6], "kind": "motor_current"},
        "drives": {"gain": "unknown"},
    }
    (folder / "columns.yaml").write_text(yaml.safe_dump(columns))
    return folder


def run(files: Path, out: Path, *arguments: str, columns: str | Path = "columns.yaml"):
    common = ("--robot", str(files / "robot.urdf"), "--columns", str(files / columns))
    common = (*common, "--friction", "usual")  # the terms that the runs were made with
    command = ["identify", str(files / "empty.csv"), *common, "--out", str(out), *arguments]
    return CliRunner().invoke(app, command)


def lock(*positions: float) -> tuple[str, ...]:
    return tuple(x for q in positions or (OPEN,) for x in ("--lock", f"slide={q}"))


def loaded(files: Path, *more: str) -> tuple[str, ...]:
    return ("--loaded", str(files / "loaded.csv"), *more)


@pytest.mark.parametrize("method", ["ols", "lmi"])
def test_a_known_load_gives_gains_that_the_next_run_can_use(files, tmp_path, method):
    options = (*lock(), *loaded(files, "--load-mass", "2.0", "--load-frame", "b"))
    result = run(files, tmp_path, *options, "--method", method)
    assert result.exit_code == 0, result.exception
    found = json.loads((tmp_path / "result.json").read_text())
    for joint, gain in zip(("j1", "j2"), GAINS, strict=True):
        one = found["drive_gains"][joint]
        assert one["gain"] == pytest.approx(gain, rel=0.02)
        assert abs(one["gain"] - gain) < 3.0 * one["sd"] < 0.1 * gain
    assert np.array(found["load"]["com"])[[0, 2]] == pytest.approx(
        np.array(COM)[[0, 2]], abs=3 * max(found["load"]["com_sd"][0], found["load"]["com_sd"][2])
    )
    assert len(found["training"]) == 2
    assert all(one["relative_error"] < 0.03 for one in found["training"])
    assert "Drive gains, by the known load" in (tmp_path / "report.html").read_text()
    if method == "ols":
        _certify(tmp_path)
    assert "centre of mass [m]" in result.output
    # The next run takes the map; `validate` remembers what was locked.
    again = run(files, tmp_path / "again", *lock(), columns=tmp_path / "columns.yaml")
    assert again.exit_code == 0, again.exception
    command = ["validate", str(tmp_path), str(files / "test.csv"), "--json", "-"]
    command += ["--robot", str(files / "robot.urdf"), "--columns", str(tmp_path / "columns.yaml")]
    validated = CliRunner().invoke(app, command)
    assert validated.exit_code == 0, validated.exception
    assert json.loads(validated.stdout)["runs"][0]["relative_error"] < 0.03
    if method == "lmi":  # the locked gripper is part of the hand
        written = RobotModel.from_urdf(tmp_path / "identified.urdf")
        assert written.joint_names == ("j1", "j2")


def test_the_arm_found_with_a_load_weighs_other_loads(files, tmp_path):
    """`payload-torques --arm` accepts the estimate and ignores the gains and the load in it."""
    options = (*loaded(files, "--load-mass", "2.0", "--load-frame", "b"), "--method", "lmi")
    rigid = URDF.replace('type="prismatic"', 'type="fixed"')
    (tmp_path / "robot.urdf").write_text(rigid)
    for name in ("empty.csv", "loaded.csv", "columns.yaml"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    assert run(tmp_path, tmp_path / "arm", *options).exit_code == 0
    command = ["payload-torques", str(files / "loaded.csv"), "--frame", "b", "--friction", "usual"]
    command += ["--robot", str(tmp_path / "robot.urdf"), "--out", str(tmp_path / "payload")]
    command += ["--columns", str(tmp_path / "arm" / "columns.yaml"), "--json", "-"]
    result = CliRunner().invoke(app, [*command, "--arm", str(tmp_path / "arm" / "estimate.yaml")])
    assert result.exit_code == 0, result.exception
    found = json.loads(result.stdout)
    assert found["mass"] == pytest.approx(2.0, abs=max(0.1, 3.0 * found["mass_sd"]))


def test_a_known_centre_of_mass_is_kept(files, tmp_path):
    known = ("--load-mass", "2.0", "--load-com", ",".join(map(str, COM)))
    result = run(files, tmp_path, *lock(), *loaded(files, *known))
    assert result.exit_code == 0, result.exception
    found = json.loads((tmp_path / "result.json").read_text())
    assert found["load"]["com"] == pytest.approx(COM)
    assert found["drive_gains"]["j2"]["gain"] == pytest.approx(GAINS[1], rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "error", "message", "remedy"),
    [
        ((), ModelError, "slide", "--lock slide"),
        (("--lock", "slide"), SignalError, "gains are unknown", "--loaded"),
        (("--lock", "slide=wide"), ModelError, "not a finite number", "--lock JOINT=POSITION"),
        (("--lock", "thumb"), ModelError, "thumb", "j1, j2, slide"),
        (("--lock", "slide", "--load-mass", "2"), EstimationError, "no recording", "--loaded"),
        (("--lock", "slide", "--loaded", "{}"), EstimationError, "mass", "--load-mass"),
        (
            ("--lock", "slide", "--loaded", "{}", "--load-mass", "2", "--load-frame", "palm"),
            *(ModelError, "palm", "finger"),
        ),
        (
            ("--lock", "slide", "--loaded", "{}", "--load-mass", "2", "--load-frame", "base"),
            *(EstimationError, "no joint carries", "flange"),
        ),
        (
            ("--lock", "slide", "--loaded", "{}", "--load-mass", "2", "--load-com", "0,1"),
            *(EstimationError, "3 numbers", "with commas"),
        ),
        (
            ("--lock", "slide", "--loaded", "{}", "--method", "sequential"),
            *(EstimationError, "--loaded", "Omit one"),
        ),
    ],
)
def test_misuse_says_what_to_do(files, tmp_path, arguments, error, message, remedy):
    given = [str(files / "loaded.csv") if a == "{}" else a for a in arguments]
    result = run(files, tmp_path, *given)
    assert isinstance(result.exception, error), result.exception
    assert message in result.exception.message and remedy in result.exception.remedy


def test_a_load_that_does_not_show_is_not_guessed_from(files, tmp_path):
    unmoved = np.loadtxt(files / "loaded.csv", delimiter=",")
    unmoved[:, 1:5] = unmoved[0, 1:5] * [1, 1, 0, 0]
    np.savetxt(tmp_path / "loaded.csv", unmoved, delimiter=",")
    result = run(files, tmp_path, *lock(), *loaded(tmp_path, "--load-mass", "2.0"))
    assert isinstance(result.exception, SysIdError)


def test_numbers_that_are_not_finite_are_null(files, tmp_path):
    """A joint that was recorded, at rest and without effort: nothing explains its variance."""
    table = np.loadtxt(files / "empty.csv", delimiter=",")
    still = np.column_stack([table, np.full(len(table), OPEN), np.zeros((len(table), 2))])
    np.savetxt(tmp_path / "empty.csv", still, delimiter=",")
    (tmp_path / "robot.urdf").write_text(URDF)
    raw = yaml.safe_load((files / "columns.yaml").read_text())
    raw["joints"].append("slide")
    for key, column in (("position", 7), ("velocity", 8), ("effort", 9)):
        raw[key]["columns"].append(column)
    raw["drives"] = {"gain": [*GAINS.tolist(), 1.0], "source": "as simulated"}
    (tmp_path / "columns.yaml").write_text(yaml.safe_dump(raw))
    result = run(tmp_path, tmp_path / "out")
    assert result.exit_code == 0, result.exception

    def refused(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    text = (tmp_path / "out" / "result.json").read_text()
    found = json.loads(text, parse_constant=refused)
    assert found["joints"]["slide"]["training"]["r2"] is None


def _certify(out: Path) -> None:
    """The result is certified and verified by running its command again, elsewhere too."""
    cli = CliRunner()
    result = cli.invoke(app, ["certify", str(out)])
    assert result.exit_code == 0, result.exception
    certificate = json.loads((out / "certificate.json").read_text())
    assert {f["role"] for f in certificate["files"]} >= {"loaded", "recordings", "robot"}
    result = cli.invoke(app, ["verify", str(out / "certificate.json")])
    assert result.exit_code == 0, result.output
