# SPDX-License-Identifier: Apache-2.0
"""Quintic polynomials through given postures, and selection of static postures that excite the
gravity parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError
from sysid_core.planning.design import Expectation, Unknowns
from sysid_core.planning.design.excitation_problem import all_in_contact
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.trajectory import Trajectory, best_first
from sysid_core.planning.transfer import MotionBuilder, plan_transfer
from sysid_core.planning.violations import MotionCheck
from sysid_core.robot import Array

CANDIDATES = 120  # random postures to choose each from
SHARE = 0.8  # of the limits that the ways between use
NEAREST = 0.2  # share of the longest turn
LONGEST_TURN = 2.0  # [rad or m] of one joint between two postures


@dataclass(frozen=True, eq=False)
class PosturePlan:
    """Static postures and the motion through them, which passed its check.

    Attributes:
        trajectory: Trajectory with the segments `posture K` and `transfer`.
        check: Result of the check.
        postures: Static postures, shape (m, n) [rad or m].
        expectation: Expected standard deviations of the base parameters from the static phases.
    """

    trajectory: Trajectory
    check: MotionCheck
    postures: Array
    expectation: Expectation

    @staticmethod
    def through(
        checker: MotionChecker,
        postures: ArrayLike,
        *,
        still: float = 1.0,
        rate_hz: float = 100.0,
        seed: int | None = None,
    ) -> Trajectory:
        """Plan minimum-jerk motions (quintic polynomials) from posture to posture, with a rest in each,
        and check them.

        Args:
            checker: Checker of the robot and its limits, which determine the durations.
            postures: Two or more postures, shape (m, n) [rad or m].
            still: Duration of the rest in each posture [s].
            rate_hz: Sampling rate [Hz].
            seed: Seed of the random postures.

        Raises:
            ExcitationError: The postures have another shape, or the motion violates a limit.
        """
        Q = np.asarray(postures, dtype=float)
        if Q.ndim != 2 or len(Q) < 2 or Q.shape[1] != checker.model.nv or not np.isfinite(Q).all():
            raise ExcitationError(
                f"Postures of shape {Q.shape} do not belong to a robot with {checker.model.nv} joints.",
                remedy="Give two rows or more, a column for each joint.",
            )
        builder = MotionBuilder(checker, Q[0], rate_hz=rate_hz, share=SHARE)
        for k, q in enumerate(Q):
            builder.move_to(q)
            builder.rest(still, f"posture {k + 1}")
        trajectory = builder.build(seed=seed)
        checker.check(trajectory).raise_if_unsafe()
        return trajectory

    @staticmethod
    def of(
        checker: MotionChecker,
        unknowns: Unknowns,
        count: int,
        *,
        still: float = 1.0,
        rate_hz: float = 100.0,
        seed: int = 0,
        progress: Callable[[float, str], None] = lambda share, text: None,
    ) -> PosturePlan:
        """Plan the static postures with the most informative gravity torques, and the motion through
        them.

        Each posture is selected from many random ones by the largest log-determinant of the information
        (greedy D-optimal design, Fedorov 1972); the straight path to it must be safe.

        Args:
            checker: Checker of motions against the robot's limits.
            unknowns: Parameters to be estimated.
            count: Number of postures, at least 2.
            still: Duration of the rest in each posture [s].
            rate_hz: Sampling rate [Hz].
            seed: Seed of the random numbers; the plan is reproducible, on one computer bit for bit.
            progress: Function that is called with the completed share and a description of the step.

        Raises:
            ExcitationError: Fewer than two postures are requested, or no safe path to a further posture
                was found.
        """
        if count < 2:
            raise ExcitationError(
                f"{count} postures are not sufficient.", remedy="Request two postures or more."
            )
        rng, n = np.random.default_rng(seed), checker.model.nv
        M = unknowns.prior_information * np.outer(unknowns.size, unknowns.size)
        before, Q = M, np.empty((0, n))
        for k in range(count):
            progress(k / count, f"choosing posture {k + 1} of {count}")
            drawn = _free_postures(checker, rng, Q[-1] if k else None)
            Phi = unknowns.regressor(drawn, 0 * drawn, 0 * drawn) * unknowns.size
            Phi = Phi / unknowns.effort_sd[:, None] * np.sqrt(still / unknowns.correlation)
            each = np.einsum("krb,krc->kbc", Phi, Phi)
            order = best_first(np.linalg.slogdet(M + each)[1])
            best = _next_safe(checker, drawn, order, Q)
            M, Q = M + each[best], np.vstack([Q, drawn[best]])
        trajectory = PosturePlan.through(checker, Q, still=still, rate_hz=rate_hz, seed=seed)
        information = (M - before) / np.outer(unknowns.size, unknowns.size)
        expected = Expectation.of(unknowns, information, count * still)
        return PosturePlan(trajectory, checker.check(trajectory), Q, expected)


def _free_postures(checker: MotionChecker, rng: np.random.Generator, here: Array | None) -> Array:
    """Random postures without contact within a distance of a given posture, shape (m, n)."""
    around, turn = (np.zeros(checker.model.nv), np.pi) if here is None else (here, LONGEST_TURN)
    lower = np.maximum(checker.limits.lower, np.maximum(-np.pi, around - turn))
    upper = np.minimum(checker.limits.upper, np.minimum(np.pi, around + turn))
    drawn = rng.uniform(lower, upper, (CANDIDATES, checker.model.nv))
    if here is not None:  # near ones too: a short way is rarely barred
        drawn = here + rng.uniform(NEAREST, 1.0, (CANDIDATES, 1)) * (drawn - here)
    free = [q for q in drawn if not checker.contacts(q)]
    if not free:
        raise all_in_contact(checker, CANDIDATES)
    return np.array(free)


def _next_safe(checker: MotionChecker, drawn: Array, order: Array, before: Array) -> int:
    """Best posture of some candidates that is safe and can be reached from the previous posture on
    a safe straight path.
    """
    for k in map(int, order):
        if not len(before):
            rest = MotionBuilder(checker, drawn[k])
            rest.rest(0.1, "posture")
            if checker.check(rest.build(), stop_early=True).is_safe:
                return k
            continue
        try:
            plan_transfer(checker, before[-1], drawn[k], share=SHARE)
        except ExcitationError:
            continue
        return k
    raise ExcitationError(
        f"No safe straight motion was found from posture {len(before)}."
        if len(before)
        else f"None of {len(drawn)} random postures keeps to the limits.",
        remedy="Request fewer postures, widen the limits, or try another seed.",
    )
