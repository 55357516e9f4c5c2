# SPDX-License-Identifier: Apache-2.0
"""Inference of an unknown table's layout: delimiter, header, time, positions and velocities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.files import FileKind
from sysid_core.robot import Array
from sysid_core.signals.column_map import ColumnMap
from sysid_core.signals.table import LEAST_STEP, LONGEST_STEP
from sysid_core.signals.text_table import TextTable

_KIND = FileKind("table", "Give a table of numbers (CSV).", SignalError)
_ROWS = 5_000  # that are looked at: at 1 kHz five seconds of motion
_ALIKE = (
    0.9  # correlation of a velocity with the derivative of its position; noise alone leaves 0.3
)
_WORDS = {  # roots of the names that drivers give their columns
    "position": ("actual_q", "joint_positions", "position", "pos", "angle", "q"),
    "velocity": ("actual_qd", "joint_velocities", "velocity", "vel", "speed", "qd", "dq", "qdot"),
    "effort": (
        "actual_current", "joint_torques", "effort", "torque", "tau", "current", "load", "i",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class TableLayout:
    """Layout of a table, inferred from its header.

    Attributes:
        delimiter: Delimiter between columns; "whitespace" for any number of blanks.
        names: Column names in the header; empty strings without a header.
        header: True if the first line contains names.
        time: Column of time; None if no column increases throughout.
        time_unit: Unit of time (s, ms, us or ns) for which the sampling period is between 20 µs and
            0.5 s.
        rate_hz: Median sampling rate [Hz]; 0 without a time column.
        position, velocity, effort: Columns of the joints, in the order of the joints; empty if not
            found.
        by_name: True if columns were found by name, False if by comparing derivatives.
        position_unit: rad, or deg if the positions in radians would exceed the joint limits by more
            than 2 turns.
        ranges: Smallest and largest value of each column.
    """

    delimiter: str
    names: tuple[str, ...]
    header: bool
    time: int | None
    time_unit: str
    rate_hz: float
    position: tuple[int, ...]
    velocity: tuple[int, ...]
    effort: tuple[int, ...]
    by_name: bool
    position_unit: str
    ranges: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, path: str | Path, joints: Sequence[str], largest: float) -> TableLayout:
        """Recognise the columns of a table.

        Column names are used if the header has them. Otherwise a block of columns is the velocity if it
        is the derivative of another block, which is the position. Efforts without a name cannot be
        recognised and remain undefined.

        Args:
            path: Table with or without a header.
            joints: Names of the robot's joints, in the order of the table.
            largest: Largest position limit of the joints [rad]; positions beyond it must be
                degrees.

        Raises:
            SignalError: The file is not a table of numbers.
        """
        table = TextTable.of(Path(path), _KIND)
        columns, _ = table.read(most=_ROWS)
        values = np.column_stack([*columns.values()])
        values = values[~np.isnan(values).all(axis=1)]
        if len(values) < 2:
            raise SignalError(f"'{path}' has {len(values)} rows.", remedy="Give a whole recording.")
        header, width = table.header, values.shape[1]
        names = table.names if len(table.names) == width else ("",) * width
        time, unit, rate = _time(values, names)
        found = _by_names(names, joints) if header else {}
        by_name = len(found.get("position", ())) == len(joints)
        if not by_name:
            found = _by_derivatives(values, time, len(joints)) | {
                kind: columns for kind, columns in found.items() if kind == "effort"
            }
        position = found.get("position", ())
        degrees = (
            bool(position) and float(np.nanmax(np.abs(values[:, list(position)]))) > 2 * largest
        )
        return cls(
            table.delimiter or "whitespace", names, header, time, unit, rate,
            position, found.get("velocity", ()), found.get("effort", ()), by_name,
            "deg" if degrees else "rad",
            tuple(zip(np.nanmin(values, 0).tolist(), np.nanmax(values, 0).tolist(), strict=True)),
        )  # fmt: skip


def _time(values: Array, names: tuple[str, ...]) -> tuple[int | None, str, float]:
    """Column, unit and rate [Hz] of time: the first column that never falls and mostly rises."""
    named = [k for k, name in enumerate(names) if re.match(r"#?\s*(t|time|stamp)", name, re.I)]
    for k in [*named, *range(values.shape[1])]:
        step = np.diff(values[:, k])
        if not np.all(np.isfinite(step)) or np.any(step < 0) or np.mean(step > 0) < 0.5:
            continue
        usual = float(np.median(step[step > 0]))
        stated = re.search(r"(?:_|\W)(s|sec|ms|us|ns)\W*$", names[k], re.I)
        units = [
            u for u, scale in ColumnMap.SECONDS.items() if LEAST_STEP < usual * scale < LONGEST_STEP
        ]
        if stated and (unit := stated[1].lower().removesuffix("ec")) in units:
            units = [unit]
        if units:
            return k, units[0], 1.0 / (usual * ColumnMap.SECONDS[units[0]])
    return None, "s", 0.0


def _by_names(names: tuple[str, ...], joints: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Columns of each signal kind, found by names that consist of a known word and the joint's name
    or number.
    """
    found: dict[str, tuple[int, ...]] = {}
    for kind, roots in _WORDS.items():
        for root in roots:
            columns = tuple(
                _matching(names, root, joint, k, len(joints)) for k, joint in enumerate(joints)
            )
            if all(column >= 0 for column in columns) and len(set(columns)) == len(joints):
                found[kind] = columns
                break
    return found


