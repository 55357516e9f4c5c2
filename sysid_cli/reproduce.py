# SPDX-License-Identifier: Apache-2.0
"""Tables of the papers, compared with the published numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_cli.app import console, copy_json, errors, example, reproduce, tick
from sysid_cli.settings import JsonPathOption
from sysid_cli.tables import print_table

if TYPE_CHECKING:
    from rich.progress import TaskID
    from rich.table import Table

    from sysid_core.report import Report
    from sysid_studies import StanfordStudy
    from sysid_studies.payload import StudyTable


@reproduce.command("stanford", epilog=example("sysid reproduce stanford"))
def stanford(
    json_path: JsonPathOption = "",
    seed: Annotated[int, typer.Option(help="Seed of the motions for the final check.")] = 1992,
    motions: Annotated[
        int, typer.Option(min=1, help="Number of random motions for the final check.")
    ] = 200,
) -> None:
    """Lin, tables I and II: sequential identification of the Stanford arm."""
    import numpy as np

    from sysid_studies import stanford_study

    study = stanford_study(np.random.default_rng(seed), motions)
    if json_path and copy_json(json.dumps(study.to_dict(), indent=2), json_path):
        return
    for table in _tables(study):
        print_table(table)
    exact = max(abs(study.constants[name] - study.exact[name]) for name in study.exact)
    worst = max(study.table_ii_errors, key=lambda name: abs(study.table_ii_errors[name]))
    console.print(
        f"The constants identified here are those of the links (lemma 1) to {exact:.0e}; the print"
        f" differs by {abs(study.table_ii_errors[worst]):.1e} at most, in {worst}."
    )
    console.print(
        f"Closing check: torques from the {len(study.constants)} constants alone differ from"
        f" recursive Newton-Euler by {study.closing_error:.1e} of the largest torque,"
        f" over {study.n_random} random motions."
    )


def _tables(study: StanfordStudy) -> tuple[Table, Table]:
    from rich.table import Table

    from sysid_studies import PAPER_TABLE_I, PAPER_TABLE_II

    first = Table(title="Table I: axis of joint 1 in the frame of body j")
    for column in ("j", "posture", "here", "paper", "off by"):
        first.add_column(column, justify="right", no_wrap=True)
    for body, rows in study.directions.items():
        for i, (row, paper) in enumerate(zip(rows, PAPER_TABLE_I[body], strict=True), start=1):
            first.add_row(
                str(body),
                str(i),
                " ".join(f"{round(x, 4) + 0.0:.4f}" for x in row),
                " ".join(f"{x:.4f}" for x in paper),
                f"{max(abs(x - y) for x, y in zip(row, paper, strict=True)):.1e}",
            )
    second = Table(title="Table II: identified inertia constants [kg, kg m, kg m^2]")
    for column in ("constant", "here", "paper", "off by"):
        second.add_column(column, justify="right")
    for name, value in study.constants.items():
        error = study.table_ii_errors[name]
        second.add_row(
            name,
            f"{round(value, 5) + 0.0:.5f}",
            f"{PAPER_TABLE_II[name]:.5f}",
            f"{abs(error):.1e}",
        )
    return first, second


_Json = Annotated[
    str, typer.Option("--json", metavar="FILE|-", help="Result file (JSON); - for standard output.")
]
_Html = Annotated[Path, typer.Option("--html", metavar="FILE", help="Report file (HTML).")]


@reproduce.command(
    "identifiability", epilog=example("sysid reproduce identifiability --html results/table.html")
)
def identifiability(
    html_path: _Html = Path("identifiability.html"),
    json_path: _Json = "",
    seed: Annotated[int, typer.Option(help="Seed of the states of the sampled regressors.")] = 2023,
) -> None:
    """Wensing et al., tables 2, 4 and 5: base parameters of PUMA 560, SCARA and Cheetah 3 leg."""
    import numpy as np
    from rich.table import Table

    from sysid_studies import identifiability_study

    with errors.status("analysing the paper's robots"):
        study = identifiability_study(np.random.default_rng(seed))
    if _write(study.report(), study.to_dict(), html_path, json_path):
        return
    table = Table(title="Structural identifiability, here and in the paper")
    for column in ("robot", "quantity", "here", "paper", "sampled", ""):
        table.add_column(column)
    last = ""
    for c in study.comparisons:
        title, last = ("" if c.robot == last else c.robot), c.robot
        table.add_row(title, c.quantity, c.here, c.paper, c.sampled, tick(c.agrees))
    print_table(table)
    console.print("Every number agrees with the paper." if study.agrees else "Some figures differ.")
    console.print(f"Report: {html_path}", highlight=False)


@reproduce.command(
    "cheetah3", epilog=example("sysid reproduce cheetah3 --html results/cheetah3.html")
)
def cheetah3(html_path: _Html = Path("cheetah3.html"), json_path: _Json = "") -> None:
    """Wensing et al., table 6: a leg identified with free or locked torso, tested in a gallop."""
    from rich.table import Table

    from sysid_studies import PAPER_TABLE_6, cheetah3_study

    with errors.status("galloping"):
        study = cheetah3_study()
    if _write(study.report(), study.to_dict(), html_path, json_path):
        return
    table = Table(title="RMS errors [N m, N]: ab/ad, hip, knee; body x, y, z")
    for column in ("identified on", "error in", "here", "paper"):
        table.add_column(column)
    for which, rows in study.errors.items():
        for row, values in rows.items():
            table.add_row(which, row, _triple(values), _triple(PAPER_TABLE_6[which][row]))
    print_table(table)
    for name, (parameters, rank, gap, exact) in study.ranks.items():
        console.print(
            f"{name}: {parameters} parameters, rank {rank} (gap {gap:.1e}), structural {exact}",
            highlight=False,
        )
    console.print(
        "The zeros agree with the paper; the magnitudes are those of another robot and gait."
        if study.pattern_matches
        else "The zeros differ from the paper's."
    )
    console.print(f"Report: {html_path}", highlight=False)


def _triple(values: tuple[float, float, float]) -> str:
    return "  ".join("0" if value < 1e-6 else f"{value:.2f}" for value in values)


def _write(report: Report, numbers: dict[str, Any], html_path: Path, json_path: str) -> bool:
    """Write what was asked for; whether the numbers went to standard output."""
    from sysid_core.report import save_and_list

    save_and_list(report, html_path)
    text = json.dumps(numbers, indent=2) + "\n"
    return copy_json(text, json_path)


@reproduce.command(
    "payload", epilog=example("sysid reproduce payload --html results/payload_study.html")
)
def payload(
    full: Annotated[
        bool, typer.Option("--full/--quick", help="All 640 runs and four seeds (some minutes).")
    ] = False,
    json_path: JsonPathOption = "",
    report: Annotated[
        Path, typer.Option("--html", "--report", metavar="FILE", help="Report file (HTML).")
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


@reproduce.command(
    "constrained",
    epilog=example("sysid reproduce constrained --seeds 3 --html results/constrained.html"),
)
def constrained(
    html_path: Annotated[
        Path, typer.Option("--html", metavar="FILE", help="Report file (HTML).")
    ] = Path("constrained.html"),
    json_path: JsonPathOption = "",
    loops: Annotated[
        str,
        typer.Option(help="Loops file of another mechanism, such as Digit's left leg."),
    ] = "own-leg",
    urdf: Annotated[
        str, typer.Option(help="URDF of this mechanism, if the loops file names none.")
    ] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Number of simulated robots.")] = 5,
) -> None:
    """Zhang et al., tables I to IV: identification, prediction and tracking control of a leg."""
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
