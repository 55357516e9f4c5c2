# SPDX-License-Identifier: Apache-2.0
"""`sysid bench`: compares the default settings with other packages on public recordings of real
robots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_cli.app import app, console, example, require_folder
from sysid_cli.settings import (
    ClusterOption,
    MemoryOption,
    ResumeOption,
    WorkersOption,
    progress_shown,
)

if TYPE_CHECKING:
    from sysid_fleet.batch import Job
    from sysid_studies.bench import Recipe

_IN_TERMINAL = ("recording", "error in motion %", "coverage %", "verdict", "s", "the best")


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
    from sysid_fleet.batch import Engine, Rows, run_jobs
    from sysid_studies.bench import (
        bench_report,
        bench_rows,
        load_recipes,
        outcome_of,
        summary_rows,
    )

    require_folder(out)
    recipes = load_recipes(recipe or [])
    absent = _absent(recipes, data)
    jobs = [_job(one, data, peers) for one in recipes if one.name not in absent]
    rows = Rows(out / "rows")
    with (
        Engine(workers, cluster, memory) as engine,
        progress_shown("benchmark", len(jobs)) as show,
    ):
        run_jobs(engine, bench_rows, jobs, rows, total=len(jobs), resume=resume, progress=show)
    found = [row for row in rows.latest() if row["recording"] in {one.name for one in recipes}]
    cells = summary_rows(found, recipes, absent)
    _show(found, cells)
    bench_report(found, recipes, absent).save(out / "bench.html")
    _write_markdown(cells, out / "bench.md")
    console.print(f"written to {out}: rows, bench.html, bench.md", soft_wrap=True)
    raise typer.Exit(outcome_of(found).exit_status)


def _absent(recipes: Sequence[Recipe], data: Path) -> dict[str, str]:
    """Reasons why recordings are omitted, by name of their recipe."""
    from sysid_studies.bench import missing_files

    absent = {}
    for one in recipes:
        missing = missing_files(one, data)
        where = f"{one.source.repository} ({one.source.commit[:12]})"
        if one.kind == "described":
            absent[one.name] = one.note
        elif missing:
            folder = data / one.folder
            absent[one.name] = f"missing: {', '.join(missing)} in {folder}; from {where}"
    return absent


def _job(recipe: Recipe, data: Path, peers: bool) -> Job:
    from sysid_fleet.batch import Job
    from sysid_studies.bench import recipe_key

    return Job(
        recipe_key(recipe, data, peers),
        (recipe, str(data), peers),
        {"recording": recipe.name, "robot": recipe.title},
    )


def _show(found: Sequence[Mapping[str, Any]], cells: Sequence[Sequence[str]]) -> None:
    """Print the benchmark table, its conclusion, and the omitted recordings."""
    from rich.table import Table

    from sysid_studies.bench import COLUMNS, standing

    table = Table(title="held-out errors of the defaults")
    shown = [k for k, column in enumerate(COLUMNS) if column in _IN_TERMINAL]
    for k in shown:
        table.add_column(COLUMNS[k], justify="right" if k else "left", no_wrap=k == 0)
    for row in cells:
        if row[1]:
            table.add_row(*(row[k] for k in shown))
    console.print(table)
    left_out = [f"{row[0]}: {row[-1]}" for row in cells if not row[1]]
    for line in (*standing(found), *left_out):
        console.print(f"· {line}", highlight=False, soft_wrap=True)


def _write_markdown(cells: Sequence[Sequence[str]], path: Path) -> None:
    from sysid_core.files import write_text
    from sysid_studies.bench import COLUMNS

    lines = [list(COLUMNS), ["---"] * len(COLUMNS), *cells]
    write_text(path, "".join(f"| {' | '.join(row)} |\n" for row in lines))
