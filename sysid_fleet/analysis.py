# SPDX-License-Identifier: Apache-2.0
"""Time series of the parameters of a fleet, and their changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.reasons import Outcome
from sysid_fleet.drift import Monitored, Series, Spread, monitor, spread_of
from sysid_fleet.registry import Registry, settings_hash

WATCHED = (".friction", ".beta", "load.m", "sensor.")
_RELATIVE = (".friction", "sensor.gain")  # robots differ by a factor in these
NEEDED = (
    *("recording", "robot", "tool", "time", "temperature", "warm_up"),
    *("parameter", "value", "deviation", "unit", "reason", "data_hash", "settings_hash"),
)
_FIRST = 5  # estimates that give the factor

Key = tuple[str, str, str]  # robot, tool, parameter


@dataclass(frozen=True, eq=False)
class Trend:
    """Time series of one parameter of one robot with one tool.

    Attributes:
        series: Estimated values over time, relative to `scale`.
        monitored: Result of the search for changes.
        spread: Variation that the robots of the group share.
        scale: Reference by which the values were divided, in `unit`; 1 if they were not divided.
        unit: Unit of the product of scale and value.
    """

    series: Series
    monitored: Monitored
    spread: Spread
    scale: float
    unit: str

    @property
    def is_judged(self) -> bool:
        """True if the time series is long enough for the detection of a change."""
        seen = bool(np.any(np.isfinite(self.monitored.residual)))
        return seen and float(np.ptp(self.series.time)) > 0.0


@dataclass(frozen=True, eq=False)
class FleetState:
    """All time series, and the recordings without estimates.

    Attributes:
        trends: Time series by robot, tool and parameter.
        failed: Recordings without an estimate, each with the reason.
        copies: Recordings that are byte-identical to another recording, each with the path of the
            other.
        outdated: Recordings that were only estimated with other settings, and are ignored.
        false_alarms: Expected number of false alarms for each robot and year.
    """

    trends: Mapping[Key, Trend]
    failed: tuple[tuple[str, str], ...]
    copies: Mapping[str, str]
    outdated: tuple[str, ...]
    false_alarms: float

    @property
    def watched(self) -> int:
        """Number of time series that are long enough for the detection of a change."""
        return sum(trend.is_judged for trend in self.trends.values())

    @property
    def outcome(self) -> Outcome:
        """Outcome: fail if a parameter changed; not judged if no time series is long enough; warn
        if recordings gave no estimate; else pass.
        """
        if self.alarms():
            return Outcome.FAIL
        if not self.watched:
            return Outcome.NOT_JUDGED
        return Outcome.WARN if self.failed else Outcome.PASS

    def alarms(self) -> list[dict[str, Any]]:
        """Return the detected changes as table rows, the largest first."""
        rows = []
        for (robot, tool, parameter), trend in self.trends.items():
            when = trend.series.time
            for change in trend.monitored.changes:
                size = (change.after - change.before) * trend.scale
                rows.append(
                    {
                        "robot": robot,
                        "tool": tool,
                        "parameter": parameter,
                        "begins": _moment(when[change.begins]),
                        "noticed": _moment(when[change.noticed]),
                        "before": change.before * trend.scale,
                        "after": change.after * trend.scale,
                        "change": size,
                        "deviation": change.deviation * trend.scale,
                        "unit": trend.unit,
                        "statistic": change.statistic,
                    }
                )
        return sorted(rows, key=lambda r: -abs(r["change"]) / max(r["deviation"], 1e-300))


def analyse(rows: Sequence[Mapping[str, Any]], registry: Registry) -> FleetState:
    """Detect changes in all monitored parameters.

    Recordings with the same content count once. Estimates with other settings than those in the
    registry are ignored.

    Args:
        rows: Rows of the dataset, in any order.
        registry: Registry with the groups of robots and the rate of false alarms.
    """
    latest: dict[Key, dict[object, Mapping[str, Any]]] = {}
    every = {row["recording"] for row in rows if row["parameter"]}
    settings = {
        (name, tool): settings_hash(registry.robots[name], registry.robots[name].tools.get(tool))
        for name, tool in {(row["robot"], row["tool"] or "") for row in rows if _says(row)}
        if name in registry.robots
    }
    rows = [
        row
        for row in rows
        if not _says(row) or row["settings_hash"] == settings.get((row["robot"], row["tool"] or ""))
    ]
    current = {row["recording"] for row in rows if row["parameter"]}
    copies = _copies(rows)
    for row in rows:
        name, known = row["parameter"], row["robot"] in registry.robots
        if row["recording"] in copies or not (known and is_watched(name)) or row["time"] is None:
            continue
        if row["value"] is not None and math.isfinite(row["value"]):
            same = row.get("data_hash") or (row["recording"], row["time"])
            latest.setdefault((row["robot"], row["tool"] or "", name), {})[same] = row
    found = {key: list(some.values()) for key, some in latest.items()}
    prepared = {key: _series(key[2], some) for key, some in found.items() if len(some) > 1}
    groups: dict[Key, list[Series]] = {}
    for (robot, tool, name), (series, _) in prepared.items():
        groups.setdefault((registry.group(robot), tool, name), []).append(series)
    spreads: dict[Key, Spread] = {}
    for key, group in groups.items():
        try:
            spreads[key] = spread_of(group)
        except EstimationError:
            continue
    counts: dict[str, int] = {}
    for robot, _, _ in prepared:
        counts[robot] = counts.get(robot, 0) + 1
    trends = {}
    for (robot, tool, name), (series, scale) in prepared.items():
        spread = spreads[(registry.group(robot), tool, name)]
        length = registry.recordings_per_year * counts[robot] / registry.false_alarms
        unit = str(found[(robot, tool, name)][0]["unit"])
        watched_series = monitor(series, spread, shift=registry.shift, run_length=length)
        trends[(robot, tool, name)] = Trend(series, watched_series, spread, scale, unit)
    failed = {
        str(row["recording"]): str(row["reason"])
        for row in rows
        if not row["parameter"] and row["recording"] not in current
    }
    outdated = tuple(sorted(str(name) for name in every - current - set(failed)))
    return FleetState(trends, tuple(failed.items()), copies, outdated, registry.false_alarms)


def _says(row: Mapping[str, Any]) -> bool:
    """True if a row contains the settings of its estimate (rows of failed recordings do not)."""
    return row.get("settings_hash") is not None


def _copies(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Recordings with the same content as an earlier recording of the robot, with the name of that
    one.

    If copies counted twice, the variation between nights would seem smaller than it is, and later
    nights would cause alarms.
    """
    first: dict[tuple[str, str], str] = {}
    copies = {}
    for row in sorted(rows, key=lambda row: str(row["recording"])):
        if data := row.get("data_hash"):
            one = first.setdefault((row["robot"], data), row["recording"])
            if one != row["recording"]:
                copies[row["recording"]] = one
    return copies


def is_watched(parameter: str) -> bool:
    """Return True if changes of a parameter are monitored."""
    return (
        parameter.endswith(WATCHED[:2])
        or parameter == WATCHED[2]
        or parameter.startswith(WATCHED[3])
    )


def _series(name: str, rows: Sequence[Mapping[str, Any]]) -> tuple[Series, float]:
    """Values in time order; if the robots of a group differ in scale, relative to the first
    estimates.
    """
    rows = sorted(rows, key=lambda row: row["time"])
    value = np.array([row["value"] for row in rows], dtype=float)
    scale = 1.0
    if name.endswith(_RELATIVE):
        scale = abs(float(np.median(value[:_FIRST]))) or 1.0
    temperature = _column(rows, "temperature")
    known = bool(np.isfinite(temperature).any())
    return (
        Series(
            time=np.array([row["time"].timestamp() for row in rows]),
            value=value / scale,
            deviation=_column(rows, "deviation") / scale,
            regressor=temperature if known else _column(rows, "warm_up"),
        ),
        scale,
    )


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=float)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(float(seconds), timezone.utc)
