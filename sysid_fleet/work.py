# SPDX-License-Identifier: Apache-2.0
"""Workflow of a fleet: from recordings to estimates, and from estimates to alarms and a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import BatchError
from sysid_core.files import hash_of, written_whole
from sysid_core.reasons import Outcome
from sysid_core.report import Figure, Report, with_deviation
from sysid_core.workflows import work_key
from sysid_fleet.analysis import NEEDED, FleetState, Key, Trend, analyse, is_watched
from sysid_fleet.batch import Engine, Rows, run_jobs
from sysid_fleet.batch.rows import arrow
from sysid_fleet.batch.run import Job, Progress
from sysid_fleet.batch.sources import Source, find_sources
from sysid_fleet.recording import Task, recording_rows
from sysid_fleet.registry import Registry, settings_hash

_TRENDS = 8  # charts
_LISTED = 20  # failed recordings
_STEPS = 3  # places to inspect, the most significant first; the table lists all


def fleet_report(state: FleetState) -> Report:
    """Return a report with alarms, heat map, time series, pooled values, and recordings without
    estimates.
    """
    report = Report("Fleet", f"robots: {len({k[0] for k in state.trends})}")
    alarms = state.alarms()
    _headline(report, state, alarms)
    if alarms:
        report.heading("Alarms")
        report.table(
            ("robot", "tool", "parameter", "since", "noticed", "before", "after", "change", "unit"),
            [
                [
                    *(a["robot"], a["tool"] or "–", a["parameter"]),
                    *(f"{a[k]:%Y-%m-%d}" for k in ("begins", "noticed")),
                    *(a["before"], a["after"], with_deviation(a["change"], a["deviation"])),
                    a["unit"],
                ]
                for a in alarms
            ],
            "Most significant first",
        )
    report.heading("Robots by parameters")
    report.figure(
        _heat_map(state),
        "Last cumulative sum (CUSUM) of each series, divided by its alarm threshold: 1 raises an alarm."
        " Empty: too few recordings.",
    )
    report.heading("Trends")
    for key in _worst(state)[:_TRENDS]:
        report.figure(_trend_chart(key, state.trends[key]), " ".join(filter(None, key)))
    report.heading("Pooled since the last change")
    report.table(
        ("robot", "tool", "parameter", "value", "unit", "recordings"),
        [
            [
                *(robot, tool or "–", name),
                with_deviation(*(x * t.scale for x in t.monitored.pooled)),
                *(t.unit, len(t.series.value) - t.monitored.since),
            ]
            for (robot, tool, name), t in sorted(state.trends.items())
        ],
        "Pooled values",
        folded=True,
    )
    copies = [f"{name}: {first}" for name, first in state.copies.items()]
    _list(report, "Recordings without an estimate", [f"{n}: {why}" for n, why in state.failed])
    _list(report, "Recordings estimated with other settings (ignored)", state.outdated)
    _list(report, "Copies of other recordings (counted once)", copies)
    return report


def _headline(report: Report, state: FleetState, alarms: list[dict[str, Any]]) -> None:
    """Add the verdict over all robots."""
    robots = {a["robot"] for a in alarms}
    rate = f"{state.false_alarms:g} false alarms for each robot and year are expected"
    if alarms:
        first = alarms[0]
        sentence = (
            f"Changes: {len(alarms)}, robots: {len(robots)}; the most significant: {first['robot']}"
            f" {first['parameter']} {first['before']:.4g} to {first['after']:.4g} {first['unit']}"
            f" since {first['begins']:%Y-%m-%d} ({rate})."
        )
        parts = dict.fromkeys((a["robot"], a["parameter"].rpartition(".")[0]) for a in alarms)
        steps = [
            f"Inspect {part} of {robot}; after a repair, calibrate again." for robot, part in parts
        ]
        report.headline(state.outcome, sentence, next_steps=steps[:_STEPS])
    elif state.outcome is Outcome.NOT_JUDGED:
        report.headline(
            state.outcome,
            f"Too few recordings to see a change; {len(state.failed)} gave no estimate.",
            next_steps=[
                "Give recordings of each robot from several nights, between which changes are detected."
                " The recordings without an estimate are listed below, with the reasons."
            ],
        )
    else:
        lost = f"; {len(state.failed)} recordings gave no estimate" if state.failed else ""
        report.headline(state.outcome, f"Nothing changed in {state.watched} trends ({rate}){lost}.")


def _list(report: Report, heading: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    report.heading(heading)
    report.bullets(lines[:_LISTED])
    if len(lines) > _LISTED:
        report.paragraph(f"{len(lines) - _LISTED} more are in the Parquet files.")


def severity(trend: Trend) -> float:
    """Return the severity of a series: magnitude of the last cumulative sum, plus 1 for an alarm."""
    return float(trend.monitored.level[-1]) + float(bool(trend.monitored.changes))


def _worst(state: FleetState) -> list[Key]:
    return sorted(state.trends, key=lambda key: -severity(state.trends[key]))


def _heat_map(state: FleetState) -> Figure:
    worst = _worst(state)
    robots = list(dict.fromkeys(f"{r} {t}".strip() for r, t, _ in worst))
    names = sorted({name for _, _, name in worst})
    values = np.full((len(robots), len(names)), np.nan)
    for (robot, tool, name), trend in state.trends.items():
        row = robots.index(f"{robot} {tool}".strip())
        if trend.is_judged:
            values[row, names.index(name)] = min(severity(trend), 2.0)
    return Figure.heat_map(values, names, robots, 0.0, 2.0, "alarm")


def _trend_chart(key: Key, trend: Trend) -> Figure:
    when = [datetime.fromtimestamp(float(t), timezone.utc) for t in trend.series.time]
    days = np.asarray(trend.series.time, dtype=float) / 86400.0  # since 1970
    figure = Figure(height=300)
    own = trend.series.deviation * trend.spread.scale
    bars = 2.0 * np.sqrt(np.nan_to_num(own) ** 2 + trend.spread.between**2) * trend.scale
    values = trend.monitored.corrected * trend.scale
    figure.add(0, "dots", days, values, "estimate ± 2 deviations", bars=bars, upright=True)
    for k, change in enumerate(trend.monitored.changes, 1):
        name = f"since {when[change.begins]:%Y-%m-%d}"
        level = [change.after * trend.scale] * 2
        figure.line(
            0, days[[change.begins, -1]], level, name, Figure.COLOURS[k % len(Figure.COLOURS)]
        )
    figure.axis("x", dates=True)
    figure.axis("y", title=f"{key[2]} [{trend.unit}]")
    return figure


def fleet_jobs(
    sources: Sequence[Source] | Iterator[Source], registry: Registry
) -> Iterator[Job[Task]]:
    """Yield one job per recording; its key changes with the recording and with the settings.

    Raises:
        BatchError: A recording belongs to no robot, or to several.
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


