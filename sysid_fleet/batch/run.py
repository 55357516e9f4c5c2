# SPDX-License-Identifier: Apache-2.0
"""Jobs whose results are rows; an interrupted run can be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from sysid_core.errors import SysIdError
from sysid_fleet.batch.engine import Attempt, Engine, Item
from sysid_fleet.batch.rows import Rows, RowWriter


@dataclass(frozen=True)
class Job(Generic[Item]):
    """Unit of work with a key and a function.

    Attributes:
        key: Identifier of the job; identical jobs have the same key at any time and on any machine.
        item: Argument of the function.
        known: Fields of the rows of the job that are set even if the job fails: recording, robot,
            tool.
    """

    key: str
    item: Item
    known: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """Progress of jobs.

    Attributes:
        done: Number of jobs with rows, including those kept from an earlier run.
        skipped: Number of jobs kept from an earlier run.
        total: Total number of jobs; 0: unknown.
        failed: Number of jobs without numbers in their rows.
        seconds: Elapsed time [s].
        left: Expected remaining time [s]; NaN at the start.
        worst: Reason of the last failure.
    """

    done: int
    skipped: int
    total: int
    failed: int
    seconds: float
    left: float
    worst: str = ""


def run_jobs(
    engine: Engine,
    function: Callable[[Item], Sequence[Mapping[str, Any]]],
    jobs: Iterable[Job[Item]],
    rows: Rows,
    *,
    total: int = 0,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Run all jobs that are not completed, and append their rows.

    A failed job has one row with its error, and the other jobs continue. After Ctrl-C or an error,
    `rows` contains the finished work; `resume` omits it in the next run.

    Args:
        engine: Engine that executes the jobs.
        function: Function that processes the item of a job and returns its rows of the result table.
            The columns `job` and those in `known` are added.
        jobs: Jobs to run; with a generator, only a few of them are in memory at the same time.
        rows: Dataset to which the results are appended.
        total: Number of jobs, for the expected remaining time.
        resume: True to omit jobs that already have rows.
        progress: Function called after every job.
    """
    before = rows.done() if resume else set()
    begun = time.monotonic()
    skipped = finished = failed = 0
    worst = ""

    def wanted() -> Iterator[Job[Item]]:
        nonlocal skipped
        for job in jobs:
            if job.key in before:
                skipped += 1
            else:
                yield job

    def state() -> Progress:
        left = remaining(finished, max(total - skipped, finished), begun)
        spent = time.monotonic() - begun
        return Progress(finished + skipped, skipped, total, failed, spent, left, worst)

    with RowWriter(rows) as writer:
        for outcome in engine.map(_Call(function), wanted()):
            found, reason = _rows_of(outcome)
            finished += 1
            failed += bool(reason)
            worst = reason or worst
            writer.write(found)
            if progress is not None:
                progress(state())
    return state()


@dataclass(frozen=True)
class _Call:
    """Function of a job as a class, so that it can be sent to other processes."""

    function: Callable[[Any], Sequence[Mapping[str, Any]]]

    def __call__(self, job: Job[Any]) -> tuple[Sequence[Mapping[str, Any]], float]:
        begun = time.perf_counter()
        return self.function(job.item), time.perf_counter() - begun


def _rows_of(outcome: Attempt[Job[Any], Any]) -> tuple[list[dict[str, Any]], str]:
    """Rows of a job, and its error ("" if it succeeded)."""
    job = outcome.item
    known = {"job": job.key, **job.known}
    if outcome.error is None:
        found, seconds = outcome.unwrap()
        return [{**known, "seconds": seconds, **row} for row in found], ""
    error = outcome.error
    ours = isinstance(error, SysIdError)
    reason = str(error) if ours else f"{type(error).__name__}: {error}"
    what = "lost" if outcome.lost else ("refused" if ours else "error")
    return [{**known, "parameter": "", "outcome": what, "reason": reason}], reason


def remaining(done: int, total: int, begun: float) -> float:
    """Return the expected remaining time [s] at the present rate; NaN at the start.

    Args:
        done: Number of completed jobs.
        total: Number of jobs.
        begun: Value of `time.monotonic()` at the start.
    """
    return (time.monotonic() - begun) / done * (total - done) if done else float("nan")
