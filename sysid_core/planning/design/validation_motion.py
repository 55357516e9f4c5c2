# SPDX-License-Identifier: Apache-2.0
"""Validation motion that differs from the training motion and respects all limits."""

from __future__ import annotations

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.planning.design.plan import plan_arm_motion
from sysid_core.planning.limits import MotionLimits
from sysid_core.planning.trajectory import Trajectory
from sysid_core.robot import Array, RobotModel

DIFFERENT = 0.5  # of the typical distance between two postures of the training motion
TRIES = 8  # safe motions at most that are compared with the training motion
SEED = 7919  # added to the training motion's


def nearness(model: RobotModel, one: Trajectory, other: Trajectory) -> float:
    """Distance between the postures of two motions, relative to the spread of the second.

    Mean distance of `one`'s postures and velocities to the nearest of `other`, over the mean
    distance between two random samples of `other`: 0 for the same motion.
    """

    def states(trajectory: Trajectory) -> Array:
        columns = model.columns_from(trajectory.joint_names)
        step = max(1, len(trajectory.time) // 300)
        return np.hstack([trajectory.q[::step, columns], trajectory.v[::step, columns]])

    a, b = states(one), states(other)
    between = np.linalg.norm(a[:, None] - b[None], axis=2)
    own = np.linalg.norm(b[:, None] - b[None], axis=2)
    return float(between.min(axis=1).mean() / max(float(own.mean()), 1e-12))


def plan_validation_motion(
    model: RobotModel,
    limits: MotionLimits,
    training: Trajectory,
    *,
    period: float = 12.0,
    n_harmonics: int = 6,
    still: float = 1.0,
    rate_hz: float = 100.0,
) -> Trajectory:
    """Plan a validation motion whose postures, velocities and frequencies differ from those of the
    identification motion.

    Args:
        model: The robot.
        limits: What to keep to.
        training: What the parameters are identified from; its seed decides this one's.
        period: Period of the series [s].
        n_harmonics: Harmonics of the series.
        still: Duration of each still phase [s].
        rate_hz: Rate of the samples.

    Raises:
        ExcitationError: No safe motion differs enough.
    """
    training.belongs_to(model)
    for i in range(TRIES):
        plan = plan_arm_motion(
            model,
            limits,
            period=period,
            n_harmonics=n_harmonics,
            seed=(training.seed or 0) + SEED + i,
            n_candidates=12,
            n_starts=1,
            n_iterations=40,
            still=still,
            rate_hz=rate_hz,
        )
        if nearness(model, plan.trajectory, training) > DIFFERENT:
            return plan.trajectory
    raise ExcitationError(
        f"None of {TRIES} safe motions differs enough from the training motion.",
        remedy="Widen the limits, or validate on another task.",
    )
