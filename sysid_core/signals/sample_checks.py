# SPDX-License-Identifier: Apache-2.0
"""Checks of samples alone: steps, clipping, standstill, and implausible units."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel
from sysid_core.signals.filters import split_at_gaps
from sysid_core.signals.recording import Array, JointStream

_IN_A_ROW = 3  # samples at an extreme: one alone is a turning point
_MULTIPLE = 1e-3  # of a step: a value that is so close to a whole number of steps is on one
_WINDOW_S = 0.1  # over which a speed is taken
_MOVING = 0.01  # [rad/s or m/s]: standstill is slower


def quantisation(values: ArrayLike) -> Array:
    """Quantisation step of each column, shape (n,); 0 if the values are not on a grid.

    Args:
        values: Shape (K, n).
    """
    x = np.asarray(values, dtype=float)
    steps = np.abs(np.diff(x, axis=0))
    out = np.zeros(x.shape[1])
    for j, column in enumerate(steps.T):
        moved = column[column > 1e-12 * (1.0 + np.abs(x[:, j]).max(initial=0.0))]
        if len(moved) < 10:
            continue
        step = float(moved.min())
        whole = np.abs(moved / step - np.round(moved / step)) < _MULTIPLE
        # Few different steps, all multiples of the smallest: a grid.
        if whole.all() and len(np.unique(np.round(moved / step))) < 0.5 * len(moved):
            out[j] = step
    return out


def saturated_share(values: ArrayLike) -> Array:
    """Share of samples that stay at the extreme value of a column three or more times in a row,
    shape (n,).

    Args:
        values: Shape (K, n).
    """
    x = np.asarray(values, dtype=float)
    out = np.zeros(x.shape[1])
    for j, column in enumerate(x.T):
        if np.ptp(column) == 0.0:
            continue
        for extreme in (column.max(), column.min()):
            at = np.concatenate([[0], (column == extreme).astype(int), [0]])
            begin, end = (np.flatnonzero(np.diff(at) == sign) for sign in (1, -1))
            runs = end - begin
            out[j] += runs[runs >= _IN_A_ROW].sum() / len(column)
    return out


def standstill_share(time: ArrayLike, q: ArrayLike) -> float:
    """Share of the time in which no joint moves faster than 0.01 rad/s or m/s.

    Args:
        time: Shape (K,) [s].
        q: Shape (K, n).
    """
    t, x = np.asarray(time, dtype=float), np.asarray(q, dtype=float)
    later = np.minimum(np.searchsorted(t, t + _WINDOW_S), len(t) - 1)
    span = t[later] - t
    used = span > 0.5 * _WINDOW_S
    if not used.any():
        return 0.0
    speed = np.abs(x[later[used]] - x[used]) / span[used, None]
    return float(np.mean((speed < _MOVING).all(axis=1)))


_LEAST_MOTION = 0.05  # [rad or m] of a joint, to judge its velocity by
_CLEAR_MOTION = 0.5  # [rad or m] that the velocities say; a sensor's offset at rest says less
_DISPLACED_S = 0.2  # [s] over which displacements are compared, so that noise doesn't count
_AGREEMENT = (0.9, 1.1)  # measured velocity over derivative of the position


def require_sound_units(stream: JointStream, model: RobotModel, source: str) -> None:
    """Raise an error if positions are far outside the robot's limits, or velocities are not their
    derivative.

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
            f"Joint '{model.joint_names[j]}' of '{source}' goes to {worst:.4g}, far outside the URDF's limits of"
            f" {lower[j]:.4g} to {upper[j]:.4g} (rad or m).",
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


def velocity_ratio(stream: JointStream) -> Array:
    """Measured velocity over the derivative of the position, joint by joint, shape (n,).

    Args:
        stream: Joint states.

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
        marks = np.searchsorted(part.time, np.arange(0.0, part.time[-1], _DISPLACED_S))
        moved, expected = np.diff(part.q[marks], axis=0), np.diff(travelled[marks], axis=0)
        product += np.sum(moved * expected, axis=0)
        square += np.sum(moved**2, axis=0)
        told += np.sum(expected**2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = (square > _LEAST_MOTION**2) | ((told > _CLEAR_MOTION**2) & (square > 0.0))
        return np.where(moves, product / square, np.nan)
