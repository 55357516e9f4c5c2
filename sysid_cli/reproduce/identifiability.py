# SPDX-License-Identifier: Apache-2.0
"""`sysid reproduce identifiability` and `cheetah3`: Wensing, Niemeyer, Slotine 2023."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_cli.app import console, copy_json, errors, example, reproduce, tick
from sysid_cli.tables import print_table

if TYPE_CHECKING:
    from sysid_core.report import Report

_Json = Annotated[str, typer.Option("--json", metavar="FILE|-", help="The numbers; - prints them.")]
_Html = Annotated[Path, typer.Option("--html", metavar="FILE", help="The report.")]


@reproduce.command(
    "identifiability", epilog=example("sysid reproduce identifiability --html results/table.html")
)
def identifiability(
    html_path: _Html = Path("identifiability.html"),
    json_path: _Json = "",
    seed: Annotated[int, typer.Option(help="Seed of the states of the sampled regressors.")] = 2023,
) -> None:
    """Tables 2, 4, 5: what can be identified of the PUMA 560, a SCARA and a Cheetah 3 leg."""
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
    console.print("Every figure is the paper's." if study.agrees else "Some figures differ.")
    console.print(f"Report: {html_path}", highlight=False)


@reproduce.command(
    "cheetah3", epilog=example("sysid reproduce cheetah3 --html results/cheetah3.html")
)
def cheetah3(html_path: _Html = Path("cheetah3.html"), json_path: _Json = "") -> None:
    """Table 6: a leg identified with the torso free or locked, then asked to gallop."""
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
        "The zeros are where the paper has them; magnitudes belong to our own robot and gait."
        if study.pattern_matches
        else "The zeros are not where the paper has them."
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
