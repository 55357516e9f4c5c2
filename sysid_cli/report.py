# SPDX-License-Identifier: Apache-2.0
"""`sysid report`: compares several runs, and lists their reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import console, example, group, require_folder
from sysid_cli.tables import print_list

report = group(
    "report",
    "List and compare the reports of several runs.",
    "sysid report index results",
    {"compare": "report", "index": "report"},
)


_MOST = 12


@report.command(
    "compare",
    epilog=example("sysid report compare results/monday results/friday --out results/week"),
)
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Result folders; all are compared with the first."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the page, report.html.")] = Path(
        "results/comparison"
    ),
    every: Annotated[bool, typer.Option("--all", help="Print every parameter.")] = False,
) -> None:
    """Compare results: parameters, significance of their differences, errors, settings."""
    from sysid_core.report import compare_runs

    require_folder(out)
    found, page = compare_runs(runs, out / "report.html")
    for sentence, lines in found:
        console.print(sentence, highlight=False, soft_wrap=True)
        print_list(lines, most=_MOST, whole=every)
    console.print(f"written to {page}", highlight=False, soft_wrap=True)


@report.command("index", epilog=example("sysid report index results"))
def index(
    folder: Annotated[
        Path, typer.Argument(help="Folder that contains reports, also in subfolders.")
    ],
) -> None:
    """List all reports of a folder and its subfolders in index.html, with verdicts and results."""
    from sysid_core.report import write_index

    console.print(f"{write_index(folder)}", highlight=False, soft_wrap=True)
