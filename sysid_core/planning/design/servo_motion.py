# SPDX-License-Identifier: Apache-2.0
r"""Motions for position servos, planned without torques, because these are unknown.

While a servo moves, its position lags behind its target r by the sum of its terms,

\[ r - q = \kappa\, g(q) + \tau \dot q + m \ddot q + (f + \mu |\kappa g(q)|)\, \mathrm{sign}\, \dot q + z , \]

which is linear in its parameters, with the gravity torque g(q) of the URDF. Among random series
that respect the limits, the one whose regressors have the largest determinant (D-optimal) is
selected, for a slow and a full-speed pass together. Only the slow pass separates dry friction from
damping.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.planning.bases import FourierBasis
from sysid_core.planning.design.criteria import Criterion, build_score
from sysid_core.planning.design.excitation_problem import (
    ExcitationProblem,
    all_in_contact,
    infeasible,
    largest_safe,
)
from sysid_core.planning.design.plan import SAFE_STARTS, default_harmonics
from sysid_core.planning.design.search import Report, random_starts
from sysid_core.planning.design.unknowns import Unknowns
from sysid_core.planning.limits import MotionLimits
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.trajectory import Trajectory
from sysid_core.planning.transfer import MotionBuilder, sample_times
from sysid_core.planning.violations import MotionCheck, Violation
from sysid_core.robot import Array, RobotModel

# Of what the regressors of one sample hold; keeps the determinant of a joint that gravity doesn't load.
_LEAST = 1e-6
_FASTER, _FEWEST = (
    3.0,
    5,
)  # [-] an octave and a half above, to the speeds that are allowed; harmonics
_CHECKED = 10  # motions whose safe amplitude is sought, until a few are found


@dataclass(frozen=True, eq=False)
class ServoPlan:
    """Motion for position servos.

    Attributes:
        trajectory: Trajectory: rest, slow pass, rest, full pass, rest.
        check: Result of the safety check.
        information: Mean logarithm of the determinant of each joint's regressors, in units of the
            limits and of the largest gravity torque [-].
        slow: Speed of the first, slow execution of the motion, as a share of full speed.
        basis: Series of the motion.
    """

    trajectory: Trajectory
    check: MotionCheck
    information: float
    slow: float
    basis: FourierBasis


def plan_servo_motion(
    model: RobotModel,
    limits: MotionLimits,
    *,
    period: float = 20.0,
    slow: float = 0.25,
    n_candidates: int = 40,
    seed: int = 0,
    still: float = 2.0,
    rate_hz: float = 100.0,
    progress: Report = lambda share, text: None,
) -> ServoPlan:
    """Plan the motion with the smallest expected errors of the parameters of all position servos.

    Args:
        model: Robot model, all of whose joints move.
        limits: Motion limits, with infinite efforts if the URDF's effort limits are not those of
            the servos.
        period: Duration of the motion at full speed [s].
        slow: Speed of the first, slow execution of the motion, as a share of full speed.
        n_candidates: Number of random series to choose from.
        seed: Seed of the random numbers; the plan is reproducible.
        still: Duration of each rest, in which joints settle and stick [s].
        rate_hz: Sampling rate [Hz].
        progress: Function that is called with the completed share and a description of the step.

    Raises:
        ExcitationError: No candidate passes the check; the message lists the limits that prevent
            it.
    """
    if not 0.0 < slow < 1.0:
        raise ExcitationError(
            f"The speed of the slow pass, {slow:g} times full speed, is invalid.",
            remedy="Give a value between 0 and 1.",
        )
    checker = MotionChecker(model, limits)
    unknowns = Unknowns.of_arm(model, effort_sd=1.0)
    basis = FourierBasis(period, _harmonics(limits, period))
    problem = ExcitationProblem(
        checker, unknowns, build_score(unknowns, Criterion.D, period), basis
    )
    rng = np.random.default_rng(seed)
    starts = random_starts(problem, n_candidates, rng, lambda s, t: progress(0.5 * s, t))
    if not starts:
        raise all_in_contact(checker, n_candidates)

    def information(x: Array) -> float:
        q, v, a = basis.sampled(*problem.split(x))
        return servo_information(model, limits, q, v, a, slow)

    # Contact is slow to check: those that exceed limits least come first.
    found: list[Array] = []
    blame: list[Violation] = []
    for k, start in enumerate(starts[:_CHECKED]):
        progress(0.5 + 0.4 * k / _CHECKED, "checking")
        safe, _, violations = largest_safe(problem, start)
        blame += violations
        if safe is not None:
            found.append(safe)
        if len(found) == SAFE_STARTS:
            break
    if not found:
        raise infeasible(model, blame, [])
    best = max(found, key=information)
    centre, coefficients = problem.split(best)
    builder = MotionBuilder(checker, centre, rate_hz=rate_hz)
    for share, label in ((slow, "slow"), (1.0, "full")):
        builder.rest(still, f"still before {label}")
        time = sample_times(period / share, rate_hz)
        q, v, a = basis.motion(share * time, centre, coefficients)
        builder.play(time, q, share * v, share**2 * a, label)
    builder.rest(still, "settle")
    trajectory = builder.build(seed=seed)
    check = checker.check(trajectory)
    check.raise_if_unsafe()
    return ServoPlan(trajectory, check, information(best), slow, basis)


def _harmonics(limits: MotionLimits, period: float) -> int:
    """Number of harmonics: up to `_FASTER` times the frequency at which an oscillation over the
    whole joint range needs the full permitted acceleration.

    Faster harmonics permit only small amplitudes, with which the gravity torque hardly changes.
    """
    reach = 0.5 * np.minimum(limits.upper - limits.lower, 2.0 * np.pi)
    frequency = np.sqrt(np.median(limits.acceleration / reach)) / (2.0 * np.pi)
    return int(np.clip(round(_FASTER * frequency * period), _FEWEST, default_harmonics(period)))


def servo_information(
    model: RobotModel, limits: MotionLimits, q: Array, v: Array, a: Array, slow: float
) -> float:
    """Return the mean log-determinant of the information of all joints over a slow and a full pass;
    q, v, a of (K, n).
    """
    zero = np.zeros_like(q)
    g = model.inverse_dynamics(q, zero, zero)
    g = g / max(float(np.abs(g).max()), 1e-12)
    total = 0.0
    for j in range(model.nv):
        grams = []
        for share in (slow, 1.0):
            w, sign = share * v[:, j] / limits.velocity[j], np.sign(v[:, j])
            b = share**2 * a[:, j] / limits.acceleration[j]
            Y = np.stack([g[:, j], w, b, sign, np.abs(g[:, j]) * sign, np.ones_like(w)], axis=1)
            grams.append(Y.T @ Y / len(Y) / share)  # the slow pass lasts longer
        total += float(np.linalg.slogdet(sum(grams) + _LEAST * np.eye(len(grams[0])))[1])
    return total / model.nv
