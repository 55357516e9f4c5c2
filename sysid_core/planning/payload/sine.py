# SPDX-License-Identifier: Apache-2.0
"""Sines of all joints at once, for tracking tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError
from sysid_core.planning.compose import MotionBuilder
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.payload.motion import oscillation
from sysid_core.planning.trajectory import Trajectory


def plan_sines(
    checker: MotionChecker,
    posture: ArrayLike,
    amplitude: ArrayLike,
    peak_velocity: ArrayLike,
    duration: float,
    *,
    ramp: float = 1.0,
    still: float = 0.5,
    rate_hz: float = 500.0,
) -> Trajectory:
    """Every joint follows a sine of its own; checked.

    The frequency of a joint follows from its amplitude and peak velocity, as in the tracking
    test of Zhang et al. 2024 (section IV-D: 1.8, 3 and 5 rad/s).

    Args:
        checker: Checker of the robot and its limits.
        posture: Centre and start of the motion, shape (n,) [rad or m].
        amplitude: One for all joints, or shape (n,); 0 for a joint that stays [rad or m].
        peak_velocity: One for all joints, or shape (n,) [rad/s or m/s].
        duration: Duration of the sines with their ramps [s].
        ramp: In which the speed rises and falls [s].
        still: Before and after [s].
        rate_hz: Rate of the samples.

    Raises:
        ExcitationError: An amplitude is negative, or the motion breaks a limit.
    """
    n = checker.model.nv
    amplitudes = np.broadcast_to(np.asarray(amplitude, dtype=float), (n,))
    speeds = np.broadcast_to(np.asarray(peak_velocity, dtype=float), (n,))
    if np.any(amplitudes < 0) or not np.any(amplitudes > 0):
        raise ExcitationError(
            f"Amplitudes must be positive or 0, and one must be positive: {amplitudes.tolist()}.",
            remedy="Give one number of zero or more for each joint.",
        )
    columns = np.flatnonzero(amplitudes > 0)
    frequencies = speeds[columns] / (2.0 * np.pi * amplitudes[columns])
    builder = MotionBuilder(checker, posture, rate_hz=rate_hz)
    builder.rest(still, "still")
    motion = oscillation(
        posture,
        columns,
        frequencies,
        duration,
        amplitude=amplitudes[columns],
        ramp=ramp,
        rate_hz=rate_hz,
    )
    builder.play(*motion, "sines")
    builder.rest(still, "settle")
    trajectory = builder.build()
    checker.check(trajectory).raise_if_unsafe()
    return trajectory
