# SPDX-License-Identifier: Apache-2.0
"""The recordings that ship with the project: identified, and compared with the truth beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from sysid_cli.app import app

UR5 = Path(__file__).resolve().parents[2] / "examples" / "ur5"


def test_the_shipped_recording_gives_the_true_friction(tmp_path: Path) -> None:
    command = [
        "identify", str(UR5 / "train.csv"), "--robot", "ur5", "--columns", str(UR5 / "columns.yaml"),
        "--validate", str(UR5 / "validate.csv"), "--out", str(tmp_path),
    ]  # fmt: skip
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    (held_out,) = result["validation"]
    assert held_out["relative_error"] < 0.035
    truth = yaml.safe_load((UR5 / "truth.yaml").read_text(encoding="utf-8"))
    parameters = yaml.safe_load((tmp_path / "parameters.yaml").read_text(encoding="utf-8"))
    found = parameters["parameters"]
    for symbol in ("F_c", "F_v"):
        values = [v for name, v in found.items() if name.endswith(f".{symbol}")]
        assert values == pytest.approx(truth[symbol], rel=0.2)
