# SPDX-License-Identifier: Apache-2.0
"""Terminal output: names and numbers whole, long lists cut, an example in every help."""

from __future__ import annotations

import importlib
import io
import json
import pkgutil
import shlex
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import typer
from rich.table import Table

import sysid_cli
import sysid_cli.tables as tables
from sysid_cli.app import app
from sysid_cli.base import console, copy_json
from sysid_cli.identify import print_summary
from sysid_core.reasons import Reason, Verdict

NAMES = [f"a_rather_long_name_of_a_joint_{i}" for i in range(8)]


@pytest.fixture
def shown(monkeypatch):
    """Prints a wide table into a pipe, or a terminal of so many columns."""

    def show(columns: int, terminal: bool) -> str:
        text = io.StringIO()
        monkeypatch.setattr(console, "_file", text)
        monkeypatch.setattr(console, "_force_terminal", terminal)
        monkeypatch.setattr(console, "_color_system", None)
        console.width = columns
        table = Table()
        for i, name in enumerate(["joint", *NAMES]):
            table.add_column(name if i < 3 else f"c{i}", justify="right" if i else "left")
        for name in NAMES:
            table.add_row(name, *(f"{-3.672e-05 * k:.3e}" for k in range(8)))
        tables.print_table(table)
        return text.getvalue()

    yield show
    console._width = None


def test_a_pipe_gets_every_name_and_number_on_one_line(shown) -> None:
    text = shown(80, False)
    assert all(name in text for name in NAMES)
    assert "…" not in text and text.count("-1.102e-04") == len(NAMES)


def test_a_narrow_terminal_folds_names_and_cuts_no_number(shown) -> None:
    text = shown(80, True)
    assert "…" not in text and text.count("-2.570e-04") == len(NAMES)


@pytest.mark.parametrize(
    ("count", "whole", "lines"), [(30, False, 6), (6, False, 6), (30, True, 30)]
)
def test_long_lists_are_cut_with_the_count_of_the_rest(shown, capsys, count, whole, lines) -> None:
    shown(80, False)
    console._file.truncate(0)
    console._file.seek(0)
    tables.print_list([str(i) for i in range(count)], most=5, whole=whole)
    text = console._file.getvalue().strip().splitlines()
    assert len(text) == lines
    assert (text[-1] == f"… {count - 5} more: --all") == (lines < count)


def test_json_has_null_for_numbers_that_it_does_not_know(tmp_path, capsys) -> None:
    path = tmp_path / "out.json"
    assert not copy_json({"limits": [1.0, np.inf]}, str(path))
    assert json.loads(path.read_text()) == {"limits": [1.0, None]}
    assert copy_json({"limits": [1.0, np.inf]}, "-")
    assert capsys.readouterr().out == path.read_text()


def leaves(command, name="sysid"):
    for key, child in getattr(command, "commands", {}).items():
        yield from leaves(child, f"{name} {key}")
    if not hasattr(command, "commands"):
        yield name, command


@pytest.mark.parametrize(("name", "command"), [*leaves(typer.main.get_command(app))])
def test_every_command_shows_an_example_that_it_understands(name, command) -> None:
    assert command.epilog and command.epilog.startswith(f"Example: {name}")
    words = shlex.split(command.epilog.removeprefix("Example: "))[len(name.split()) :]
    command.make_context(name, words)


def test_every_group_shows_an_example_of_its_commands() -> None:
    names = [name for name, _ in leaves(typer.main.get_command(app))]
    for key, child in typer.main.get_command(app).commands.items():
        if hasattr(child, "commands"):
            assert child.epilog, key
            example = child.epilog.removeprefix("Example: ")
            assert any(example.startswith(n) for n in names if n.startswith(f"sysid {key} ")), key


def test_every_command_that_a_file_registers_is_listed() -> None:
    for found in pkgutil.walk_packages(sysid_cli.__path__, "sysid_cli."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    groups = {info.name: info.typer_instance for info in app.registered_groups} | {"": app}
    registered = {
        f"{name} {one.name or typer.main.get_command_name(one.callback.__name__)}".strip()
        for name, made in groups.items()
        for one in made.registered_commands
    }
    assert registered == {
        name.removeprefix("sysid ") for name, _ in leaves(typer.main.get_command(app))
    }


def test_help_imports_no_numerics() -> None:
    """`--help` stays quick as long as commands import what they compute with when they run."""
    code = (
        "import sys; sys.argv = ['sysid', 'identify', '--help']\n"
        "from sysid_cli import run\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'pinocchio', 'plotly', 'jinja2', 'cvxpy', 'mujoco', 'yaml',"
        " 'sysid_fleet.batch'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage: sysid identify" in done.stdout and "Example: sysid identify" in done.stdout


def test_a_run_at_rest_has_no_coefficient_of_determination(shown) -> None:
    """R² of a constant is meaningless: the table shows a dash, not -86."""
    shown(80, False)
    run = SimpleNamespace(
        source="rest.csv", motion=np.zeros(9, dtype=bool), nominal=None, unit="A", joint_names=("j1",),
        joints=lambda whole=False: {"j1": {"rms": 0.1, "r2": -86.04}},
        relative_error=lambda whole=False: 9.0,
    )  # fmt: skip
    estimate = SimpleNamespace(
        robot="arm", method="ols", rank=1, structural_rank=1, condition_number=1.0, notes=()
    )
    fit = SimpleNamespace(estimate=estimate, consistency="every link is physically consistent")
    print_summary(fit, [], [run])
    printed = console._file.getvalue()
    assert "rest (at rest)" in printed and "-86" not in printed and "–" in printed


def test_what_is_missing_for_a_judgement_is_printed_before_the_warnings(shown, capsys) -> None:
    missing = Reason.missing("masses-missing")
    warning = Reason.warning("followers", joints=["j2"])
    verdict = Verdict((warning, missing, Reason.held("data-agree", urdf=0.1, free=0.1, odds=0.9)))
    tables.print_verdict(verdict)
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == "Verdict: not judged"
    assert missing.advice in second and warning.advice in third
