"""What a clumsy user sees: one sentence and what to do, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def sysid(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sysid_core.cli", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", ["a_file/answer.json", "a_folder"])
def test_an_unwritable_target_is_named_without_a_traceback(tmp_path: Path, target: str) -> None:
    (tmp_path / "a_file").touch()
    (tmp_path / "a_folder").mkdir()
    done = sysid("identifiability", "two-link-parallel", "--json", target, cwd=tmp_path)
    assert done.returncode == 2
    assert target in done.stderr and "what to do:" in done.stderr
    assert "Traceback" not in done.stderr
