"""Closed chains on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sysid_core.cli.app import app
from sysid_core.errors import ModelError
from sysid_core.excitation import sine_trajectory
from sysid_core.robot import load_closed_chain
from sysid_core.validation import ClosedChainPlant, ComputedTorque, Gains, recording_of, track

runner = CliRunner()


def test_loops_check_prints_pure_json_and_writes_a_picture(tmp_path):
    page = tmp_path / "loops.html"
    result = runner.invoke(
        app, ["loops", "check", "own-leg", "--json", "-", "--html", str(page), "--samples", "40"]
    )
    assert result.exit_code == 0, result.output
    numbers = json.loads(result.stdout)
    assert numbers["ranks"] == {
        "open_tree": 101,
        "inertial": 98,
        "with_drives": 120,
        "with_all_joints": 156,
    }
    assert numbers["assembled_in_box"] == 40 and numbers["residual"] <= 1e-12
    assert "data:image/png" in page.read_text()


def test_a_missing_file_is_one_clear_error(tmp_path):
    result = runner.invoke(app, ["loops", "check", str(tmp_path / "none.yaml")])
    assert isinstance(result.exception, ModelError)
    assert "none.yaml" in str(result.exception)


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    """A run of the leg as CSV with its column map."""
    folder = tmp_path_factory.mktemp("leg")
    leg = load_closed_chain("own-leg")
    wish = sine_trajectory(leg, leg.box, 1.8, duration=5.0)
    run = track(ClosedChainPlant(leg), ComputedTorque(leg, wish, Gains.for_chain(leg)))
    joints = recording_of(run, np.random.default_rng(1)).joints
    rows = np.column_stack([run.time, joints.q, joints.v, joints.effort])
    np.savetxt(folder / "run.csv", rows[::2], delimiter=",")
    names = "".join(f"  - {name}\n" for name in leg.actuated)
    (folder / "columns.yaml").write_text(
        "schema: robot_sysid/columns/1\nheader: false\ndelimiter: ','\nn_columns: 19\n"
        f"time: {{column: 0, unit: s}}\njoints:\n{names}"
        "position: {columns: [1, 2, 3, 4, 5, 6], unit: rad}\n"
        "velocity: {columns: [7, 8, 9, 10, 11, 12], unit: rad/s}\n"
        "effort: {columns: [13, 14, 15, 16, 17, 18], kind: actuator_torque}\n"
    )
    return folder


def test_identify_takes_loops(table, tmp_path):
    run, columns = str(table / "run.csv"), str(table / "columns.yaml")
    result = runner.invoke(
        app,
        [
            "identify", run, "--loops", "own-leg", "--robot", "own-leg", "--columns", columns,
            "--method", "lmi", "--fix", "inertials", "--validate", run,
            "--out", str(tmp_path), "--json", "-",
        ],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    numbers = json.loads(result.stdout)
    assert numbers["rank"] == numbers["structural_rank"] == 24
    assert numbers["torque_rms"]["fitted"]["knee"]["identified"] < 0.2
    assert {"estimate.yaml", "result.json", "report.html"} <= {p.name for p in tmp_path.iterdir()}
