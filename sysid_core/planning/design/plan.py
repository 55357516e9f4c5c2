# SPDX-License-Identifier: Apache-2.0
"""Motions of a whole arm that excite most of its parameters, within its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.planning.bases import BSplineBasis, FourierBasis, MotionBasis
from sysid_core.planning.design.criteria import Conditioning, Criterion, build_score
from sysid_core.planning.design.excitation_problem import (
    ExcitationProblem,
    all_in_contact,
    build_series_motion,
    infeasible,
    largest_safe,
)
from sysid_core.planning.design.search import Improved, Report, improve_all, random_starts
from sysid_core.planning.design.unknowns import Expectation, Unknowns
from sysid_core.planning.limits import MotionLimits
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.trajectory import Trajectory, first_best
from sysid_core.planning.violations import MotionCheck, Violation
from sysid_core.robot import Array, RobotModel

SAFE_STARTS = 3  # random motions whose safe amplitude is sought, for comparison
BANDWIDTH = 2.0  # [Hz], highest frequency of the series by default
MOST_HARMONICS = 48  # of a series: 24 s at the default bandwidth
DIFFERENT = 0.5  # of the typical distance between two postures of the training motion
TRIES = 8  # safe motions at most that are compared with the training motion
SEED = 7919  # added to the training motion's


@dataclass(frozen=True, eq=False)
class ArmPlan:
    """Exciting motion of a whole arm that passed all checks.

    Attributes:
        trajectory: Trajectory with the segments `still`, `fourier` or `bspline`, and `settle`.
        check: Result of the check.
        conditioning: Rank compared with the structural rank, and condition numbers.
        expectation: Expected standard deviation of every base parameter.
        random: Expected standard deviations after the best of a few random motions within the
            limits, for comparison; None if none was found.
        criterion: Criterion that was minimised.
        basis: Basis of the series.
        centre: Start and end posture of the motion, shape (n,) [rad or m].
        coefficients: Free coefficients of the series, shape (n_free, n).
        history: Score after each iteration of the best run; in the first half of the iterations,
            the motion may violate limits.
        amplitude: Share of the optimised amplitude that passed the dense check, 0 to 1.
        unknowns: Parameters for which the motion was planned.
    """

    trajectory: Trajectory
    check: MotionCheck
    conditioning: Conditioning
    expectation: Expectation
    random: Expectation | None
    criterion: Criterion
    basis: MotionBasis
    centre: Array
    coefficients: Array
    history: tuple[float, ...]
    amplitude: float
    unknowns: Unknowns

    def alternatives(self) -> list[tuple[str, Expectation]]:
        """Return the expected standard deviations if the same motion is repeated, slower or faster.

        Faster motions violate limits; they show the benefit of higher limits.
        """
        duration = self.expectation.duration
        out = [("as planned", self.expectation)]
        for label, repeats, speed in (
            ("twice as long", 2, 1.0),
            ("four times as long", 4, 1.0),
            ("at half speed", 1, 0.5),
            ("at 1.5 times the speed (beyond the limits)", 1, 1.5),
            ("at twice the speed (beyond the limits)", 1, 2.0),
        ):
            q, v, a = self.basis.sampled(self.centre, self.coefficients)
            seconds = duration * repeats / speed
            information = self.unknowns.information(q, speed * v, speed**2 * a, seconds)
            out.append((label, Expectation.of(self.unknowns, information, seconds)))
        return out

    @classmethod
    def of(
        cls,
        model: RobotModel,
        limits: MotionLimits | None = None,
        *,
        unknowns: Unknowns | None = None,
        criterion: Criterion | str = Criterion.D,
        targets: Sequence[str] = (),
        task: tuple[Array, Array, Array] | None = None,
        period: float = 20.0,
        n_harmonics: int | None = None,
        n_spans: int | None = None,
        seed: int = 0,
        n_candidates: int = 60,
        n_starts: int = 4,
        n_iterations: int = 300,
        workers: int = 1,
        still: float = 1.0,
        rate_hz: float = 100.0,
        progress: Report | None = None,
    ) -> ArmPlan:
        """Plan the Fourier motion with the smallest expected errors of an arm's parameters.

        Many random series are generated. The best candidates are improved by L-BFGS on the criterion of
        the expected covariance with increasing penalties; each is then reduced in amplitude until the
        dense check passes, and the best is returned. The result depends on the seed, but not on the
        number of processes.

        Args:
            model: Robot model.
            limits: Motion limits; None: those of the description.
            unknowns: Parameters to be estimated, with their prior; None: `Unknowns.of_arm(model)`.
            criterion: Criterion to be minimised.
            targets: Names of the base parameters to estimate best, for `Criterion.TARGET`.
            task: Motion (q, v, a) whose torques are to be predicted, instead of `targets`.
            period: Period of the series [s]. With a low TCP speed limit, longer periods allow larger motions.
            n_harmonics: Number of harmonics of the series; None: all below `BANDWIDTH`.
            n_spans: Number of knot intervals of a B-spline instead of the series; None: a series.
            seed: Seed of the random numbers; the plan is reproducible, on one computer bit for bit.
            n_candidates: Number of random series from which the initial motions are chosen.
            n_starts: Number of initial motions from which the optimisation starts.
            n_iterations: Number of iterations of each optimisation.
            workers: Number of processes for the optimisation; 0: one for each core.
            still: Duration of each still phase [s].
            rate_hz: Sampling rate [Hz].
            progress: Function that is called with the completed share and a description of the step.

        Raises:
            ExcitationError: No candidate passes the check; the message lists the limits that prevent
                it.
        """
        checker = MotionChecker(model, limits or MotionLimits.from_model(model))
        unknowns = unknowns or Unknowns.of_arm(model)
        basis = (
            FourierBasis(period, default_harmonics(period) if n_harmonics is None else n_harmonics)
            if n_spans is None
            else BSplineBasis(period, n_spans)
        )
        score = build_score(unknowns, criterion, period, targets=tuple(targets), task=task)
        problem = ExcitationProblem(checker, unknowns, score, basis)
        rng = np.random.default_rng(seed)
        say = progress or (lambda share, text: None)

        starts = random_starts(problem, n_candidates, rng, lambda s, t: say(0.1 * s, t))
        if not starts:
            raise all_in_contact(checker, n_candidates)
        safe = [
            found
            for x in starts[:SAFE_STARTS]
            if (found := largest_safe(problem, x)[0]) is not None
        ]
        runs = improve_all(
            problem,
            starts[:n_starts],
            n_iterations,
            workers,
            lambda s, t: say(0.1 + 0.8 * s, t),
        )
        say(0.92, "checking")
        x, history, amplitude = _best_safe(problem, runs, safe)
        centre, coefficients = problem.split(x)
        trajectory = build_series_motion(
            checker,
            basis,
            centre,
            coefficients,
            still=still,
            rate_hz=rate_hz,
            seed=seed,
        )
        check = checker.check(trajectory)
        check.raise_if_unsafe()

        def expected(x: Array) -> Expectation:
            motion = basis.sampled(*problem.split(x))
            return Expectation.of(unknowns, unknowns.information(*motion, period), period)

        return cls(
            trajectory,
            check,
            Conditioning.of(unknowns, *basis.sampled(*problem.split(x))),
            expected(x),
            min((expected(s) for s in safe), key=lambda e: e.mean_deviation, default=None),
            Criterion(criterion),
            basis,
            centre,
            coefficients,
            history,
            amplitude,
            unknowns,
        )

    @staticmethod
    def validation_motion(
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
            model: Robot model.
            limits: Motion limits.
            training: Motion of the identification; the seed of the validation motion follows from its
                seed.
            period: Period of the series [s].
            n_harmonics: Number of harmonics of the series.
            still: Duration of each still phase [s].
            rate_hz: Sampling rate [Hz].

        Raises:
            ExcitationError: No safe motion differs sufficiently from the identification motion.
        """
        training.belongs_to(model)
        for i in range(TRIES):
            plan = ArmPlan.of(
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


def default_harmonics(period: float) -> int:
    """Return the number of harmonics up to the frequency `BANDWIDTH`, at least 5."""
    return int(np.clip(round(BANDWIDTH * period), 5, MOST_HARMONICS))


def _best_safe(
    problem: ExcitationProblem, runs: Sequence[Improved], safe: Sequence[Array]
) -> tuple[Array, tuple[float, ...], float]:
    """The motion with the best score that passes the dense check, among the improved ones at their
    largest safe amplitude and the safe initial ones.

    Returns:
        Vector of centre and coefficients, history of its scores, and share of the amplitude.

    Raises:
        ExcitationError: No motion passes the check.
    """
    candidates: list[tuple[float, Array, tuple[float, ...], float]] = []
    blame: list[Violation] = []
    for run in runs:
        found, share, violations = largest_safe(problem, run.x)
        if found is None:
            blame += violations
        else:
            candidates.append((_score(problem, found), found, run.history, share))
    candidates += [(_score(problem, x), x, (), 1.0) for x in safe]
    if not candidates:
        raise infeasible(problem.checker.model, blame, [run.excess for run in runs])
    best = first_best([-score for score, *_ in candidates])
    return candidates[best][1:]


def _score(problem: ExcitationProblem, x: Array) -> float:
    problem.value_and_gradient(x)
    return problem.last_score


def nearness(model: RobotModel, one: Trajectory, other: Trajectory) -> float:
    """Return the distance between the postures of two motions, relative to the spread of the
    second.

    The result is the mean distance of the postures and velocities of `one` to the nearest ones of
    `other`, divided by the mean distance between two random samples of `other`: 0 for the same
    motion.
    """

    def states(trajectory: Trajectory) -> Array:
        columns = model.columns_from(trajectory.joint_names)
        step = max(1, len(trajectory.time) // 300)
        return np.hstack([trajectory.q[::step, columns], trajectory.v[::step, columns]])

    a, b = states(one), states(other)
    between = np.linalg.norm(a[:, None] - b[None], axis=2)
    own = np.linalg.norm(b[:, None] - b[None], axis=2)
    return float(between.min(axis=1).mean() / max(float(own.mean()), 1e-12))
