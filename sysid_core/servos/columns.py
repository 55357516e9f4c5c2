# SPDX-License-Identifier: Apache-2.0
"""Columns of a table with commands and positions: recognised by their names, or declared in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from sysid_core.errors import SignalError
from sysid_core.files import Count, FileKind, FileSchema, Name, Positive
from sysid_core.servos.recording import Array, ServoRecording
from sysid_core.signals import ColumnMap

_KIND = FileKind(
    "column map of servos",
    "`sysid init TABLE --driver servos --robot URDF` writes a template.",
    SignalError,
)
_TABLE = FileKind("servo table", "Give a table with times, commands and positions.", SignalError)
_INIT = "`sysid init TABLE --driver servos --robot URDF` writes a column map for --columns."
# Words for commands, positions and times, in names of columns and arrays.
COMMAND_WORDS = (
    "target", "targets", "target_position", "q_des", "q_target", "q_cmd", "q_ref", "cmd", "command",
    "commands", "position_command", "goal", "goal_position", "action", "actions", "desired",
    "reference", "setpoint",
)  # fmt: skip
POSITION_WORDS = (
    "q", "qpos", "pos", "position", "positions", "present_position", "measured", "actual",
    "joint_positions", "observation.state", "state",
)  # fmt: skip
TIME_WORDS = ("t", "time", "timestamp", "timestamps", "stamp", "stamps")
_QUANTITY = re.compile(r"(?:vel|effort|torque|curr|load|temp|acc)", re.IGNORECASE)  # no position's
_UNIT = re.compile(r"\s*[\[(](\w+)[\])]$|_(deg|rad|s|sec|ms|us|ns)$", re.IGNORECASE)


def unit_of(name: str) -> tuple[str, str]:
    """Return the name of a column without its unit, and the unit: `time_ms`, `q_elbow [deg]`."""
    found = _UNIT.search(name)
    if found is None:
        return name, ""
    unit = (found[1] or found[2]).lower()
    return name[: found.start()], {"sec": "s", "degrees": "deg"}.get(unit, unit)


def _said(name: str) -> tuple[str, str]:
    """Whether a column holds commands or positions, by the word before or after its joint's name, and
    the joint.
    """
    for before in (True, False):
        for what, words in (("command", COMMAND_WORDS), ("position", POSITION_WORDS)):
            word = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
            form = rf"^(?:{word})[._ ]?(.*)$" if before else rf"^(.+?)[._ ](?:{word})$"
            if found := re.match(form, name, re.IGNORECASE):
                return what, found[1]
    numbered = re.match(r"^joint[._ ]?(.+)$", name, re.IGNORECASE)
    return ("position", numbered[1]) if numbered else ("", name)


# Between positions of a servo [s]: beyond these steps, times have another unit.
_SLOWEST, _FASTEST = 0.5, 0.002


@dataclass(frozen=True)
class Times:
    """Column of times with its unit; "": the unit is inferred from the time step."""

    values: Array
    unit: str = ""

    @property
    def seconds(self) -> tuple[Array, tuple[str, ...]]:
        """Times since the first one [s], and the assumptions that were made."""
        t = np.array(self.values, dtype=float)
        sound = t[np.isfinite(t)]
        if not len(sound):
            return t, ()
        t, sound = t - sound[0], sound - sound[0]
        if self.unit in ColumnMap.SECONDS:
            return t * ColumnMap.SECONDS[self.unit], ()
        step = float(np.median(np.abs(np.diff(sound)))) if len(sound) > 1 else 0.0
        if step > _SLOWEST:
            for unit, scale in ColumnMap.SECONDS.items():
                if _FASTEST <= step * scale <= _SLOWEST:
                    return t * scale, (f"Times were taken as {unit}: their step is {step:.6g}.",)
        return t, ()


class _Time(FileSchema):
    column: Count | Name
    unit: Literal["", "s", "ms", "us", "ns"] = ""


class _Signal(FileSchema):
    columns: tuple[Count | Name, ...] = Field(min_length=1)
    unit: Literal["rad", "deg"] = "rad"


class _File(FileSchema):
    schema_: Literal["robot_sysid/servo_columns/1"] = Field(alias="schema")
    time: _Time | None = None
    rate_hz: Positive | None = None
    joints: tuple[Name, ...] = Field(min_length=1)
    position: _Signal
    target: _Signal

    @model_validator(mode="after")
    def _sound(self) -> _File:
        if (self.time is None) == (self.rate_hz is None):
            raise ValueError("give `time: {column: ...}`, or `rate_hz` for equally spaced rows")
        for key in ("position", "target"):
            if (n := len(getattr(self, key).columns)) != len(self.joints):
                raise ValueError(f"`{key}` has {n} columns for {len(self.joints)} joints")
        return self


@dataclass(frozen=True)
class ServoColumns:
    """Columns of a table with commands and positions.

    Attributes:
        joints: Names of the n joints, in the order of the columns; a joint without a name has a
            number or an empty string instead.
        position: Columns of the positions (names in the header, or numbers from 0), one per joint.
        target: Columns of the commands, one per joint.
        degrees: One flag per column, first positions, then commands: True if it is in degrees;
            length 2n.
        time: Column of time; None for rows equally spaced at `rate_hz`.
        time_unit: Unit of time (s, ms, us, ns); "": inferred from the time step.
        rate_hz: Sampling rate if there is no time column [Hz].
        alone: Commands whose positions are missing.
    """

    SCHEMA: ClassVar[str] = "robot_sysid/servo_columns/1"

    joints: tuple[str, ...]
    position: tuple[str | int, ...]
    target: tuple[str | int, ...]
    degrees: tuple[bool, ...]
    time: str | int | None = None
    time_unit: str = ""
    rate_hz: float = 0.0
    alone: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: str | Path) -> ServoColumns:
        """Load a column map from a YAML file.

        Raises:
            SignalError: The file cannot be read, or an entry is missing or unknown.
        """
        file = _KIND.read_schema(path, _File)
        degrees = tuple(
            signal.unit == "deg" for signal in (file.position, file.target) for _ in file.joints
        )
        return cls(
            file.joints,
            file.position.columns,
            file.target.columns,
            degrees,
            time=None if file.time is None else file.time.column,
            time_unit="" if file.time is None else file.time.unit,
            rate_hz=file.rate_hz or 0.0,
        )

    @classmethod
    def recognised(cls, names: Mapping[str, Array]) -> ServoColumns:
        """Recognise the columns of commands and positions by a keyword before or after the joint's name.

        Args:
            names: Names of the columns; the values of shape (K,) are not used.
        """
        time: tuple[str, str] | None = None
        commands: dict[str, tuple[str, str, bool]] = {}
        positions: dict[str, tuple[str, str, bool]] = {}
        for name in names:
            bare, unit = unit_of(name)
            if bare.lower() in TIME_WORDS:
                time = time or (name, unit)
                continue
            what, joint = _said(bare)
            there = {"command": commands, "position": positions}.get(what)
            if there is not None and not _QUANTITY.match(joint):
                there.setdefault(joint.lower(), (joint, name, unit == "deg"))
        both = [joint for joint in commands if joint in positions]
        pairs = [(positions[joint], commands[joint]) for joint in both]
        return cls(
            tuple(command[0] for _, command in pairs),
            tuple(position[1] for position, _ in pairs),
            tuple(command[1] for _, command in pairs),
            tuple(x[i][2] for i in range(2) for x in pairs),
            time=time[0] if time else None,
            time_unit=time[1] if time else "",
            alone=tuple(commands[joint][0] for joint in commands if joint not in positions),
        )

    def read(self, table: Mapping[str, Array], path: Path) -> ServoRecording:
        """Return the motion in the columns of a table.

        Args:
            table: Columns by name, shape (K,) each.
            path: File of the table, for the name of the motion and for errors.

        Raises:
            SignalError: A column is missing.
        """
        if self.time is None and not self.rate_hz:
            raise _TABLE.refusal(
                path, f"no column of time was recognised: {', '.join(table)}", _INIT
            )
        if not self.joints:
            raise _TABLE.refusal(
                path,
                f"no columns were recognised as command and position of a joint: {', '.join(table)}",
                f"Name the columns target_JOINT (commands) and q_JOINT (positions), or: {_INIT}",
            )
        chosen = [_column(table, column, path) for column in (*self.position, *self.target)]
        scaled = [np.radians(x) if deg else x for x, deg in zip(chosen, self.degrees, strict=True)]
        n = len(self.joints)
        q, target = np.stack(scaled[:n], axis=1), np.stack(scaled[n:], axis=1)
        t: Array
        notes: tuple[str, ...] = ()
        if self.time is None:
            t = np.arange(len(q)) / self.rate_hz
        else:
            t, notes = Times(_column(table, self.time, path), self.time_unit).seconds
        if self.alone:
            alone = ", ".join(f"target_{joint}" for joint in self.alone)
            notes = (*notes, f"Omitted, because their positions are missing: {alone}.")
        named = not all(re.fullmatch(r"\d*", joint) for joint in self.joints)
        return ServoRecording(path.stem, self.joints if named else (), t, q, t, target, notes)


def _column(table: Mapping[str, Array], column: str | int, path: Path) -> Array:
    names = list(table)
    if isinstance(column, int) and column < len(names):
        return table[names[column]]
    if str(column) in table:
        return table[str(column)]
    raise _TABLE.refusal(path, f"it has no column {column!r}: {', '.join(names)}", _INIT)
