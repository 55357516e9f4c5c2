# SPDX-License-Identifier: Apache-2.0
"""Smooth moves from one posture to another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.trajectory import Segment, Trajectory
from sysid_core.robot import Array

# Peaks of the minimum-jerk profile (Flash and Hogan 1985) of unit length and duration.
PEAK_VELOCITY = 1.875  # 15/8, at half time
PEAK_ACCELERATION = 10.0 / np.sqrt(3.0)  # where the third derivative vanishes
PEAK_JERK = 60.0  # at both ends
MIN_DURATION = 0.2  # [s]: 25 samples of a controller at 125 Hz
RATE_HZ = 100.0  # of the samples


def sample_times(duration: float, rate_hz: float) -> Array:
    """Return the equidistant times from 0 to the duration at about this rate, shape (K,) [s]."""
    return np.linspace(0.0, duration, max(round(duration * rate_hz), 2) + 1)


def straight_move(
    q_start: ArrayLike, q_goal: ArrayLike, duration: float, rate_hz: float
) -> tuple[Array, Array, Array, Array]:
    """Return the minimum-jerk move along a straight line in joint space.

    Args:
        q_start: Start posture, shape (n,) [rad or m].
        q_goal: Goal posture, shape (n,) [rad or m].
        duration: Duration of the move [s].
        rate_hz: Sampling rate [Hz].

    Returns:
        Times (K,) [s], q (K, n), v (K, n) and a (K, n).
    """
    q_start, q_goal = np.asarray(q_start, dtype=float), np.asarray(q_goal, dtype=float)
    time = sample_times(duration, rate_hz)
    share, slope, curvature = (x[:, None] for x in Trajectory.minimum_jerk(time / duration))
    step = q_goal - q_start
    return time, q_start + share * step, slope * step / duration, curvature * step / duration**2


def move_duration(
    checker: MotionChecker, q_start: ArrayLike, q_goal: ArrayLike, share: float = 0.8
) -> float:
    """Return the shortest duration of a move that uses a given fraction of the velocity,
    acceleration, jerk and TCP limits [s].

    Args:
        checker: Checker of motions against the robot's limits.
        q_start: Start posture, shape (n,) [rad or m].
        q_goal: Goal posture, shape (n,) [rad or m].
        share: Used share of the limits, 0 to 1.
    """
    limits = checker.limits
    step = np.abs(np.asarray(q_goal, dtype=float) - np.asarray(q_start, dtype=float))
    durations = [
        float(np.max(PEAK_VELOCITY * step / (share * limits.velocity))),
        float(np.sqrt(np.max(PEAK_ACCELERATION * step / (share * limits.acceleration)))),
        MIN_DURATION,
    ]
    if limits.jerk is not None:
        durations.append(float(np.cbrt(np.max(PEAK_JERK * step / (share * limits.jerk)))))
    duration = max(durations)
    _, q, v, _ = straight_move(q_start, q_goal, duration, 50 / duration)
    excess = float(checker.tcp_speed(q, v).max()) / (share * limits.tcp_speed)
    return duration * max(1.0, 1.002 * excess)  # the peak lies between two of the samples


def plan_transfer(
    checker: MotionChecker,
    q_start: ArrayLike,
    q_goal: ArrayLike,
    *,
    share: float = 0.5,
) -> Trajectory:
    """Plan a smooth move along a straight line in joint space, and check it.

    Args:
        checker: Checker of motions against the robot's limits.
        q_start: Present posture of the robot, shape (n,) in the robot's joint order.
        q_goal: Goal posture, shape (n,).
        share: Used share of the velocity, acceleration, jerk and TCP limits, 0 to 1.

    Raises:
        ExcitationError: The straight path is not safe.
    """
    model = checker.model
    duration = move_duration(checker, q_start, q_goal, share)
    time, q, v, a = straight_move(q_start, q_goal, duration, RATE_HZ)
    moved = tuple(n for n, d in zip(model.joint_names, np.ptp(q, axis=0), strict=True) if d > 0)
    segments = (Segment("transfer", 0.0, duration, moved),)
    limits = checker.limits.as_dict()
    trajectory = Trajectory.of(model, time, q, v, a, segments=segments, limits=limits)
    check = checker.check(trajectory)
    if not check.is_safe:
        raise ExcitationError(
            "The straight motion to the start posture is not safe:"
            f" {'; '.join(str(v) for v in check.violations[:5])}.",
            remedy="Move the robot by hand or teach pendant to a posture closer to it.",
            violations=check.violations,
        )
    return trajectory


class MotionBuilder:
    """Builder of a motion from pieces that each start and end at rest; every piece becomes a
    segment.

    Args:
        checker: Checker of the robot and its limits, which determine the durations of moves.
        q_start: Start posture of the motion, shape (n,).
        rate_hz: Sampling rate [Hz].
        share: Share of the limits used by moves, 0 to 1.
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
        """Append a motion that starts at the end of the last piece: `time`, shape (K,), from 0; `q`,
        `v` and `a`, shape (K, n) each.
        """
        time = np.asarray(time, dtype=float)
        rows = np.stack([np.asarray(x, dtype=float) for x in (q, v, a)], axis=1)  # (K, 3, n)
        if not np.allclose(rows[0, 0], self.q, rtol=0.0, atol=1e-6):
            raise ExcitationError(
                f"The piece '{label}' starts {np.abs(rows[0, 0] - self.q).max():.3g} rad away from"
                " the end of the previous one.",
                remedy="Move the robot to the start of this piece first.",
            )
        moved = np.ptp(rows[:, 0], axis=0) > 0
        joints = tuple(n for n, m in zip(self.checker.model.joint_names, moved, strict=True) if m)
        start = self.duration
        self._time.extend((start + time[1:]).tolist())
        self._rows.extend(rows[1:])
        self._segments.append(Segment(label, start, self.duration, joints))

    def build(self, *, seed: int | None = None, notes: Sequence[str] = ()) -> Trajectory:
        """Return the trajectory composed so far, with the limits; it is not checked yet."""
        q, v, a = np.moveaxis(np.stack(self._rows), 1, 0)
        return Trajectory.of(
            self.checker.model,
            np.array(self._time),
            q,
            v,
            a,
            segments=tuple(self._segments),
            limits=self.checker.limits.as_dict(),
            seed=seed,
            notes=tuple(notes),
        )
