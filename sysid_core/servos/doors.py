# SPDX-License-Identifier: Apache-2.0
"""Readers of files and folders with commands and positions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import SignalError
from sysid_core.files import FileKind
from sysid_core.servos.columns import (
    COMMAND_WORDS,
    POSITION_WORDS,
    TIME_WORDS,
    ServoColumns,
    Times,
    unit_of,
)
from sysid_core.servos.formats import GRIPPER, TURN, is_gripper, is_lerobot, read_lerobot
from sysid_core.servos.recording import Array, ServoRecording
from sysid_core.signals import read_any_table

KIND = FileKind(
    "servo recording",
    "Give a folder of SAGE's (control.csv, state_motor.csv), a LeRobot dataset, a rosbag2 bag, or"
    " a CSV or NPZ with t, q_*, target_*.",
    SignalError,
)
_PARQUET = ".parquet"
_TICKS = 2 * np.pi / 4096  # [rad] of Feetech's 12-bit encoders


def read_recordings(
    paths: Iterable[str | Path],
    *,
    motions: Sequence[str] = (),
    joints: Sequence[str] = (),
    degrees: bool = False,
    percent: bool = False,
    calibration: str | Path | None = None,
    columns: str | Path | None = None,
) -> tuple[ServoRecording, ...]:
    """Read all motions from files and folders, in the order of the file names.

    Args:
        paths: SAGE folders, LeRobot datasets, rosbag2 bags, CSV, NPZ or JSON files, or folders of
            them.
        motions: Names of the motions to read; empty: all.
        joints: Joint names of the columns, for files without names or with other names.
        degrees: True for angles in degrees.
        percent: True for positions in the scale of LeRobot: share of the range of each joint, -100
            to 100 (0 to 100 for grippers).
        calibration: Calibration file (JSON) of LeRobot with the joint ranges; None: use the limits
            in the URDF.
        columns: Column map of the tables (YAML), written by `sysid init --driver servos`; None:
            recognise the columns by their names.

    Raises:
        SignalError: A file cannot be read, or does not contain a requested motion.
    """
    found: list[ServoRecording] = []
    layout = None if columns is None else ServoColumns.load(columns)
    for path in map(Path, paths):
        if not path.exists():
            raise SignalError(
                f"There is no recording '{path}'.",
                remedy=f"Check the path; the current folder is '{Path.cwd()}'.",
            )
        found += _read(path, frozenset(motions), percent or calibration is not None, layout)
    if motions:
        names = [r.name for r in found]
        missing = [name for name in motions if name not in names]
        if missing:
            raise SignalError(
                f"There are no motions {missing}.", remedy=f"There are: {sorted(set(names))}."
            )
        found = [r for r in found if r.name in motions]
    if not found:
        raise SignalError("There are no motions with commands and positions.", remedy=KIND.remedy)
    if joints:
        found = [replace(r, joints=tuple(joints)) for r in found]
    if degrees:
        found = [replace(r, q=np.radians(r.q), target=np.radians(r.target)) for r in found]
    if percent or calibration is not None:
        ranges = {} if calibration is None else _calibration(Path(calibration))
        found = [_shares(r, ranges) for r in found]
    return tuple(r if degrees or r.full else _gripper_share(r) for r in found)


def _gripper_share(r: ServoRecording) -> ServoRecording:
    """Recording in which the columns of grippers are marked as shares of their range, if they are
    the only columns whose values exceed a whole turn.
    """
    far = np.maximum(np.abs(r.q).max(axis=0), np.abs(r.target).max(axis=0)) > TURN
    grippers = np.array([is_gripper(joint) for joint in r.joints] or [False] * len(far))
    if not far.any() or (far & ~grippers).any():
        return r
    return replace(r, full=tuple(GRIPPER if share else None for share in far))


def _calibration(path: Path) -> dict[str, float]:
    """Half of each joint's range [rad], from LeRobot's calibration file."""
    content = KIND.read_json(path)
    try:
        return {
            joint: 0.5 * (motor["range_max"] - motor["range_min"]) * _TICKS
            for joint, motor in content.items()
        }
    except (AttributeError, KeyError, TypeError) as err:
        raise KIND.refusal(
            path,
            f"it is not a LeRobot calibration ({err})",
            "Give the robot's file of the folder calibration, with range_min and range_max of each"
            " motor.",
        ) from err


def _shares(r: ServoRecording, ranges: dict[str, float]) -> ServoRecording:
    """Recording with a mark for columns that are fractions of a joint's range; columns with known
    ranges are converted to radians about the middle of the range.
    """
    q, target = r.q.copy(), r.target.copy()
    full: list[tuple[float, float] | None] = []
    for i in range(q.shape[1]):
        joint = r.joints[i].split(".")[0] if r.joints else ""
        full.append(GRIPPER if is_gripper(joint) else (-100.0, 100.0))
        if joint in ranges and not is_gripper(joint):
            full[-1] = None
            q[:, i] *= ranges[joint] / 100.0
            target[:, i] *= ranges[joint] / 100.0
    return replace(r, q=q, target=target, full=tuple(full))


def _read(
    path: Path, wanted: frozenset[str], percent: bool, columns: ServoColumns | None = None
) -> list[ServoRecording]:
    if is_lerobot(path) or path.suffix.lower() == _PARQUET:
        return list(read_lerobot(path, wanted, percent))
    if path.is_file():
        reader = _FILES.get(path.suffix.lower())
        if reader is None:
            raise KIND.refusal(path, f"files of the type '{path.suffix}' are not supported")
        if columns is not None and reader is _table:
            return list(_table(path, wanted, columns))
        return list(reader(path, wanted))
    if (path / "metadata.yaml").is_file():
        return list(_bag(path, wanted))
    if (path / "control.csv").is_file():
        return [_sage(path)]
    inside: list[ServoRecording] = []
    for child in sorted(path.iterdir()):
        if child.is_dir() or child.suffix.lower() in (*_FILES, _PARQUET):
            if child.is_dir() and not any(child.iterdir()):
                continue
            inside += _read(child, wanted, percent, columns)
    return inside


def _sage(folder: Path) -> ServoRecording:
    """Read the folder of a motion in the format of SAGE: lists as JSON in a cell, times in
    microseconds.
    """
    t_target, target = _sage_table(folder / "control.csv")
    t, q = _sage_table(folder / "state_motor.csv")
    listed = folder / "joint_list.txt"
    joints = tuple(KIND.read_text(listed).split()) if listed.is_file() else ()
    return ServoRecording(folder.name, joints, t, q, t_target, target)


def _sage_table(path: Path) -> tuple[Array, Array]:
    lines = KIND.read_text(path).splitlines()
    header = lines[0].split(",") if lines else []
    if header[:3] != ["type", "timestamp", "positions"]:
        raise KIND.refusal(path, f"its columns are {header}, not type, timestamp, positions")
    times, rows = [], []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        try:
            _, stamp, rest = line.split(",", 2)
            row = json.JSONDecoder().raw_decode(rest.lstrip('"'))[0]
            times.append(float(stamp))
            rows.append([float(x) for x in row])
        except (ValueError, TypeError) as err:
            raise KIND.refusal(path, f"line {number} can't be read ({err})") from err
    if len({len(row) for row in rows}) != 1:
        raise KIND.refusal(path, "its rows have different numbers of positions")
    return np.array(times) * 1e-6, np.array(rows)


def _table(
    path: Path, wanted: frozenset[str], columns: ServoColumns | None = None
) -> Iterator[ServoRecording]:
    """Read a table with time, positions and commands, one column each."""
    table = read_any_table(path)
    yield (columns or ServoColumns.recognised(table)).read(table, path)


def _npz(path: Path, wanted: frozenset[str]) -> Iterator[ServoRecording]:
    """Read an NPZ file with the arrays `NAME/t`, `NAME/q`, `NAME/t_target` and `NAME/target` of
    each motion, or one motion without names.
    """
    arrays = KIND.read_npz(path)
    if {"position_ticks", "goal_quarter_ticks", "length"} <= arrays.keys():
        yield from _ticks(path, wanted)
        return
    motions = sorted({name.rpartition("/")[0] for name in arrays})
    for motion in motions:
        label = motion or path.stem
        head = f"{motion}/" if motion else ""
        have = {name[len(head) :]: name for name in arrays if name.startswith(head)}
        if wanted and label not in wanted:
            continue
        keys = {
            "t": _timed(have),
            "q": _first(have, POSITION_WORDS),
            "t_target": _first(have, ("t_target", "t_command")) or _timed(have),
            "target": _first(have, COMMAND_WORDS),
        }
        missing = [key for key, name in keys.items() if name is None]
        if missing:
            if motion == "" and len(motions) > 1:
                continue  # facts beside the motions, such as the joints' names
            raise KIND.refusal(
                path, f"'{label}' lacks {', '.join(missing)}; it contains {sorted(have)}"
            )
        listed = (have.get(key, key) for key in _JOINTS)
        names = next((arrays[name] for name in listed if name in arrays), ())
        joints = tuple(map(str, np.atleast_1d(names)))
        t, q, t_target, target = (arrays[have[str(name)]] for name in keys.values())
        sound = (x[np.isfinite(x)] for x in map(np.ravel, (t, t_target)))
        first = min((float(x[0]) for x in sound if len(x)), default=np.nan)
        both = [
            Times(np.append(first, x), unit_of(str(keys[key]))[1]).seconds
            for key, x in (("t", t), ("t_target", t_target))
        ]
        (t, notes), (t_target, _) = ((x[1:], said) for x, said in both)
        yield ServoRecording(label, joints, t, q, t_target, target, notes)


_JOINTS = ("joints", "joint_names", "names")


def _timed(have: Iterable[str]) -> str | None:
    return next((name for name in have if unit_of(name)[0].lower() in TIME_WORDS), None)


def _first(have: Iterable[str], names: Iterable[str]) -> str | None:
    return next((name for name in names if name in have), None)


def _ticks(path: Path, wanted: frozenset[str]) -> Iterator[ServoRecording]:
    """Read consecutive runs of one servo in increments of its encoder."""
    names = ("length", "t", "position_ticks", "goal_quarter_ticks", "filename")
    content: dict[str, NDArray[Any]] = KIND.read_npz(path, names)
    ends = np.cumsum(content["length"])
    for end, length, name in zip(ends, content["length"], content["filename"], strict=True):
        label = Path(str(name)).stem
        if wanted and label not in wanted:
            continue
        run = slice(int(end - length), int(end))
        t = content["t"][run]
        q = content["position_ticks"][run] * _TICKS
        target = content["goal_quarter_ticks"][run] * (_TICKS / 4)
        yield ServoRecording(label, (), t, q, t, target)


def _json(path: Path, wanted: frozenset[str]) -> Iterator[ServoRecording]:
    """Read a run of a pendulum test bench (Rhoban's BAM): entries with timestamp, position,
    goal_position.
    """
    content = KIND.read_json(path)
    entries = content.get("entries") if isinstance(content, dict) else content
    if not isinstance(entries, list) or not entries or not isinstance(entries[0], dict):
        raise KIND.refusal(path, "it has no list `entries`")
    keys = [_first(entries[0], names) for names in (TIME_WORDS, POSITION_WORDS, COMMAND_WORDS)]
    if None in keys:
        raise KIND.refusal(path, f"its entries have {sorted(entries[0])}")
    try:
        t, q, target = (np.array([e[key] for e in entries], dtype=float) for key in keys)
    except (KeyError, TypeError, ValueError) as err:
        raise KIND.refusal(path, f"an entry can't be read ({err})") from err
    yield ServoRecording(path.stem, (), t, q, t, target)


def _bag(path: Path, wanted: frozenset[str]) -> Iterator[ServoRecording]:
    from sysid_core.servos.formats import read_bag_commands

    yield read_bag_commands(path)


_FILES: dict[str, Callable[[Path, frozenset[str]], Iterator[ServoRecording]]] = {
    ".csv": _table,
    ".tsv": _table,
    ".npz": _npz,
    ".json": _json,
    ".mcap": _bag,
    ".db3": _bag,
}
