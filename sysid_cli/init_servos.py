# SPDX-License-Identifier: Apache-2.0
"""`sysid init --driver servos` writes the column map of a table with commands and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sysid_cli.base import remark
from sysid_cli.init import OPEN, largest_position
from sysid_core.servos import ServoColumns, read_recordings
from sysid_core.signals import read_any_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sysid_core.robot import RobotModel
    from sysid_core.servos import ServoRecording

_SHORTEST = 120.0  # [s] of motion that the start page asks for


def servo_columns(path: Path, model: RobotModel) -> tuple[str, list[str]]:
    """Return the text of a table's column map, and the entries that a person must complete.

    Args:
        path: Table with times, commands and positions.
        model: Robot whose joints are recognised in the columns.

    Raises:
        SignalError: The file is not a table.
    """
    table = read_any_table(path)
    found = ServoColumns.recognised(table)
    chosen, by_order = _joints(found, model)
    missing = []
    if found.time is None:
        time = f"rate_hz: {OPEN}  # no column of time was found: give the sampling rate [Hz]"
        missing.append("rate_hz, or the column of time (time: {column: …, unit: s}).")
    else:
        unit = f", unit: {found.time_unit}" if found.time_unit else ""
        time = f"time: {{column: {_quoted(found.time)}{unit}}}"
        if chosen:
            motion = found.read(table, path)
            time += f"  # {_extent([motion])}"
            missing += _too_short([motion])
    lines = [
        f"# Column map of '{path.name}' for `sysid servos identify`, written by `sysid init`.",
        "# A column is given by its name, or by its number from 0. The columns of the table are",
        f"# {', '.join(table)}",
        f"schema: {ServoColumns.SCHEMA}",
        time,
        "# Joints of the URDF, in the order of the columns below. Other joints stand still.",
        f"joints: [{', '.join(chosen or model.joint_names)}]",
    ]
    n = len(found.joints)
    for key, columns, degrees, about in (
        ("position", found.position, found.degrees[:n], "measured by the encoders"),
        ("target", found.target, found.degrees[n:], "commanded"),
    ):
        names = [str(columns[k]) for k in chosen.values()]
        listed = ", ".join(map(_quoted, names)) or ", ".join([OPEN] * len(model.joint_names))
        unit = "deg" if any(degrees) or _beyond(table, names, model) else "rad"
        lines.append(f"{key}: {{columns: [{listed}], unit: {unit}}}  # {about}; unit: rad or deg")
        if not names:
            missing.append(f"{key}.columns: the columns of the joints were not recognised.")
    if by_order:
        missing.append(
            "joints: check that they are in the order of the columns, which were assigned by order, not by name."
        )
    unknown = [name for name in model.joint_names if name not in chosen]
    if chosen and unknown:
        missing.append(f"the columns of {', '.join(unknown)}, if these joints moved.")
    return "\n".join(lines) + "\n", missing


def describe(recording: Path, model: RobotModel) -> list[str]:
    """Print a summary of a dataset, bag or folder, and return what the recording lacks for `sysid
    servos identify`.

    Raises:
        SignalError: The recording cannot be read, or belongs to another robot.
    """
    motions = read_recordings([recording])
    matched = motions[0].matched(model)
    remark("recording:", _extent(motions), "green")
    remark("joints:", ", ".join(matched.joints), "green")
    for note in matched.notes:
        remark("note:", note)
    return _too_short(motions)


def _joints(found: ServoColumns, model: RobotModel) -> tuple[dict[str, int], bool]:
    """Number of each joint among the recognised ones, and True if they were paired in order."""
    plain = [name.lower().split(".")[0] for name in found.joints]
    by_name = {
        name: plain.index(name.lower()) for name in model.joint_names if name.lower() in plain
    }
    if by_name or len(plain) != len(model.joint_names):
        return by_name, False
    return {name: k for k, name in enumerate(model.joint_names)}, True


def _beyond(table: Mapping[str, NDArray[np.float64]], names: list[str], model: RobotModel) -> bool:
    """Return True if the positions of most joints in radians would exceed twice the largest limit."""
    farthest = [float(np.nanmax(np.abs(table[name]))) for name in names]
    if not farthest:
        return False
    return float(np.median(farthest)) > 2 * largest_position(model)  # a gripper may be in percent


def _extent(motions: Sequence[ServoRecording]) -> str:
    """Number of motions, duration, and rates of positions and commands."""
    total = sum(motion.duration for motion in motions)
    rates = {
        f"{what} {1.0 / float(np.median(np.diff(t))):.3g} Hz"
        for what, t in (("positions", motions[0].t), ("commands", motions[0].t_target))
    }
    several = f"{len(motions)} motions, " if len(motions) > 1 else ""
    return f"{several}{total:.0f} s, {', '.join(sorted(rates, reverse=True))}"


def _too_short(motions: Sequence[ServoRecording]) -> list[str]:
    total = sum(motion.duration for motion in motions)
    if total >= _SHORTEST:
        return []
    return [f"a longer recording: {total:.0f} s of the recommended {_SHORTEST:.0f} s."]


def _quoted(name: object) -> str:
    return '"' + str(name).replace("\\", "\\\\").replace('"', '\\"') + '"'
