# SPDX-License-Identifier: Apache-2.0
"""Errors for wrong usage: one sentence and a remedy, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sysid_core.errors import SysIdError


def sysid(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sysid_cli", *arguments],
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


def test_a_file_in_the_way_of_the_results_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "a_file").touch()
    done = sysid("plan", "payload", "no-such-robot", "--out", "a_file/plan", cwd=tmp_path)
    assert done.returncode == 2
    assert "is a file" in done.stderr and "--out" in done.stderr


def test_a_workspace_upside_down_is_refused(tmp_path: Path) -> None:
    done = sysid("plan", "payload", "scara", "--workspace", "1,1,1,0,0,0", cwd=tmp_path)
    assert done.returncode == 2 and "below the second" in done.stderr


@pytest.mark.parametrize("name", ["ur5", "nowhere.yaml"])
def test_a_robot_without_loops_leads_to_the_loops_file(tmp_path: Path, name: str) -> None:
    done = sysid("loops", "check", name, cwd=tmp_path)
    assert done.returncode == 2 and "own-leg" in done.stderr


def test_a_motion_of_fewer_joints_than_the_robot_leads_to_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "motion.csv"
    path.write_text("time,shoulder_pan_joint\n0.0,0.0\n1.0,0.1\n2.0,0.0\n", encoding="utf-8")
    done = sysid("plan", "check", str(path), "ur5", cwd=tmp_path)
    assert done.returncode == 2 and "--lock shoulder_lift_joint --lock elbow_joint" in done.stderr


def test_a_missing_bag_is_named_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['sysid', 'bag', 'check', 'nowhere']\n"
        "from sysid_cli import run\n"
        "try:\n    run()\nfinally:\n    assert 'numpy' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "no bag at 'nowhere'" in done.stderr, done.stderr


def test_the_command_line_starts_without_the_heavy_libraries(tmp_path: Path) -> None:
    """`sysid --help` and shell completion load all commands, but no numpy."""
    code = "import sys, sysid_cli; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


def test_brackets_in_names_and_paths_are_text(tmp_path, capsys):
    from sysid_cli.base import console, remark

    remark("warning:", "link 'fore[/red]arm[bold]' in results[old]", to=console)
    console.print("written to res[/red]")
    assert "fore[/red]arm[bold]' in results[old]" in (shown := capsys.readouterr().out)
    assert "written to res[/red]" in shown


def test_version_short_help_and_exit_status_are_there():
    from sysid_cli.app import app

    version = CliRunner().invoke(app, ["--version"])
    assert version.exit_code == 0 and version.stdout.startswith("sysid 0.")
    for command in (["-h"], ["plan", "-h"], ["bag", "info", "-h"]):
        assert CliRunner().invoke(app, command).exit_code == 0
    assert "Exit status" in CliRunner().invoke(app, ["-h"]).stdout


@pytest.mark.parametrize("arguments", [["--help"], ["identifiability", "ur5", "--json", "-"]])
def test_output_that_nobody_reads_ends_without_a_traceback(arguments):
    command = [sys.executable, "-m", "sysid_cli", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()  # as `head` does
        assert b"Traceback" not in running.stderr.read()


@pytest.mark.parametrize("name", ["0x10", "a b", "a//b", "½", "left\narm"])
@pytest.mark.parametrize(
    "command", [["watch"], ["robot", "save", "r.urdf"], ["up", "demo"], ["run", "c.yaml", "plan"]]
)
def test_a_namespace_that_ros_does_not_accept_is_refused_in_a_sentence(command, name):
    from sysid_cli.app import app

    refused = CliRunner().invoke(app, [*command, "--namespace", name])
    assert isinstance(refused.exception, SysIdError) and "valid ROS name" in str(refused.exception)


@pytest.mark.parametrize(
    "command",
    [["reproduce", "stanford"], ["reproduce", "identifiability"], ["loops", "check", "own-leg"]],
)
def test_a_negative_seed_is_refused(command):
    from sysid_cli.app import app

    assert CliRunner().invoke(app, [*command, "--seed", "-1"]).exit_code == 2
