# SPDX-License-Identifier: Apache-2.0
"""The notebooks run from their first cell to their last, and are committed without outputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(notebook: Path, tmp_path: Path) -> None:
    cells = [
        c for c in json.loads(notebook.read_text("utf-8"))["cells"] if c["cell_type"] == "code"
    ]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script = "\n\n".join("".join(cell["source"]) for cell in cells)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_installs_the_core_alone_where_it_is_missing(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    first = "".join(next(cell for cell in cells if cell["cell_type"] == "code")["source"])
    called: list[list[str]] = []
    monkeypatch.setattr("subprocess.run", lambda command, check: called.append(command))
    monkeypatch.chdir(tmp_path)
    exec(compile(first, notebook.name, "exec"), {})
    assert called == [] and Path.cwd() == tmp_path
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (tmp_path / "robot_sysid").mkdir()
    exec(compile(first, notebook.name, "exec"), {})
    assert [command[0] for command in called] == ["git", sys.executable]
    assert called[0][-1] == "robot_sysid" and called[1][-1] == "./robot_sysid[examples]"
    assert Path.cwd() == tmp_path / "robot_sysid"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_finds_the_examples_from_its_own_folder(
    notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        "".join(cell["source"])
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    monkeypatch.chdir(notebook.parent)
    exec(compile(cells[0], notebook.name, "exec"), {})
    assert Path("examples/ur5").is_dir() or not any("examples/" in cell for cell in cells[1:])
