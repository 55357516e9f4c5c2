# SPDX-License-Identifier: Apache-2.0
"""`sysid payload --repeat`: the same object weighed again and again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sysid_cli.app import console, copy_json, errors, remark
from sysid_cli.tables import print_table
from sysid_core.errors import SignalError, SysIdError

if TYPE_CHECKING:
    from sysid_core.estimation import Estimate


def weigh_again(folder: Path, weigh: Callable[[Path], Estimate], out: Path, json_path: str) -> None:
    """Weigh every recording of a folder; a table of the answers and their scatter.

    Raises:
        SignalError: It holds no two recordings that can be weighed.
    """
    from rich.table import Table

    from sysid_core.estimation.payload import summarise_payload
    from sysid_core.estimation.payload_live import repeatability

    bags = sorted(x for x in folder.iterdir() if x.is_dir() or x.suffix in (".mcap", ".db3"))
    table = Table(title="One object, weighed again and again (sensor frame)")
    for column in ("recording", "mass [kg]", "± sd", "com [mm]", "± sd"):
        table.add_column(column, justify="left" if column == "recording" else "right")
    estimates: dict[str, Estimate] = {}
    for bag in bags:
        try:
            estimate = weigh(bag)
        except SysIdError as err:
            remark("left out:", f"{bag.name}: {err}", to=errors)
            continue
        estimates[bag.name] = estimate
        p = summarise_payload(estimate)
        com = " ".join(f"{1e3 * x:.2f}" for x in p.com)
        sd = " ".join(f"{1e3 * x:.2f}" for x in p.com_sd)
        table.add_row(bag.name, f"{p.mass:.4f}", f"{p.mass_sd:.4f}", com, sd)
    if len(estimates) < 2:
        raise SignalError(
            f"'{folder}' holds {len(estimates)} recording(s) that can be weighed.",
            remedy="Record the same object twice or more, one bag each, into one folder.",
        )
    found = repeatability(list(estimates.values()))
    result = {
        "schema": "robot_sysid/repeatability/1",
        "recordings": {name: e.values.tolist() for name, e in estimates.items()},
        "mass_scatter": found.mass_scatter,
        "com_scatter": found.com_scatter.tolist(),
        "scatter_in_told_deviations": found.chi,
    }
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1)
    (out / "repeatability.json").write_text(text + "\n", encoding="utf-8")
    if copy_json(text, json_path):
        return
    print_table(table)
    com = ", ".join(f"{1e3 * x:.2f}" for x in found.com_scatter)
    console.print(
        f"{len(estimates)} weighings: mass {found.mass.mean():.4f} kg, scatter"
        f" {100 * found.mass_scatter:.2f} %; centre of mass scatter [{com}] mm"
        f" ({found.chi:.1f} times the reported deviations).",
        soft_wrap=True,
        highlight=False,
    )
