# SPDX-License-Identifier: Apache-2.0
"""Wrenches and vectors as arrays."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Vector3, Wrench
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def wrench_from_message(message: Wrench) -> Array:
    """Force then torque, shape (6,)."""
    f, t = message.force, message.torque
    return np.array([f.x, f.y, f.z, t.x, t.y, t.z])


def message_from_wrench(wrench: ArrayLike) -> Wrench:
    """Inverse of `wrench_from_message`."""
    w = np.asarray(wrench, dtype=float)
    return Wrench(force=vector3(w[:3]), torque=vector3(w[3:]))


def vector3(values: ArrayLike) -> Vector3:
    """Three numbers as a message."""
    x, y, z = (float(v) for v in np.asarray(values, dtype=float))
    return Vector3(x=x, y=y, z=z)
