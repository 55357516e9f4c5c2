# SPDX-License-Identifier: Apache-2.0
"""Certificates hold for what they were signed for, and for nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from two_joint_arm import URDF, columns, swing
from two_joint_arm import call as status_and_output

from sysid_core.certificate import Certificate, load_or_make_key, public_key
from sysid_core.errors import EstimationError
from sysid_core.robot import RobotModel


def call(*arguments: object) -> str:
    status, output = status_and_output(*arguments)
    return f"{status}\n{output}"


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An identified and certified arm: robot.urdf, columns.yaml, runs, out/, key.pem."""
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
    said = call("certify", folder / "out", "--key", folder / "key.pem", "--robot-id", "no. 7")
    assert "made the key" in said and "test.csv: as found" in said
    return folder


def moved(certified: Path, tmp_path: Path) -> Path:
    """The same files in another folder: the certificate looks for them there with --data."""
    return Path(shutil.copytree(certified, tmp_path / "elsewhere"))


def test_the_numbers_are_repeated_from_the_data(certified: Path) -> None:
    said = call("verify", certified / "out/certificate.json", "--public-key", certified / "key.pub")
    assert said.startswith("0") and "repeated from the data" in said
    content = Certificate.load(certified / "out/certificate.json").content
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


def test_every_changed_byte_of_the_certificate_fails(certified: Path, tmp_path: Path) -> None:
    text = (certified / "out/certificate.json").read_bytes()
    path = tmp_path / "certificate.json"
    survived = []
    for place in np.random.default_rng(0).choice(len(text), 300, replace=False).tolist():
        if text[place : place + 1].isspace():
            continue  # blanks between words of JSON say nothing
        path.write_bytes(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :])
        try:
            if Certificate.load(path).valid:
                survived.append(place)
        except Exception:
            continue  # no JSON any more
    assert not survived


def test_another_signer_is_noticed(certified: Path, tmp_path: Path) -> None:
    stranger, made = load_or_make_key(tmp_path / "stranger.pem")
    assert made and (tmp_path / "stranger.pem").stat().st_mode & 0o077 == 0
    content = Certificate.load(certified / "out/certificate.json").content
    path = tmp_path / "certificate.json"
    Certificate.signed(content, stranger).save(path)
    assert Certificate.load(path).key == public_key(tmp_path / "stranger.pub")
    said = call("verify", path, "--public-key", certified / "key.pub")
    assert said.startswith("1") and "expected" in said


def test_numbers_that_the_data_dont_give_fail_though_signed(
    certified: Path, tmp_path: Path
) -> None:
    key, _ = load_or_make_key(certified / "key.pem")
    content = json.loads(json.dumps(Certificate.load(certified / "out/certificate.json").content))
    content["recordings"][1]["as_left"] *= 0.9
    Certificate.signed(content, key).save(tmp_path / "certificate.json")
    said = call("verify", tmp_path / "certificate.json")
    assert said.startswith("1") and "as_left of 2: test.csv" in said


def test_what_changed_since_the_identification_isnt_certified(
    certified: Path, tmp_path: Path
) -> None:
    here = moved(certified, tmp_path)
    text = (here / "out/result.json").read_text().replace(str(certified), str(here))
    (here / "out/result.json").write_text(text)
    with (here / "train.csv").open("a") as file:
        file.write(" ")
    with pytest.raises(EstimationError, match=r"train\.csv changed"):
        call("certify", here / "out", "--key", certified / "key.pem")
