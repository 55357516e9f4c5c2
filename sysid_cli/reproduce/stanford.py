# SPDX-License-Identifier: Apache-2.0
"""`sysid reproduce stanford`: tables I and II of Lin 1992."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import console, example, reproduce
from sysid_cli.recordings import JsonPathOption
from sysid_cli.tables import print_table

if TYPE_CHECKING:
    from rich.table import Table

    from sysid_studies import StanfordStudy


@reproduce.command("stanford", epilog=example("sysid reproduce stanford"))
def stanford(
    json_path: JsonPathOption = "",
    seed: Annotated[int, typer.Option(help="Seed of the motions of the closing check.")] = 1992,
    motions: Annotated[int, typer.Option(min=1, help="Random motions of the closing check.")] = 200,
) -> None:
    """Identify the Stanford arm one joint at a time and compare with the paper's tables."""
    import numpy as np

    from sysid_studies import stanford_study

    study = stanford_study(np.random.default_rng(seed), motions)
    if json_path:
        text = json.dumps(study.to_dict(), indent=2)
        if json_path == "-":
            sys.stdout.write(text + "\n")
            return
        from pathlib import Path

        Path(json_path).write_text(text + "\n", encoding="utf-8")
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
