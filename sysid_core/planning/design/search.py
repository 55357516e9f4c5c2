# SPDX-License-Identifier: Apache-2.0
"""Multi-start search: the best of many random motions are optimised in several processes."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import scipy

from sysid_core.errors import SolverError
from sysid_core.planning.design.excitation_problem import ExcitationProblem, largest_safe
from sysid_core.planning.violations import LimitKind
from sysid_core.robot import Array

Result = TypeVar("Result")
# Tells its share of the work that is done, and is told whether to go on.
Search = Callable[[Callable[[float], bool]], Result]

POLL = 0.1  # [s], between two looks at the processes
TALK = 0.3  # [s], between two messages of a search
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_parent: tuple[Any, Any]  # in a process of the pool: where shares are told, and the event to end
PENALTIES = (50.0, 2000.0)  # soft first, to find a good shape, then hard
SHARES = (0.4, 0.3, 0.1, 0.1, 0.1)  # of the iterations: soft, hard, and
# rounds that mend what exceeds limits between samples
DIGITS = 7  # that count of values, scaled variables and gradients
ENOUGH, MEND = 0.95, 0.5  # share of the amplitude that is mended below; of the iterations for it
MAIN = 0.7  # of the progress that is told


def run_searches(
    searches: Sequence[Search[Result]], workers: int, report: Callable[[float, bool], None]
) -> list[Result]:
    """Run all searches and return their results in order; on Ctrl-C each search returns its best
    result.

    Args:
        searches: Functions to run; each is sent to one of the processes.
        workers: Number of processes.
        report: Function called with the completed share, and with True if all searches were
            requested to end.

    Raises:
        SolverError: A process ended unexpectedly.
    """
    context = multiprocessing.get_context("spawn")
    shares, end = context.Queue(), context.Event()
    done = [0.0] * len(searches)
    with ProcessPoolExecutor(workers, context, _begin, (shares, end)) as pool:
        with _for_children():
            futures = [pool.submit(_run, i, search) for i, search in enumerate(searches)]
        while not all(future.done() for future in futures):
            try:
                with suppress(queue.Empty):
                    i, done[i] = shares.get(timeout=POLL)
                report(sum(done) / len(done), end.is_set())
            except KeyboardInterrupt:
                if end.is_set():
                    raise
                end.set()
        try:
            return [future.result() for future in futures]
        except BrokenProcessPool as err:
            raise SolverError(
                "A process of the search ended prematurely.",
                remedy="Provide more memory, or use fewer processes: --workers 1.",
            ) from err


def _begin(shares: Any, end: Any) -> None:
    global _parent
    _parent = shares, end


def _run(number: int, search: Search[Result]) -> Result:
    shares, end = _parent
    last = 0.0

    def said(share: float) -> bool:
        nonlocal last
        if time.monotonic() - last >= TALK:
            shares.put((number, share))
            last = time.monotonic()
        return not end.is_set()

    return search(said)


@contextmanager
def _for_children() -> Iterator[None]:
    """Provide a context in which new processes use one thread and ignore Ctrl-C, so that only this
    process handles it.
    """
    before = {name: os.environ.get(name) for name in _THREADS}
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    os.environ.update((name, "1") for name in _THREADS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if main:
            signal.signal(signal.SIGINT, handler)


Report = Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class Improved:
    """Locally optimal motion that was found from one initial motion.

    Attributes:
        x: Vector of centre and coefficients.
        score: Value of the criterion [-].
        excess: Remaining squared excess over the limits on the coarse grid, by kind of limit.
        history: Score after each iteration; in the first half of the iterations, the motion may
            still violate limits.
        evaluations: Number of evaluations of value and gradient.
        interrupted: True if Ctrl-C ended the search.
    """

    x: Array
    score: float
    excess: dict[LimitKind, float]
    history: tuple[float, ...]
    evaluations: int
    interrupted: bool = False


def random_starts(
    problem: ExcitationProblem, n_candidates: int, rng: np.random.Generator, report: Report
) -> list[Array]:
    """Return random motions within the joint limits about postures without contact, the best first."""
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
        report((i + 1) / n_candidates, "drawing motions")
    scored.sort(key=lambda item: item[:2])
    return [x for _, _, x in scored]


class _Variables:
    """Optimisation problem in the scaled variables of `ExcitationProblem.units`.

    The last digits of sums depend on the addresses of arrays in memory; variables and gradients are
    rounded, so that the result of the search does not depend on them.
    """

    def __init__(self, problem: ExcitationProblem) -> None:
        self._problem, self._units = problem, problem.units()

    def motion(self, y: Array) -> Array:
        """Centre and basis coefficients of the motion that the search variables `y` describe."""
        return np.round(self._times(self._units, np.round(y, DIGITS)), 2 + DIGITS)

    def of(self, x: Array) -> Array:
        """Search variables of a motion's centre and basis coefficients `x`."""
        return self._times(np.linalg.inv(self._units), x)

    def value_and_gradient(self, y: Array) -> tuple[float, Array]:
        """Objective and its gradient."""
        value, gradient = self._problem.value_and_gradient(self.motion(y))
        gradient = self._times(self._units.transpose(0, 2, 1), gradient)
        quantum = 10.0 ** (np.floor(np.log10(np.abs(gradient).max() + 1e-300)) - DIGITS)
        return round(value, DIGITS), np.round(gradient / quantum) * quantum

    def bounds(self, start: Array, fixed: bool) -> scipy.optimize.Bounds:
        """Bounds of the start posture: fixed, or the position limits of the joints."""
        limits = self._problem.checker.limits
        lower, upper = np.full((2, len(start)), [[-np.inf], [np.inf]])
        n = len(limits.lower)
        here = np.round(start[:n], DIGITS)
        lower[:n], upper[:n] = (here, here) if fixed else (limits.lower, limits.upper)
        return scipy.optimize.Bounds(lower, upper)

    def _times(self, matrices: Array, x: Array) -> Array:
        centre, coefficients = self._problem.split(x)
        return np.concatenate([centre, np.einsum("jab,bj->aj", matrices, coefficients).ravel()])


