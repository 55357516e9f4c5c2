# SPDX-License-Identifier: Apache-2.0
"""`sysid fleet` detects changes of many robots from their regular recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.base import console, group, require_folder
from sysid_cli.settings import (
    ClusterOption,
    MemoryOption,
    ResumeOption,
    WorkersOption,
    command,
    progress_shown,
)

if TYPE_CHECKING:
    from sysid_fleet import FleetState

fleet = group(
    "fleet",
    "Detect lasting changes in many robots from their regular recordings.",
    "sysid fleet identify nights/ --registry fleet.yaml --out results/fleet",
)

RegistryOption = Annotated[
    Path, typer.Option(help="YAML: robots with description, calibration, recordings and tools.")
]
OutOption = Annotated[
    Path, typer.Option(help="Folder for estimates and alarms (Parquet) and fleet.html.")
]


@command(fleet, example="sysid fleet identify nights/ --registry fleet.yaml --out results/fleet")
def identify(
    *,
    recordings: Annotated[list[str], typer.Argument(metavar="BAGS...")],
    registry: RegistryOption,
    out: OutOption,
    workers: WorkersOption = 0,
    cluster: ClusterOption = "",
    memory: MemoryOption = "2GiB",
    resume: ResumeOption = False,
) -> None:
    """Estimate friction, load and sensor bias from every recording, and report lasting changes.

    Exit status 1 if there are alarms, 3 if there are too few recordings to judge.

    Args:
        recordings: Bags, folders, patterns, or addresses such as s3://bucket/x.
    """
    from sysid_fleet import Fleet
    from sysid_fleet.batch import Engine

    require_folder(out)
    robots = Fleet.open(registry, out / "rows")
    with Engine(workers, cluster, memory) as engine, progress_shown("recordings", 0) as show:
        state = robots.identify(recordings, engine, resume=resume, progress=show)
    console.print(
        f"{state.done} recordings ({state.skipped} done before, {state.failed} gave no estimate) in"
        f" {state.seconds:.0f} s"
    )
    raise typer.Exit(_say(robots.write_state(out), out))


@command(fleet, example="sysid fleet watch nights/ --registry fleet.yaml --out fleet")
def watch(
    *,
    folder: Annotated[str, typer.Argument(metavar="DIR")],
    registry: RegistryOption,
    out: OutOption,
    every: Annotated[float, typer.Option(min=0.1)] = 60.0,
    looks: Annotated[int, typer.Option(min=0)] = 0,
    workers: WorkersOption = 1,
    cluster: ClusterOption = "",
    memory: MemoryOption = "2GiB",
) -> None:
    """Monitor a folder: process each new recording once it is complete, and update the report.

    Args:
        folder: Folder or address to be monitored.
        every: Time between two checks of the folder [s].
        looks: Number of checks of the folder; 0: until Ctrl-C.
    """
    from sysid_fleet import Fleet
    from sysid_fleet.batch import Engine

    require_folder(out)
    robots = Fleet.open(registry, out / "rows")
    console.print(
        f"watching {folder} every {every:g} s; {len(robots.rows.done())} recordings known",
        highlight=False,
        soft_wrap=True,
    )
    with Engine(workers, cluster, memory) as engine:
        for state in robots.watch(folder, engine, every=every, looks=looks):
            console.print(f"{state.done} new recordings, {state.failed} gave no estimate")
            _say(robots.write_state(out), out)


def _say(state: FleetState, out: Path) -> int:
    """Print the alarms, and return the exit status."""
    alarms = state.alarms()
    for a in alarms[:20]:
        console.print(
            f"· {a['robot']} {a['tool']} {a['parameter']}: {a['before']:.4g} to {a['after']:.4g}"
            f" {a['unit']} since {a['begins']:%Y-%m-%d}, noticed {a['noticed']:%Y-%m-%d}",
            highlight=False,
            soft_wrap=True,
        )
    if state.outdated:
        console.print(
            f"{len(state.outdated)} recordings were estimated with other settings and are ignored:"
            " process them again"
        )
    if state.copies:
        console.print(
            f"{len(state.copies)} recordings are copies of other recordings, and are ignored: see the report"
        )
    more = f" ({len(alarms) - 20} more in fleet.html)" if len(alarms) > 20 else ""
    console.print(
        f"{len(alarms)} alarms{more}; {state.false_alarms:g} false alarms are expected for each robot and year. Written to {out}: estimates (Parquet), alarms.parquet, fleet.html",
        soft_wrap=True,
    )
    if not state.watched:
        console.print("Not judged: too few recordings with estimates.")
    return state.outcome.exit_status
