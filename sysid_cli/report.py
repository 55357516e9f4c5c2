# SPDX-License-Identifier: Apache-2.0
"""`sysid report`: compares several runs, and lists their reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import console, example, group, require_folder
from sysid_cli.tables import print_list

if TYPE_CHECKING:
    from sysid_core.estimation import EstimateDifference
    from sysid_core.report import SavedRun

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
    from sysid_core.report import (
        SavedRun,
        comparison_report,
        comparison_sentence,
        differences_from_first,
        save_and_list,
    )

    require_folder(out)
    found = [SavedRun.read(folder) for folder in runs]
    changes = differences_from_first(found)
    page = save_and_list(comparison_report(found, changes), out / "report.html")
    for run, change in zip(found[1:], changes, strict=True):
        console.print(comparison_sentence(found[0], run, change), highlight=False, soft_wrap=True)
        print_list(_lines(found[0], run, change), most=_MOST, whole=every)
    console.print(f"written to {page}", highlight=False, soft_wrap=True)


def _lines(a: SavedRun, b: SavedRun, found: EstimateDifference) -> list[str]:
    """Parameters in the order of their difference z, one per line."""
    import numpy as np

    from sysid_core.estimation import measured_part
    from sysid_core.report import with_deviation

    tables = [
        {name: (x, s, unit) for name, x, s, unit, _ in measured_part(run.estimate).rows()}
        for run in (a, b)
    ]
    z = found.z
    order = np.argsort(-np.nan_to_num(np.abs(z)), kind="stable")
    width = max(len(name) for name in found.names)
    lines = []
    for k in order:
        name = found.names[k]
        before, after = (with_deviation(*table[name][:2]) for table in tables)
        size = f"{z[k]:+.1f}" if np.isfinite(z[k]) else "–"
        lines.append(f"  {name:{width}}  z {size:>6}  {before} → {after} {tables[0][name][2]}")
    return lines


@report.command("index", epilog=example("sysid report index results"))
def index(
    folder: Annotated[
        Path, typer.Argument(help="Folder that contains reports, also in subfolders.")
    ],
) -> None:
    """List all reports of a folder and its subfolders in index.html, with verdicts and results."""
    from sysid_core.report import write_index

    console.print(f"{write_index(folder)}", highlight=False, soft_wrap=True)
