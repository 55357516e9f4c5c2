# SPDX-License-Identifier: Apache-2.0
"""Moving and locked joints of a description: fingers, rods, unmeasured joints."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from sysid_core.errors import ModelError
from sysid_core.robot.model import RobotModel


def lock_positions(texts: Sequence[str]) -> dict[str, float | None]:
    """Return the joints to lock from `JOINT` or `JOINT=POSITION`; None without a position.

    Raises:
        ModelError: A position is not a finite number.
    """
    out: dict[str, float | None] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            out[name.strip()] = float(value) if equals else None
        except ValueError:
            out[name.strip()] = np.nan
        if equals and not np.isfinite(out[name.strip()] or 0.0):
            raise ModelError(
                f"Joint to lock '{text}': '{value}' is not a finite number.",
                remedy="Write --lock JOINT or --lock JOINT=POSITION (rad or m).",
            )
    return out


def hold_joints(
    model: RobotModel,
    *,
    joints: Sequence[str] = (),
    lock: Sequence[str] = (),
    measured: Sequence[str] | None = None,
    positions: Mapping[str, float] | None = None,
) -> RobotModel:
    """Return the robot in which only the requested or measured joints can move.

    Args:
        model: Robot as in its description.
        joints: Names or patterns (`fr3_joint*`) of the joints that move; empty: the measured
            joints.
        lock: Further joints to lock, `JOINT` or `JOINT=POSITION` [rad or m].
        measured: Joints in the driver's joint states; None: unknown, no joint is locked for this
            reason.
        positions: Measured joint positions by name, at which joints are locked [rad or m].

    Returns:
        Robot with joints `locked` at the position in `lock`, otherwise in `positions`, otherwise
        zero (or the nearest position inside the joint's limits).

    Raises:
        ModelError: A name or pattern matches no joint, or all joints would be locked.
    """
    texts = lock_positions(lock)
    for pattern in (*joints, *texts):
        if not any(fnmatchcase(name, pattern) for name in model.joint_names):
            raise ModelError(
                f"'{pattern}' fits no joint of '{model.name}'.",
                remedy=f"Joints: {', '.join(model.joint_names)}.",
            )
    moving = [
        name
        for name in model.joint_names
        if not any(fnmatchcase(name, pattern) for pattern in texts)
        and (not joints or any(fnmatchcase(name, pattern) for pattern in joints))
        and (joints or measured is None or name in measured)
    ]
    held = [name for name in model.joint_names if name not in moving]
    if not moving:
        raise ModelError(
            f"All joints of '{model.name}' would be held.",
            remedy="Correct the parameters `joints` and `lock`, and check that the description belongs to this robot.",
        )
    given = {name: value for name in held for p, value in texts.items() if fnmatchcase(name, p)}
    described = _described_positions(model)
    known = {k: v for k, v in (positions or {}).items() if np.isfinite(v)}
    return model.with_locked(
        {name: _first(given.get(name), known.get(name), described[name]) for name in held}
    )


def _first(*values: float | None) -> float:
    """First of the given values that is not None."""
    return next(float(value) for value in values if value is not None)


def _described_positions(model: RobotModel) -> dict[str, float]:
    """Zero, or the nearest position within the limits, for joints with one degree of freedom."""
    lower, upper = model.position_limits
    out, at = {}, 0
    for name, nv in zip(model.joint_names, model.degrees_of_freedom, strict=True):
        out[name] = float(np.clip(0.0, lower[at], upper[at])) if nv == 1 else 0.0
        at += nv
    return out


def lock_options(joints: Iterable[str]) -> str:
    """Return the options of a command that lock these joints, quoted for a shell."""
    return " ".join(f"--lock {shlex.quote(joint)}" for joint in joints)
