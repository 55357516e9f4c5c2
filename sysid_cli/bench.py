# SPDX-License-Identifier: Apache-2.0
"""`sysid bench` compares the default settings with other packages on public recordings of real
robots.
"""

from __future__ import annotations

import typer

from sysid_cli.base import app, console, require_folder
from sysid_cli.settings import (
    ClusterOption,
    MemoryOption,
    PathOption,
    ResumeOption,
    WorkersOption,
    command,
    progress_shown,
)
from sysid_cli.tables import print_rows


@command(app, example="sysid bench --data recordings --out results/bench")
def bench(
    *,
    data: PathOption,
    out: PathOption,
    recipe: list[str] | None = None,
    peers: bool = True,
    workers: WorkersOption = 0,
    cluster: ClusterOption = "",
    memory: MemoryOption = "3GiB",
    resume: ResumeOption = False,
) -> None:
    """Identify robots from public recordings with the default settings, and compare the prediction
    errors with those of other software.

    Missing recordings are skipped, and their source is printed. Exit status 3 if no recording was
    found.

    Args:
        data: Folder with the recordings, which are not part of this package.
        out: Folder for the results (Parquet), bench.html and bench.md.
        recipe: Name or YAML file of a recipe, which describes the recordings of one robot; may be
            repeated; default: all recipes of this package.
        peers: Also run figaroh and mujoco.sysid, if installed.
    """
    from sysid_fleet.batch import Engine
    from sysid_studies.bench import run_bench

    require_folder(out)
    with Engine(workers, cluster, memory) as engine:
        found = run_bench(
            recipe or [], data, out, engine, peers=peers, resume=resume, shown=progress_shown
        )
    print_rows(found.columns, found.rows, title="held-out errors of the defaults")
    for line in found.lines:
        console.print(f"· {line}", highlight=False, soft_wrap=True)
    console.print(f"written to {out}: Parquet files, bench.html, bench.md", soft_wrap=True)
    raise typer.Exit(found.outcome.exit_status)
