# SPDX-License-Identifier: Apache-2.0
"""Names that `sysid_core` itself exports: few, quick to import, each with an example."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from two_joint_arm import write_arm

import sysid_core as sysid

ROOT = Path(__file__).resolve().parent.parent
UR5 = ROOT / "examples" / "ur5"


def test_importing_the_front_door_imports_no_numerics() -> None:
    code = "import sys, sysid_core; sys.exit('numpy' in sys.modules or len(dir(sysid_core)) < 14)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", sysid.__all__)
def test_a_name_has_an_example(name: str) -> None:  # test_examples runs it
    thing = getattr(sysid, name)
    text = inspect.getdoc(thing) or ""
    assert "Examples:" in text
    if inspect.isfunction(thing):
        assert all(part in text for part in ("Args:", "Returns:", "Raises:"))
    (test,) = doctest.DocTestFinder(recurse=False).find(thing, name)
    assert test.examples


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("arm")
    write_arm(folder)
    return folder


def identified(arm: Path, recording: object):
    fit = {"method": "ols", "friction": "usual", "columns": arm / "columns.yaml"}
    return sysid.identify(arm / "robot.urdf", recording, **fit)


@pytest.fixture(scope="module")
def from_file(arm: Path):
    return identified(arm, arm / "train.csv")


def test_what_was_written_is_loaded_by_its_schema(from_file, tmp_path: Path) -> None:
    from_file.write(tmp_path)
    assert np.array_equal(sysid.load(tmp_path).values, from_file.estimate.values)
    assert sysid.load(tmp_path / "result.json")["schema"] == "robot_sysid/identification/1"
    for name, content in (("a.yaml", "x: 1"), ("b.json", "[]"), ("c.yaml", "schema: other/1")):
        (tmp_path / name).write_text(content)
        with pytest.raises(sysid.SysIdError):
            sysid.load(tmp_path / name)
    with pytest.raises(sysid.SysIdError):
        sysid.load(tmp_path / "nowhere.yaml")


def test_arrays_that_dont_belong_together_are_refused() -> None:
    with pytest.raises(sysid.SysIdError):
        sysid.Recording.from_arrays(["j1", "j2"], [0.0, 0.1], [[0.0], [0.1]])
    with pytest.raises(sysid.SysIdError, match="alpha"):
        sysid.weigh({"time": [0.0], "wrench": np.zeros((1, 6)), "a": np.zeros((1, 3))})
    with pytest.raises(sysid.SysIdError, match="frame of the sensor"):
        sysid.weigh(sysid.Recording.from_arrays(["j1"], [0.0], [[0.0]]))


# Ten samples of a sensor that is neither moved nor in a field of gravity.
RESTING = {name: np.zeros((10, 3)) for name in ("a", "omega", "alpha", "gravity")}
RESTING |= {"time": np.arange(10) * 0.01, "wrench": np.zeros((10, 6))}


@pytest.mark.parametrize(
    "call",
    [
        lambda: sysid.identify("ur5", 5),
        lambda: sysid.identify(5, "examples/ur5/train.csv"),
        lambda: sysid.identifiable(None),
        lambda: sysid.weigh(None),
        lambda: sysid.weigh(RESTING),
        lambda: sysid.weigh(RESTING, shape="cube 1"),
        lambda: sysid.plan_motion("ur5", n_harmonics=0),
    ],
)
def test_what_is_neither_robot_nor_recording_is_refused_with_a_remedy(call) -> None:
    with pytest.raises(sysid.SysIdError) as error:
        call()
    assert error.value.remedy


def test_arguments_of_other_kinds_are_named() -> None:
    robot = sysid.Robot.from_urdf("ur5")
    limits = sysid.Limits.from_model("ur5", self_collision=False)  # a name is a robot
    for call, argument in (
        (lambda: sysid.Limits.from_model(5), "model"),
        (lambda: sysid.check_motion(robot, None, limits), "trajectory"),
        (lambda: sysid.check_motion(None, None, limits), "model"),
        (lambda: sysid.Shape.box((0.1, float("nan"), 0.1)), "sizes"),
        (lambda: sysid.Recording.from_arrays(["j"], ["x", "y"], [[0.0], [1.0]]), "time"),
        (lambda: sysid.Recording.from_arrays(["j"], [1.0, 0.5], [[0.0], [1.0]]), "time"),
        (lambda: sysid.Recording.from_arrays(["j"], [], np.zeros((0, 1))), "time"),
        (lambda: sysid.Recording.from_arrays(["j"], [0.0, 1.0], [[0.0], ["x"]]), "q"),
    ):
        with pytest.raises(sysid.SysIdError, match=argument):
            call()


def test_remedies_keep_whole_commands() -> None:
    remedy = "`sysid init RECORDING --robot URDF` writes a template for --columns MAP."
    told = sysid.SysIdError("No.", remedy=remedy).in_python()
    assert told.remedy == "`sysid init RECORDING --robot URDF` writes a template for columns=."


def test_remedies_name_arguments_not_options(tmp_path: Path) -> None:
    for source in (tmp_path, UR5 / "train.csv"):
        with pytest.raises(sysid.SysIdError) as err:
            sysid.identify("ur5", source)
        options = re.sub(r"`sysid [^`]*`", "", err.value.remedy)  # whole commands stay as they are
        assert "columns=" in options and "--" not in options
    with pytest.raises(sysid.SysIdError, match=r"estimate.yaml"):
        sysid.load(tmp_path)


def test_a_table_in_memory_is_a_recording(arm: Path, from_file) -> None:
    names = (arm / "train.csv").read_text().splitlines()[0].split(",")
    rows = np.loadtxt(arm / "train.csv", delimiter=",", skiprows=1)
    table = dict(zip(names, rows.T, strict=True))
    from_memory = identified(arm, table)
    assert np.array_equal(from_memory.estimate.values, from_file.estimate.values)
    with pytest.raises(sysid.SysIdError, match="columns"):
        sysid.identify(arm / "robot.urdf", table)
