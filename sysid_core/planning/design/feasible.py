# SPDX-License-Identifier: Apache-2.0
"""Reduction of a motion until the dense check passes, and the limit that prevents motion."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.planning.compose import MotionBuilder
from sysid_core.planning.design.excitation_problem import ExcitationProblem
from sysid_core.planning.fourier import MotionBasis
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.trajectory import Trajectory
from sysid_core.planning.transfer import sample_times
from sysid_core.planning.violations import LimitKind, Violation
from sysid_core.robot import Array, RobotModel

ASKED = 40  # random postures that tell what is in the way
# Shares of the amplitude that are tried until the dense check passes.
AMPLITUDES = np.concatenate([np.arange(1.0, 0.9, -0.01), np.geomspace(0.9, 0.05, 10)])


def build_series_motion(
    checker: MotionChecker,
    basis: MotionBasis,
    centre: Array,
    coefficients: Array,
    *,
    n_periods: int = 1,
    still: float = 1.0,
    rate_hz: float = 100.0,
    seed: int | None = None,
) -> Trajectory:
    """Motion of a rest, some periods of a series, and a rest; it is not checked yet.

    Args:
        checker: Checker of the robot and its limits.
        basis: Basis of the series.
        centre: Where it starts and ends, shape (n,).
        coefficients: Shape (n_free, n).
        n_periods: How often it is repeated.
        still: Duration of each still phase [s].
        rate_hz: Rate of the samples.
        seed: That it was found with.
    """
    builder = MotionBuilder(checker, centre, rate_hz=rate_hz)
    builder.rest(still, "still")
    time = sample_times(n_periods * basis.period, rate_hz)
    builder.play(time, *basis.motion(time, centre, coefficients), basis.label)
    builder.rest(still, "settle")
    series = {"begins": still, **basis.as_dict(centre, coefficients)}
    return dataclasses.replace(builder.build(seed=seed), series=series)


def largest_safe(
    problem: ExcitationProblem, x: Array
) -> tuple[Array | None, float, tuple[Violation, ...]]:
    """Motion with its amplitude reduced until the dense check passes, and the remaining share.

    None if it never does; then all that the smallest breaks.
    """
    checker, basis = problem.checker, problem.basis
    centre, coefficients = problem.split(x)
    # Not by bisection: on the way to the centre the arm may pass through what it went around.
    for share in AMPLITUDES:
        motion = build_series_motion(checker, basis, centre, share * coefficients, still=0.1)
        check = checker.check(motion, stop_early=True)
        if check.is_safe:
            return np.concatenate([centre, share * coefficients.ravel()]), float(share), ()
    return None, 0.0, checker.check(motion).violations


def infeasible(
    model: RobotModel, blame: Sequence[Violation], excess: Sequence[Mapping[LimitKind, float]]
) -> ExcitationError:
    """Error that names the limit that prevents the motion, and the necessary change of it.

    Args:
        model: The robot.
        blame: What the smallest motions break.
        excess: Squared excess that was left of each motion that was improved.
    """
    worst: dict[tuple[str, str], Violation] = {}
    for violation in blame:
        key = (violation.kind, violation.where)
        if key not in worst or violation.excess < worst[key].excess:
            worst[key] = violation
    kinds: dict[str, float] = {}
    for left in excess:
        for kind, amount in left.items():
            kinds[kind] = kinds.get(kind, 0.0) + amount
    ranked = sorted((k for k in kinds if kinds[k] > 1e-9), key=lambda k: -kinds[k])
    order = {kind: i for i, kind in enumerate(ranked)}
    first = sorted(worst.values(), key=lambda v: order.get(v.kind, len(order)))[:4]
    details = "; ".join(v.demand for v in first)
    coarse = all(v.kind is LimitKind.CONSISTENCY for v in first)
    ways = ", ".join(
        ranked if any(v.kind in ranked for v in first) else sorted({v.kind for v in first})
    )
    return ExcitationError(
        f"No motion of '{model.name}' was found that keeps to its limits. Limiting: {ways}."
        f" Even the smallest motions violate: {details}.",
        remedy="The series is too fast for its sampling: choose fewer harmonics or spans, a longer period, or a higher rate."
        if coarse
        else "Widen that limit, hold joints still, or try another seed.",
        blame=ranked,
        violations=tuple(worst.values()),
    )


def all_in_contact(checker: MotionChecker, n_postures: int) -> ExcitationError:
    """Names of the bodies that are in contact in nearly all postures.

    Args:
        checker: Checker of the robot and its limits.
        n_postures: How many random ones were tried in vain.
    """
    lower, upper = (np.clip(x, -np.pi, np.pi) for x in (checker.limits.lower, checker.limits.upper))
    rng, postures, pairs = np.random.default_rng(0), Counter[str](), Counter[str]()
    for q in rng.uniform(lower, upper, (ASKED, len(lower))):
        bodies = [name for pair in checker.contacts(q) for name in pair]
        postures.update(set(bodies))
        pairs.update(bodies)
    # Of bodies that touch as often the one that touches most others is to blame.
    first = sorted(postures, key=lambda name: (-postures[name], -pairs[name], name))[:3]
    most = ", ".join(f"'{name}' in {postures[name]} of {ASKED}" for name in first)
    return ExcitationError(
        f"All of {n_postures} random postures of '{checker.model.name}' are in contact: {most}.",
        remedy="Correct or move that body, check collision shapes, or hold joints still.",
    )
