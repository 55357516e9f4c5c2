# SPDX-License-Identifier: Apache-2.0
"""Progress of a task: steps of workflows, and completed share of the reading of large files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sysid_core.settings import Kind

Report = Callable[[str, float], None]

_WATCHER: ContextVar[Report | None] = ContextVar("watcher", default=None)


@contextmanager
def watch_progress(report: Report) -> Iterator[None]:
    """Call `report` with the name and the completed fraction (0 to 1) of each file that is read in
    this context.
    """
    token = _WATCHER.set(report)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def report_progress(name: str, share: float) -> None:
    """Report progress to the enclosing `watch_progress`, if there is one."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(name, share)


class Step(Kind):
    """Step of a workflow. Steps follow each other in this order, but some may be omitted."""

    READING = "reading recordings"
    GRAVITY = "estimating gravity"
    FAULTS = "searching for faults in data and description"
    DELAY = "estimating the delay of the efforts"
    BUILDING = "building the regressor"
    CUTOFF = "selecting the low-pass of the motion on held-out blocks"
    DIFFERENTIATION = "testing velocities from positions alone on held-out blocks"
    GAINS = "estimating the drive gains"
    FRICTION = "selecting friction terms on held-out blocks"
    PRIOR = "selecting the weight of the prior on held-out blocks"
    FITTING = "fitting the parameters"
    BENEFITS = "evaluating the contribution of each friction term"
    SPREAD = "testing predictions of other motions"
    PREDICTING = "predicting efforts"
    WRITING = "writing the report"

    @property
    def code(self) -> str:
        """Name of the step for programs, which never changes."""
        return self.name.lower()

    @property
    def share(self) -> float:
        """Share of the work that is done when the step begins, 0 to 1.

        All steps count equally, because the duration of each depends on the robot and the
        recordings.
        """
        return list(Step).index(self) / len(Step)


Progress = Callable[[Step], None]


def silent(step: Step) -> None:
    """Ignore the report of a step."""
