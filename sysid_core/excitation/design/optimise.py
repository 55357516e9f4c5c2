"""Motions of a whole arm that tell most about its base parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from sysid_core.errors import ExcitationError
from sysid_core.excitation.compose import MotionBuilder
from sysid_core.excitation.design.criteria import ExcitationCriterion, ExcitationQuality
from sysid_core.excitation.design.excitation_problem import ExcitationProblem
from sysid_core.excitation.fourier import FourierBasis
from sysid_core.excitation.limits import MotionLimits
from sysid_core.excitation.motion_check import MotionCheck, MotionChecker
from sysid_core.excitation.trajectory import Trajectory
from sysid_core.excitation.transfer import sample_times
from sysid_core.robot import Array, RobotModel

# Shares of the amplitude that are tried until the dense check passes.
AMPLITUDES = np.concatenate([np.arange(1.0, 0.9, -0.02), np.geomspace(0.9, 0.05, 10)])
PENALTIES = (50.0, 2000.0)  # soft first, to find a good shape, then hard
QUALITY_SAMPLES = 400  # per period, for the final judgement
SAFE_STARTS = 3  # random motions whose safe amplitude is sought, for comparison


@dataclass(frozen=True, eq=False)
class ArmPlan:
    """An exciting motion of a whole arm that passed its check.

    Attributes:
        trajectory: With segments `still`, `fourier`, `settle`.
        check: The result of the check.
        quality: Rank against the structural rank, conditioning, log-determinant.
        basis: Period and harmonics of the series.
        centre: Where the motion starts and ends, shape (n,) [rad or m].
        coefficients: Free coefficients of the series, shape (n_free, n).
        random_log_det: Of the best safe motion among the random starts.
        history: Log-determinant after each iteration of the run that won; the first half may break
            limits.
    """

    trajectory: Trajectory
    check: MotionCheck
    quality: ExcitationQuality
    basis: FourierBasis
    centre: Array
    coefficients: Array
    random_log_det: float
    history: tuple[float, ...]


def build_fourier_motion(
    checker: MotionChecker,
    basis: FourierBasis,
    centre: Array,
    coefficients: Array,
    *,
    n_periods: int = 1,
    still: float = 1.0,
    rate_hz: float = 100.0,
    seed: int | None = None,
) -> Trajectory:
    """A still phase, some periods of a series, a still phase; not checked yet.

    Args:
        checker: Of the robot and its limits.
        basis: Of the series.
        centre: Where it starts and ends, shape (n,).
        coefficients: Shape (n_free, n).
        n_periods: How often it is repeated.
        still: Duration of each still phase [s].
        rate_hz: Of the samples.
        seed: That it was found with.
    """
    builder = MotionBuilder(checker, centre, rate_hz=rate_hz)
    builder.rest(still, "still")
    time = sample_times(n_periods * basis.period, rate_hz)
    builder.play(time, *basis.motion(time, centre, coefficients), "fourier")
    builder.rest(still, "settle")
    return builder.build(seed=seed)


def plan_arm_motion(
    model: RobotModel,
    limits: MotionLimits | None = None,
    *,
    period: float = 20.0,
    n_harmonics: int = 5,
    n_periods: int = 1,
    seed: int = 0,
    n_candidates: int = 60,
    n_starts: int = 2,
    n_iterations: int = 80,
    still: float = 1.0,
    rate_hz: float = 100.0,
    progress: Callable[[float, str], None] | None = None,
) -> ArmPlan:
    """Plan the Fourier motion that tells most about an arm's base parameters, inside its limits.

    Random series are drawn; the best are improved by L-BFGS on the log-determinant with penalties,
    soft ones first; each is then shrunk until the dense check passes, and the most telling wins.

    Args:
        model: The robot.
        limits: Default: those of the description.
        period: Of the series [s]. With a low TCP speed limit, longer periods allow larger motions.
        n_harmonics: Of the series.
        n_periods: Repetitions in the trajectory.
        seed: Makes the plan reproducible.
        n_candidates: Random series to start from.
        n_starts: How many of them are improved.
        n_iterations: Of each improvement.
        still: Duration of each still phase [s].
        rate_hz: Of the samples.
        progress: Called with the share that is done and what is going on.

    Raises:
        ExcitationError: No candidate passes the check.
    """
    checker = MotionChecker(model, limits or MotionLimits.from_model(model))
    basis = FourierBasis(period, n_harmonics)
    criterion = ExcitationCriterion(model)
    problem = ExcitationProblem(checker, criterion, basis)
    rng = np.random.default_rng(seed)
    tell = progress or (lambda share, text: None)

    starts = _random_starts(problem, n_candidates, rng, tell)
    safe = [_largest_safe(problem, x) for x in starts[:SAFE_STARTS]]
    found = [(_log_det(problem, x), x, ()) for x in safe if x is not None]
    random_log_det = max((value for value, _, _ in found), default=float("-inf"))

    runs: list[tuple[float, Array, tuple[float, ...]]] = list(found)
    for i, start in enumerate(starts[:n_starts]):
        improved, history = _improve(
            problem,
            start,
            n_iterations,
            lambda share, i=i: tell(  # type: ignore[misc]
                0.2 + 0.7 * (i + share) / n_starts, f"improving motion {i + 1} of {n_starts}"
            ),
        )
        shrunk = _largest_safe(problem, improved)
        if shrunk is not None:
            runs.append((_log_det(problem, shrunk), shrunk, history))
    if not runs:
        raise ExcitationError(
            f"No motion of '{model.name}' was found that keeps to its limits.",
            remedy="Widen workspace or limits, hold joints still, or try another seed.",
        )
    tell(0.95, "checking")
    _, x, history = max(runs, key=lambda run: run[0])
    centre, coefficients = problem.split(x)
    trajectory = build_fourier_motion(
        checker,
        basis,
        centre,
        coefficients,
        n_periods=n_periods,
        still=still,
        rate_hz=rate_hz,
        seed=seed,
    )
    check = checker.check(trajectory)
    check.raise_if_unsafe()
    time = np.arange(QUALITY_SAMPLES) * period / QUALITY_SAMPLES
    quality = criterion.quality(*basis.motion(time, centre, coefficients))
    return ArmPlan(trajectory, check, quality, basis, centre, coefficients, random_log_det, history)


def _random_starts(
    problem: ExcitationProblem,
    n_candidates: int,
    rng: np.random.Generator,
    tell: Callable[[float, str], None],
) -> list[Array]:
    """Random motions inside the joint limits about postures without contact, best first."""
    checker = problem.checker
    limits, n = checker.limits, checker.model.nv
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    scored = []
    for i in range(n_candidates):
        centre = lower + (upper - lower) * rng.uniform(0.15, 0.85, size=n)
        shape = rng.normal(size=(problem.basis.n_free, n))
        if checker.contacts(centre):
            continue
        x = problem.fitted_to_joint_limits(np.concatenate([centre, shape.ravel()]))
        x = problem.fitted_to_tcp_speed(x)
        value, _ = problem.value_and_gradient(x)
        scored.append((value, i, x))
        tell(0.2 * (i + 1) / n_candidates, "drawing motions")
    scored.sort(key=lambda item: item[:2])
    return [x for _, _, x in scored]


def _improve(
    problem: ExcitationProblem, start: Array, n_iterations: int, tell: Callable[[float], None]
) -> tuple[Array, tuple[float, ...]]:
    limits, n = problem.checker.limits, problem.checker.model.nv
    bounds = [
        (lo if np.isfinite(lo) else None, up if np.isfinite(up) else None)
        for lo, up in zip(limits.lower, limits.upper, strict=True)
    ] + [(None, None)] * (problem.n_variables - n)
    history = [problem.criterion.log_det(*problem.motion(start))]

    def note(_: Array) -> None:
        history.append(problem.last_log_det)
        tell(min(1.0, len(history) / n_iterations))

    x, hard = start, problem.penalty
    for penalty in PENALTIES:
        problem.penalty = penalty
        result = scipy.optimize.minimize(
            problem.value_and_gradient,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=note,
            options={"maxiter": max(1, n_iterations // len(PENALTIES)), "maxcor": 20},
        )
        x = np.asarray(result.x)
    problem.penalty = hard
    return x, tuple(history)


def _largest_safe(problem: ExcitationProblem, x: Array) -> Array | None:
    """The motion with its amplitude reduced until the dense check passes; None if it never does."""
    checker, basis = problem.checker, problem.basis
    centre, coefficients = problem.split(x)

    def is_safe(share: float) -> bool:
        motion = build_fourier_motion(checker, basis, centre, share * coefficients, still=0.1)
        return checker.check(motion, stop_early=True).is_safe

    # Not by bisection: on the way to the centre the arm may pass through what it went around.
    for share in AMPLITUDES:
        if is_safe(float(share)):
            return np.concatenate([centre, share * coefficients.ravel()])
    return None


def _log_det(problem: ExcitationProblem, x: Array) -> float:
    return problem.criterion.log_det(*problem.motion(x))
