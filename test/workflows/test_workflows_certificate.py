# SPDX-License-Identifier: Apache-2.0
"""Certificates hold for the data that they were made from, and for nothing else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from two_joint_arm import URDF, columns, swing
from two_joint_arm import call as status_and_output

from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.robot import RobotModel
from sysid_core.workflows import IdentifySettings, certify, inputs_of


def call(*arguments: object) -> str:
    status, output = status_and_output(*arguments)
    return f"{status}\n{output}"


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An identified and certified arm: robot.urdf, columns.yaml, runs, out/."""
    folder = tmp_path_factory.mktemp("certified")
    (folder / "robot.urdf").write_text(URDF)
    model = RobotModel.from_urdf(URDF)
    for seed, name in enumerate(("train", "test")):
        rng = np.random.default_rng(seed)
        t, q, v, a = swing(rng, 10.0)
        tau = model.inverse_dynamics(q, v, a) + np.tanh(v / 0.01) * [1.0, 0.5] + 0.7 * v
        tau += 0.02 * rng.normal(size=tau.shape)
        np.savetxt(folder / f"{name}.csv", np.column_stack([t, q, v, tau / 4.0]), delimiter=",")
    drives = {"gain": [4.0, 4.0], "gain_sd": 0.01, "source": "made up"}
    (folder / "columns.yaml").write_text(yaml.safe_dump(columns("motor_current", **drives)))
    said = call(
        *("identify", folder / "train.csv", "--robot", folder / "robot.urdf"),
        *("--columns", folder / "columns.yaml", "--validate", folder / "test.csv"),
        *("--out", folder / "out", "--friction", "usual", "--method", "lmi"),
    )
    assert said.startswith("0"), said
    said = call("certify", folder / "out", "--robot-id", "no. 7")
    assert "test.csv: as found" in said
    return folder


def moved(certified: Path, tmp_path: Path) -> Path:
    """The same files in another folder: the certificate looks for them there with --data."""
    return Path(shutil.copytree(certified, tmp_path / "elsewhere"))


def test_the_numbers_are_repeated_from_the_data(certified: Path) -> None:
    said = call("verify", certified / "out/certificate.json")
    assert said.startswith("0") and "repeated from the data" in said
    content = json.loads((certified / "out/certificate.json").read_text())
    assert content["robot"] == "no. 7"
    for run in content["recordings"]:
        assert run["as_left"] < 0.05 < run["as_found"]
    row = next(r for r in content["uncertainty_budget"] if r["name"] == "j1.F_c")
    assert row["drive_gains"] == pytest.approx(0.01 * row["value"])
    assert row["combined"] == pytest.approx(np.hypot(row["fit"], row["drive_gains"]))
    assert row["value"] == pytest.approx(1.0, abs=4 * row["combined"])


@pytest.mark.parametrize(
    "name", ["train.csv", "test.csv", "robot.urdf", "columns.yaml", "out/parameters.yaml"]
)
def test_one_changed_byte_of_data_or_model_fails(
    certified: Path, tmp_path: Path, name: str
) -> None:
    here = moved(certified, tmp_path)
    content = bytearray((here / name).read_bytes())
    content[len(content) // 2] ^= 1
    (here / name).write_bytes(content)
    said = call("verify", here / "out/certificate.json", "--data", here)
    assert said.startswith("1") and f"{Path(name).name} has changed" in said


def test_numbers_that_the_data_dont_give_fail(certified: Path, tmp_path: Path) -> None:
    content = json.loads((certified / "out/certificate.json").read_text())
    content["recordings"][1]["as_left"] *= 0.9
    content["uncertainty_budget"][0]["value"] *= 1.1
    row = next(r for r in content["uncertainty_budget"] if r["name"] == "j1.F_c")
    row |= {"drive_gains": 0.0, "unit": "g"}
    content["verdict"]["outcome"] = "forged"
    content["parameters"] = dict.fromkeys(content["parameters"], 0.1)
    (tmp_path / "certificate.json").write_text(json.dumps(content))
    said = call("verify", tmp_path / "certificate.json")
    assert said.startswith("1") and "as_left of 2: test.csv" in said
    assert f"{content['uncertainty_budget'][0]['name']}: " in said
    assert "drive_gains of j1.F_c: 0.0 stated" in said and "unit of j1.F_c differs" in said
    assert "verdict: forged stated" in said and ": 0.1 stated" in said


def test_parameters_that_the_data_dont_give_are_not_certified(
    certified: Path, tmp_path: Path
) -> None:
    """`parameters.yaml` is what exports and controllers read."""
    folder = tmp_path / "out"
    shutil.copytree(certified / "out", folder)
    content = yaml.safe_load((folder / "parameters.yaml").read_text())
    content["parameters"]["b.m"] *= 1.1
    (folder / "parameters.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(EstimationError, match=r"parameters\.yaml' does not agree"):
        certify(folder)
    (folder / "parameters.yaml").unlink()
    with pytest.raises(SysIdError, match=r"no '.*parameters\.yaml'"):
        certify(folder)


@pytest.mark.parametrize("text", ["[]", "{}", '{"schema": "robot_sysid/certificate/2"}', "no JSON"])
def test_what_is_no_certificate_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "certificate.json").write_text(text)
    with pytest.raises(SysIdError):
        call("verify", tmp_path / "certificate.json")


def test_an_earlier_identification_gives_the_errors_as_found(
    certified: Path, tmp_path: Path
) -> None:
    out = tmp_path / "certificate.json"
    said = call("certify", certified / "out", "--as-found", certified / "out", "--out", out)
    assert said.startswith("0"), said
    for run in json.loads(out.read_text())["recordings"]:
        assert run["as_found"] == pytest.approx(run["as_left"], rel=1e-5)
    assert call("verify", out).startswith("0")


def test_what_changed_since_the_identification_isnt_certified(
    certified: Path, tmp_path: Path
) -> None:
    here = moved(certified, tmp_path)
    text = (here / "out/result.json").read_text().replace(str(certified), str(here))
    (here / "out/result.json").write_text(text)
    with (here / "train.csv").open("a") as file:
        file.write(" ")
    with pytest.raises(EstimationError, match=r"train\.csv changed"):
        call("certify", here / "out")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda inputs: inputs["options"].update(prior_sd="x"),
        lambda inputs: inputs["files"][0].pop("sha256"),
        lambda inputs: inputs.update(files=[5]),
    ],
)
def test_a_result_with_other_provenance_is_refused_not_a_crash(
    certified: Path, tmp_path: Path, spoil
) -> None:
    folder = tmp_path / "out"
    shutil.copytree(certified / "out", folder)
    result = json.loads((folder / "result.json").read_text())
    spoil(result["inputs"])
    (folder / "result.json").write_text(json.dumps(result))
    with pytest.raises(SysIdError, match="input files"):
        certify(folder)


