# SPDX-License-Identifier: Apache-2.0
"""`sysid reproduce` repeats the tables of the papers, and compares them with the published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.base import console, copy_json, errors, group
from sysid_cli.settings import JsonPathOption, command
from sysid_cli.tables import print_rows
from sysid_core.settings import words

if TYPE_CHECKING:
    from sysid_studies import Study

_Html = Annotated[Path, typer.Option("--html", metavar="FILE", help="Report file (HTML).")]


reproduce = group(
    "reproduce",
    "Reproduce the tables of the papers, and compare them with the published numbers.",
    "sysid reproduce stanford",
)


@command(reproduce, example="sysid reproduce stanford")
def stanford(
    *,
    html_path: _Html = Path("stanford.html"),
    json_path: JsonPathOption = "",
    seed: Annotated[int, typer.Option(min=0)] = 1992,
    motions: Annotated[int, typer.Option(min=1, max=10_000)] = 200,
) -> None:
    """Reproduce tables I and II of Lin 1992: sequential identification of the Stanford arm.

    Args:
        seed: Seed of the motions for the final check.
        motions: Number of random motions for the final check.
    """
    import numpy as np

    from sysid_studies import stanford_study

    _write(stanford_study(np.random.default_rng(seed), motions), html_path, json_path)


@command(reproduce, example="sysid reproduce identifiability --html results/table.html")
def identifiability(
    *,
    html_path: _Html = Path("identifiability.html"),
    json_path: JsonPathOption = "",
    seed: Annotated[int, typer.Option(min=0)] = 2023,
) -> None:
    """Reproduce tables 2, 4 and 5 of Wensing et al.: base parameters of PUMA 560, SCARA and Cheetah 3
    leg.

    Args:
        seed: Seed of the random states at which regressors are evaluated.
    """
    import numpy as np

    from sysid_studies import identifiability_study

    with errors.progress("analysing the paper's robots"):
        study = identifiability_study(np.random.default_rng(seed))
    _write(study, html_path, json_path)


@command(reproduce, example="sysid reproduce cheetah3 --html results/cheetah3.html")
def cheetah3(*, html_path: _Html = Path("cheetah3.html"), json_path: JsonPathOption = "") -> None:
    """Reproduce table 6 of Wensing et al.: a leg identified with free or locked torso, tested in a
    gallop.
    """
    from sysid_studies import cheetah3_study

    with errors.progress("galloping"):
        study = cheetah3_study()
    _write(study, html_path, json_path)


@command(reproduce, example="sysid reproduce payload --html results/payload_study.html")
def payload(
    *,
    full: Annotated[bool, typer.Option("--full/--quick")] = False,
    html_path: _Html = Path("payload_study.html"),
    json_path: JsonPathOption = "",
    objects: str = "",
    workers: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Repeat the tables of Nadeau et al.: eight payloads are estimated with every method.

    Args:
        full: Repeat the whole study: all 640 simulations, each with four seeds (takes a few minutes).
        objects: Names, separated by commas; all eight if not given.
        workers: Processes; 0: one per core.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

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
            objects=words(objects) or None,
            workers=workers,
            progress=show,
        )
    _write(study, html_path, json_path)


@command(reproduce, example="sysid reproduce constrained --seeds 3 --html results/constrained.html")
def constrained(
    *,
    html_path: _Html = Path("constrained.html"),
    json_path: JsonPathOption = "",
    loops: str = "own-leg",
    urdf: str = "",
    seeds: Annotated[int, typer.Option(min=1)] = 5,
) -> None:
    """Reproduce tables I to IV of Zhang et al.: identification, prediction and tracking control of a
    leg.

    Args:
        loops: File of the kinematic loops of a mechanism other than the default one, such as Digit's left leg.
        urdf: URDF of this mechanism, if the file of kinematic loops names none.
        seeds: Number of simulated robots.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from sysid_core.robot.loops import load_closed_chain
    from sysid_studies.constrained import ConstrainedStudyConfig, constrained_study

    chain = load_closed_chain(loops, urdf or None)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors) as bar:
        task = bar.add_task("planning", total=1.0)
        study = constrained_study(
            chain,
            ConstrainedStudyConfig(seeds=tuple(range(1, seeds + 1))),
            lambda share, what: bar.update(task, completed=share, description=what),
        )
    _write(study, html_path, json_path)


def _write(study: Study, html_path: Path, json_path: str) -> None:
    """Write the report, and print the numbers (`--json`) or the tables."""

    from sysid_core.report import Report, ReportIndex

    ReportIndex.add(study.report(), html_path)
    if copy_json(study.to_dict(), json_path):
        return
    for table in study.tables:
        print_rows(
            table.columns,
            (list(map(Report.cell_text, row)) for row in table.rows),
            left=table.columns,
            title=table.title,
            caption=table.note or None,
        )
    for remark in study.remarks:
        console.print(remark, highlight=False)
    console.print(f"Report: {html_path}", highlight=False)
