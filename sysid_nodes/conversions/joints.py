# SPDX-License-Identifier: Apache-2.0
"""Joint states as arrays, always mapped by name."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray
from robot_sysid.msg import FilteredJointState
from sensor_msgs.msg import JointState

from sysid_core.errors import SignalError

Array = NDArray[np.float64]


def columns_of(names: Sequence[str], available: Sequence[str], what: str) -> list[int]:
    """Where each of `names` stands in a message.

    Args:
        names: Joint names of the robot, n of them.
        available: Those of the message, in any order; may hold others too.
        what: The message's name, for the error.

    Returns:
        n indices into the message's arrays.

    Raises:
        SignalError: A joint is missing, or the message names one twice.
    """
    index = {name: i for i, name in enumerate(available)}
    missing = [name for name in names if name not in index]
    twice = len(index) < len(available)
    if missing or twice:
        fault = f"lacks {missing}" if missing else "names a joint twice"
        raise SignalError(
            f"{what} {fault}; it has {list(available)}.",
            remedy="Remap the topic to this robot's, or load the URDF that belongs to it; joints"
            " that nobody measures are named by the parameter `lock`.",
            missing=missing,
        )
    return [index[name] for name in names]


def joint_arrays_from_message(
    message: JointState | SimpleNamespace, names: Sequence[str]
) -> tuple[Array, Array | None, Array | None]:
    """Positions, velocities and efforts in the order of `names`, mapped by name.

    Args:
        message: May hold other joints too, in any order.
        names: Joint names, n of them.

    Returns:
        q (n,), v (n,) or None, effort (n,) or None where the message has none.

    Raises:
        SignalError: A joint is missing, or the arrays' lengths don't fit the names.
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
    """Filtered q, v and a in the order of `names`, each (n,), and their sds, (3, n).

    Raises:
        SignalError: A joint is missing, or an array hasn't one entry per name.
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
            remedy="Who else publishes on this topic? `ros2 topic info -v` says.",
        )
    q, v, a, *sds = (np.asarray(row, dtype=float)[k] for row in rows)
    return q, v, a, np.array(sds)
