# SPDX-License-Identifier: Apache-2.0
"""Smooth moves from one posture to another."""

from __future__ import annotations

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


def minimum_jerk(s: ArrayLike) -> tuple[Array, Array, Array]:
    r"""Minimum-jerk profile `10 s^3 - 15 s^4 + 6 s^5` from 0 to 1, with its first two derivatives
    with respect to s.

    Args:
        s: Share of the duration, shape (...), clipped to 0..1 (where all derivatives vanish).

    Returns:
        Value, first and second derivative, each of shape (...).

    Examples:
        >>> value, rate, second = minimum_jerk([0.0, 0.5, 1.0])
        >>> value.tolist(), rate.tolist()
        ([0.0, 0.5, 1.0], [0.0, 1.875, 0.0])
    """
    x: Array = np.clip(np.asarray(s, dtype=float), 0.0, 1.0)
    return (
        x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
        30.0 * x**2 * (1.0 - x) ** 2,
        60.0 * x * (1.0 - x) * (1.0 - 2.0 * x),
    )


def sample_times(duration: float, rate_hz: float) -> Array:
    """Equidistant times from 0 to the duration at about this rate, shape (K,) [s]."""
    return np.linspace(0.0, duration, max(round(duration * rate_hz), 2) + 1)


def straight_move(
    q_start: ArrayLike, q_goal: ArrayLike, duration: float, rate_hz: float
) -> tuple[Array, Array, Array, Array]:
    """Minimum-jerk move along a straight line in joint space.

    Args:
        q_start: Shape (n,).
        q_goal: Shape (n,).
        duration: [s].
        rate_hz: Rate of the samples.

    Returns:
        time (K,), q (K, n), v (K, n) and a (K, n).
    """
    q_start, q_goal = np.asarray(q_start, dtype=float), np.asarray(q_goal, dtype=float)
    time = sample_times(duration, rate_hz)
    share, slope, curvature = (x[:, None] for x in minimum_jerk(time / duration))
    step = q_goal - q_start
    return time, q_start + share * step, slope * step / duration, curvature * step / duration**2


def move_duration(
    checker: MotionChecker, q_start: ArrayLike, q_goal: ArrayLike, share: float = 0.8
) -> float:
    """Shortest duration of a move that uses a given fraction of the velocity, acceleration, jerk
    and TCP limits [s].

    Args:
        checker: Checker of the robot and its limits.
        q_start: Shape (n,).
        q_goal: Shape (n,).
        share: Share of the limits that is used.
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
        checker: Checker of the robot and its limits.
        q_start: Where the robot stands, shape (n,) in the robot's joint order.
        q_goal: Where it shall be, shape (n,).
        share: Share of the velocity, acceleration, jerk and TCP limits that is used.

    Raises:
        ExcitationError: The straight way isn't safe.
    """
    model = checker.model
    duration = move_duration(checker, q_start, q_goal, share)
    time, q, v, a = straight_move(q_start, q_goal, duration, RATE_HZ)
    moved = tuple(n for n, d in zip(model.joint_names, np.ptp(q, axis=0), strict=True) if d > 0)
    trajectory = Trajectory(
        robot=model.name,
        urdf_hash=model.urdf_hash,
        joint_names=model.joint_names,
        time=time,
        q=q,
        v=v,
        a=a,
        segments=(Segment("transfer", 0.0, duration, moved),),
        limits=checker.limits.as_dict(),
    )
    check = checker.check(trajectory)
    if not check.is_safe:
        raise ExcitationError(
            "The straight motion to the start posture is not safe:"
            f" {'; '.join(str(v) for v in check.violations[:5])}.",
            remedy="Move the robot by hand or teach pendant to a posture closer to it.",
            violations=check.violations,
        )
    return trajectory
