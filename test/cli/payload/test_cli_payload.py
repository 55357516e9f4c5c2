# SPDX-License-Identifier: Apache-2.0
"""`sysid payload`: every method on one recording, the default being the best."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import sysid_core.signals.bags
from sysid_cli.app import app
from sysid_core.errors import SignalError
from sysid_core.reasons import Reason, Verdict
from sysid_core.robot import RobotModel, StaticTransform, wrench_regressor
from sysid_core.robot.shapes import Shape
from sysid_core.signals import JointStream, Mark, Recording, WrenchStream
from sysid_core.signals.wrench import SensorCalibration
from sysid_core.workflows import WeighedRecording
from sysid_core.workflows.torque_weighing import WeighedByTorques

SHAPE = Shape.box((0.2, 0.1, 0.06), centre=(0.0, 0.0, 0.05))


@pytest.fixture
def run(rng, monkeypatch, tmp_path):
    """A recorded swing of a box with uneven density, its truth and calibration as files."""
    robot = RobotModel.from_urdf("xarm7")
    masses = SHAPE.volumes * rng.uniform(0.4, 3.0, len(SHAPE))
    pi = SHAPE.parameters_per_mass @ masses * (1.3 / masses.sum())
    time = np.arange(0.0, 4.0, 0.01)
    rates = np.linspace(0.5, 2.5, robot.nv)
    angle = np.outer(time, rates)
    q, v, a = 0.5 * np.sin(angle), 0.5 * rates * np.cos(angle), -0.5 * rates**2 * np.sin(angle)
    motion = robot.frame_motion("link7", q, v, a)
    wrench = wrench_regressor(motion.a, motion.omega, motion.alpha) @ pi
    wrench = wrench + np.repeat([0.1, 0.005], 3) * rng.normal(size=wrench.shape)
    stamps = (time * 1e9).astype(np.int64)
    recording = Recording(
        joints=JointStream(robot.joint_names, stamps, q + 1e-4 * rng.normal(size=q.shape)),
        wrench=WrenchStream("link7", stamps, wrench),
        marks=(
            Mark(int(stamps[50]), "oscillation:start"),
            Mark(int(stamps[-1]), "oscillation:end"),
        ),
        urdf_xml=robot.urdf_xml,
    )
    (tmp_path / "bag").mkdir()
    monkeypatch.chdir(tmp_path)
    bag = SimpleNamespace(topics=())
    monkeypatch.setattr(sysid_core.signals.bags.StoredBag, "open", lambda path: bag)
    monkeypatch.setattr(sysid_core.signals.bags, "read_bag", lambda bag, **options: recording)
    (tmp_path / "truth.yaml").write_text(yaml.safe_dump({"pi": pi.tolist()}))
    SensorCalibration("", np.zeros(6), np.zeros(4), np.zeros((10, 10))).save(
        tmp_path / "sensor.yaml"
    )
    shape = tmp_path / "shape.yaml"
    box = {"size": [0.2, 0.1, 0.06], "centre": [0.0, 0.0, 0.05]}
    shape.write_text(yaml.safe_dump({"boxes": [box]}))
    return tmp_path, pi


def payload(folder, *options):
    command = ["payload", "bag", "--sensor-frame", "link7", "--shape", str(folder / "shape.yaml")]
    command += ["--calibration", str(folder / "sensor.yaml"), "--out", str(folder / "out")]
    return CliRunner().invoke(app, [*command, "--truth", str(folder / "truth.yaml"), *options])


def test_all_methods_answer_and_the_default_is_the_joint_one(run, clicks):
    folder, pi = run
    result = payload(folder, "--json", "-")
    assert result.exit_code == 0, result.output + repr(result.exception)
    answer = json.loads(result.stdout)
    assert answer["estimate"]["method"] == "MAP"
    assert {"map", "map-running", "pmd", "ols", "homogeneous"} <= set(answer["methods"])
    for name in ("map", "map-running"):
        assert answer["methods"][name][0] == pytest.approx(pi[0], rel=0.02)
    clicks(folder / "out" / "report.html", "screen", "phone")
    assert (folder / "out" / "estimate.yaml").is_file()


def test_tf_static_in_the_bag_says_where_the_sensor_is(run, monkeypatch):
    folder, pi = run
    whole = sysid_core.signals.bags.read_bag("bag")
    half = np.sqrt(0.5)
    mounting = StaticTransform("link7", "ft", (0.0, 0.0, 0.1), (0.0, 0.0, half, half))
    R, p = mounting.pose.rotation, mounting.pose.translation
    force, torque = whole.wrench.wrench[:, :3], whole.wrench.wrench[:, 3:]
    there = np.hstack([force @ R, (torque - np.cross(p, force)) @ R])
    wrench = replace(whole.wrench, frame="ft", wrench=there)
    other = replace(whole, wrench=wrench, transforms=(mounting,))
    monkeypatch.setattr(sysid_core.signals.bags, "read_bag", lambda bag, **options: other)
    command = ["payload", "bag", "--sensor-frame", "ft", "--out", str(folder / "out")]
    command += ["--calibration", str(folder / "sensor.yaml"), "--no-compare", "--json", "-"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output + repr(result.exception)
    values = np.array(json.loads(result.stdout)["methods"]["map"])
    assert values[0] == pytest.approx(pi[0], rel=0.02)
    com = R.T @ (pi[1:4] / pi[0] - p)
    np.testing.assert_allclose(values[1:4] / values[0], com, atol=3e-3)
    assert "'ft' is fixed to 'link7', according to tf_static" in " ".join(result.stderr.split())


def test_an_unknown_method_is_refused(run):
    folder, _ = run
    result = payload(folder, "--method", "guess")
    assert isinstance(result.exception, SignalError)
    assert "guess" in str(result.exception)


@pytest.mark.parametrize("text", ["just words", "pi: [1, 2]", "pi: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"])
def test_a_truth_without_ten_parameters_is_refused_by_name(run, text):
    folder, _ = run
    (folder / "truth.yaml").write_text(text)
    result = payload(folder)
    assert isinstance(result.exception, SignalError)
    assert "truth.yaml" in str(result.exception)


def test_without_a_shape_mass_and_centre_are_known(run):
    folder, pi = run
    command = ["payload", "bag", "--sensor-frame", "link7", "--out", str(folder / "out")]
    command += ["--calibration", str(folder / "sensor.yaml"), "--no-compare", "--json", "-"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output + repr(result.exception)
    values = json.loads(result.stdout)["methods"]["map"]
    assert values[0] == pytest.approx(pi[0], rel=0.02)
    assert np.allclose(np.array(values[1:4]) / values[0], pi[1:4] / pi[0], atol=3e-3)


def test_a_calibrated_sensor_gives_smaller_deviations_and_settings_for_controllers(run):
    folder, _ = run
    sds = []
    for quality in ("ordinary", "calibrated"):
        answer = json.loads(
            payload(folder, "--sensor", quality, "--no-compare", "--json", "-").stdout
        )
        sds.append(answer["estimate"]["parameters"][0]["sd"])
        assert set(answer["controllers"]) == {"UR", "Franka", "xArm", "KUKA", "ABB", "FANUC"}
        assert answer["controllers"]["UR"]["error_torque"] < 0.02
    assert sds[1] < 0.3 * sds[0]
    assert "guess" in str(payload(folder, "--sensor", "guess").exception)


@pytest.mark.parametrize(("reasons", "vendors"), [((), 6), ((Reason.failure("no-body"),), 0)])
def test_a_failed_verdict_leaves_nothing_to_paste(reasons, vendors):
    """Console, report and result.json all take the vendors' settings from here."""
    estimate = SimpleNamespace(
        values=np.array([1.0, 0.0, 0.0, 0.1, 0.02, 0.0, 0.02, 0.0, 0.0, 0.01]),
        covariance=1e-6 * np.eye(10),
    )
    unused = [None] * 11
    weighed = WeighedRecording(estimate, Verdict(reasons), *unused)
    assert len(weighed.settings) == vendors
    by_torques = WeighedByTorques(SimpleNamespace(estimate=estimate), None, None, Verdict(reasons))
    assert len(by_torques.settings) == vendors


