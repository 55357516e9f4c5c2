# SPDX-License-Identifier: Apache-2.0
"""`sysid reproduce payload`: tables III and IV and figures 4 to 8 of Nadeau et al. 2022."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import console, copy_json, errors, example, reproduce
from sysid_cli.recordings import JsonPathOption
from sysid_cli.tables import print_table

if TYPE_CHECKING:
    from rich.progress import TaskID

    from sysid_studies.payload import StudyTable


@reproduce.command(
    "payload", epilog=example("sysid reproduce payload --html results/payload_study.html")
)
def payload(
    full: Annotated[
        bool, typer.Option("--full/--quick", help="All 640 runs and four seeds (some minutes).")
    ] = False,
    json_path: JsonPathOption = "",
    report: Annotated[
        Path, typer.Option("--html", "--report", metavar="FILE", help="The report.")
    ] = Path("payload_study.html"),
    objects: Annotated[
        str, typer.Option(help="Names, separated by commas; all eight if not given.")
    ] = "",
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0: one per core.")] = 0,
) -> None:
    """Identify eight objects with every method and compare with the paper's tables."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from sysid_studies.payload import payload_study

    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=errors
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done)

        study = payload_study(
            full=full,
            objects=[name.strip() for name in objects.split(",")] if objects else None,
            workers=workers,
            progress=show,
        )
    study.report().save(report)
    if copy_json(json.dumps(study.to_dict(), indent=2), json_path):
        return
    _show(study.tables)
    console.print(f"Report: {report}")


def _show(tables: list[StudyTable]) -> None:
    from rich.table import Table

    from sysid_core.report import cell_text

    for table in tables:
        shown = Table(title=table.title, caption=table.note or None)
        for column in table.columns:
            shown.add_column(column)
        for row in table.rows:
            shown.add_row(*(cell_text(x) for x in row))
        print_table(shown)
