"""Recordings as tables (CSV), and the column map that says what is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from sysid_core.errors import ModelError, SignalError
from sysid_core.robot import Array, Drives
from sysid_core.signals.recording import EffortKind, JointStream, Recording

SCHEMA = "robot_sysid/columns/1"
_ANGLES = {"rad": 1.0, "deg": np.pi / 180.0, "turn": 2.0 * np.pi, "m": 1.0, "mm": 1e-3}
_KEYS = {
    "schema", "description", "delimiter", "header", "n_columns", "files", "rate_hz", "time",
    "joints", "position", "velocity", "acceleration", "effort", "drives", "transmission",
}  # fmt: skip
Column = int | str


@dataclass(frozen=True, eq=False)
class ColumnMap:
    r"""Where a table keeps what, in which units; and the drives that the efforts belong to.

    For bags, which name their own contents, only joints, effort kind and drives matter.

    Attributes:
        joints: Names of the URDF's joints, in the order of all lists here.
        position: Columns (numbers from 0, or names in the header).
        velocity: Columns; empty where not measured.
        acceleration: Columns; empty where not measured.
        effort: Columns; empty where not measured.
        effort_kind: What the effort means; declared, never guessed.
        time: Column of time; None where samples are equally spaced at `rate_hz`.
        time_scale: Seconds per unit of the time column.
        position_scale: Radians per unit of position.
        velocity_scale: rad/s per unit of velocity.
        acceleration_scale: rad/s^2 per unit of acceleration.
        rate_hz: Sampling rate where there is no time column.
        delimiter: Between columns.
        header: Whether the first line holds names.
        n_columns: Expected number of columns; 0 takes what comes.
        files: Names of several tables in one folder, side by side: columns are numbered through,
            named columns are `file:name`.
        drives: Gains, gear ratios and couplings.
        reduction: Where positions and efforts are the motors': `q_motor = reduction @ (q - q_0)`
            and `tau = reduction^T @ (gains * effort)`, shape (n, n); None for the joints' own.
        zero: q_0, joint angles where the motors' positions are zero, shape (n,).
    """

    joints: tuple[str, ...]
    position: tuple[Column, ...]
    velocity: tuple[Column, ...]
    acceleration: tuple[Column, ...]
    effort: tuple[Column, ...]
    effort_kind: EffortKind
    time: Column | None
    time_scale: float
    position_scale: float
    velocity_scale: float
    acceleration_scale: float
    rate_hz: float
    delimiter: str
    header: bool
    n_columns: int
    files: tuple[str, ...]
    drives: Drives
    reduction: Array | None
    zero: Array

    @classmethod
    def load(cls, path: str | Path) -> ColumnMap:
        """Read a column map (YAML).

        Raises:
            SignalError: It can't be read, or something in it is missing or unknown.
        """
        try:
            raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as err:
            raise SignalError(
                f"Can't read the column map '{path}': {err}.",
                remedy="Start from one of config/columns/*.yaml.",
            ) from err
        return cls.from_dict(raw, str(path))

    @classmethod
    def from_dict(cls, raw: object, source: str = "column map") -> ColumnMap:
        """Build from plain data, such as a parsed YAML file."""
        if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
            raise SignalError(
                f"'{source}' is not a column map of schema {SCHEMA}.",
                remedy="Start from one of config/columns/*.yaml.",
            )
        unknown = sorted(set(raw) - _KEYS)
        if unknown:
            raise SignalError(
                f"'{source}' has unknown keys {unknown}.", remedy=f"Known: {sorted(_KEYS)}."
            )
        joints = tuple(str(name) for name in raw.get("joints") or ())
        if not joints:
            raise SignalError(
                f"'{source}' names no joints.",
                remedy="Give `joints: [...]` with the URDF's joint names, in the columns' order.",
            )
        n = len(joints)
        columns, scales = {}, {}
        for key, unit in (("position", ""), ("velocity", "/s"), ("acceleration", "/s^2")):
            columns[key], scales[key] = _signal(raw.get(key), key, n, unit, source)
        effort = raw.get("effort")
        effort_columns: tuple[Column, ...] = ()
        kind = EffortKind.UNKNOWN
        if effort:
            if not isinstance(effort, Mapping):
                raise SignalError(
                    f"'{source}': 'effort' isn't a mapping.",
                    remedy="Give `effort: {columns: [...], kind: motor_current}`.",
                )
            if "columns" in effort:
                effort_columns = _columns(effort, "effort", n, source)
            kind = _effort_kind(effort.get("kind"), source)
        time = raw.get("time")
        rate_hz = float(raw.get("rate_hz") or 0.0)
        time_units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
        unit = (time or {}).get("unit", "s")
        if unit not in time_units:
            raise SignalError(f"'{source}': time unit '{unit}' is unknown.", remedy="s, ms, us, ns")
        drives, reduction, zero = _drives(raw, joints, kind, source)
        if reduction is not None and kind is EffortKind.MOTOR_CURRENT:
            kind = EffortKind.ACTUATOR_TORQUE  # `read_table` applies gains and reduction
        return cls(
            joints=joints,
            position=columns["position"],
            velocity=columns["velocity"],
            acceleration=columns["acceleration"],
            effort=effort_columns,
            effort_kind=kind,
            time=None if time is None else time["column"],
            time_scale=time_units[unit],
            position_scale=scales["position"],
            velocity_scale=scales["velocity"],
            acceleration_scale=scales["acceleration"],
            rate_hz=rate_hz,
            delimiter=str(raw.get("delimiter", ",")),
            header=bool(raw.get("header", False)),
            n_columns=int(raw.get("n_columns", 0)),
            files=tuple(raw.get("files") or ()),
            drives=drives,
            reduction=reduction,
            zero=zero,
        )


def read_table(path: str | Path, columns: ColumnMap) -> Recording:
    """Read a recording from a table, or from a folder of tables side by side.

    Args:
        path: A CSV file; a folder where the map lists `files`.
        columns: What is in it.

    Raises:
        SignalError: Wrong number of columns, text where a number should be, NaN, infinite
            values, or time that runs backward.
    """
    path = Path(path)
    if not columns.position or (columns.time is None and columns.rate_hz <= 0.0):
        raise SignalError(
            "The column map says nothing of positions, or nothing of time.",
            remedy="Give `position: {columns: [...]}` and `time: {column: 0, unit: s}` or"
            " `rate_hz: 1000`. Maps without them only describe the drives of a bag.",
        )
    paths = [path / name for name in columns.files] if columns.files else [path]
    tables = [_read_csv(p, columns) for p in paths]
    if len({len(values) for _, values in tables}) > 1:
        raise SignalError(
            f"The tables in '{path}' have {[len(v) for _, v in tables]} rows.",
            remedy="Tables that are put side by side must belong to the same run.",
        )
    prefix = [f"{p.stem}:" if columns.files else "" for p in paths]
    names = [pre + name for pre, (head, _) in zip(prefix, tables, strict=True) for name in head]
    values = np.hstack([table for _, table in tables])
    if columns.n_columns and values.shape[1] != columns.n_columns:
        raise SignalError(
            f"'{path}' has {values.shape[1]} columns, the column map expects {columns.n_columns}.",
            remedy="Use the column map that belongs to this recording.",
            found=values.shape[1],
            expected=columns.n_columns,
        )
    used = [columns.time] if columns.time is not None else []
    used += [*columns.position, *columns.velocity, *columns.acceleration, *columns.effort]
    index = {column: _column_index(column, names, values.shape[1], path) for column in used}
    for column, k in index.items():
        bad = np.flatnonzero(~np.isfinite(values[:, k]))
        if len(bad):
            raise SignalError(
                f"Column {column!r} of '{path}' is NaN or infinite in {len(bad)} rows, first in"
                f" row {bad[0] + 1 + columns.header}.",
                remedy="Remove these rows or record again.",
                rows=bad,
            )

    def pick(which: Sequence[Column], scale: float) -> NDArray[Any] | None:
        return values[:, [index[c] for c in which]] * scale if which else None

    if columns.time is None:
        time = np.arange(len(values)) / columns.rate_hz
    else:
        time = values[:, index[columns.time]] * columns.time_scale
    q = values[:, [index[c] for c in columns.position]] * columns.position_scale
    v = pick(columns.velocity, columns.velocity_scale)
    a = pick(columns.acceleration, columns.acceleration_scale)
    effort = pick(columns.effort, 1.0)
    if columns.reduction is not None:
        to_joint = np.linalg.inv(columns.reduction).T
        q = q @ to_joint + columns.zero
        v, a = (None if x is None else x @ to_joint for x in (v, a))
        if effort is not None:
            effort = (effort * columns.drives.gains) @ columns.reduction
    step = np.diff(time)
    if np.any(step < 0):
        row = int(np.argmax(step < 0)) + 1
        raise SignalError(
            f"Time runs backward in row {row + 1 + columns.header} of '{path}':"
            f" {time[row - 1]:.6f} s, then {time[row]:.6f} s.",
            remedy="Sort the rows, or split the file where the clock was reset.",
            row=row,
        )
    keep = np.concatenate([[True], step > 0]) if len(time) else np.empty(0, dtype=bool)
    notes: tuple[str, ...] = ()
    if not np.all(keep):
        notes = (f"{int(np.sum(~keep))} rows with a repeated time stamp were dropped.",)
    stream = JointStream(
        names=columns.joints,
        stamps_ns=np.round((time - time[0]) * 1e9).astype(np.int64),
        q=q,
        v=v,
        a=a,
        effort=effort,
        effort_kind=columns.effort_kind,
    )
    return Recording(joints=stream.select(keep), source=str(path), notes=notes)


def _read_csv(path: Path, columns: ColumnMap) -> tuple[list[str], NDArray[Any]]:
    """Names (or empty strings) and values of one table."""
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline().strip()
        names = [name.strip() for name in first.split(columns.delimiter)]
        values = np.loadtxt(
            path, delimiter=columns.delimiter, skiprows=int(columns.header), ndmin=2
        )
    except OSError as err:
        raise SignalError(
            f"Can't read '{path}': {err.strerror}.",
            remedy="Check the path"
            + (
                f"; the column map expects a folder with {columns.files}." if columns.files else "."
            ),
        ) from err
    except ValueError as err:
        raise SignalError(
            f"'{path}' isn't a table of numbers: {err}.",
            remedy="Check `delimiter` and `header` of the column map; every row needs all columns.",
        ) from err
    if len(values) < 2:
        raise SignalError(f"'{path}' has {len(values)} rows.", remedy="Give a whole recording.")
    return (names if columns.header else [""] * values.shape[1]), values


def _column_index(column: Column, names: list[str], count: int, path: Path) -> int:
    if isinstance(column, str):
        if column not in names:
            raise SignalError(
                f"'{path}' has no column '{column}'.",
                remedy=f"Columns: {', '.join(names)}." if any(names) else "It has no header line.",
            )
        return names.index(column)
    if not 0 <= column < count:
        raise SignalError(
            f"'{path}' has {count} columns; the column map asks for number {column} (from 0).",
            remedy="Use the column map that belongs to this recording.",
        )
    return column


def _columns(entry: Any, key: str, n: int, source: str) -> tuple[Column, ...]:
    columns = entry.get("columns") if isinstance(entry, Mapping) else None
    if not isinstance(columns, list) or len(columns) != n:
        found = len(columns) if isinstance(columns, list) else "no"
        raise SignalError(
            f"'{source}': '{key}' has {found} columns for {n} joints.",
            remedy=f"Give `{key}: {{columns: [...]}}` with one column for each joint.",
        )
    return tuple(columns)


def _signal(
    entry: Any, key: str, n: int, suffix: str, source: str
) -> tuple[tuple[Column, ...], float]:
    if not entry:
        return (), 1.0
    unit = str(entry.get("unit", "rad" + suffix)) if isinstance(entry, Mapping) else ""
    units = {angle + suffix: scale for angle, scale in _ANGLES.items()}
    if unit not in units:
        raise SignalError(
            f"'{source}': unit '{unit}' of '{key}' is unknown.", remedy=f"One of {sorted(units)}."
        )
    return _columns(entry, key, n, source), units[unit]


def _effort_kind(kind: Any, source: str) -> EffortKind:
    allowed = [k.value for k in EffortKind if k is not EffortKind.UNKNOWN]
    if kind not in allowed:
        raise SignalError(
            f"'{source}' doesn't say what the efforts mean (kind: {kind}).",
            remedy=f"Declare `effort: {{kind: ...}}`: {', '.join(allowed)}.",
        )
    return EffortKind(kind)


def _drives(
    raw: Mapping[str, Any], joints: tuple[str, ...], kind: EffortKind, source: str
) -> tuple[Drives, Array | None, Array]:
    section = raw.get("drives") or {}
    n = len(joints)
    unknown = sorted(set(section) - {"gain", "couplings", "ripple", "turns"})
    if unknown:
        raise SignalError(f"'{source}': unknown keys {unknown} in 'drives'.")
    if kind is EffortKind.MOTOR_CURRENT and "gain" not in section:
        raise SignalError(
            f"'{source}': the efforts are motor currents, but no drive gains are given.",
            remedy="Give `drives: {gain: [...]}` [N m/A at the joint]; 1.0 for each joint keeps"
            " everything in amperes.",
        )
    transmission = raw.get("transmission") or {}
    reduction = None
    zero = np.zeros(n)
    try:
        drives = Drives(
            joints,
            np.array(section.get("gain", [1.0] * n), dtype=float),
            section.get("couplings") or {},
            {str(axis): float(w) for axis, w in (section.get("ripple") or {}).items()},
            {str(axis): float(w) for axis, w in (section.get("turns") or {}).items()},
        )
        if transmission:
            reduction = np.array(transmission["reduction"], dtype=float)
            zero = np.array(transmission.get("zero", zero), dtype=float)
    except (ModelError, KeyError, ValueError, TypeError) as err:
        raise SignalError(
            f"'{source}': the drive data can't be used: {err}",
            remedy="Give one number per joint, in the order of `joints`.",
        ) from err
    if reduction is not None and (
        reduction.shape != (n, n) or np.linalg.matrix_rank(reduction) < n or zero.shape != (n,)
    ):
        raise SignalError(
            f"'{source}': 'transmission.reduction' must be an invertible {n} x {n} matrix, and"
            f" 'zero' a list of {n}.",
            remedy="One row per motor, one column per joint: q_motor = reduction (q - zero).",
        )
    return drives, reduction, zero
