# SPDX-License-Identifier: Apache-2.0
"""`sysid report` compares results, and lists the reports in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.base import console, group, require_folder
from sysid_cli.settings import command
from sysid_cli.tables import print_list

report = group(
    "report",
    "List the reports below a folder, and compare results.",
    "sysid report index results",
)


_MOST = 12


@command(report, example="sysid report compare results/monday results/friday --out results/week")
def compare(
    *,
    runs: Annotated[list[Path], typer.Argument()],
    out: Path = Path("results/comparison"),
    every: Annotated[bool, typer.Option("--all")] = False,
) -> None:
    """Compare the parameters of results, the significance of their differences, errors and
    settings.

    Args:
        runs: Result folders; all are compared with the first.
        out: Folder for the page, report.html.
        every: Print every parameter.
    """
    from sysid_core.report import compare_runs

    require_folder(out)
    found, page = compare_runs(runs, out / "report.html")
    for sentence, lines in found:
        console.print(sentence, highlight=False, soft_wrap=True)
        print_list(lines, most=_MOST, whole=every)
    console.print(f"written to {page}", highlight=False, soft_wrap=True)


@command(report, example="sysid report index results")
def index(*, folder: Path) -> None:
    """List all reports of a folder and its subfolders in index.html, with verdicts and results.

    Args:
        folder: Folder that contains reports, also in subfolders.
    """
    from sysid_core.report import ReportIndex

    console.print(f"{ReportIndex.write(folder)}", highlight=False, soft_wrap=True)
