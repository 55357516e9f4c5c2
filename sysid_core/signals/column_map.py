"""The column map: what a table of numbers holds, in which units, behind which drives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sysid_core.errors import ModelError, SignalError
from sysid_core.robot import WAVE_KINDS, Array, DriveTrain
from sysid_core.signals.recording import EffortKind

COLUMNS_SCHEMA = "robot_sysid/columns/1"
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
        position_scale: Radians (or metres) per unit of position; one for all, or shape (n,).
        velocity_scale: rad/s per unit of velocity, likewise.
        acceleration_scale: rad/s^2 per unit of acceleration, likewise.
        rate_hz: Sampling rate where there is no time column.
        delimiter: Between columns; "whitespace" for any number of spaces or tabs.
        header: Whether the first line holds names.
        n_columns: Expected number of columns; 0 takes what comes.
        files: Names of several tables in one folder, side by side: columns are numbered through,
            named columns are `file:name`.
        drives: Gains, gear ratios and couplings.
        reduction: Where positions and efforts are the motors': `q_motor = reduction @ (q - q_0)`
            and `tau = reduction^T @ (gains * effort)`, shape (n, n); None for the joints' own.
        zero: q_0, joint angles where the motors' positions are zero, shape (n,).
        gains_known: False where the map says `gain: unknown`: the drives' gains are all 1 then.
    """

    joints: tuple[str, ...]
    position: tuple[Column, ...]
    velocity: tuple[Column, ...]
    acceleration: tuple[Column, ...]
    effort: tuple[Column, ...]
    effort_kind: EffortKind
    time: Column | None
    time_scale: float
    position_scale: float | Array
    velocity_scale: float | Array
    acceleration_scale: float | Array
    rate_hz: float
    delimiter: str
    header: bool
    n_columns: int
    files: tuple[str, ...]
    drives: DriveTrain
    reduction: Array | None
    zero: Array
    gains_known: bool = True

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
        if not isinstance(raw, dict) or raw.get("schema") != COLUMNS_SCHEMA:
            raise SignalError(
                f"'{source}' is not a column map of schema {COLUMNS_SCHEMA}.",
                remedy="Start from one of config/columns/*.yaml.",
            )
        unknown = sorted(set(raw) - _KEYS)
        if unknown:
            raise SignalError(
                f"'{source}' has unknown keys {unknown}.", remedy=f"Known: {sorted(_KEYS)}."
            )
        names = raw.get("joints")
        joints = tuple(map(str, names)) if isinstance(names, list | tuple) else ()
        if not joints or len(set(joints)) < len(joints):
            raise SignalError(
                f"'{source}' names {'a joint twice' if joints else 'no joints'}.",
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
        if time is not None and not (isinstance(time, Mapping) and "column" in time):
            raise SignalError(
                f"'{source}': 'time' says no column.", remedy="Give `time: {column: 0, unit: s}`."
            )
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
            rate_hz=_number(raw, "rate_hz", source),
            delimiter=str(raw.get("delimiter") or ","),
            header=bool(raw.get("header", False)),
            n_columns=int(_number(raw, "n_columns", source)),
            files=tuple(raw.get("files") or ()),
            drives=drives,
            reduction=reduction,
            zero=zero,
            gains_known=(raw.get("drives") or {}).get("gain") != "unknown",
        )


def _number(raw: Mapping[str, Any], key: str, source: str) -> float:
    try:
        return float(raw.get(key) or 0.0)
    except (TypeError, ValueError) as err:
        raise SignalError(f"'{source}': '{key}' is {raw[key]!r}, no number.") from err


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
) -> tuple[tuple[Column, ...], float | Array]:
    if not entry:
        return (), 1.0
    unit = entry.get("unit", "rad" + suffix) if isinstance(entry, Mapping) else ""
    units = {angle + suffix: scale for angle, scale in _ANGLES.items()}
    several = unit if isinstance(unit, list) else [unit]
    unknown = [one for one in several if not isinstance(one, str) or one not in units]
    if unknown or (isinstance(unit, list) and len(unit) != n):
        raise SignalError(
            f"'{source}': unit '{unknown[0]}' of '{key}' is unknown."
            if unknown
            else f"'{source}': '{key}' has {len(several)} units for {n} joints.",
            remedy=f"One of {sorted(units)}, for all joints or in a list with one for each.",
        )
    scales = np.array([units[one] for one in several])
    return _columns(entry, key, n, source), scales if isinstance(unit, list) else float(scales[0])


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
) -> tuple[DriveTrain, Array | None, Array]:
    section = raw.get("drives") or {}
    n = len(joints)
    unknown = sorted(set(section) - {"gain", "couplings", *WAVE_KINDS})
    if unknown:
        raise SignalError(f"'{source}': unknown keys {unknown} in 'drives'.")
    if kind is EffortKind.MOTOR_CURRENT and "gain" not in section:
        raise SignalError(
            f"'{source}': the efforts are motor currents, but no drive gains are given.",
            remedy="Give `drives: {gain: [...]}` [N m/A at the joint]; 1.0 for each joint keeps"
            " everything in amperes; `gain: unknown` lets `sysid identify --loaded` find them.",
        )
    transmission = raw.get("transmission") or {}
    gain = section.get("gain", [1.0] * n)
    if gain == "unknown":
        if transmission:
            raise SignalError(
                f"'{source}': gains behind a transmission must be given.",
                remedy="Give `drives: {gain: [...]}` [N m/A at the motors' shafts].",
            )
        gain = [1.0] * n
    reduction = None
    zero = np.zeros(n)
    try:
        drives = DriveTrain(
            joints,
            np.array(gain, dtype=float),
            {
                axis: {joint: float(factor) for joint, factor in factors.items()}
                for axis, factors in (section.get("couplings") or {}).items()
            },
            {
                kind: {axis: w if isinstance(w, list) else [w] for axis, w in section[kind].items()}
                for kind in WAVE_KINDS
                if kind in section
            },
        )
        if transmission:
            reduction = np.array(transmission["reduction"], dtype=float)
            zero = np.array(transmission.get("zero", zero), dtype=float)
    except (ModelError, AttributeError, KeyError, ValueError, TypeError) as err:
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