def improve(
    problem: ExcitationProblem,
    start: Array,
    n_iterations: int,
    report: Callable[[float], bool],
    *,
    fixed: bool = False,
    wary: bool = False,
) -> Improved:
    """Minimise the penalised criterion with L-BFGS, with increasing penalties.

    Args:
        problem: Problem that gives value and gradient.
        start: Vector of centre and coefficients of the initial motion.
        n_iterations: Total number of iterations.
        report: Function called with the completed share. If it returns False or is interrupted, the
            search ends with the best motion so far.
        fixed: True if the start posture must not change.
        wary: True for a large weight of contact from the beginning. A motion without contact then
            remains without contact, but it cannot pass through bodies during the search, as a soft
            penalty would permit.
    """
    variables, hard = _Variables(problem), problem.penalty
    bounds = variables.bounds(start, fixed)
    history: list[float] = []
    best, evaluations, stopped = np.array(start), 0, False

    def note(intermediate_result: Any) -> None:
        nonlocal best, stopped
        best = variables.motion(intermediate_result.x)
        history.append(problem.last_score)
        if not report(min(1.0, len(history) / n_iterations)):
            stopped = True
            raise StopIteration

    problem.forget()
    try:
        for stage, share in enumerate(SHARES):
            if stage >= len(PENALTIES) and not problem.watch(best):
                break
            problem.penalty = PENALTIES[min(stage, len(PENALTIES) - 1)]
            problem.limits.contact_weight = PENALTIES[-1] / problem.penalty if wary else 1.0
            result = scipy.optimize.minimize(
                variables.value_and_gradient,
                variables.of(best),
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                callback=note,
                options={"maxiter": max(1, round(share * n_iterations)), "maxcor": 30},
            )
            best, evaluations = variables.motion(result.x), evaluations + int(result.nfev)
            if stopped:
                break
    except KeyboardInterrupt:
        stopped = True
    problem.penalty, problem.limits.contact_weight = hard, 1.0
    problem.forget()
    problem.value_and_gradient(best)
    return Improved(
        best, problem.last_score, dict(problem.last_excess), tuple(history), evaluations, stopped
    )


def improve_safely(
    problem: ExcitationProblem,
    start: Array,
    n_iterations: int,
    report: Callable[[float], bool],
) -> Improved:
    """Minimise as in `improve`. If the dense check requires a large reduction of the amplitude,
    minimise again, starting from the largest safe amplitude.
    """
    run = improve(problem, start, n_iterations, lambda share: report(MAIN * share))
    if run.interrupted:
        return run
    safe, share, _ = largest_safe(problem, run.x)
    if safe is None or share >= ENOUGH:
        return run
    rest = round(MEND * n_iterations)
    again = improve(problem, safe, rest, lambda s: report(MAIN + (1 - MAIN) * s), wary=True)
    evaluations = run.evaluations + again.evaluations
    return replace(again, history=run.history + again.history, evaluations=evaluations)


def improve_all(
    problem: ExcitationProblem,
    starts: Sequence[Array],
    n_iterations: int,
    workers: int,
    report: Report,
) -> list[Improved]:
    """Optimise all initial motions in parallel; the result does not depend on the number of
    processes.

    Ctrl-C ends the search and keeps the best results so far.

    Args:
        problem: Optimisation problem, which every process builds again.
        starts: Vectors of centre and coefficients of the initial motions.
        n_iterations: Number of iterations of each optimisation.
        workers: Number of processes; 0: one for each core; 1: the calling process.
        report: Function called with the completed share and a description of the step.
    """
    workers = min(workers or os.cpu_count() or 1, len(starts))
    if workers > 1:
        report(0.0, "starting processes")
        text = f"improving {len(starts)} motions"
        return run_searches(
            [partial(improve_safely, problem, x, n_iterations) for x in starts],
            workers,
            lambda share, ended: report(share, "ending the search" if ended else text),
        )
    found: list[Improved] = []
    for i, start in enumerate(starts):

        def said(share: float, i: int = i) -> bool:
            report((i + share) / len(starts), f"improving motion {i + 1} of {len(starts)}")
            return True

        found.append(improve_safely(problem, start, n_iterations, said))
        if found[-1].interrupted:
            break
    return found
