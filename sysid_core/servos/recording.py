# SPDX-License-Identifier: Apache-2.0
"""Recording of a robot with position servos: commands and positions of one motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel

Array = NDArray[np.float64]
ROUNDING = 0.00044  # [rad] of a 12-bit encoder, 2π/4096/√12: smaller errors aren't told apart
# Of the largest torque of gravity: a range below which no stiffness shows, a tenth of such friction.
GRAVITY = 1.0 / 30.0


@dataclass(frozen=True)
class ServoRecording:
    """Commands and positions of one motion. Samples that are not finite or out of order are
    removed, and so are single impossible readings (a late answer of the bus is read as zero).

    Attributes:
        name: Name of the motion.
        joints: Names of the columns; empty: unknown, and assumed to be in the order of the robot's
            joints.
        t: Times of the positions, shape (K,) [s].
        q: Positions, shape (K, n) [rad].
        t_target: Times of the commands, shape (L,) [s].
        target: Commands, shape (L, n) [rad].
        notes: Assumptions that were made during reading.
        full: For each column normalised to the range of its joint: the column's values at the lower
            and upper joint limit; None for columns in radians; empty: all columns are in radians.
    """

    name: str
    joints: tuple[str, ...]
    t: Array
    q: Array
    t_target: Array
    target: Array
    notes: tuple[str, ...] = ()
    full: tuple[tuple[float, float] | None, ...] = ()

    def __post_init__(self) -> None:
        for times, values in (("t", "q"), ("t_target", "target")):
            t = np.array(getattr(self, times), dtype=float).reshape(-1)
            x = np.array(getattr(self, values), dtype=float)
            x = x[:, None] if x.ndim == 1 else x
            if x.ndim != 2 or len(x) != len(t):
                raise SignalError(
                    f"'{self.name}': {values} of shape {x.shape} at {len(t)} times.",
                    remedy="Give one time for each row.",
                )
            sound = np.isfinite(t) & np.isfinite(x).all(axis=1)
            t, x = t[sound], x[sound]
            later = np.ones(len(t), dtype=bool)
            later[1:] = t[1:] > np.maximum.accumulate(t)[:-1]
            t, x = t[later], x[later]
            if lost := len(sound) - len(t):
                said = (
                    f"{lost} of {len(sound)} samples of {values} were omitted, because they are not numbers or"
                    " their times do not increase."
                )
                object.__setattr__(self, "notes", (*self.notes, said))
            if values == "q" and (misread := _misread(t, x)).any():
                t, x = t[~misread], x[~misread]
                said = f"{int(misread.sum())} single positions were omitted: a joint cannot jump away and back between samples."
                object.__setattr__(self, "notes", (*self.notes, said))
            if len(t) < _FEWEST:
                raise SignalError(
                    " ".join(
                        [f"'{self.name}' has {len(t)} valid samples of {values}.", *self.notes]
                    ),
                    remedy=f"Record at least {_FEWEST} samples.",
                )
            t.setflags(write=False)
            x.setflags(write=False)
            object.__setattr__(self, times, t)
            object.__setattr__(self, values, x)
        widths = {
            self.q.shape[1],
            self.target.shape[1],
            *([len(self.joints)] if self.joints else []),
        }
        if len(widths) > 1:
            raise SignalError(
                f"'{self.name}' has {self.q.shape[1]} positions, {self.target.shape[1]} commands"
                f" and the joints {list(self.joints)}.",
                remedy="Give a command and a position of each joint.",
            )

    @property
    def duration(self) -> float:
        """Time between the first and the last position [s]."""
        return float(self.t[-1] - self.t[0])

    def of_joints(self, columns: Sequence[int], joints: tuple[str, ...]) -> ServoRecording:
        """Return a copy with some of the columns, named after the joints of a robot."""
        wanted = list(columns)
        full = tuple(self.full[i] for i in wanted) if self.full else ()
        q, target = self.q[:, wanted], self.target[:, wanted]
        return replace(self, joints=joints, q=q, target=target, full=full)

    def in_radians(self, robot: RobotModel) -> ServoRecording:
        """Return a copy with positions in radians instead of shares of the range, and columns named
        after the joints of a robot.

        Raises:
            SignalError: A joint with such a column has no limits.
        """
        if not any(self.full):
            return self
        q, target, notes = self.q.copy(), self.target.copy(), list(self.notes)
        for j, ends in enumerate(self.full):
            if ends is None:
                continue
            at = robot.joint_names.index(self.joints[j])
            low, high = (float(limits[at]) for limits in robot.position_limits)
            if not np.isfinite(high - low):
                raise SignalError(
                    f"'{self.name}': the positions of {self.joints[j]} are given as shares of its range, but the URDF"
                    " has no limits for this joint.",
                    remedy="Write the joint's <limit lower upper> into the URDF, or give LeRobot's calibration"
                    " file with --calibration.",
                )
            for x in (q, target):
                x[:, j] = low + (x[:, j] - ends[0]) * (high - low) / (ends[1] - ends[0])
            notes.append(
                f"{self.joints[j]}: the range {ends[0]:g} to {ends[1]:g} was assumed to be that of the URDF's"
                f" limits, {low:.2f} to {high:.2f}."
            )
        return replace(self, q=q, target=target, notes=tuple(notes), full=())

    def matched(self, robot: RobotModel) -> ServoRecording:
        """Return the recording with its columns in the order and with the names of the robot's
        joints, in radians.

        The columns are matched by name if all names agree except for case and a suffix after a dot
        (`elbow_flex.pos`). Otherwise they are matched by order, if there are as many columns as
        joints and no name contradicts this; matching by order is noted.

        Raises:
            SignalError: Neither the names nor the number of the columns fit.
        """
        return _matched(self, robot).in_radians(robot)


# Of its 95th percentile: a speed that a joint had for one sample and the opposite one for the next.
# Reversals take several samples: 504 recordings of three robots keep below 0.5 without their misreadings.
_FASTER = 10.0


def _misread(t: Array, q: Array) -> NDArray[np.bool_]:
    """Mask of samples that differ strongly from both neighbours, far more than the joint ever moves
    in one step, shape (K,).
    """
    out = np.zeros(len(t), dtype=bool)
    if len(t) < _FEWEST:
        return out
    v = np.diff(q, axis=0) / np.diff(t)[:, None]
    usual = np.quantile(np.abs(v), 0.95, axis=0) + 10.0 * ROUNDING / float(np.median(np.diff(t)))
    there, back = v[:-1] / usual, v[1:] / usual
    fast = np.minimum(np.abs(there), np.abs(back)) > _FASTER
    out[1:-1] = (fast & (there * back < 0.0)).any(axis=1)
    return out


_FEWEST = 10  # samples: a fit of five parameters needs more than them


def taken_by_place(recording: ServoRecording, robot: RobotModel) -> bool:
    """Return True if some columns have other names than the robot's joints, so that they were
    assigned to the joints by their order.
    """
    known = {_plain(name) for name in robot.joint_names}
    common = [name for name in recording.joints if _plain(name) in known]
    return bool(recording.joints) and len(common) < min(len(recording.joints), len(known))


def _matched(recording: ServoRecording, robot: RobotModel) -> ServoRecording:
    names = robot.joint_names
    plain = [_plain(name) for name in recording.joints]
    known = {_plain(name): name for name in names}
    common = [j for j in plain if j in known]
    n = recording.q.shape[1]
    if plain and common and (len(common) == len(plain) or len(common) == len(names)):
        order = [(plain.index(_plain(name)), name) for name in names if _plain(name) in plain]
        return recording.of_joints([i for i, _ in order], tuple(name for _, name in order))
    in_place = all(known.get(j, names[i]) == names[i] for i, j in enumerate(plain[: len(names)]))
    if n == len(names) and in_place:
        matched = recording.of_joints(range(n), names)
        if not plain:
            return matched
        pairs = ", ".join(f"{a} to {b}" for a, b in zip(recording.joints, names, strict=True))
        return replace(
            matched,
            notes=(
                *recording.notes,
                f"The columns were assigned to the joints by their order: {pairs}.",
            ),
        )
    if 2 * len(common) > n:
        kept = [i for i, j in enumerate(plain) if j in known]
        kept.sort(key=lambda i: names.index(known[plain[i]]))
        others = ", ".join(j for j in recording.joints if _plain(j) not in known)
        said = f"Columns that belong to no joint of the robot were omitted: {others}."
        matched = recording.of_joints(kept, tuple(known[plain[i]] for i in kept))
        return replace(matched, notes=(*recording.notes, said))
    raise SignalError(
        f"'{recording.name}' has the columns {list(recording.joints) or n}, the robot the joints"
        f" {list(names)}.",
        remedy="Give the columns the names of the joints in the URDF, in any order (`--joints`).",
        columns=list(recording.joints),
        joints=list(names),
    )


def _plain(name: str) -> str:
    """Name of a joint in lower case, without the prefix `main_` of follower arms and without a
    suffix after a dot.
    """
    return name.lower().split(".")[0].removeprefix("main_")
