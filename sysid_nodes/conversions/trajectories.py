# SPDX-License-Identifier: Apache-2.0
"""Trajectories, as whole messages and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_core.errors import SignalError
from sysid_nodes.conversions.joints import columns_of
from sysid_nodes.conversions.stamps import stamp_from_ns

if TYPE_CHECKING:
    from sysid_core.planning import Trajectory

Array = NDArray[np.float64]


def message_from_trajectory(
    trajectory: Trajectory, *, start_ns: int = 0, stride: int = 1
) -> JointTrajectory:
    """Position, velocity and acceleration of every `stride`-th sample; the last is always there.

    A joint_trajectory_controller then interpolates quintics; the end is at rest.
    """
    rows = sorted({*range(0, len(trajectory.time), stride), len(trajectory.time) - 1})
    out = JointTrajectory(joint_names=list(trajectory.joint_names))
    if start_ns:
        out.header.stamp = stamp_from_ns(start_ns)
    for k in rows:
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
    """Times and positions, velocities, accelerations of a trajectory in the order of `names`.

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
