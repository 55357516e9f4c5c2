# SPDX-License-Identifier: Apache-2.0
"""Trajectories composed of rests, moves and given motions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.trajectory import Segment, Trajectory
from sysid_core.planning.transfer import move_duration, sample_times, straight_move
from sysid_core.robot import Array


class MotionBuilder:
    """Joins pieces of motion that each start and end at rest; every piece becomes a segment.

    Args:
        checker: Checker of the robot and its limits; gives the durations of the moves.
        q_start: Where the motion starts, shape (n,).
        rate_hz: Rate of the samples.
        share: Share of the limits that moves use.
    """

    def __init__(
        self,
        checker: MotionChecker,
        q_start: ArrayLike,
        *,
        rate_hz: float = 100.0,
        share: float = 0.8,
    ) -> None:
        self.checker, self.rate_hz, self.share = checker, rate_hz, share
        start = np.array(q_start, dtype=float)
        if start.shape != (checker.model.nv,):
            raise ExcitationError(
                f"The start posture has shape {start.shape}, expected ({checker.model.nv},).",
                remedy="Give one position for each joint.",
            )
        self._time, self._rows = [0.0], [np.stack([start, 0 * start, 0 * start])]
        self._segments: list[Segment] = []

    @property
    def q(self) -> Array:
        """End posture of the motion so far, shape (n,)."""
        return self._rows[-1][0]

    @property
    def duration(self) -> float:
        """Duration of the motion so far [s]."""
        return self._time[-1]

    def rest(self, duration: float, label: str) -> None:
        """Append a rest of given duration [s]."""
        time = sample_times(duration, self.rate_hz)
        still = np.zeros((len(time), len(self.q)))
        self.play(time, still + self.q, still, still, label)

    def move_to(self, q_goal: ArrayLike, label: str = "transfer") -> None:
        """Append a minimum-jerk move along a straight line in joint space, unless the posture is
        already reached.
        """
        goal = np.asarray(q_goal, dtype=float)
        if np.allclose(goal, self.q, rtol=0.0, atol=1e-9):
            return
        duration = move_duration(self.checker, self.q, goal, self.share)
        self.play(*straight_move(self.q, goal, duration, self.rate_hz), label)

    def play(self, time: ArrayLike, q: ArrayLike, v: ArrayLike, a: ArrayLike, label: str) -> None:
        """Append a motion: time (K,) from 0, q, v and a (K, n), starting at the end of the
        last piece.
        """
        time = np.asarray(time, dtype=float)
        rows = np.stack([np.asarray(x, dtype=float) for x in (q, v, a)], axis=1)  # (K, 3, n)
        if not np.allclose(rows[0, 0], self.q, rtol=0.0, atol=1e-6):
            raise ExcitationError(
                f"The piece '{label}' starts {np.abs(rows[0, 0] - self.q).max():.3g} rad away from the end of the previous one."
                "",
                remedy="Move to its start first.",
            )
        moved = np.ptp(rows[:, 0], axis=0) > 0
        joints = tuple(n for n, m in zip(self.checker.model.joint_names, moved, strict=True) if m)
        start = self.duration
        self._time.extend((start + time[1:]).tolist())
        self._rows.extend(rows[1:])
        self._segments.append(Segment(label, start, self.duration, joints))

    def build(self, *, seed: int | None = None, notes: Sequence[str] = ()) -> Trajectory:
        """Trajectory composed so far, with the limits; it is not checked yet."""
        model = self.checker.model
        rows = np.stack(self._rows)
        return Trajectory(
            robot=model.name,
            urdf_hash=model.urdf_hash,
            joint_names=model.joint_names,
            time=np.array(self._time),
            q=rows[:, 0],
            v=rows[:, 1],
            a=rows[:, 2],
            segments=tuple(self._segments),
            limits=self.checker.limits.as_dict(),
            seed=seed,
            notes=tuple(notes),
        )
