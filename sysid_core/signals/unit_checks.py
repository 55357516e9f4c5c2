# SPDX-License-Identifier: Apache-2.0
"""Checks of the units of positions and velocities."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel
from sysid_core.signals.recording import Array, JointStream
from sysid_core.signals.timing import velocity_ratio

_AGREEMENT = (0.9, 1.1)  # measured velocity over derivative of the position


def require_sound_units(
    stream: JointStream, model: RobotModel, source: str, *, near: bool = True
) -> None:
    """Raise an error if positions are far outside the robot's limits, or velocities are not their
    derivative.

    Args:
        stream: Joint states, with all of the robot's joints.
        model: Robot model, whose position limits are used if it has any.
        source: Name of the data for error messages.
        near: True to refuse positions far beyond the limits. False if a wrong zero position, sign
            or order may still be found: only positions in degrees, and motions larger than any
            joint's range, are then refused.

    Raises:
        SignalError: The unit of a joint is implausible; the error names the joint and the
            recommended action.
    """
    stream = stream.ordered(model.joint_names)
    lower, upper = model.position_limits
    reach, moved = np.maximum(upper - lower, 0.1), np.ptp(stream.q, axis=0)

    def beyond(q: Array) -> Array:
        """Distance of the positions beyond the limits, relative to the joint ranges, shape (n,)."""
        out = np.max(np.maximum(lower - q, q - upper), axis=0, initial=-np.inf)
        return np.asarray(out / np.where(np.isfinite(reach), reach, 1.0))

    # No zero or sign makes a motion fit that is larger than its joint's range, but limits can be
    # wrong: in degrees, if all joints together exceed their ranges by more than a motion in degrees falls short.
    share = float(np.prod(np.maximum(moved / reach, 1.0)))
    degrees = share * np.radians(share) > 1.0 and np.all(beyond(np.radians(stream.q)) <= 0.5)
    outside = beyond(stream.q)
    far = np.flatnonzero(outside > 0.5)
    if len(far) and (near or degrees or np.any(moved > reach.max())):
        j = far[np.argmax(outside[far])]
        worst = stream.q[np.argmax(np.maximum(lower - stream.q, stream.q - upper)[:, j]), j]
        raise SignalError(
            f"Joint '{model.joint_names[j]}' of '{source}' goes to {worst:.4g}, far outside the"
            f" URDF's limits of {lower[j]:.4g} to {upper[j]:.4g} (rad or m)."
            + (" In degrees, the positions of all joints are inside." if degrees else ""),
            remedy="Declare degrees in the column map (`unit: deg`)."
            if degrees
            else "Check unit, zero, sign, order and number of the position columns, and that the URDF is"
            " that of the recorded robot.",
            joint=model.joint_names[j],
        )
    ratio = velocity_ratio(stream)
    wrong = np.flatnonzero(_differ(ratio))
    if len(wrong):
        j = wrong[0]
        raise SignalError(
            f"The velocity of joint '{model.joint_names[j]}' in '{source}' is {ratio[j]:.3g} times"
            f" the derivative of its position.{_cause(stream, ratio, wrong)}",
            remedy="Check units, signs and order of the columns of time, position and velocity; without"
            " `velocity` in the column map, it is derived from the positions.",
            joint=model.joint_names[j],
        )


def _differ(ratio: Array) -> NDArray[np.bool_]:
    return np.asarray((ratio < _AGREEMENT[0]) | (ratio > _AGREEMENT[1]))


def _cause(stream: JointStream, ratio: Array, wrong: NDArray[np.intp]) -> str:
    """Sentence on what makes velocities differ from the derivatives of the positions by these
    ratios; empty if nothing simple does.
    """
    names = ", ".join(f"'{stream.names[j]}'" for j in wrong)
    if not np.any(_differ(-ratio[wrong])):
        return f" The sign of either the position or the velocity is reversed: {names}."
    for factor, what in ((np.pi / 180.0, "velocities"), (180.0 / np.pi, "positions")):
        if not np.any(_differ(factor * ratio[wrong])):
            return f" The {what} are in degrees: {names}."
    usual = float(np.nanmedian(ratio))
    if len(wrong) > 1 and usual > 0.0 and not np.any(_differ(ratio / usual)):
        return (
            f" The same factor holds for all joints: the time stamps advance {usual:.3g} times too"
            " fast, or the velocities have another unit."
        )
    for pair in combinations(wrong, 2):
        other = np.arange(len(ratio))
        other[list(pair)] = pair[::-1]
        exchanged = velocity_ratio(
            replace(stream, v=None if stream.v is None else stream.v[:, other])
        )
        if not np.any(_differ(exchanged[list(pair)])):
            i, j = (f"'{stream.names[k]}'" for k in pair)
            return (
                f" The columns of {i} and {j} are interchanged in either positions or velocities."
            )
    return ""
