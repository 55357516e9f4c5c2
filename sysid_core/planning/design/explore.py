# SPDX-License-Identifier: Apache-2.0
"""Adaptive experiment: each motion is planned after the last one was measured, until the accuracy
suffices.

`Explorer` contains the current estimate. The program that moves the robot asks it for the next
piece of motion, plays this piece, and returns the measured motion. Between pieces the robot is at
rest; every piece passes the same check as any other motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.planning.bases import BSplineBasis
from sysid_core.planning.design.criteria import Criterion, build_score
from sysid_core.planning.design.excitation_problem import ExcitationProblem, largest_safe
from sysid_core.planning.design.search import improve
from sysid_core.planning.design.unknowns import Expectation, Unknowns
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.trajectory import Trajectory, best_first
from sysid_core.planning.transfer import MotionBuilder, sample_times
from sysid_core.robot import Array
from sysid_core.settings import Kind

LEAST_GAIN = 0.01  # of the mean open deviation, below which further pieces are in vain
PATIENCE = 2  # pieces in a row with less
TRIES = 12  # random motions from which a piece is chosen
SPANS_PER_SECOND = 2.0  # of the pieces' splines
SHORTEST = 2.0  # piece [s]


class Ending(Kind):
    """State of an exploration: running, or the reason why it ended."""

    OPEN = "open"  # more pieces are wanted
    REACHED = "reached"  # everything that was asked for is known well enough
    IN_VAIN = "in vain"  # further pieces would hardly tell more
    OUT_OF_TIME = "out of time"


@dataclass(frozen=True)
class Goal:
    """Termination criterion of the exploration.

    Attributes:
        deviation: Requested standard deviation, relative to the natural scale of a parameter [-].
        names: Names of the base parameters that must reach the requested standard deviation; empty:
            all.
        longest: Largest total duration of all motions [s].
    """

    deviation: float = 0.1
    names: tuple[str, ...] = ()
    longest: float = 60.0

    def __post_init__(self) -> None:
        if not (0 < self.deviation < 1 and self.longest > 0):
            raise ExcitationError(
                f"The exploration goal is invalid: deviation {self.deviation}, longest {self.longest} s.",
                remedy="Give a relative deviation between 0 and 1, and a time above 0.",
            )


@dataclass(eq=False)
class Explorer:
    """Adaptive experiment: current knowledge of the parameters, and the next motion.

    Attributes:
        checker: Checker of motions against the robot's limits.
        unknowns: Parameters to be estimated; their prior is the present knowledge.
        goal: Termination criterion.
        period: Longest duration of a motion [s]. Long motions give the most information per second,
            because each begins and ends at rest. A shorter motion is used if it suffices for the
            parameters that are still inaccurate.
        n_iterations: Number of iterations of the optimisation of each motion; 0: the best of a few
            random motions is used.
        seed: Seed of the random numbers; the result is reproducible, and bit-identical on the same
            computer.
        duration: Duration of the motions executed so far [s].
        n_pieces: Number of motions executed so far.
    """

    checker: MotionChecker
    unknowns: Unknowns
    goal: Goal = field(default_factory=Goal)
    period: float = 10.0
    n_iterations: int = 200
    seed: int = 0
    duration: float = field(default=0.0, init=False)
    n_pieces: int = field(default=0, init=False)
    _poor: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        strangers = set(self.goal.names) - set(self.unknowns.names)
        if strangers:
            raise ExcitationError(
                f"No base parameters {sorted(strangers)}.",
                remedy=f"The base parameters are: {', '.join(self.unknowns.names)}.",
            )
        self._rng = np.random.default_rng(self.seed)

    @property
    def expectation(self) -> Expectation:
        """Current standard deviations of the parameters."""
        return self._known(self.unknowns)

    def _known(self, unknowns: Unknowns) -> Expectation:
        nothing = np.zeros((len(unknowns.names),) * 2)
        return Expectation.of(unknowns, nothing, self.duration)

    @property
    def open_names(self) -> tuple[str, ...]:
        """Requested base parameters that do not yet have the requested accuracy."""
        return self._open_after(self.unknowns)

    def _open_after(self, unknowns: Unknowns) -> tuple[str, ...]:
        asked = self.goal.names or unknowns.names
        return tuple(
            name
            for name, share in zip(unknowns.names, self._known(unknowns).relative, strict=True)
            if name in asked and share > self.goal.deviation
        )

    @property
    def ending(self) -> Ending:
        """Reason to end the exploration now, or running."""
        if not self.open_names:
            return Ending.REACHED
        if self._poor >= PATIENCE:
            return Ending.IN_VAIN
        return Ending.OUT_OF_TIME if self.n_pieces and self._left < SHORTEST else Ending.OPEN

    @property
    def _left(self) -> float:
        """Remaining time for motion [s]."""
        return self.goal.longest - self.duration

    def __str__(self) -> str:
        left = self.open_names
        text = f"{self.ending.value} after {self.n_pieces} pieces, {self.duration:.1f} s of motion"
        return text + (f"; not known well enough: {', '.join(left[:8])}" if left else "")

    def next_piece(self, q_now: Array, stop: Callable[[], bool] = lambda: False) -> Trajectory:
        """Return the next motion from the current posture, planned for the parameters that are
        still inaccurate, and checked.

        Args:
            q_now: Present joint positions, shape (n,) [rad or m].
            stop: Function that returns True to end the search with the best motion so far.

        Raises:
            ExcitationError: All parameters are accurate enough, or no safe motion starts at this
                posture.
        """
        if self.ending is not Ending.OPEN:
            raise ExcitationError(f"There is no further piece: {self}.", remedy="Use the result.")
        q_now = np.asarray(q_now, dtype=float)
        period = min(self.period, self._left)
        piece = self._best_piece(q_now, period, stop)
        while self._suffices(piece) and period >= 2.0 * SHORTEST and not stop():
            period /= 2.0
            shorter = self._best_piece(q_now, period, stop)
            if not self._suffices(shorter):
                break
            piece = shorter
        return piece

    def _suffices(self, piece: Trajectory) -> bool:
        """True if all parameters would be accurate enough after a motion."""
        information = self.unknowns.information(piece.q, piece.v, piece.a, piece.duration)
        return not self._open_after(self.unknowns.after_information(information))

    def _best_piece(self, q_now: Array, period: float, stop: Callable[[], bool]) -> Trajectory:
        problem = self._problem(period)
        motions = self._random_motions(problem, q_now)
        for x in motions:
            improved = []
            if self.n_iterations:
                found = improve(problem, x, self.n_iterations, lambda _: not stop(), fixed=True)
                improved.append(np.concatenate([q_now, found.x[len(q_now) :]]))
            for candidate in (*improved, x):
                safe = largest_safe(problem, candidate)[0]
                if safe is not None and (piece := self._piece(problem, safe)) is not None:
                    return piece
        raise ExcitationError(
            "No safe motion was found from the current posture.",
            remedy="Move the robot to a posture with more room around it, or widen the limits.",
        )

    def add(self, q: Array, v: Array, a: Array, duration: float) -> None:
        """Add the measured motion; an aborted motion is used as well.

        Args:
            q: Joint positions at equal steps in the model's order, shape (K, n) [rad or m].
            v: Joint velocities, shape (K, n) [rad/s or m/s].
            a: Joint accelerations, shape (K, n) [rad/s^2 or m/s^2].
            duration: Duration of motion that the samples represent [s].
        """
        if not len(q):  # nothing was played
            return
        asked, before = self.open_names, self.expectation
        information = self.unknowns.information(q, v, a, duration)
        self.unknowns = self.unknowns.after_information(information)
        self.duration += duration
        self.n_pieces += 1
        ratio = np.log(self.expectation.deviation / before.deviation)
        open_ones = np.array([name in asked for name in before.names])
        gain = -float(np.mean(ratio[open_ones])) if open_ones.any() else 1.0
        self._poor = self._poor + 1 if gain < LEAST_GAIN else 0

    def _problem(self, period: float) -> ExcitationProblem:
        """Optimisation problem whose criterion is the variance of the parameters that are not yet
        accurate enough or, if these are more than half of the parameters, that of all parameters.
        """
        left = self.open_names
        criterion = (
            Criterion.TARGET if len(left) <= len(self.unknowns.names) // 2 else Criterion.MEAN
        )
        targets = left if criterion is Criterion.TARGET else ()
        score = build_score(self.unknowns, criterion, period, targets=targets)
        n_spans = max(4, round(SPANS_PER_SECOND * period))
        basis = BSplineBasis(period, n_spans, free_end=True)
        return ExcitationProblem(self.checker, self.unknowns, score, basis)

    def _random_motions(self, problem: ExcitationProblem, q_now: Array) -> Sequence[Array]:
        """Random motions from the present posture to other postures, the best first."""
        scored = []
        for _ in range(TRIES):
            shape = self._rng.normal(size=(problem.basis.n_free, len(q_now)))
            x = problem.fitted_to_joint_limits(np.concatenate([q_now, shape.ravel()]))
            x = problem.fitted_to_tcp_speed(x)
            scored.append((problem.value_and_gradient(x)[0], x))
        return [scored[k][1] for k in best_first([-score for score, _ in scored])]

    def _piece(self, problem: ExcitationProblem, x: Array) -> Trajectory | None:
        """Checked motion from the robot's present posture; None if it is not safe."""
        start, coefficients = problem.split(x)
        builder = MotionBuilder(self.checker, start)
        time = sample_times(problem.basis.period, builder.rate_hz)
        builder.play(time, *problem.basis.motion(time, start, coefficients), "explore")
        piece = builder.build(seed=self.seed)
        return piece if self.checker.check(piece, stop_early=True).is_safe else None