def _matching(names: tuple[str, ...], root: str, joint: str, k: int, n: int) -> int:
    """Column of joint number k of n whose name contains this word; -1 if there is none."""
    sep = r"[\W_]*"
    by_joint = rf"^(?:{root}{sep}{re.escape(joint)}|{re.escape(joint)}{sep}{root}){sep}$"
    for pattern in (by_joint, *_numbered(root, k, n, names)):
        for column, name in enumerate(names):
            if re.match(pattern, name.strip(), re.I):
                return column
    return -1


def _numbered(root: str, k: int, n: int, names: tuple[str, ...]) -> Iterator[str]:
    """Yield patterns of names that contain the number of the joint: `q1`, `joint_1_position`,
    `actual_q_0`.
    """
    sep = r"[\W_]*"
    zero = any(re.match(rf"^{root}{sep}0{sep}$", name.strip(), re.I) for name in names)
    number = k if zero else k + 1
    yield rf"^{root}{sep}{number}{sep}(?:\[[^\]]*\]|rad|deg|rad/s|nm|a)?$"
    yield rf"^(?:joint|j|axis){sep}{number}{sep}{root}{sep}$"


def _by_derivatives(values: Array, time: int | None, n: int) -> dict[str, tuple[int, ...]]:
    """Position and velocity columns: the two blocks of n columns of which one is the derivative of
    the other.
    """
    t = np.arange(len(values), dtype=float) if time is None else values[:, time]
    starts = [k for k in range(values.shape[1] - n + 1) if time is None or not k <= time < k + n]
    keep = np.concatenate([[True], np.diff(t) > 0])
    best, pair = _ALIKE, None
    for first, second in ((a, b) for a in starts for b in starts if abs(a - b) >= n):
        slope = np.gradient(values[keep, first : first + n], t[keep], axis=0)
        alike = _correlation(slope, values[keep, second : second + n])
        if alike > best:
            best, pair = alike, (first, second)
    if pair is None:
        return {}
    first, second = pair
    return {
        "position": tuple(range(first, first + n)),
        "velocity": tuple(range(second, second + n)),
    }


def _correlation(a: Array, b: Array) -> float:
    """Mean correlation of the columns that change; shapes (K, n)."""
    moving = (np.ptp(a, axis=0) > 0) & (np.ptp(b, axis=0) > 0)
    if not np.any(moving) or not np.all(np.isfinite(a)) or not np.all(np.isfinite(b)):
        return 0.0
    a, b = a[:, moving] - a[:, moving].mean(axis=0), b[:, moving] - b[:, moving].mean(axis=0)
    size = np.linalg.norm(a, axis=0) * np.linalg.norm(b, axis=0)
    return float(np.mean(np.sum(a * b, axis=0) / size))
