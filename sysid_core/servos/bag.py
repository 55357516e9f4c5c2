# SPDX-License-Identifier: Apache-2.0
"""Commands and positions from a rosbag2 bag."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.servos.recording import ServoRecording
from sysid_core.signals.bags import StoredBag, build_typestore, message_decoder, open_bag

_STATE = "sensor_msgs/msg/JointState"
# In the order of preference: what the controller followed, before what it was sent.
_COMMANDS = (
    "control_msgs/msg/JointTrajectoryControllerState",
    "trajectory_msgs/msg/JointTrajectory",
    "std_msgs/msg/Float64MultiArray",
    _STATE,
)
_Row = tuple[float, tuple[str, ...], list[float]]


def read_bag_commands(path: str | Path) -> ServoRecording:
    """Joint states, and the commands of a controller's state, a trajectory or an array of numbers.

    Of a bag of our own logger these are the targets that it was told to record, else the first of them.
    Joint states with names of their own topic (`joint_commands`, `target`) are commands too. Where
    the commands have no stamps, both are put at the times at which they were received. A trajectory is
    what its controller makes of it: positions between its points, until another one takes over.

    Raises:
        SignalError: There are no joint states, or no commands.
    """
    bag = open_bag(path)
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
            f"'{path}': {commanded} commands {list(order)}, {measured} has {list(names)}.",
            remedy="Record the positions of the joints that are commanded.",
        )
    start = min(rows[0][0], commands[0][0])
    t, q = _table(rows, names, joints)
    t_target, target = _table(commands, order, joints)
    name = Path(path).stem
    return ServoRecording(name, tuple(joints), t - start, q, t_target - start, target)


def _rows(bag: StoredBag, topic: str, kind: str, stamped: bool) -> list[_Row]:
    stored = next(t for t in bag.topics if t.name == topic)
    store = build_typestore({stored.type: stored.definition} if stored.definition else None)
    decode = message_decoder(store, stored.type)
    read = _READERS[kind]
    rows: list[_Row] = []
    for message in bag.messages((topic,)):
        decoded = decode(message.data)
        names, points = read(decoded)
        if not points:
            continue
        stamp = message.log_ns * 1e-9
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
_STEP = (
    0.01  # [s] between positions on the way to a trajectory's next point: controllers run at 100 Hz
)


def _between(points: _Points, rows: list[_Row], names: tuple[str, ...]) -> _Points:
    """Positions on the straight way from the last command through a trajectory's points."""
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


def _table(
    rows: list[_Row], names: tuple[str, ...], joints: list[str]
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Times and values in the order of the joints; rows with other names are left out."""
    kept = [(t, v) for t, n, v in rows if (n or names) == names and len(v) == len(names)]
    columns = [names.index(joint) for joint in joints]
    return np.array([t for t, _ in kept]), np.array([[v[c] for c in columns] for _, v in kept])
