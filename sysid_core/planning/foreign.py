# SPDX-License-Identifier: Apache-2.0
"""Motions of other programs (tables, `trajectory_msgs`, MoveIt's YAML), which are imported and
checked.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from sysid_core.errors import ExcitationError
from sysid_core.files import FileKind
from sysid_core.planning.trajectory import Segment, Trajectory
from sysid_core.planning.transfer import sample_times
from sysid_core.robot import Array, RobotModel

FEWEST_POINTS = 2  # of a trajectory: fewer have no duration
REMEDY = (
    "Give a trajectory of `sysid plan` (NPZ), a table (CSV) with a column `time` [s] and one per"
    " joint [rad or m] (and `JOINT.v`, `JOINT.a`), or trajectory_msgs/JointTrajectory as YAML or"
    " JSON, as MoveIt writes it."
)
_FILE = FileKind("motion", REMEDY, ExcitationError)
_RATE_HZ = 100.0  # rate of the samples that foreign motions are interpolated at


def read_motion(path: str | Path, model: RobotModel) -> Trajectory:
    """Read a motion in any supported file format for a robot; the motion is not yet checked.

    Args:
        path: Path of the file; see `REMEDY` for the formats.
        model: Robot that is to play the motion.

    Raises:
        ExcitationError: The file cannot be read, or belongs to another robot.
    """
    path = Path(path)
    if path.suffix == ".npz":
        own = Trajectory.load(path)
        own.belongs_to(model)
        return own
    text = _FILE.read_text(path)
    try:
        names, time, knots = (
            _from_table(text) if path.suffix == ".csv" else _from_message(text, path)
        )
        knots = [None if x is None else np.asarray(x, dtype=float) for x in knots]
        time = np.asarray(time, dtype=float)
        shapes = {np.shape(x) for x in knots if x is not None} | {(len(time), len(names))}
        if len(shapes) != 1 or len(time) < FEWEST_POINTS:
            raise ValueError(f"{len(time)} times, {len(names)} joints, values {sorted(shapes)}")
        if not np.all(np.isfinite(time)) or np.any(np.diff(time) <= 0):
            raise ValueError("times must be finite and increase")
    except (ValueError, KeyError, TypeError, IndexError) as err:
        raise _FILE.refusal(path, f"it holds no motion: {err}") from err
    fine = sample_times(float(time[-1] - time[0]), _RATE_HZ)
    q, v, a, how = _interpolated(time - time[0], knots, fine)
    trajectory = Trajectory.of(
        model,
        fine,
        q,
        v,
        a,
        names,
        segments=(Segment("imported", 0.0, float(fine[-1]), tuple(names)),),
        notes=(f"Imported from {path.name}: {len(time)} points, {how}.",),
    )
    trajectory.belongs_to(model)
    return trajectory


Knots = tuple[list[str], Any, list[Any]]


def _from_table(text: str) -> Knots:
    rows = [row for row in csv.reader(text.splitlines()) if row and not row[0].startswith("#")]
    head = [name.strip() for name in rows[0]]
    if "time" not in head:
        raise ValueError("no column 'time'")
    data = np.array(rows[1:], dtype=float)
    names = [n for n in head if n != "time" and not n.endswith((".v", ".a"))]

    def columns(suffix: str) -> Array | None:
        wanted = [f"{name}{suffix}" for name in names]
        if not all(name in head for name in wanted):
            return None
        return np.asarray(data[:, [head.index(name) for name in wanted]])

    return names, data[:, head.index("time")], [columns(s) for s in ("", ".v", ".a")]


def _from_message(text: str, path: Path) -> Knots:
    # `ros2 topic echo` ends every message with three dashes.
    message = _joint_trajectory(_FILE.parse_yaml(text.split("\n---")[0], path))
    if message is None:
        raise ValueError("no `joint_names` with `points` in it")
    points = message["points"]
    time = [_seconds(point["time_from_start"]) for point in points]

    def values(key: str) -> list[Any] | None:
        rows = [point.get(key) or [] for point in points]
        return rows if all(len(row) == len(message["joint_names"]) for row in rows) else None

    q = values("positions")
    if q is None:
        raise ValueError("points without positions of all joints")
    return list(message["joint_names"]), time, [q, values("velocities"), values("accelerations")]


def _joint_trajectory(node: Any) -> Mapping[str, Any] | None:
    """First JointTrajectory in a message, such as one of MoveIt; None if there is none."""
    if isinstance(node, Mapping):
        if "joint_names" in node and node.get("points"):
            return node
        inside = list(node.values())
    else:
        inside = node if isinstance(node, list) else []
    return next((found for x in inside if (found := _joint_trajectory(x)) is not None), None)


def _seconds(stamp: Any) -> float:
    if isinstance(stamp, Mapping):
        whole = stamp.get("sec", stamp.get("secs", 0))
        return float(whole) + 1e-9 * float(stamp.get("nanosec", stamp.get("nsecs", 0)))
    return float(stamp)


def _interpolated(
    time: Array, knots: list[Array | None], fine: Array
) -> tuple[Array, Array, Array, str]:
    """q, v and a on the fine grid, as a joint trajectory controller would play the points."""
    q, v, a = knots
    assert q is not None  # both readers refuse motions without positions
    if v is not None:
        parts = [q, v] if a is None else [q, v, a]
        derivatives = np.stack(parts, axis=1)  # (K, 2 or 3, n)
        curve: Any = scipy.interpolate.BPoly.from_derivatives(time, derivatives)
        how = "cubic between them" if a is None else "quintic between them"
    else:
        rest = np.zeros(q.shape[1])
        ends = [(1, rest), (2, rest)]
        curve = scipy.interpolate.make_interp_spline(time, q, k=5, bc_type=(ends, ends))
        how = "a quintic spline through them, at rest at both ends"
    out = [np.asarray(curve(fine)), np.asarray(curve.derivative(1)(fine))]
    return out[0], out[1], np.asarray(curve.derivative(2)(fine)), how
