# SPDX-License-Identifier: Apache-2.0
"""Common parts of the demos: recording of a motion, identification, and summary."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from robot_sysid.action import Identify

from sysid_core.files import write_json
from sysid_core.planning import Trajectory
from sysid_core.report import Report, ReportIndex
from sysid_nodes.bringup import NodeSpec, live
from sysid_nodes.client import LiveClient

# A busy laptop is no faulty robot: the simulated one may stall for a second.
PATIENCE = {"stale_s": 1.0, "max_step_s": 1.0, "wrench_stale_s": 2.0}
Check = tuple[str, bool, str]  # what must hold, whether it does, the number


@contextmanager
def demo(
    specs: Sequence[NodeSpec], out: Path, namespace: str, console: Console
) -> Iterator[LiveClient]:
    """Provide a client of active nodes, which read and write files in `out`.

    The nodes use the time of the simulated robot, so that a slow computer gives the same result in
    a longer time.
    """
    specs = [spec.below(out).in_simulated_time() for spec in specs]
    with live(specs, out, namespace, console) as (_, client):
        yield client


def record(client: LiveClient, console: Console, file: Path, bag: Path) -> None:
    """Execute a trajectory and record it in a bag, with half a second at rest at the end."""
    shutil.rmtree(bag, ignore_errors=True)
    client.start_recording(str(bag))
    timeout_s = 3.0 * Trajectory.load(file).duration + 120.0
    result = client.execute_watched(console, file, timeout_s=timeout_s)
    rested = time.monotonic() + 0.5
    client.wait_until(lambda: time.monotonic() > rested, 10.0, "the robot to rest")
    client.stop_recording()
    console.print(
        f"Done in {result.duration:.0f} s, tracking error at most"
        f" {1e3 * result.max_tracking_error:.1f} mrad; recorded in {bag}.",
        highlight=False,
        soft_wrap=True,
    )


def identify(client: LiveClient, console: Console, folder: Path, **goal: Path | str) -> Any:
    """Request an identification from the estimator's action; `goal`: fields of the action."""
    shutil.rmtree(folder, ignore_errors=True)
    fields = {name: Path(value).name for name, value in goal.items()}  # below the demo's folder
    with console.status("The estimator identifies (action ~/identify)"):
        result = client.identify(
            Identify.Goal(directory=folder.name, **fields), lambda _: None, timeout_s=900.0
        )
    estimate = result.estimate
    console.print(
        f"Identified by {estimate.method}: rank {estimate.rank} of {estimate.structural_rank} from"
        f" {estimate.samples_used} samples, latched on estimator/parameters."
    )
    return result


def show_rows(
    console: Console,
    report: Report,
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Show a table in the terminal and in the report; the first column contains names."""
    table = Table(title=escape(caption))
    for k, column in enumerate(columns):
        table.add_column(column, justify="right" if k else "left")
    for row in rows:
        table.add_row(str(row[0]), *(Report.cell_text(x) for x in row[1:]))
    console.print(table)
    report.table(list(columns), [list(row) for row in rows], caption)


def judge(
    console: Console, report: Report, out: Path, checks: Sequence[Check], page: str = "report"
) -> int:
    """Show the results of the checks, and write a page (HTML) and `checks.json`; return 0 if all
    checks pass, otherwise 1.
    """
    report.heading("Verdict")
    for text, ok, value in checks:
        sentence = f"{text}: {value}" if value else text
        console.print("[green]✓[/]" if ok else "[red]✗[/]", sentence, highlight=False)
        report.verdict(ok, sentence)
    ReportIndex.add(report, out / f"{page}.html")
    result = {
        "schema": "robot_sysid/demo/1",
        "passed": all(ok for _, ok, _ in checks),
        "checks": [
            {"check": text, "passed": bool(ok), "value": value} for text, ok, value in checks
        ],
    }
    write_json(out / "checks.json", result)
    console.print(f"Checks: {out / page}.html", soft_wrap=True)
    return 0 if result["passed"] else 1
