# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from two_joint_arm import URDF, columns, swing
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation import Estimate
from sysid_core.robot import RobotModel


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """A URDF, a column map and two runs of the robot, with friction and noise."""
    folder = tmp_path_factory.mktemp("arm")
    (folder / "robot.urdf").write_text(URDF)
    model = RobotModel.from_urdf(URDF)
    for seed, name in enumerate(("train", "test")):
        rng = np.random.default_rng(seed)
        t, q, v, a = swing(rng, 12.0)
        tau = model.inverse_dynamics(q, v, a) + np.tanh(v / 0.01) * [1.0, 0.5] + 0.7 * v + 0.1 * a
        tau += 0.02 * rng.normal(size=tau.shape)
        np.savetxt(folder / f"{name}.csv", np.column_stack([t, q, v, tau / 4.0]), delimiter=",")
    drives = {"gain": [4.0, 4.0], "source": "made up"}
    (folder / "columns.yaml").write_text(yaml.safe_dump(columns("motor_current", **drives)))
    return folder


def run(files: Path, *arguments: str, train: str = "train.csv", columns: str = "columns.yaml"):
    return CliRunner().invoke(
        app,
        [
            "identify",
            str(files / train),
            *("--robot", str(files / "robot.urdf")),
            *(("--columns", str(files / columns)) if columns else ()),
            *arguments,
        ],
    )


def test_files_and_numbers_are_written(files, tmp_path, clicks):
    result = run(files, "--validate", str(files / "test.csv"), "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "result.json").read_text())
    assert found["rank"] == found["structural_rank"] > 10
    assert 1.0 < found["condition_number"] < 1e3
    assert isinstance(found["physically_consistent"], bool)
    for joint in ("j1", "j2"):
        for kind in ("training", "validation"):
            assert found["joints"][joint][kind]["r2"] > 0.99
            assert found["joints"][joint][kind]["rms"] < 0.1
    assert Estimate.load(tmp_path / "estimate.yaml").method == "lmi"
    page = (tmp_path / "report.html").read_text()
    assert page.count('class="chart"') >= 6 and "Contribution of each friction term" in page
    clicks(tmp_path / "report.html", "screen", "phone")


def test_json_on_standard_output_is_pure(files, tmp_path):
    result = run(files, "--out", str(tmp_path), "--json", "-", "--method", "irls")
    assert json.loads(result.stdout)["method"] == "irls"


def test_a_physical_model_is_written_back_and_validated(files, tmp_path, clicks):
    result = run(files, "--out", str(tmp_path), "--method", "lmi", "--friction", "auto")
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "result.json").read_text())
    assert found["physically_consistent"] is True
    assert abs(found["delay"]) < 0.002
    RobotModel.from_urdf(tmp_path / "identified.urdf")
    assert (
        "lmi, about the link's frame; measured alone" in (tmp_path / "identified.urdf").read_text()
    )
    arguments = [
        *("validate", str(tmp_path), str(files / "test.csv")),
        *("--robot", str(files / "robot.urdf"), "--columns", str(files / "columns.yaml")),
        *("--out", str(tmp_path / "v"), "--json", "-"),
    ]
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0, again.output
    judged = json.loads(again.stdout)
    assert judged["verdict"]["outcome"] == "pass"
    at = arguments.index("--columns")
    stored = CliRunner().invoke(
        app, [*arguments[:at], *arguments[at + 2 :]]
    )  # with those of the fit
    assert json.loads(stored.stdout)["runs"] == judged["runs"], stored.output
    export = found["exports"][0]  # a URDF has no field for the drives' inertia of this arm
    assert (export["warning"], export["rise"] > 2.0) == (True, True)
    assert max(export["lost_terms"], key=export["lost_terms"].get) == "inertia"
    assert all("identified.urdf" in reason for reason in found["verdict"]["warnings"])
    assert judged["runs"][0]["relative_error"] < 0.05
    clicks(tmp_path / "v" / "validation.html")


def test_a_table_without_any_column_map_is_a_usage_error(files, tmp_path):
    run(files, "--out", str(tmp_path))
    found = json.loads((tmp_path / "result.json").read_text())
    del found["inputs"]["options"]["columns"]
    (tmp_path / "result.json").write_text(json.dumps(found))
    call = [
        "validate",
        str(tmp_path),
        str(files / "test.csv"),
        "--robot",
        str(files / "robot.urdf"),
    ]
    assert isinstance(CliRunner().invoke(app, call).exception, SignalError)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("--method", "magic"), {}, EstimationError, "magic"),
        (("--friction", "honey"), {}, EstimationError, "honey"),
        (("--delay", "soon"), {}, EstimationError, "soon"),
        (("--fix", "link9"), {}, EstimationError, "link9"),
        ((), {"columns": ""}, SignalError, "column map"),
        ((), {"train": "nothing.csv"}, SignalError, "no recording"),
    ],
)
def test_misuse_names_the_thing(files, tmp_path, arguments, options, error, message):
    result = run(files, "--out", str(tmp_path), *arguments, **options)
    assert isinstance(result.exception, error)
    assert message in str(result.exception)


def test_another_robots_joints_are_refused(files, tmp_path):
    raw = yaml.safe_load((files / "columns.yaml").read_text())
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({**raw, "joints": ["shoulder", "j2"]}))
    (tmp_path / "robot.urdf").write_text(URDF)
    (tmp_path / "train.csv").write_text((files / "train.csv").read_text())
    result = run(tmp_path, "--out", str(tmp_path), columns="c.yaml")
    assert "j1" in str(result.exception)


def test_a_bag_gives_the_same_estimate_as_its_table(files, tmp_path):
    from sysid_core.signals.bags import BagWriter, build_typestore

    store = build_typestore()
    types, joint_state = store.types, "sensor_msgs/msg/JointState"
    table = np.loadtxt(files / "train.csv", delimiter=",")
    with BagWriter(tmp_path / "bag") as writer:
        writer.add_topic("/joint_states", joint_state)
        for row in table:
            t_ns = 10**18 + round(row[0] * 1e9)
            stamp = types["builtin_interfaces/msg/Time"](*divmod(t_ns, 10**9))
            message = types[joint_state](
                header=types["std_msgs/msg/Header"](stamp=stamp, frame_id=""),
                name=["j2", "j1"],  # another order than the robot's
                position=row[[2, 1]],
                velocity=row[[4, 3]],
                effort=row[[6, 5]],
            )
            writer.write("/joint_states", bytes(store.serialize_cdr(message, joint_state)), t_ns)
    arguments = ("--robot", str(files / "robot.urdf"), "--columns", str(files / "columns.yaml"))
    for source, out in ((tmp_path / "bag", "a"), (files / "train.csv", "b")):
        command = ["identify", str(source), *arguments, "--out", str(tmp_path / out)]
        assert CliRunner().invoke(app, command).exit_code == 0
    a, b = (Estimate.load(tmp_path / out / "estimate.yaml") for out in ("a", "b"))
    assert a.values == pytest.approx(b.values, rel=1e-6)
    torque_only = ["identify", str(tmp_path / "bag"), *arguments[:2], "--out", str(tmp_path / "c")]
    undeclared = CliRunner().invoke(app, torque_only)
    assert "declared" in str(undeclared.exception)
