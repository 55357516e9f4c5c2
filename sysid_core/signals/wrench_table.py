# SPDX-License-Identifier: Apache-2.0
"""Tables with a wrench and joint positions or poses: CSV, NPZ, Parquet, MAT.

Columns are recognised by the names that are used in this project's exports, in UR's RTDE logs, in
flattened ROS messages, and commonly elsewhere; or their names are given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.errors import SignalError
from sysid_core.files import FileKind
from sysid_core.robot import Array, PoseRobot
from sysid_core.settings import Kind
from sysid_core.signals.array_file import ARRAY_ENDINGS, read_arrays, stored_arrays
from sysid_core.signals.recording import JointStream, Mark, Recording, Stamps, WrenchStream
from sysid_core.signals.text_table import TextTable

_FILE = FileKind("table", "Give a CSV, NPZ, Parquet or MAT file.", SignalError)
_COMMANDED = re.compile(r"target|desired|command|cmd|setpoint|reference|_des\b|^des_", re.I)
_LENGTHS = {"": 1.0, "m": 1.0, "cm": 1e-2, "mm": 1e-3, "in": 0.0254, "ft": 0.3048}
_FORCES = {
    "n": 1.0, "kn": 1e3, "dan": 10.0, "mn": 1e-3, "kgf": 9.80665, "kg": 9.80665, "kp": 9.80665, "gf": 9.80665e-3,
    "lbf": 4.4482216, "lb": 4.4482216, "ozf": 0.27801385, "oz": 0.27801385,
}  # fmt: skip
_PAIRS = [(f, x, a * b) for f, a in _FORCES.items() for x, b in _LENGTHS.items()]
_FACTORS = dict.fromkeys(("deg", "degrees", "°"), np.pi / 180.0) | {"rad": 1.0} | _LENGTHS
_FACTORS |= {x + f: both for f, x, both in _PAIRS} | {f + x: both for f, x, both in _PAIRS}
# Fields of ROS messages, and RTDE's, that are in N by definition.
_DEFINED = re.compile(r"wrench[._/]force|tcp_force", re.I)
_UNIT = re.compile(r"\s*[\[(]([^\])]*)[\])]\s*$|_(deg|rad|mm|n|nm|nmm|ncm|kgf|lbf)$", re.I)
_BY_ROWS = (
    "The rotation matrices were read row by row. If they are written column by column, give their columns"
    " in this order (--pose-columns)."
)
_FARTHEST = 20.0  # [m] of a pose from the base: farther are millimetres
_SHORTEST, _LONGEST = 1e-4, 1.0  # [s] between two rows of a robot's log
_WOUND = 4.0 * np.pi  # [rad] two turns, more than rotation vectors and roll, pitch, yaw have
_FINE = 0.0175  # [rad] of an orientation: the error of a mounting that an estimate allows for
_SHORT_HOLD = 5  # rows: positions held longer are a robot at rest, not a slower source


class RotationFormat(Kind):
    """Format of the orientation in a table of poses."""

    AUTO = "auto"
    XYZW = "xyzw"  # quaternion
    WXYZ = "wxyz"
    ROTVEC = "rotvec"  # UR
    RPY = "rpy"  # fixed axes x, y, z
    MATRIX = "matrix"  # 3x3, row by row


@dataclass(frozen=True, kw_only=True)
class WrenchColumns:
    """Columns of a table's signals; columns that are not given are found by name.

    Attributes:
        time: Name of the time column (or its number without a header).
        rate_hz: Sampling rate if there is no time column [Hz].
        wrench: Names of the six wrench columns, force then torque.
        joints: Names of the position columns, in the order of the robot's joints.
        pose: Names of the pose columns: x y z and a rotation (6, 7 or 12), a quaternion (4) or a
            rotation matrix (9) alone, or a homogeneous matrix, row by row or column by column (16).
        units: Units of force and torque, such as ("kgf", "kgf cm"), if the names contain none.
        rotation: Format of the rotation columns.
        still: True if every row is a static posture.
    """

    ENDINGS: ClassVar[tuple[str, ...]] = (".csv", ".txt", ".tsv", *ARRAY_ENDINGS)

    time: str = ""
    rate_hz: float = 0.0
    wrench: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    pose: tuple[str, ...] = ()
    rotation: RotationFormat | str = RotationFormat.AUTO
    units: tuple[str, ...] = ()
    still: bool = False

    def __post_init__(self) -> None:
        kind = RotationFormat.named(self.rotation, "The rotation's format", SignalError)
        object.__setattr__(self, "rotation", kind)

    def read(self, path: str | Path, *, joint_names: Sequence[str] = ()) -> tuple[Recording, bool]:
        """Read a recording of wrenches and poses from a table.

        Args:
            path: Path of the table; for an exported CSV or Parquet, the file of the joints, with the
                file of the wrench in the same folder.
            joint_names: Names of the joints of the robot; empty: poses are read, and converted to joint
                positions of a robot model made for them (`PoseRobot`), in which the frame of the
                wrench is `sensor`.

        Returns:
            Recording, and True if its rows are static postures.

        Raises:
            SignalError: Time, wrench or positions are not found, or are ambiguous.
        """
        path = Path(path)
        table = read_any_table(path)
        beside = path.with_name(path.stem + ".wrench" + path.suffix)
        other = (
            read_any_table(beside)
            if beside.exists()
            else _part(table, "wrench.stamp_ns", "wrench.")
        )
        table = _part(table, "joints.stamp_ns", "joints.") or table
        other = other or table
        wrench_names = _named(other, self.wrench, 6) or find_wrench(other)
        names: tuple[str, ...] = tuple(self.joints)
        if joint_names and not names and not self.pose:
            names = find_joints(table, joint_names)
        free = {
            name: x for name, x in table.items() if other is not table or name not in wrench_names
        }
        poses = () if names else _named(table, self.pose, 0) or find_pose(free)
        if not names and not poses:
            raise _not_found(
                "positions of joints or poses", "--joint-columns or --pose-columns", table
            )
        if names and len(names) != len(joint_names):
            raise SignalError(
                f"{len(names)} position columns for a robot of {len(joint_names)} joints.",
                remedy="Name one column for each joint, in the order of the URDF's joints.",
            )
        stamps, still = _stamps(table, self)
        wrench_stamps = stamps if other is table else _stamps(other, self)[0]
        values, stamps, notes = _rows(table, names or poses, stamps)
        wrench, wrench_stamps, lost = _rows(other, wrench_names, wrench_stamps, self.units)
        moved = _not_held(values)
        values, stamps = values[moved], stamps[moved]
        urdf = ""
        if poses:
            place, rotations = _split_poses(values)
            if (far := float(np.abs(place).max(initial=0.0))) > _FARTHEST:
                raise SignalError(
                    f"The poses of '{path}' are up to {far:.0f} m from the base.",
                    remedy="Name the unit of their columns, such as 'x [mm]', or convert them to metres.",
                )
            if rotations.shape[1] == 3 and np.abs(rotations).max() > _WOUND:
                rotations = np.deg2rad(rotations)
                notes = (
                    *notes,
                    "The angles of the poses exceed two turns in rad: they are degrees.",
                )
            turned = _rotations(rotations, poses, self)
            if rotations.shape[1] == 9 and (len(poses) != 16 or not place.any()):
                notes = (*notes, _BY_ROWS)
            force = [np.interp(stamps, wrench_stamps, axis) for axis in wrench.T[:3]]
            if not still:
                _require_fine(turned, np.column_stack(force))
            made = PoseRobot.of(place, turned)
            urdf, joint_names, values = made.urdf, PoseRobot.JOINTS, made.q
        start = min(int(stamps[0]), int(wrench_stamps[0]))
        recording = Recording(
            joints=JointStream(tuple(joint_names), stamps - start, values),
            wrench=WrenchStream(PoseRobot.FRAME if poses else "", wrench_stamps - start, wrench),
            marks=_marks(path, start),
            source=str(path),
            urdf_xml=urdf,
            notes=(f"Columns of the wrench: {', '.join(wrench_names)}.", *notes, *lost),
            units_assumed=other is table
            and not (self.units or all(map(_tells_unit, wrench_names))),
        )
        return recording, still


def read_any_table(path: Path) -> dict[str, Array]:
    """Return the columns of a table by name, shape (K,) each; arrays (K, n) become n columns
    `name.0`, …

    Raises:
        SignalError: The file cannot be read.
    """
    if path.suffix in ARRAY_ENDINGS:
        return read_arrays(path)
    table = TextTable.of(path, _FILE)
    columns, _ = table.read()
    if len(columns[0]) < 2:
        raise SignalError(f"'{path}' has {len(columns[0])} rows.", remedy="Give a whole recording.")
    names = dict(enumerate(table.names))
    return {names.get(k) or str(k): values for k, values in columns.items()}


def _part(table: Mapping[str, Array], has: str, prefix: str) -> dict[str, Array]:
    """Columns of one stream of an exported NPZ file, without the prefix of their names."""
    if has not in table:
        return {}
    return {name[len(prefix) :]: x for name, x in table.items() if name.startswith(prefix)}


def _marks(path: Path, start: int) -> tuple[Mark, ...]:
    if path.suffix != ".npz":
        return ()
    arrays = stored_arrays(path)
    if not {"marks.label", "marks.stamp_ns"} <= arrays.keys():
        return ()
    pairs = zip(arrays["marks.stamp_ns"].tolist(), arrays["marks.label"].tolist(), strict=True)
    return tuple(Mark(int(stamp) - start, str(label)) for stamp, label in pairs)


def _named(table: Mapping[str, Array], names: Sequence[str], count: int) -> tuple[str, ...]:
    missing = [name for name in names if name not in table]
    if missing:
        raise SignalError(
            f"There are no columns {missing}.", remedy=f"Columns: {', '.join(list(table)[:80])}."
        )
    if names and count and len(names) != count:
        raise SignalError(
            f"{len(names)} columns are named, {count} are needed.",
            remedy="Name all of these columns.",
        )
    return tuple(names)


def _plain(name: str) -> str:
    """Name of a column in lower case, without its unit."""
    return _UNIT.sub("", name).strip().lower()


def _unit(name: str) -> str:
    """Unit at the end of a column's name, such as `x [mm]` or `j1_deg`; empty: none."""
    found = _UNIT.search(name)
    return _short(found.group(1) or found.group(2) or "") if found else ""


