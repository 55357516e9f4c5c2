# SPDX-License-Identifier: Apache-2.0
"""Exciting motions of a closed chain as one trajectory of all joints, within their limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import scipy

from sysid_core.planning.closed_chain.plan import (
    LoopExcitation,
    Progress,
    shown_by_motions,
)
from sysid_core.planning.limits import MotionLimits
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.trajectory import Trajectory
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.planning.violations import LimitKind, MotionCheck, Violation
from sysid_core.robot.loops import ClosedChain

_MARGIN = 0.99  # of the limits that the fastest sample may use


def slowed(trajectory: Trajectory, pace: float, rate_hz: float) -> Trajectory:
    """Return the path at another speed: velocities times `pace`, accelerations times `pace`^2."""
    path = scipy.interpolate.BPoly.from_derivatives(
        trajectory.time, np.stack([trajectory.q, trajectory.v, trajectory.a], axis=1)
    )
    end = trajectory.time[-1]
    time = np.append(np.arange(0.0, end / pace, 1.0 / rate_hz), end / pace)
    if time[-1] - time[-2] < 1e-6:
        time = np.delete(time, -2)
    s = np.minimum(time * pace, end)
    return dataclasses.replace(
        trajectory,
        time=time,
        q=path(s),
        v=path(s, 1) * pace,
        a=path(s, 2) * pace**2,
    )


def plan_loop_motion(
    chain: ClosedChain,
    limits: MotionLimits,
    config: LoopExcitation,
    *,
    n_motions: int = 2,
    still: float = 1.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Trajectory, MotionCheck]:
    """Plan exciting motions of all driven joints, separated by rests.

    If a limit of velocity, acceleration or jerk is violated, all motions are slowed down until it
    is respected.

    Args:
        chain: Mechanism with loops.
        limits: Limits of all joints of `chain.model`. The predicted torques, which are compared
            with the torque limits, include a held mass.
        config: Settings of the search.
        n_motions: Number of motions, which become the segments `motion_1`, `motion_2`, …
        still: Duration of the rest before and after each motion [s].
        seed: Seed of the search.
        progress: Function that is called with the completed share.

    Returns:
        Trajectory, and the result of its check, which may have failed.
    """
    checker = MotionChecker(chain.model, limits)
    chain = dataclasses.replace(chain, model=checker.loaded)  # what is held needs torque, too
    plans = config.plan(chain, np.random.default_rng(seed), n_motions, progress)
    motions = [plan.of_all_joints(chain) for plan in plans]
    notes = [f"motion_{i}: {note}" for i, plan in enumerate(plans, 1) for note in plan.notes]
    haste, limit = max(_haste(checker.check(motion)) for motion in motions)
    if haste > 1.0:
        pace = _MARGIN / haste
        motions = [slowed(motion, pace, config.rate_hz) for motion in motions]
        notes.append(f"Slowed to {100 * pace:.0f} % of the planned pace by the limit of {limit}.")
        if config.inertials:
            shown = shown_by_motions(chain, motions)
            notes.append(
                f"Then {shown.rank} of {len(shown.names)} directions are excited; condition number"
                f" {shown.condition_number:.4g}, relative to vigorous motion."
                + (
                    ""
                    if shown.rank == len(shown.names)
                    else " A higher limit excites more parameters."
                )
            )
    builder = MotionBuilder(checker, motions[0].q[0], rate_hz=config.rate_hz)
    builder.rest(still, "still")
    for i, motion in enumerate(motions, 1):
        builder.play(motion.time, motion.q, motion.v, motion.a, f"motion_{i}")
        builder.rest(still, "still")
    trajectory = builder.build(seed=seed, notes=notes)
    return trajectory, _with_closed_loops(chain, trajectory, checker.check(trajectory))


def _with_closed_loops(
    chain: ClosedChain, trajectory: Trajectory, check: MotionCheck
) -> MotionCheck:
    """Motion check with the motor efforts of the closed chain instead of those of the opened
    tree.
    """
    few = slice(None, None, max(1, len(trajectory.time) // 2000))
    time, q, v, a = (x[few] for x in (trajectory.time, trajectory.q, trajectory.v, trajectory.a))
    k = chain.actuated_columns
    torques = chain.torques(chain.motion(q[:, k], v[:, k], a[:, k]))
    share = np.abs(torques) / chain.torque_limits
    worst = np.argmax(share, axis=0)
    broken = tuple(
        Violation(
            LimitKind.EFFORT, name, float(time[i]), float(torques[i, j]), chain.torque_limits[j]
        )
        for j, (name, i) in enumerate(zip(chain.actuated, worst, strict=True))
        if share[i, j] > 1.0
    )
    return dataclasses.replace(
        check,
        violations=(*(x for x in check.violations if x.kind is not LimitKind.EFFORT), *broken),
        usage={**check.usage, "effort": float(share.max())},
        notes=(
            *check.notes,
            "The efforts are those of the nominal motors, including the loop closures and the held"
            " mass.",
        ),
    )


def _haste(check: MotionCheck) -> tuple[float, str]:
    """Factor by which the motion is too fast for its most restrictive limit, and the kind of that
    limit.
    """
    orders = {"velocity": 1, "tcp speed": 1, "acceleration": 2, "jerk": 3}
    return max(
        (share ** (1.0 / orders[kind]), kind)
        for kind, share in check.usage.items()
        if kind in orders
    )
