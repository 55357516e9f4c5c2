# SPDX-License-Identifier: Apache-2.0
"""Workflow of a fleet: from recordings to estimates, and from estimates to alarms and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from sysid_core.errors import BatchError
from sysid_core.files import hash_of, written_whole
from sysid_core.workflows import work_key
from sysid_fleet.analysis import NEEDED, FleetState, analyse, is_watched
from sysid_fleet.batch import Engine, Job, Progress, Rows, Source, find_sources, run_jobs
from sysid_fleet.page import fleet_report
from sysid_fleet.recording import Task, recording_rows
from sysid_fleet.registry import Registry, settings_hash


def fleet_jobs(
    sources: Sequence[Source] | Iterator[Source], registry: Registry
) -> Iterator[Job[Task]]:
    """One job per recording; its key changes with the recording and with the settings.

    Raises:
        BatchError: A recording that is no robot's, or two robots'.
    """
    hashes: dict[tuple[str, str], str] = {}
    for source in sources:
        name, tool_name = registry.owner(source.address)
        robot = registry.robots[name]
        tool = robot.tools.get(tool_name)
        if (name, tool_name) not in hashes:
            hashes[(name, tool_name)] = settings_hash(robot, tool)
        how = {"recording": source.address, "settings": hashes[(name, tool_name)]}
        yield Job(
            work_key(how, [{"role": "data", "sha256": _content(source)}]),
            Task(source, robot, tool),
            {"recording": source.address, "robot": name, "tool": tool_name},
        )


@cache
def _content(source: Source) -> str:
    """Hash of a recording's content; for object storage the tag of the object, so that nothing is
    downloaded.
    """
    local = "://" not in source.address
    return hash_of(source.address) if local else source.stamp


def identify_fleet(
    places: Sequence[str],
    registry: Registry,
    rows: Rows,
    engine: Engine,
    *,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Estimate the parameters in every recording.

    Args:
        places: Files, folders, patterns, addresses of storages.
        registry: Whose recordings these are.
        rows: Where results go.
        engine: Where it is done.
        resume: Whether recordings that were done are left out.
        progress: Called after every recording.

    Raises:
        BatchError: Nothing there, or a recording that is no robot's.
    """
    total = sum(1 for source in find_sources(places) if registry.owner(source.address))
    jobs = fleet_jobs(find_sources(places), registry)
    return run_jobs(
        engine, recording_rows, jobs, rows, total=total, resume=resume, progress=progress
    )


def write_state(rows: Rows, registry: Registry, out: Path) -> FleetState:
    """Analyse all estimates; write `alarms.parquet` and `fleet.html`.

    Raises:
        BatchError: pyarrow isn't installed.
    """
    kept = rows.latest(NEEDED, lambda name: not name or is_watched(name))
    state = analyse(kept, registry)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as err:
        raise BatchError(
            "Alarms are written as Parquet, and pyarrow isn't installed.",
            remedy='Install it: pip install "robot_sysid[cluster]".',
        ) from err
    out.mkdir(parents=True, exist_ok=True)
    moment, number, text = pa.timestamp("us", "UTC"), pa.float64(), pa.string()
    schema = pa.schema(
        [
            *((name, text) for name in ("robot", "tool", "parameter")),
            *((name, moment) for name in ("begins", "noticed")),
            *((name, number) for name in ("before", "after", "change", "deviation")),
            ("unit", text),
            ("statistic", number),
        ]
    )
    with written_whole(out / "alarms.parquet") as file:
        pq.write_table(pa.Table.from_pylist(state.alarms(), schema=schema), file)
    fleet_report(state).save(out / "fleet.html")
    return state
