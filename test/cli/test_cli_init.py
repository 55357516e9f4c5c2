# SPDX-License-Identifier: Apache-2.0
"""`sysid init`: what a table shows of itself, and what a person has to declare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import SignalError
from sysid_core.signals import ColumnMap, TableLayout, read_table

ROOT = Path(__file__).resolve().parents[2]
JOINTS = ("a", "b", "c")


def table(
    path: Path, rng: np.random.Generator, *, degrees: bool = False, order: str = "tvqe"
) -> Path:
    t = np.arange(400) * 0.01
    phase = rng.uniform(0, 6, 3)
    q = np.sin(2 * t[:, None] + phase)
    v = 2 * np.cos(2 * t[:, None] + phase)
    parts = {
        "t": t[:, None],
        "q": q * (57.3 if degrees else 1),
        "v": v,
        "e": rng.normal(size=(400, 3)),
    }
    np.savetxt(path, np.hstack([parts[k] for k in order]), delimiter=",")
    return path


def test_the_shipped_recording_gives_the_map_that_ships_with_it(tmp_path: Path) -> None:
    call = ["init", str(ROOT / "examples/ur5/train.csv"), "--robot", "ur5", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*call, "--effort-kind", "motor_current"])
    assert done.exit_code == 0, done.output
    raw = yaml.safe_load((tmp_path / "columns.yaml").read_text())
    shipped = yaml.safe_load((ROOT / "examples/ur5/columns.yaml").read_text())
    for key in (
        "header",
        "delimiter",
        "n_columns",
        "time",
        "joints",
        "position",
        "velocity",
        "effort",
    ):
        assert raw[key] == shipped[key], key
    assert "drives.gain" in done.output
    raw["drives"] = shipped["drives"]
    read_table(ROOT / "examples/ur5/train.csv", ColumnMap.from_dict(raw))


@pytest.mark.parametrize("order", ["tvqe", "tqve", "teqv", "qvet"])
def test_velocities_are_the_block_that_is_the_derivative(tmp_path: Path, rng, order: str) -> None:
    layout = TableLayout.of(table(tmp_path / "log.csv", rng, order=order), JOINTS, 3.0)
    first = {"t": 1, "q": 3, "v": 3, "e": 3}
    starts = {kind: sum(first[k] for k in order[: order.index(kind)]) for kind in order}
    assert layout.time == starts["t"] and layout.rate_hz == pytest.approx(100.0)
    assert layout.position == tuple(range(starts["q"], starts["q"] + 3))
    assert layout.velocity == tuple(range(starts["v"], starts["v"] + 3))
    assert layout.effort == ()


def test_degrees_are_told_by_the_limits_of_the_joints(tmp_path: Path, rng) -> None:
    assert TableLayout.of(table(tmp_path / "a.csv", rng), JOINTS, 3.0).position_unit == "rad"
    assert (
        TableLayout.of(table(tmp_path / "b.csv", rng, degrees=True), JOINTS, 3.0).position_unit
        == "deg"
    )


def test_the_kind_of_effort_is_never_guessed(tmp_path: Path) -> None:
    call = ["init", str(ROOT / "examples/ur5/train.csv"), "--robot", "ur5", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0
    assert "effort.kind" in done.output
    assert 'kind: "?"' in (tmp_path / "columns.yaml").read_text()
    assert CliRunner().invoke(app, call).exception is not None  # never overwrites


def test_a_driver_gets_its_bringup_file(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["init", "--driver", "ur", "--robot", "ur5", "--out", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    shipped = (ROOT / "config/bringup_ur.yaml").read_text()
    assert (tmp_path / "bringup.yaml").read_text() == shipped


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.mat"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(SignalError):
        TableLayout.of(path, JOINTS, 3.0)


def test_an_entry_that_is_still_open_is_named_so(tmp_path: Path) -> None:
    call = ["init", str(ROOT / "examples/ur5/train.csv"), "--robot", "ur5", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, [*call, "--effort-kind", "motor_current"]).exit_code == 0
    with pytest.raises(
        SignalError, match=r"`drives.gain\[0\]` is still '\?': replace it with a value"
    ):
        ColumnMap.load(tmp_path / "columns.yaml")


def test_on_a_terminal_it_asks_for_what_is_not_given(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter([str(ROOT / "examples/ur5/train.csv"), "ur5", "motor_current"])
    monkeypatch.setattr("typer.prompt", lambda text: next(answers))
    from sysid_cli.init import init

    init(out=tmp_path)
    assert "kind: motor_current" in (tmp_path / "columns.yaml").read_text(encoding="utf-8")
    assert next(answers, "all asked") == "all asked"
