# SPDX-License-Identifier: Apache-2.0
"""The benchmark: recipes, hashes, and one table of defaults against plain least squares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from sysid_core.batch import Rows, hash_of
from sysid_core.bench import load_recipe, load_recipes, missing_files, standing, wrong_files
from sysid_core.cli.app import app
from sysid_core.errors import BatchError
from sysid_core.robot import RobotModel

URDF = """<robot name="one"><link name="base"/><link name="a"><inertial><mass value="3"/>
<origin xyz="0.1 0 0.02"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/>
</inertial></link><joint name="j1" type="revolute"><parent link="base"/><child link="a"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="50" velocity="5"/></joint></robot>"""


def write_arm(folder: Path, name: str = "mine") -> dict:
    """A recipe with recordings of an arm with one joint."""
    folder.mkdir(parents=True)
    (folder / "arm.urdf").write_text(URDF)
    model = RobotModel.from_urdf(URDF)
    t = np.arange(0.0, 24.0, 0.01)
    w = 2 * np.pi * 0.15 * np.arange(1, 5)
    A, phase = np.random.default_rng(3).normal(size=(4, 1)) * 0.4, t[:, None] * w
    q, v, a = np.sin(phase) @ A, (np.cos(phase) * w) @ A, -(np.sin(phase) * w**2) @ A
    tau = model.inverse_dynamics(q, v, a) + np.tanh(v / 0.01) + 0.7 * v
    tau += 0.02 * np.random.default_rng(4).normal(size=tau.shape)
    np.savetxt(folder / "run.csv", np.column_stack([t, q, v, tau]), delimiter=",")
    return {
        "schema": "robot_sysid/bench/1",
        "name": name,
        "title": "An arm of mine",
        "source": {"repository": "https://example.org/mine", "commit": "abc"},
        "folder": folder.name,
        "files": [{"path": p, "sha256": hash_of(folder / p)} for p in ("arm.urdf", "run.csv")],
        "robot": {"description": "arm.urdf"},
        "efforts": "torques",
        "columns": {
            "schema": "robot_sysid/columns/1",
            "joints": ["j1"],
            "time": {"column": 0},
            "position": {"columns": [1]},
            "velocity": {"columns": [2]},
            "effort": {"columns": [3], "kind": "link_torque"},
        },
        "fit": [{"path": "run.csv", "end": 0.6}],
        "judge": [{"path": "run.csv", "begin": 0.6}],
    }


def test_one_table_and_one_page_come_from_recipes_with_and_without_data(tmp_path: Path) -> None:
    mine, other = write_arm(tmp_path / "data" / "mine"), write_arm(tmp_path / "data" / "other")
    other |= {"name": "other", "folder": "nowhere"}
    paths = []
    for raw in (mine, other):
        paths.append(tmp_path / f"{raw['name']}.yaml")
        paths[-1].write_text(yaml.safe_dump(raw))
    arguments = ["bench", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    arguments += ["--workers", "1", *(x for p in paths for x in ("--recipe", str(p)))]
    said = CliRunner().invoke(app, arguments)
    assert said.exit_code == 0, said.output
    assert "https://example.org/mine" in said.output  # where the other's data are
    values = {
        row["parameter"]: row["value"]
        for row in Rows(tmp_path / "out" / "rows").latest()
        if row["recording"] == "mine"
    }
    for method in ("default", "chosen", "ols", "wls"):
        assert values[f"{method}.moving"] < 0.05
        assert 0.5 <= values[f"{method}.coverage"] <= 1.0
    page = (tmp_path / "out" / "bench.html").read_text()
    assert "An arm of mine" in page and "not there" in page
    table = (tmp_path / "out" / "bench.md").read_text().splitlines()
    assert len(table) == 4 and table[2].startswith("| mine | ")


def test_a_file_that_is_another_is_refused(tmp_path: Path) -> None:
    raw = write_arm(tmp_path / "data" / "mine")
    (tmp_path / "r.yaml").write_text(yaml.safe_dump(raw))
    recipe = load_recipe(tmp_path / "r.yaml")
    assert not missing_files(recipe, tmp_path / "data")
    with (tmp_path / "data" / "mine" / "run.csv").open("a") as file:
        file.write("#")
    assert wrong_files(recipe, tmp_path / "data") == ["run.csv"]


def test_the_page_says_where_the_defaults_arent_the_best() -> None:
    rows = [
        {"recording": r, "parameter": f"{m}.moving", "value": x, "outcome": "", "reason": ""}
        for r, m, x in (
            ("a", "default", 0.05), ("a", "wls", 0.04), ("b", "default", 0.02), ("b", "wls", 0.03)
        )
    ]  # fmt: skip
    median, worse = standing(rows)
    assert "3.50 %" in median and "over 2" in median
    assert worse.startswith("a: the defaults aren't the best: 5.00 % against 4.00 %")


def test_recipes_that_are_shipped_belong_to_the_recordings(shared_data: Path) -> None:
    recipes = load_recipes()
    assert len(recipes) >= 14 and all(recipe.source.commit for recipe in recipes)
    for recipe in recipes:
        if recipe.files and not missing_files(recipe, shared_data):
            assert not wrong_files(recipe, shared_data), recipe.name


def test_a_recipe_that_isnt_known_is_named() -> None:
    with pytest.raises(BatchError, match="ur10e"):
        load_recipes(["ur10f"])
