# SPDX-License-Identifier: Apache-2.0
"""The benchmark: recipes, hashes, and one table of defaults against plain least squares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from two_joint_arm import URDF, columns, swing
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import BatchError
from sysid_core.files import hash_of
from sysid_core.reasons import Outcome
from sysid_core.robot import RobotModel
from sysid_core.validation import Prediction
from sysid_fleet.batch import Rows
from sysid_studies.bench.measure import pooled_error
from sysid_studies.bench.page import outcome_of, standing
from sysid_studies.bench.peers.peer import PEERS, Peer
from sysid_studies.bench.recipe import (
    load_recipe,
    load_recipes,
    missing_files,
    read_split,
    recipe_key,
    wrong_files,
)


def write_arm(folder: Path, name: str = "mine") -> dict:
    """A recipe with a recording of an arm with two joints."""
    folder.mkdir(parents=True)
    (folder / "arm.urdf").write_text(URDF)
    t, q, v, a = swing(np.random.default_rng(3), 24.0)
    tau = RobotModel.from_urdf(URDF).inverse_dynamics(q, v, a) + np.tanh(v / 0.01) + 0.7 * v
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
        "columns": columns("link_torque"),
        "fit": [{"path": "run.csv", "end": 0.6}],
        "judge": [{"path": "run.csv", "begin": 0.6}],
    }


def test_one_table_and_one_page_come_from_recipes_with_and_without_data(
    tmp_path: Path, clicks, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Peer("broken", "raises", ("math",))  # a tool that raises
    monkeypatch.setattr("sysid_studies.bench.measure.PEERS", (broken,))
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
    rows = [r for r in Rows(tmp_path / "out" / "rows").latest() if r["recording"] == "mine"]
    values = {row["parameter"]: row["value"] for row in rows}
    for method in ("default", "chosen", "ols", "wls"):
        assert values[f"{method}.moving"] < 0.05
        assert 0.5 <= values[f"{method}.coverage"] <= 1.0
    (row,) = [row for row in rows if row["parameter"].startswith("broken.")]
    assert row["outcome"] == "refused" and "ModuleNotFoundError" in row["reason"]
    clicks(tmp_path / "out" / "bench.html")
    page = (tmp_path / "out" / "bench.html").read_text()
    assert "An arm of mine" in page and "missing" in page
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
        {"recording": r, "parameter": f"{m}.{metric}", "value": x, "outcome": "", "reason": ""}
        for r, m, metric, x in (
            ("a", "default", "moving", 0.05), ("a", "wls", "moving", 0.04),
            ("b", "default", "moving", 0.02), ("b", "wls", "moving", 0.03),
            ("a", "default", "band", 0.03), ("b", "default", "band", 0.01),
            ("sensor", "default", "moving", 0.9),  # no robot: it has no bands
        )
    ]  # fmt: skip
    medians, worse = standing(rows)
    assert "3.50 % in motion" in medians and "2.00 % below 8 Hz" in medians
    assert "over 2 robots" in medians
    assert worse.startswith("a: the defaults are not the best: 5.00 % against 4.00 %")


def test_recipes_that_are_shipped_belong_to_the_recordings(shared_data: Path) -> None:
    recipes = load_recipes()
    assert len(recipes) >= 14 and all(recipe.source.commit for recipe in recipes)
    for recipe in recipes:
        if recipe.files and not missing_files(recipe, shared_data):
            assert not wrong_files(recipe, shared_data), recipe.name


def test_a_recipe_with_other_settings_or_another_robot_is_other_work(tmp_path: Path) -> None:
    (recipe,) = load_recipes(["ur10e"])
    key = recipe_key(recipe, tmp_path, True)
    assert key == recipe_key(recipe, tmp_path / "elsewhere", True)
    assert key != recipe_key(recipe, tmp_path, False)
    assert key != recipe_key(recipe.model_copy(update={"every": 7}), tmp_path, True)
    assert recipe.robot is not None
    other = recipe.robot.model_copy(update={"description": "ur5"})
    assert key != recipe_key(recipe.model_copy(update={"robot": other}), tmp_path, True)


def test_a_recipe_that_isnt_known_is_named() -> None:
    with pytest.raises(BatchError, match="ur10e"):
        load_recipes(["ur10f"])


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_another_tool_finds_the_arm_and_is_judged_like_ours(peer: Peer, tmp_path: Path) -> None:
    if not peer.installed:
        pytest.skip(f"{', '.join(peer.packages)} aren't installed: pip install robot_sysid[peers]")
    raw = write_arm(tmp_path / "mine")
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(raw))
    split = read_split(load_recipe(tmp_path / "mine.yaml"), tmp_path)
    found = peer.fit(split.model, split.fitted, split.drives)
    judged = [Prediction.of(found, run) for run in split.judged]
    assert pooled_error(judged) < 0.08


def test_a_benchmark_over_no_robot_is_not_judged(tmp_path: Path) -> None:
    raw = write_arm(tmp_path / "data" / "mine") | {"folder": "nowhere"}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(raw))
    arguments = ["bench", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    arguments += ["--workers", "1", "--no-peers", "--recipe", str(tmp_path / "mine.yaml")]
    said = CliRunner().invoke(app, arguments)
    assert said.exit_code == 3, said.output
    assert "not judged" in (tmp_path / "out" / "bench.html").read_text().lower()
    sensor = {"recording": "axia", "parameter": "default.moving", "value": 0.02}
    assert outcome_of([sensor | {"outcome": "pass", "reason": ""}]) is Outcome.NOT_JUDGED
