# SPDX-License-Identifier: Apache-2.0
"""Commands and positions from LeRobot datasets and rosbag2 bags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.files import FileKind
from sysid_core.servos.recording import ServoRecording
from sysid_core.signals.bags import StoredBag

KIND = FileKind(
    "LeRobot dataset", "Give its folder, with meta/info.json and data/*.parquet.", SignalError
)
_COLUMNS = ["action", "observation.state", "timestamp", "episode_index"]
_POSITION = ".pos"  # behind the names of positions since version 2.1, beside velocities of a base
# A revolute joint's state beyond a turn is in degrees, LeRobot's unit (`use_degrees`, and all
# datasets before version 2.1).
TURN = 2 * np.pi
GRIPPER = (0.0, 100.0)  # closed and open, in LeRobot's degrees as in its normalised values
_STATE = "sensor_msgs/msg/JointState"
# In the order of preference: what the controller followed, before what it was sent.
_COMMANDS = (
    "control_msgs/msg/JointTrajectoryControllerState",
    "trajectory_msgs/msg/JointTrajectory",
    "std_msgs/msg/Float64MultiArray",
    _STATE,
)
_STEP = (
    0.01  # [s] between positions on the way to a trajectory's next point: controllers run at 100 Hz
)


def is_lerobot(folder: Path) -> bool:
    """Return True if a folder is a LeRobot dataset."""
    return (folder / "meta" / "info.json").is_file()


def read_lerobot(
    path: Path, wanted: frozenset[str], percent: bool = False
) -> Iterator[ServoRecording]:
    """Yield the episodes of a LeRobot dataset, named `episode_000000` and so on.

    Args:
        path: Folder of the dataset, or one of its Parquet files.
        wanted: Names of the episodes to read; empty: all.
        percent: True for positions as shares of the joint ranges, which are not converted.

    Raises:
        SignalError: The file cannot be read, or pyarrow is not installed.
    """
    info: dict[str, Any] = KIND.read_json(path / "meta" / "info.json") if path.is_dir() else {}
    try:
        features = info.get("features", {})
        commanded, seen = (_names(features.get(key, {}).get("names")) for key in _COLUMNS[:2])
    except AttributeError as err:
        raise KIND.refusal(
            path, "the features in meta/info.json are in another form than expected"
        ) from err
    files = sorted((path / "data").rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise KIND.refusal(path, "there is no Parquet file in its folder data")
    for file in files:
        table = _table(file)
        for episode in np.unique(table["episode_index"]):
            name = f"episode_{int(episode):06d}"
            if wanted and name not in wanted:
                continue
            rows = table["episode_index"] == episode
            t = table["timestamp"][rows]
            joints, target, q = _both(
                commanded, seen, table["action"][rows], table["observation.state"][rows]
            )
            if len(widths := {q.shape[1], target.shape[1], len(joints) or q.shape[1]}) > 1:
                raise KIND.refusal(
                    file,
                    f"joints, positions and commands have different numbers of columns: {sorted(widths)}",
                )
            notes: tuple[str, ...] = ()
            full: tuple[tuple[float, float] | None, ...] = ()
            if not percent and max(np.abs(q).max(), np.abs(target).max()) > TURN:
                notes = (
                    "The angles of the dataset exceed one turn in rad, and were taken as degrees. If they"
                    " are in LeRobot's range of -100 to 100, give --percent.",
                )
                full = tuple(GRIPPER if is_gripper(joint) else None for joint in joints)
                arm = [i for i, _ in enumerate(joints) if not full[i]] if joints else slice(None)
                q[:, arm], target[:, arm] = np.radians(q[:, arm]), np.radians(target[:, arm])
            yield ServoRecording(name, joints, t, q, t, target, notes, full)


def is_gripper(joint: str) -> bool:
    """Return True if LeRobot gives a joint in the range 0 to 100, as for all grippers."""
    return joint.split(".")[0].endswith("gripper")


def _both(
    commanded: tuple[str, ...], seen: tuple[str, ...], action: Any, state: Any
) -> tuple[tuple[str, ...], Any, Any]:
    """Names, commands and positions of the joints that have both commands and positions, in the
    order of the commands.
    """
    known = len(commanded) == action.shape[1] and len(seen) == state.shape[1]
    if not commanded or not seen or not known:
        return commanded, action, state
    only = any(name.endswith(_POSITION) for name in commanded)
    both = [j for j in commanded if j in seen and (j.endswith(_POSITION) or not only)]
    if not both:
        return commanded, action, state
    columns = [commanded.index(j) for j in both], [seen.index(j) for j in both]
    return tuple(both), action[:, columns[0]], state[:, columns[1]]


def _names(names: Any) -> tuple[str, ...]:
    """Names of the joints: a list, or a mapping whose first value is that list (version 2)."""
    if isinstance(names, dict):
        names = next(iter(names.values()), None)
    return tuple(map(str, names)) if isinstance(names, list) else ()


def _table(file: Path) -> dict[str, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as err:
        raise SignalError(
            "LeRobot's datasets are Parquet files, and pyarrow isn't installed.",
            remedy="Install it: pip install 'robot_sysid[parquet]'.",
        ) from err
    try:
        with KIND.open(file) as opened:
            stored = pq.ParquetFile(opened)
            there = set(stored.schema_arrow.names)
            missing = [name for name in _COLUMNS[:3] if name not in there]
            if missing:
                raise KIND.refusal(file, f"it has no column {', '.join(missing)}: {sorted(there)}")
            table = stored.read([name for name in _COLUMNS if name in there])
        out: dict[str, Any] = {
            name: np.array(table[name].to_pylist(), dtype=float) for name in table.column_names
        }
    except (pa.ArrowException, OSError, ValueError, TypeError) as err:
        raise KIND.refusal(
            file, f"it is damaged, or not a Parquet file of numbers ({err})"
        ) from err
    out.setdefault("episode_index", np.zeros(len(out["timestamp"])))
    return out | {name: np.atleast_2d(out[name].T).T for name in _COLUMNS[:2]}


_Row = tuple[float, tuple[str, ...], list[float]]


def read_bag_commands(path: str | Path) -> ServoRecording:
    """Read joint states and commands from a bag; commands are those of a controller's state, a
    trajectory or an array of numbers.

    In a bag of the data logger, the commands are the targets that it was configured to record; in
    other bags, they are the first targets that are found. Joint states on a topic for commands,
    such as `joint_commands` or `target`, are commands too. If the commands have no stamps, commands
    and positions get the times of reception. A trajectory is interpolated as a joint trajectory
    controller would interpolate it, until the next trajectory replaces it.

    Raises:
        SignalError: There are no joint states, or no commands.
    """
    bag = StoredBag.open(path)
    states = [t.name for t in bag.topics_of(_STATE)]
    if bag.custom_data.get("joint_topic") in states:
        states = [bag.custom_data["joint_topic"]]
    if not states:
        raise SignalError(
            f"'{path}' has no {_STATE} messages.", remedy="Record the topic joint_states."
        )
    measured = min(states, key=lambda name: (not name.endswith("joint_states"), len(name)))
    found = [
        (topic.name, kind)
        for kind in _COMMANDS
        for topic in bag.topics_of(kind)
        if topic.name != measured
    ]
    if not found:
        raise SignalError(
            f"'{path}' has joint states, but no commands: {[t.name for t in bag.topics]}.",
            remedy="Record the controller's commands or its controller_state too.",
        )
    logged = [pair for pair in found if pair[0] == bag.custom_data.get("target_topic")]
    commanded, kind = (logged or found)[0]
    stamped = kind in (_STATE, _COMMANDS[0])
    rows = _rows(bag, measured, _STATE, stamped)
    commands = _rows(bag, commanded, kind, stamped)
    names = rows[0][1]
    order = commands[0][1] or tuple(bag.custom_data.get("target_joints", "").split()) or names
    joints = [name for name in names if name in order]
    if not joints or len(order) > len(names):
        raise SignalError(
            f"In '{path}', {commanded} commands the joints {list(order)}, but {measured} has the joints {list(names)}.",
            remedy="Record the positions of the joints that are commanded.",
        )
    start = min(rows[0][0], commands[0][0])
    t, q = _bag_table(rows, names, joints)
    t_target, target = _bag_table(commands, order, joints)
    name = Path(path).stem
    return ServoRecording(name, tuple(joints), t - start, q, t_target - start, target)


def _rows(bag: StoredBag, topic: str, kind: str, stamped: bool) -> list[_Row]:
    read = _READERS[kind]
    rows: list[_Row] = []
    for log_ns, decoded in bag.decoded(topic):
        names, points = read(decoded)
        if not points:
            continue
        stamp = log_ns * 1e-9
        if stamped and decoded.header.stamp.sec:
            stamp = decoded.header.stamp.sec + decoded.header.stamp.nanosec * 1e-9
        while kind == _COMMANDS[1] and rows and rows[-1][0] >= stamp:
            rows.pop()
        rows += [(stamp + after, names, x) for after, x in _between(points, rows, names)]
    if not rows:
        raise SignalError(
            f"The messages on '{topic}' have no positions.",
            remedy="Record the position commands, not velocities or efforts.",
        )
    return rows


# Time after the message, and positions.
_Points = list[tuple[float, list[float]]]


def _between(points: _Points, rows: list[_Row], names: tuple[str, ...]) -> _Points:
    """Positions that are interpolated linearly from the last command through the points of a
    trajectory.
    """
    if points[-1][0] <= _STEP:
        return points[-1:]
    if points[0][0] > 0.0 and rows and rows[-1][1] == names:
        points = [(0.0, rows[-1][2]), *points]
    times, positions = np.array([t for t, _ in points]), np.array([x for _, x in points])
    grid = np.append(np.arange(times[0], times[-1], _STEP), times[-1])
    return [
        (float(t), [float(np.interp(t, times, column)) for column in positions.T]) for t in grid
    ]


def _joint_state(message: Any) -> tuple[tuple[str, ...], _Points]:
    return tuple(message.name), _now(message.position)


def _controller_state(message: Any) -> tuple[tuple[str, ...], _Points]:
    point = getattr(message, "reference", None) or message.desired
    return tuple(message.joint_names), _now(point.positions)


def _trajectory(message: Any) -> tuple[tuple[str, ...], _Points]:
    points: _Points = []
    for point in message.points:
        after = point.time_from_start.sec + point.time_from_start.nanosec * 1e-9
        if len(point.positions) == len(message.joint_names):
            points.append((float(after), [float(x) for x in point.positions]))
    return tuple(message.joint_names), points


def _numbers(message: Any) -> tuple[tuple[str, ...], _Points]:
    return (), _now(message.data)


def _now(positions: Any) -> _Points:
    return [(0.0, [float(x) for x in positions])] if len(positions) else []


_READERS: dict[str, Callable[[Any], tuple[tuple[str, ...], _Points]]] = {
    _STATE: _joint_state,
    _COMMANDS[0]: _controller_state,
    _COMMANDS[1]: _trajectory,
    _COMMANDS[2]: _numbers,
}


def _bag_table(
    rows: list[_Row], names: tuple[str, ...], joints: list[str]
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Times and values in the order of the joints; rows with other names are left out."""
    kept = [(t, v) for t, n, v in rows if (n or names) == names and len(v) == len(names)]
    columns = [names.index(joint) for joint in joints]
    return np.array([t for t, _ in kept]), np.array([[v[c] for c in columns] for _, v in kept])
