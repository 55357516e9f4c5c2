# SPDX-License-Identifier: Apache-2.0
"""`sysid bench`: compares the default settings with other packages on public recordings of real
robots.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sysid_cli.app import app, console, example, require_folder
from sysid_cli.settings import (
    ClusterOption,
    MemoryOption,
    ResumeOption,
    WorkersOption,
    progress_shown,
)


@app.command(epilog=example("sysid bench --data recordings --out results/bench"))
def bench(
    data: Annotated[Path, typer.Option(help="Folder with the recordings (not shipped).")],
    out: Annotated[Path, typer.Option(help="Folder for rows (Parquet), table and page.")],
    recipe: Annotated[
        list[str] | None,
        typer.Option(help="Name of a recipe, or a YAML file; may be repeated; default: all."),
    ] = None,
    peers: Annotated[
        bool, typer.Option(help="Also run figaroh and mujoco.sysid, if installed.")
    ] = True,
    workers: WorkersOption = 0,
    cluster: ClusterOption = "",
    memory: MemoryOption = "3GiB",
    resume: ResumeOption = False,
) -> None:
    """Identify public recordings with the default settings, and compare with other software.

    Missing recordings are skipped, and their source is printed. Exit status 3 if no recording was
    found.
    """
    from sysid_fleet.batch import Engine
    from sysid_studies.bench import run_bench

    require_folder(out)
    with Engine(workers, cluster, memory) as engine:
        found = run_bench(
            recipe or [], data, out, engine, peers=peers, resume=resume, shown=progress_shown
        )
    table = Table(title="held-out errors of the defaults")
    for k, column in enumerate(found.columns):
        table.add_column(column, justify="right" if k else "left", no_wrap=k == 0)
    for row in found.rows:
        table.add_row(*row)
    console.print(table)
    for line in found.lines:
        console.print(f"· {line}", highlight=False, soft_wrap=True)
    console.print(f"written to {out}: rows, bench.html, bench.md", soft_wrap=True)
    raise typer.Exit(found.outcome.exit_status)
