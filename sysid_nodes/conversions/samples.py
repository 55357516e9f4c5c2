# SPDX-License-Identifier: Apache-2.0
"""Conversion of stamps, joint states, wrenches, statistics and trajectories between messages and
core types.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3, Wrench
from numpy.typing import ArrayLike, NDArray
from robot_sysid.msg import FilteredJointState
from robot_sysid.msg import StreamStatistics as StreamStatisticsMessage
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_core.errors import SignalError

if TYPE_CHECKING:
    from sysid_core.planning import Trajectory
    from sysid_core.signals import StreamStatistics


def ns_from_stamp(stamp: Time) -> int:
    """Return the nanoseconds of a ROS stamp."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def stamp_from_ns(ns: int) -> Time:
    """Return the ROS stamp from nanoseconds."""
    return Time(sec=int(ns // 1_000_000_000), nanosec=int(ns % 1_000_000_000))


Array = NDArray[np.float64]


def columns_of(names: Sequence[str], available: Sequence[str], what: str) -> list[int]:
    """Return the index of each joint of `names` in a message.

    Args:
        names: Joint names of the robot, n of them.
        available: Names in the message, in any order; may contain further joints.
        what: Name of the message, for the error message.

    Returns:
        n indices into the arrays of the message.

    Raises:
        SignalError: A joint is missing, or occurs twice in the message.
    """
    index = {name: i for i, name in enumerate(available)}
    missing = [name for name in names if name not in index]
    twice = len(index) < len(available)
    if missing or twice:
        fault = f"lacks {missing}" if missing else "names a joint twice"
        raise SignalError(
            f"{what} {fault}; it has {list(available)}.",
            remedy="Remap the topic to this robot's, or load the URDF that belongs to it; list unmeasured joints in the parameter `lock`."
            "",
            missing=missing,
        )
    return [index[name] for name in names]


def joint_arrays_from_message(
    message: JointState | SimpleNamespace, names: Sequence[str]
) -> tuple[Array, Array | None, Array | None]:
    """Return the positions, velocities and efforts of a message, in the order of `names`.

    Args:
        message: Message with these joints, in any order; it may contain further joints.
        names: Joint names, n of them.

    Returns:
        q (n,); v (n,) and effort (n,), each None if the message does not contain it.

    Raises:
        SignalError: A joint is missing, or the lengths of the arrays differ from the number of
            names.
    """
    k = columns_of(names, message.name, "joint_states")

    def pick(values: Sequence[float], what: str) -> Array | None:
        if len(values) == 0:
            return None
        if len(values) != len(message.name):
            raise SignalError(
                f"joint_states has {len(message.name)} names and {len(values)} {what}s.",
                remedy="The driver is broken: all arrays must have one entry per name.",
            )
        return np.asarray(values, dtype=float)[k]

    q = pick(message.position, "position")
    if q is None:
        raise SignalError(
            "joint_states has no positions.", remedy="Check the joint_state_broadcaster."
        )
    return q, pick(message.velocity, "velocity"), pick(message.effort, "effort")


def filtered_arrays(
    message: FilteredJointState, names: Sequence[str]
) -> tuple[Array, Array, Array, Array]:
    """Return the filtered q, v and a in the order of `names`, each (n,), and their standard
    deviations, (3, n).

    Raises:
        SignalError: A joint is missing, or an array does not have one entry per name.
    """
    k = columns_of(names, message.name, "data_logger/filtered")
    rows = (
        message.position,
        message.velocity,
        message.acceleration,
        message.position_sd,
        message.velocity_sd,
        message.acceleration_sd,
    )
    if any(len(row) != len(message.name) for row in rows):
        raise SignalError(
            f"data_logger/filtered has {len(message.name)} names and arrays of"
            f" {sorted({len(row) for row in rows})} values.",
            remedy="Check if another node publishes on this topic. See `ros2 topic info -v`.",
        )
    q, v, a, *sds = (np.asarray(row, dtype=float)[k] for row in rows)
    return q, v, a, np.array(sds)


def wrench_from_message(message: Wrench) -> Array:
    """Return the wrench of a message: force, then torque, shape (6,)."""
    f, t = message.force, message.torque
    return np.array([f.x, f.y, f.z, t.x, t.y, t.z])


def message_from_wrench(wrench: ArrayLike) -> Wrench:
    """Create a message of a wrench, shape (6,); inverse of `wrench_from_message`."""
    w = np.asarray(wrench, dtype=float)
    return Wrench(force=vector3(w[:3]), torque=vector3(w[3:]))


def vector3(values: ArrayLike) -> Vector3:
    """Return `geometry_msgs/Vector3` from three numbers."""
    x, y, z = (float(v) for v in np.asarray(values, dtype=float))
    return Vector3(x=x, y=y, z=z)


def message_from_trajectory(trajectory: Trajectory, *, start_ns: int = 0) -> JointTrajectory:
    """Create a message with position, velocity and acceleration of every sample of a trajectory.

    A joint_trajectory_controller then interpolates with quintic polynomials. The motion ends at
    rest.
    """
    out = JointTrajectory(joint_names=list(trajectory.joint_names))
    if start_ns:
        out.header.stamp = stamp_from_ns(start_ns)
    for k in range(len(trajectory.time)):
        point = JointTrajectoryPoint(
            positions=trajectory.q[k].tolist(),
            velocities=trajectory.v[k].tolist(),
            accelerations=trajectory.a[k].tolist(),
        )
        ns = round((trajectory.time[k] - trajectory.time[0]) * 1e9)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(ns, 1_000_000_000)
        out.points.append(point)
    return out


def trajectory_arrays(
    message: JointTrajectory, names: Sequence[str]
) -> tuple[Array, Array, Array, Array]:
    """Return the times, positions, velocities and accelerations of a trajectory message, in the
    order of `names`.

    Returns:
        time (K,) [s], q (K, n), v (K, n), a (K, n); missing velocities and accelerations are zero.

    Raises:
        SignalError: A joint is missing, or a point has the wrong number of values.
    """
    if not message.points:
        raise SignalError("The trajectory has no points.", remedy="Send at least one point.")
    k = columns_of(names, message.joint_names, "The trajectory")
    width = len(message.joint_names)

    def rows(key: str) -> Array:
        values = [getattr(p, key) for p in message.points]
        if key != "positions":
            values = [x if len(x) else [0.0] * width for x in values]
        if any(len(x) != width for x in values):
            raise SignalError(
                f"A point of the trajectory doesn't have {width} {key}.",
                remedy="Give one value per joint name.",
            )
        return np.array([np.asarray(x, dtype=float) for x in values])[:, k]

    time = np.array(
        [p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in message.points]
    )
    return time, rows("positions"), rows("velocities"), rows("accelerations")


def message_from_statistics(
    statistics: StreamStatistics, topic: str, now_ns: int
) -> StreamStatisticsMessage:
    """Create a message of stream statistics; the fields have the same names."""
    out = StreamStatisticsMessage(stamp=stamp_from_ns(now_ns), topic=topic)
    for field in dataclasses.fields(statistics):
        setattr(out, field.name, getattr(statistics, field.name))
    return out