@pytest.mark.parametrize("kind", ["fifo", "endless"])
def test_a_certificate_that_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "certificate.json"
    os.mkfifo(path) if kind == "fifo" else path.symlink_to("/dev/zero")
    with pytest.raises(SysIdError, match="pipe or a device"):
        call("verify", path)


def test_a_result_whose_link_leads_to_itself_is_refused(certified: Path, tmp_path: Path) -> None:
    shutil.copytree(certified / "out", tmp_path / "out")
    path = tmp_path / "out" / "parameters.yaml"
    path.unlink()
    path.symlink_to(path.name)
    with pytest.raises(SysIdError):
        certify(tmp_path / "out")


def test_a_result_says_by_one_key_what_it_was_made_of(
    certified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = json.loads((certified / "out/result.json").read_text())["inputs"]
    there = moved(certified, tmp_path)

    def key(**changed: object) -> str:
        given = {name: getattr(FitSettings(), name) for name in ("friction", "method")}
        settings = IdentifySettings(
            recordings=(there / "train.csv",),
            robot=str(there / "robot.urdf"),
            columns=there / "columns.yaml",
            validate=(there / "test.csv",),
            fit=FitSettings(**(given | {"friction": "usual", "method": "lmi"} | changed)),
        )
        return str(inputs_of(settings)["key"])

    assert key() == stated["key"]  # in another folder
    os.utime(there / "train.csv", (1e9, 1e9))
    assert key() == stated["key"]
    assert key(torque_cutoff_hz=7.0) != stated["key"]
    for name in ("train.csv", "robot.urdf", "columns.yaml"):
        before = (there / name).read_bytes()
        (there / name).write_bytes(before + b"\n")
        assert key() != stated["key"], name
        (there / name).write_bytes(before)
    assert key() == stated["key"]
    monkeypatch.setattr("sysid_core.workflows.inputs.code_hash", lambda: "another version")
    assert key() != stated["key"]
    said = call("verify", certified / "out/certificate.json")
    assert said.startswith("0") and "with another version of the code" in said


def test_a_robot_named_from_where_one_stood_is_found_from_elsewhere(
    certified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = moved(certified, tmp_path)
    monkeypatch.chdir(here)
    fit = ("--friction", "usual", "--method", "ols", "--lock", "j2=0.1")
    chosen = {"position": {"columns": [1]}, "velocity": {"columns": [3]}}
    efforts = {"effort": {"columns": [5], "kind": "motor_current"}}
    one = columns("motor_current", gain=[4.0], gain_sd=0.01, source="made up")
    Path("one.yaml").write_text(yaml.safe_dump(one | chosen | efforts | {"joints": ["j1"]}))
    said = call("identify", "train.csv", "--robot", "robot.urdf", "--columns", "one.yaml",
                "--out", "one", *fit)  # fmt: skip
    assert said.startswith("0"), said
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robot.urdf").write_text("another robot")
    assert call("certify", here / "one").startswith("0")
    there = shutil.move(here, tmp_path / "moved")
    (tmp_path / "moved" / "another").mkdir()  # which has recordings of the same names
    shutil.copy(tmp_path / "moved" / "test.csv", tmp_path / "moved" / "another" / "train.csv")
    shutil.move(tmp_path / "moved" / "train.csv", tmp_path / "moved" / "one" / "train.csv")
    said = call("verify", Path(there) / "one/certificate.json", "--data", there)
    assert said.startswith("0") and "another version" not in said
