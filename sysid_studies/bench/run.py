# SPDX-License-Identifier: Apache-2.0
"""Run of the benchmark: all recordings on workers, then the table and the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_core.files import write_text
from sysid_core.reasons import Outcome
from sysid_fleet.batch import Engine, Job, Rows, run_jobs
from sysid_studies.bench.measure import bench_rows
from sysid_studies.bench.page import COLUMNS, bench_report, outcome_of, standing, summary_rows
from sysid_studies.bench.recipe import Recipe, load_recipes, missing_files, recipe_key

_IN_SHORT = ("recording", "error in motion %", "coverage %", "verdict", "s", "the best")


@dataclass(frozen=True)
class BenchSummary:
    """Summary of a benchmark.

    Attributes:
        columns: Names of the columns.
        rows: One row of texts per recording that was found.
        lines: Conclusions, and the omitted recordings.
        outcome: Overall verdict.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[str, ...]
    outcome: Outcome


def run_bench(
    recipes: Sequence[str],
    data: Path,
    out: Path,
    engine: Engine,
    *,
    peers: bool,
    resume: bool,
    shown: Callable[[str, int], AbstractContextManager[Any]],
) -> BenchSummary:
    """Identify the available recordings, and write rows, page and table.

    Args:
        recipes: Names of recipes, or YAML files; empty: all recipes.
        data: Folder with the recordings.
        out: Folder for rows, bench.html and bench.md.
        engine: Engine that runs the recipes.
        peers: True to run other packages as well, if they are installed.
        resume: True to keep existing rows that were computed from the same inputs.
        shown: Function that returns a context which shows the progress, from a title and the number
            of recordings.

    Raises:
        SysIdError: A recipe is unknown.
    """
    chosen = load_recipes(list(recipes))
    absent = _absent(chosen, data)
    jobs = [_job(one, data, peers) for one in chosen if one.name not in absent]
    rows = Rows(out / "rows")
    with shown("benchmark", len(jobs)) as show:
        run_jobs(engine, bench_rows, jobs, rows, total=len(jobs), resume=resume, progress=show)
    found = [row for row in rows.latest() if row["recording"] in {one.name for one in chosen}]
    cells = summary_rows(found, chosen, absent)
    bench_report(found, chosen, absent).save(out / "bench.html")
    _write_markdown(cells, out / "bench.md")
    kept = [k for k, column in enumerate(COLUMNS) if column in _IN_SHORT]
    omitted = [f"{row[0]}: {row[-1]}" for row in cells if not row[1]]
    return BenchSummary(
        tuple(COLUMNS[k] for k in kept),
        tuple(tuple(row[k] for k in kept) for row in cells if row[1]),
        (*standing(found), *omitted),
        outcome_of(found),
    )


def _absent(recipes: Sequence[Recipe], data: Path) -> dict[str, str]:
    """Reasons why recordings are omitted, by name of their recipe."""
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
    return Job(
        recipe_key(recipe, data, peers),
        (recipe, str(data), peers),
        {"recording": recipe.name, "robot": recipe.title},
    )


def _write_markdown(cells: Sequence[Sequence[str]], path: Path) -> None:
    lines = [list(COLUMNS), ["---"] * len(COLUMNS), *cells]
    write_text(path, "".join(f"| {' | '.join(row)} |\n" for row in lines))