def _short(unit: str) -> str:
    return re.sub(r"[\s.*·-]", "", unit.lower())


def _tells_unit(name: str) -> bool:
    """True if the name of a column contains its unit, or is the name of a field with a defined
    unit.
    """
    return bool(_DEFINED.search(name)) or (_unit(name) or "?") in _FACTORS


def _groups(table: Mapping[str, Array], patterns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Columns whose names have the same prefix, one for each pattern, by this prefix."""
    found: dict[str, dict[int, str]] = {}
    for name in table:
        if _COMMANDED.search(name):
            continue
        for k, pattern in enumerate(patterns):
            match = re.fullmatch(r"(.*?)" + pattern, _plain(name))
            if match:
                found.setdefault(match.group(1).rstrip("_./ "), {}).setdefault(k, name)
    return {
        prefix: tuple(some[k] for k in range(len(patterns)))
        for prefix, some in found.items()
        if len(some) == len(patterns)
    }


def _indexed(table: Mapping[str, Array], count: int, words: str) -> dict[str, tuple[str, ...]]:
    """Columns numbered from 0 or 1 whose name has one of the words."""
    out: dict[str, tuple[str, ...]] = {}
    for first in (0, 1):
        numbers = [rf"(?:[_. /\[]|(?<!\d))0*{first + k}\]?" for k in range(count + 1)]
        more = _groups(table, numbers)
        for prefix, names in _groups(table, numbers[:-1]).items():
            if re.search(words, prefix) and prefix not in {*out, *more}:
                out[prefix] = names
    return out


def find_wrench(table: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the columns of the wrench, force then torque; raw readings are preferred to processed
    ones.

    Raises:
        SignalError: There are no such columns, or several candidates.
    """
    found: dict[str, tuple[str, ...]] = {}
    sep = r"[_. /]?"
    for torque in (f"(?:torque|moment|trq|t|m){sep}", f"(?:wrench{sep})?torque{sep}"):
        force = r"(?:force|f)" + sep
        found |= _groups(table, [*[force + x for x in "xyz"], *[torque + x for x in "xyz"]])
    found |= _indexed(table, 6, r"wrench|\bfts?\b|fts?_|force|loadcell|sensor")
    dead = {
        name
        for name in {name for names in found.values() for name in names}
        if np.isfinite(table[name]).any() and not np.ptp(table[name][np.isfinite(table[name])]) > 0
    }
    alive = {prefix: names for prefix, names in found.items() if dead.isdisjoint(names)}
    if found and not alive:
        raise SignalError(
            f"The wrench columns {', '.join(sorted(dead))} are constant: these axes of the sensor are dead or"
            " not connected, or too coarsely rounded.",
            remedy="Record again with all six axes, or name other columns: --wrench-columns.",
        )
    if not alive:
        raise _not_found("a wrench", "--wrench-columns", table)
    if len(alive) > 1:
        raw = {p: n for p, n in alive.items() if "raw" in p or re.search(r"fts?", p)}
        alive = raw if len(raw) == 1 else alive
    if len(set(alive.values())) > 1:
        raise SignalError(
            f"Several wrenches: {', '.join(alive)}.", remedy="Name the columns: --wrench-columns."
        )
    return next(iter(alive.values()))


def find_joints(table: Mapping[str, Array], joint_names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of the joint positions, by joint names or numbers; () if there are
    none.
    """
    by_name = {}
    for joint in joint_names:
        for form in (
            "q.{}",
            "{}",
            "{}_pos",
            "{}_position",
            "position.{}",
            "{}.position",
            "{}/position",
        ):
            if form.format(joint) in table:
                by_name[joint] = form.format(joint)
                break
    if len(by_name) == len(joint_names):
        return tuple(by_name[joint] for joint in joint_names)
    found = _indexed(table, len(joint_names), r"(^|_|\.|/)q$|joint|angle|position|^pos$")
    plain = {
        p: n
        for p, n in found.items()
        if not re.search(r"vel|speed|acc|torque|effort|curr|qd|temp", p)
    }
    return next(iter(plain.values())) if len(plain) == 1 else ()


def find_pose(table: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the columns of poses: x y z and a quaternion (order from the names), UR's rotation
    vector, roll pitch yaw or a matrix; or a homogeneous matrix.

    Returns:
        Names of the columns: position, then rotation; () if not found.
    """
    sep = r"[_. /]?"
    place = [rf"(?:position|pos|p|t)?{sep}{x}" for x in "xyz"]
    turn = [rf"(?:orientation|quaternion|quat|rotation|q){sep}{x}" for x in "xyzw"]
    angles = ("roll", "pitch", "yaw")
    for patterns in ([*place, *turn], [*place, *[rf"r{sep}{x}" for x in "xyz"]], [*place, *angles]):
        found = _groups(table, patterns)
        if found:
            return found[min(found, key=len)]
    poses = _indexed(table, 6, r"pose") | _indexed(table, 7, r"pose")
    poses |= _indexed(table, 16, r"pose|transform|matrix|(^|_)t(_|$)")
    if not poses:  # a table or array for each part
        places = _indexed(table, 3, r"pos$|position$|translation$|xyz$")
        turns = _indexed(table, 4, r"quat|orientation|rot") | _indexed(
            table, 9, r"rot|matrix|(^|_)r$"
        )
        turns |= _indexed(table, 3, r"rotvec|axis_?angle|rpy|euler")
        one = [*places.values()] if len(places) == 1 else [()]
        poses = {"": (*one[0], *next(iter(turns.values())))} if len(turns) == 1 else {}
    return next(iter(poses.values())) if len(poses) == 1 else ()


def _split_poses(values: Array) -> tuple[Array, Array]:
    """Positions (K, 3) and rotations (K, n) of poses; a rotation alone has the position 0."""
    count = values.shape[1]
    if count == 16:
        T = values.reshape(-1, 4, 4)
        T = T if np.allclose(T[:, 3, :3], 0.0) else T.transpose(0, 2, 1)
        return T[:, :3, 3], T[:, :3, :3].reshape(-1, 9)
    place = values[:, :3] if count in (6, 7, 12) else np.zeros((len(values), 3))
    return place, values[:, 3:] if count in (6, 7, 12) else values


def _rotations(values: Array, names: Sequence[str], columns: WrenchColumns) -> Array:
    kind = columns.rotation
    if kind is RotationFormat.AUTO:
        last = re.sub(r".*?([a-z])$", r"\1", _plain(names[-1]))
        order = [_plain(name)[-1:] for name in names[-4:]]
        if values.shape[1] == 4:
            kind = RotationFormat.WXYZ if order == list("wxyz") else RotationFormat.XYZW
            if last not in "wz" or (order not in (list("wxyz"), list("xyzw"))):
                raise SignalError(
                    "The order of the quaternion isn't known.",
                    remedy="Give --rotation xyzw or --rotation wxyz.",
                )
        elif values.shape[1] == 9:
            kind = RotationFormat.MATRIX
        else:
            euler = last == "w" or re.search(r"rpy|euler", _plain(names[-1]))
            kind = RotationFormat.RPY if euler else RotationFormat.ROTVEC
    if kind is RotationFormat.MATRIX and values.shape[1] == 9:
        R = values.reshape(-1, 3, 3)
        if np.allclose(R @ R.transpose(0, 2, 1), np.eye(3), atol=0.1):
            return np.asarray(scipy.spatial.transform.Rotation.from_matrix(R).as_matrix())
    if kind is RotationFormat.ROTVEC:
        return np.asarray(scipy.spatial.transform.Rotation.from_rotvec(values).as_matrix())
    if kind is RotationFormat.RPY:
        return np.asarray(scipy.spatial.transform.Rotation.from_euler("xyz", values).as_matrix())
    if values.shape[1] != 4 or np.any(np.abs(np.linalg.norm(values, axis=1) - 1.0) > 0.1):
        raise SignalError(
            "The rotations are neither unit quaternions nor rotation matrices.",
            remedy="Name the columns of the rotations, or give --rotation.",
        )
    ordered = values if kind is RotationFormat.XYZW else values[:, [1, 2, 3, 0]]
    return np.asarray(scipy.spatial.transform.Rotation.from_quat(ordered).as_matrix())


def _require_fine(R: Array, force: Array) -> None:
    """Raise an error if orientations (K, 3, 3) are constant for several samples and then jump,
    while the forces (K, 3) change steadily.

    If the robot rests between steps, in contrast, the forces change only together with the
    orientation.
    """
    flat = R.reshape(-1, 9)
    edges = np.flatnonzero(np.any(flat[1:] != flat[:-1], axis=1)) + 1
    stands = np.split(force, edges)
    longer = [stand for stand in stands if len(stand) > _SHORT_HOLD]
    if not longer or sum(map(len, longer)) < 0.5 * len(R):
        return
    steps = np.linalg.norm(flat[edges] - flat[edges - 1], axis=1) / np.sqrt(2.0)  # [rad], if small
    jump = float(np.median(steps))
    thirds = [np.array_split(stand, 3) for stand in longer]
    within = [np.linalg.norm(x[2].mean(axis=0) - x[0].mean(axis=0)) for x in thirds]
    between = np.linalg.norm(np.diff([stand.mean(axis=0) for stand in stands], axis=0), axis=1)
    # Of steps, the deviation is that of a uniform distribution.
    if jump > np.sqrt(12.0) * _FINE and np.median(within) > 0.5 * np.median(between):
        raise SignalError(
            f"The orientations jump by {np.rad2deg(jump):.0f} degrees while the forces change steadily.",
            remedy="Write the poses with more digits, and only as often as they are measured.",
        )


def _stamps(table: Mapping[str, Array], columns: WrenchColumns) -> tuple[Stamps, bool]:
    """Stamps [ns], and whether the rows are static postures."""
    count = len(next(iter(table.values())))
    if columns.still:
        return np.arange(count, dtype=np.int64) * 1_000_000_000, True
    if columns.rate_hz > 0:
        return np.round(np.arange(count) * (1e9 / columns.rate_hz)).astype(np.int64), False
    name = columns.time
    both = None if name else _seconds_and_nanoseconds(table)
    if both is not None:
        name, time = both[0], np.array([table[part] for part in both], dtype=float)
        known = np.isfinite(time).all(axis=0)
        seconds, nanoseconds = np.round(np.where(known, time, 0.0)).astype(np.int64)
        stamps = seconds * 1_000_000_000 + nanoseconds
    else:
        name = name or _time_column(table)
        stamps, known = _in_nanoseconds(name, table[name])
    steps = np.diff(stamps[known])
    usual = 1e-9 * float(np.median(steps[steps > 0])) if np.any(steps > 0) else 0.0
    if not _SHORTEST <= usual <= _LONGEST:
        raise SignalError(
            f"The rows are {usual:.2g} s apart by the column '{name}'.",
            remedy="Name the unit of this column, such as 't [ms]', or give --time-column or --rate.",
        )
    return np.where(known, stamps, np.iinfo(np.int64).min), False


def _time_column(table: Mapping[str, Array]) -> str:
    words = r"stamp_ns|time|t|timestamp|time_?stamp|stamp|secs?|seconds|elapsed"
    for name in table:
        if re.fullmatch(rf"(.*[_. /])?({words})(_?(n|u|m)?s)?", _plain(name)):
            return name
    raise _not_found(
        "time", "--time-column, --rate, or --still if each row is a static posture", table
    )


def _in_nanoseconds(name: str, values: Array) -> tuple[Stamps, NDArray[np.bool_]]:
    """Stamps of a column of times, whose unit follows from its name or its steps, and a mask of the
    valid ones.
    """
    time = np.asarray(values, dtype=float)
    steps = np.diff(time[np.isfinite(time)])
    usual = float(np.median(steps[steps > 0])) if np.any(steps > 0) else 0.0
    units = [u for u, s in _UNITS.items() if re.search(rf"_{s}$|\[{s}\]|\({s}\)", name.lower())]
    units += [u for u in (1.0, *_UNITS) if _SHORTEST <= usual * u <= _LONGEST]
    factor = 1e9 * (*units, 1.0)[0]
    known = np.abs(time * factor) < np.iinfo(np.int64).max
    if values.dtype.kind in "iu":
        return np.asarray(values * round(factor), dtype=np.int64), known
    return np.round(np.where(known, time * factor, 0.0)).astype(np.int64), known


_UNITS = {1e-3: "ms", 1e-6: "us", 1e-9: "ns"}


def _seconds_and_nanoseconds(table: Mapping[str, Array]) -> tuple[str, str] | None:
    """Columns with the seconds and the nanoseconds of a ROS stamp; of several stamps, the first."""
    for name in table:
        prefix, seconds = re.fullmatch(r"(.*?)(secs?|seconds)?", name).groups()  # type: ignore[union-attr]
        for nano in ("nanosec", "nsecs", "nsec", "nanoseconds") if seconds else ():
            if prefix + nano in table:
                return name, prefix + nano
    return None


def _rows(
    table: Mapping[str, Array], names: Sequence[str], stamps: Stamps, units: Sequence[str] = ()
) -> tuple[Array, Stamps, tuple[str, ...]]:
    """Columns side by side, (K, n), in time order; unusable rows are removed and counted.

    Units of force and torque replace those of the names.
    """
    if len(lengths := {len(stamps), *(len(table[name]) for name in names)}) > 1:
        raise SignalError(
            f"Time and {', '.join(names)} have different numbers of rows: {sorted(lengths)}.",
            remedy="Store columns of one rate together, and others in a table of their own.",
        )
    factors = _factors(names, units)
    values = factors * np.column_stack([np.asarray(table[name], float) for name in names])
    newest = np.maximum.accumulate(np.concatenate([[np.iinfo(np.int64).min], stamps[:-1]]))
    good = np.isfinite(values).all(axis=1) & (stamps > newest)
    if good.sum() < 4:
        raise SignalError(
            f"Only {int(good.sum())} rows of {names[0]} … are numbers at increasing times.",
            remedy="Check the time column and the signals' columns.",
        )
    lost = int(np.sum(~good))
    notes = (
        f"{lost} of {len(good)} rows of {names[0]} … were omitted: not a number, or a repeated"
        " time.",
    )
    return values[good], stamps[good], notes if lost else ()


def _factors(names: Sequence[str], units: Sequence[str]) -> Array:
    """Factors to SI units of columns (n,), by the given units of force and torque, or else by the
    columns' names.
    """
    if not units:
        return np.array([_FACTORS.get(_unit(name), 1.0) for name in names])
    unknown = [unit for unit in units if _short(unit) not in _FACTORS]
    if unknown or len(units) != 2:
        raise SignalError(
            f"The units {', '.join(unknown)} are not known."
            if unknown
            else f"Two units are needed, not {len(units)}: those of force and torque.",
            remedy="Give those of force and torque, such as --wrench-units 'N, N mm' or 'lbf, lbf in'.",
        )
    return np.repeat([_FACTORS[_short(unit)] for unit in units], len(names) // 2)


def _not_held(values: Array) -> Array:
    """Mask of rows that do not repeat the previous row, except during longer rests; shape (K,),
    bool.
    """
    same = np.concatenate([[False], np.all(values[1:] == values[:-1], axis=1)])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], same.astype(int), [0]])))
    keep = ~same
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        if end - first > _SHORT_HOLD:
            keep[first:end] = True
    return keep


def _not_found(what: str, option: str, table: Mapping[str, Array]) -> SignalError:
    return SignalError(
        f"The columns of the table do not contain {what}.",
        remedy=f"Give {option}. Columns: {', '.join(list(table)[:80])}.",
    )