def test_repeated_weighings_are_a_table_with_their_scatter(run):
    folder, _ = run
    for name in "abc":
        (folder / "bags" / name).mkdir(parents=True)
    command = ["payload", "--repeat", str(folder / "bags"), "--sensor-frame", "link7"]
    command += ["--calibration", str(folder / "sensor.yaml"), "--out", str(folder / "out")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert "Repeated results" in result.stdout
    found = json.loads((folder / "out" / "repeatability.json").read_text())
    assert found["mass_scatter"] == pytest.approx(0.0, abs=1e-9)
    assert set(found["mass_tolerance"]) == {"0.1", "0.3"}
    assert isinstance(
        CliRunner().invoke(app, ["payload", "bag", *command[1:]]).exception, SignalError
    )


def test_a_wrench_with_a_clock_of_its_own_is_put_on_the_joints_clock_in_the_open(run, monkeypatch):
    folder, pi = run
    whole = sysid_core.signals.bags.read_bag("bag")
    wrench = whole.wrench
    late = wrench.stamps_ns + 60_000_000 + np.round(1e-4 * wrench.stamps_ns).astype(np.int64)
    other = replace(whole, wrench=replace(wrench, stamps_ns=late))
    monkeypatch.setattr(sysid_core.signals.bags, "read_bag", lambda bag, **options: other)
    result = payload(folder, "--json", "-")
    text = " ".join(result.output.split())
    found = re.search(r"clock of the joint states: they are ([\d.]+) ± ([\d.]+) ms late", text)
    assert found and abs(float(found[1]) - 60.2) < 4.0 * float(found[2]) + 0.1
    mended = json.loads(result.stdout)["methods"]["map"]
    assert mended[0] == pytest.approx(pi[0], rel=0.02)
    stamped = json.loads(payload(folder, "--json", "-", "--clock", "as-stamped").stdout)
    there = np.abs(np.array(stamped["methods"]["map"]) - pi)[1:4]
    assert np.all(np.abs(np.array(mended) - pi)[1:4].max() < there.max())


def test_a_table_of_still_postures_is_weighed_whatever_the_sign_of_its_wrench(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    """Twelve poses without time, the wrench that of the load on the sensor: f = +m g."""
    R = Rotation.random(12, rng=rng)
    force = 0.9 * R.inv().apply([0.0, 0.0, -9.81])
    torque = np.cross([0.01, -0.02, 0.05], force)
    wrench = np.hstack([force, torque]) + rng.normal(size=(12, 6)) * 0.01
    table = np.hstack([rng.normal(size=(12, 3)), R.as_quat(), wrench + [1, -2, 3, 0.1, 0, -0.1]])
    names = "x,y,z,qx,qy,qz,qw,fx,fy,fz,tx,ty,tz"
    np.savetxt(tmp_path / "still.csv", table, delimiter=",", header=names, comments="")
    out = tmp_path / "out"
    done = CliRunner().invoke(
        app, ["payload", str(tmp_path / "still.csv"), "--still", "--out", str(out)]
    )
    assert done.exit_code in (0, 1), done.output
    result = json.loads((out / "result.json").read_text())
    mass = next(p for p in result["estimate"]["parameters"] if p["name"] == "payload.m")
    assert abs(mass["value"] - 0.9) < 3.0 * mass["sd"]
    assert any("load on the sensor" in note for note in result["notes"])
