# SPDX-License-Identifier: Apache-2.0
"""`sysid reproduce stanford`, `sysid plan sequential`, `sysid identify --method sequential`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.planning import Trajectory

CONSTANTS = (
    ["m3", "k3x", "k3y", "k3z", "U1_33"]
    + [f"k{j}{axis}" for j in (2, 4, 5, 6) for axis in "xy"]
    + [f"U{j}_{e}" for j in (2, 4, 5, 6) for e in ("11-22", "33", "12", "13", "23")]
)
COLUMNS = Path(__file__).parents[2] / "config" / "columns" / "ur10e_csv.yaml"


def sysid(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_stanford_prints_pure_json_with_the_papers_constants(tmp_path) -> None:
    result = sysid("reproduce", "stanford", "--json", "-", "--html", tmp_path / "page.html")
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert sorted(content["constants"]) == sorted(CONSTANTS)
    assert content["constants"]["m3"] == pytest.approx(6.47, abs=1e-9)
    assert content["closing_check"]["relative_error"] < 1e-9


def test_stanford_shows_both_tables(tmp_path) -> None:
    result = sysid("reproduce", "stanford", "--motions", 5, "--html", tmp_path / "page.html")
    assert "Table I" in result.stdout and "Table II" in result.stdout
    assert "Closing check" in result.stdout


def test_plan_writes_trajectory_result_and_page(tmp_path) -> None:
    result = sysid(
        "plan", "sequential", "finger_edu", "--out", tmp_path, "--candidates", 6,
        "--friction", "coulomb,viscous,offset", "--tcp-speed", 1.0, "--json", "-",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    assert plan["duration"] == Trajectory.load(tmp_path / "trajectory.npz").duration
    assert len(plan["steps"]) == 3
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_plan_of_a_tree_is_refused_with_the_way_out() -> None:
    result = sysid("plan", "sequential", "solo12")
    assert result.exit_code != 0
    assert "not a serial arm" in str(result.exception)
    assert "lock" in str(result.exception).lower()


@pytest.fixture(scope="module")
def ur10e(shared_data) -> Path:
    return shared_data / "ur10e"


@pytest.mark.slow
def test_real_ur10e_is_identified_one_joint_at_a_time(ur10e, tmp_path) -> None:
    runs = [ur10e / f"one_joint_at_a_time/ur-20_01_22-joint_{i}.csv" for i in range(1, 7)]
    validation = ur10e / "identification/ur-20_02_06-20sec_10harm.csv"
    arguments = [
        "identify", *runs, "--robot", ur10e / "ur10e.urdf", "--columns", COLUMNS,
        "--method", "sequential", "--validate", validation, "--out", tmp_path,
    ]  # fmt: skip
    result = sysid(*arguments, "--unexcited", "prior", "--json", "-")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["rank"] < content["structural_rank"]
    for joint, stats in content["joints"].items():
        assert stats["validation"]["r2"] > 0.94, joint
