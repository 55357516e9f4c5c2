# SPDX-License-Identifier: Apache-2.0
"""Units that can't be: degrees taken for radians, milliseconds for seconds."""

from __future__ import annotations

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.robot import Array, RobotModel
from sysid_core.signals.filters import split_at_gaps
from sysid_core.signals.recording import JointStream

_LEAST_MOTION = 0.05  # [rad or m] of a joint, to judge its velocity by
_CLEAR_MOTION = 0.5  # [rad or m] that the velocities say; a sensor's offset at rest says less
_AGREEMENT = (0.9, 1.1)  # measured velocity over derivative of the position


def require_sound_units(stream: JointStream, model: RobotModel, source: str) -> None:
    """Refuse positions far outside the robot's limits, and velocities that aren't their derivative.

    Args:
        stream: Joint states, with all of the robot's joints.
        model: Its position limits count, where it has some.
        source: Named in errors.

    Raises:
        SignalError: With the joint, and what to do.
    """
    stream = stream.ordered(model.joint_names)
    lower, upper = model.position_limits
    reach = np.maximum(upper - lower, 0.1)
    beyond = np.max(np.maximum(lower - stream.q, stream.q - upper), axis=0, initial=-np.inf)
    far = np.flatnonzero(beyond > 0.5 * reach)
    if len(far):
        j = far[np.argmax(beyond[far] / reach[far])]
        worst = stream.q[np.argmax(np.abs(stream.q[:, j])), j]
        raise SignalError(
            f"Joint '{model.joint_names[j]}' of '{source}' goes to {worst:.4g}, far beyond the"
            f" URDF's limits of {lower[j]:.4g} to {upper[j]:.4g} (rad or m).",
            remedy="Check unit, order and number of the position columns (`unit: deg`?).",
            joint=model.joint_names[j],
        )
    ratio = velocity_ratio(stream)
    wrong = np.flatnonzero((ratio < _AGREEMENT[0]) | (ratio > _AGREEMENT[1]))
    if len(wrong):
        j = wrong[0]
        raise SignalError(
            f"The velocity of joint '{model.joint_names[j]}' in '{source}' is {ratio[j]:.3g} times"
            " the derivative of its position.",
            remedy="Check units and order of the columns of time, position and velocity; without"
            " `velocity` in the column map, it is derived from the positions.",
            joint=model.joint_names[j],
        )


def velocity_ratio(stream: JointStream, window: float = 0.2) -> Array:
    """Measured velocity over the derivative of the position, joint by joint, shape (n,).

    Args:
        stream: Joint states.
        window: Over which displacements are compared, so that noise doesn't count [s].

    Returns:
        NaN where there is no velocity or hardly any motion.
    """
    product, square, told = np.zeros((3, len(stream.names)))
    for part in split_at_gaps(stream, 0.1) if stream.v is not None else ():
        if part.v is None or len(part) < 2:
            continue
        step = np.diff(part.time)[:, None]
        travelled = np.vstack(
            [0.0 * part.v[:1], np.cumsum(0.5 * step * (part.v[1:] + part.v[:-1]), 0)]
        )
        marks = np.searchsorted(part.time, np.arange(0.0, part.time[-1], window))
        moved, expected = np.diff(part.q[marks], axis=0), np.diff(travelled[marks], axis=0)
        product += np.sum(moved * expected, axis=0)
        square += np.sum(moved**2, axis=0)
        told += np.sum(expected**2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = (square > _LEAST_MOTION**2) | ((told > _CLEAR_MOTION**2) & (square > 0.0))
        return np.where(moves, product / square, np.nan)
