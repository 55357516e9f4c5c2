# SPDX-License-Identifier: Apache-2.0
"""`sysid reproduce constrained`: Zhang, Haugk, Vasudevan 2024, tables I to IV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import console, copy_json, errors, example, reproduce, tick
from sysid_cli.recordings import JsonPathOption
from sysid_cli.tables import print_table


@reproduce.command(
    "constrained",
    epilog=example("sysid reproduce constrained --seeds 3 --html results/constrained.html"),
)
def constrained(
    html_path: Annotated[Path, typer.Option("--html", metavar="FILE", help="The report.")] = Path(
        "constrained.html"
    ),
    json_path: JsonPathOption = "",
    loops: Annotated[
        str,
        typer.Option(help="Loops file of another mechanism, such as Digit's left leg."),
    ] = "own-leg",
    urdf: Annotated[str, typer.Option(help="Its URDF, where the loops file names none.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Number of simulated robots.")] = 5,
) -> None:
    """Tables I to IV: a closed-chain leg identified, predicted, integrated and tracked."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Table

    from sysid_core.report import save_and_list
    from sysid_core.robot.loops import load_closed_chain
    from sysid_studies.constrained import (
        ConstrainedStudyConfig,
        constrained_report,
        constrained_study,
    )

    chain = load_closed_chain(loops, urdf or None)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors) as bar:
        task = bar.add_task("planning", total=1.0)
        study = constrained_study(
            chain,
            ConstrainedStudyConfig(seeds=tuple(range(1, seeds + 1))),
            lambda share, what: bar.update(task, completed=share, description=what),
        )
    save_and_list(constrained_report(study), html_path)
    text = json.dumps(study.to_dict(), indent=2) + "\n"
    if copy_json(text, json_path):
        return
    table = Table(title=f"{chain.name}: {seeds} simulated robots")
    for column in ("goal", "reached", ""):
        table.add_column(column)
    for name, (reached, value) in study.goals().items():
        table.add_row(name, value, tick(reached))
    print_table(table)
    console.print(f"Report: {html_path}", highlight=False)
