# SPDX-License-Identifier: Apache-2.0
"""Steps of workflows, reported while they run."""

from __future__ import annotations

from collections.abc import Callable

from sysid_core.kinds import Kind


class Step(Kind):
    """Step of a workflow. Steps follow each other in this order, but some may be omitted."""

    READING = "reading recordings"
    GRAVITY = "estimating gravity"
    FAULTS = "searching for faults in data and description"
    DELAY = "estimating the delay of the efforts"
    BUILDING = "building the regressor"
    CUTOFF = "selecting the low-pass of the motion on held-out blocks"
    DIFFERENTIATION = "testing positions alone and splines on held-out blocks"
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

        Steps count alike: how long each takes depends on robot and recordings.
        """
        return list(Step).index(self) / len(Step)


Progress = Callable[[Step], None]


def silent(step: Step) -> None:
    """Ignore the report of a step."""