@dataclass(frozen=True, eq=False)
class Fleet:
    """Robots of a registry, with the estimates from their recordings.

    Attributes:
        registry: Registry of the robots.
        rows: Dataset to which the estimates are appended.
    """

    registry: Registry
    rows: Rows

    @classmethod
    def open(cls, registry: str | Path, rows: str | Path) -> Fleet:
        """Return the fleet of a registry file (`fleet.yaml`), with the estimates in a folder.

        Raises:
            BatchError: The file is invalid; the message contains file, key and remedy.
        """
        return cls(Registry.load(registry), Rows(rows))

    def identify(
        self,
        places: Sequence[str],
        engine: Engine,
        *,
        resume: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Progress:
        """Estimate the parameters in every recording.

        Args:
            places: Files, folders, patterns, or addresses in an object storage.
            engine: Engine that executes the jobs.
            resume: True to omit recordings that are already processed.
            progress: Function called after every recording.

        Raises:
            BatchError: There are no recordings, or one belongs to no robot or to several.
        """
        total = sum(1 for source in find_sources(places) if self.registry.owner(source.address))
        jobs = fleet_jobs(find_sources(places), self.registry)
        return run_jobs(
            engine, recording_rows, jobs, self.rows, total=total, resume=resume, progress=progress
        )

    def watch(
        self, place: str, engine: Engine, *, every: float, looks: int = 0
    ) -> Iterator[Progress]:
        """Estimate the parameters in each new recording of a folder, once it no longer changes.

        Args:
            place: Folder, or address in an object storage.
            engine: Engine that executes the jobs.
            every: Time between two checks of the folder [s].
            looks: Number of checks; 0: unlimited.

        Yields:
            Progress after each check that found new recordings.
        """
        before: set[Source] = set()
        done = self.rows.done()
        look = 0
        while True:
            look += 1
            try:
                here = set(find_sources([place]))
            except BatchError:
                here = set()  # nothing there yet
            settled = sorted(here & before, key=lambda s: s.address)
            jobs = [job for job in fleet_jobs(settled, self.registry) if job.key not in done]
            before = here
            if jobs:
                progress = run_jobs(engine, recording_rows, jobs, self.rows, total=len(jobs))
                done |= {job.key for job in jobs}
                yield progress
            if looks and look >= looks:
                return
            time.sleep(every)

    def write_state(self, out: Path) -> FleetState:
        """Analyse all estimates; write `alarms.parquet` and `fleet.html`.

        Raises:
            BatchError: The package pyarrow is not installed.
        """
        kept = self.rows.latest(NEEDED, lambda name: not name or is_watched(name))
        state = analyse(kept, self.registry)
        pa = arrow()
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
            pa.parquet.write_table(pa.Table.from_pylist(state.alarms(), schema=schema), file)
        fleet_report(state).save(out / "fleet.html")
        return state
