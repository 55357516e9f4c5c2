# SPDX-License-Identifier: Apache-2.0
"""The whole payload study: tables III and IV, figures 4 to 8, goals, checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.report import Report
from sysid_core.studies.payload.arm import record_arm, table_iv
from sysid_core.studies.payload.checks import stop_and_go_table, timing_table
from sysid_core.studies.payload.figures import (
    density_figure,
    noise_figure,
    time_figure,
    torque_figure,
    weight_figure,
)
from sysid_core.studies.payload.objects import modular_objects
from sysid_core.studies.payload.runs import (
    BASELINE,
    BEST,
    PAPER_METHODS,
    PAYLOAD_METHODS,
    RIVALS,
    SPEEDS,
    Case,
    Result,
    goal3_cases,
    noise_cases,
    run_cases,
    table_cases,
)
from sysid_core.studies.payload.tables import (
    Goal,
    StudyTable,
    accuracy_goals,
    goals_table,
    noise_table,
    table_iii,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

_FIGURE_METHODS = (*PAPER_METHODS, BASELINE, BEST)
_HERE = (
    "150 samples at 100 Hz, moderate noise, encoders with 0.1 mrad, filters from a cold start;"
    " means over eight objects. Rivals get the filtered motion, MAP the encoder readings."
)


@dataclass
class PayloadStudy:
    """What the study found.

    Attributes:
        tables: In the order of the report.
        figures: With captions.
        goals: With limits and values.
        runs: Simulated runs.
    """

    tables: list[StudyTable] = field(default_factory=list)
    figures: list[tuple[go.Figure, str]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    runs: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "schema": "robot_sysid/payload_study/1",
            "runs": self.runs,
            "tables": [table.to_dict() for table in self.tables],
            "goals": [
                {
                    "name": goal.name,
                    "cells": list(goal.cells),
                    "limits": list(goal.limits),
                    "values": list(goal.values),
                    "reached": goal.reached,
                }
                for goal in self.goals
            ],
        }

    def report(self) -> Report:
        """One page with everything."""
        page = Report(
            "Payload identification: the study of Nadeau, Giamou and Kelly (2022)",
            f"{self.runs} simulated runs",
        )
        missed = [goal.name for goal in self.goals if not goal.reached]
        page.verdict(
            not missed,
            f"{len(self.goals) - len(missed)} of {len(self.goals)} goals reached"
            + (f"; missed: {'; '.join(missed)}." if missed else "."),
        )
        for table in self.tables:
            page.heading(table.title)
            page.table(table.columns, table.rows, table.note)
        page.heading("Figures")
        for figure, caption in self.figures:
            page.figure(figure, caption)
        return page


Progress = Callable[[str, int, int], None]


def payload_study(
    *,
    full: bool = False,
    objects: Sequence[str] | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> PayloadStudy:
    """Run everything.

    Args:
        full: 4 seeds, 10 s of data and all speeds for the figures, instead of 1 seed and less.
        objects: Names of those to use; None: all eight (for the quick run's figures, three).
        workers: Processes.
        progress: Called with what is done, how many of how many.

    Raises:
        EstimationError: An object isn't one of the eight.
    """
    every = list(modular_objects())
    unknown = [name for name in objects or () if name not in every]
    if unknown:
        raise EstimationError(
            f"The study has no objects {unknown}.", remedy=f"Choose from: {', '.join(every)}."
        )
    chosen = every if objects is None else list(objects)
    study = PayloadStudy()
    reported = progress or (lambda what, done, total: None)

    def run(what: str, cases: Sequence[Case], methods: Sequence[str]) -> list[Result]:
        results: list[Result] = []
        for done, batch in enumerate(run_cases(cases, methods, workers=workers), start=1):
            results += batch
            reported(what, done, len(cases))
        study.runs += len(cases)
        return results

    seeds = 4 if full else 1
    clean = run("table III", table_cases(seeds, chosen), PAYLOAD_METHODS)
    base = run(
        "table III, base convention", table_cases(seeds, chosen, paper=True), (BASELINE, *RIVALS)
    )
    faulty = run("faulty sensor", table_cases(seeds, chosen, faults=True), PAYLOAD_METHODS)
    noisy = run("noisy accelerations", goal3_cases(seeds, chosen), PAYLOAD_METHODS)
    names = chosen if full or objects is not None else ["Hammer", "Uniform", "Rod"]
    seconds, speeds = (10.0, SPEEDS) if full else (3.0, (1.0, 2.0, 4.0))
    figure6 = run("figure 6", noise_cases(seconds, speeds, names), _FIGURE_METHODS)
    steps = (0.5, 1.0, 1.5, 2.5, 5.0, 10.0) if full else (0.5, 1.5, 3.0)
    figure7 = run(
        "figure 7",
        [
            Case(name, speed, "moderate", "accelerations", s, 0)
            for name in names
            for speed in speeds
            for s in steps
        ],
        _FIGURE_METHODS,
    )
    reported("table IV", 0, 1)
    arm = table_iv(seeds, tuple(names))
    reported("table IV", 1, 1)
    still, still_goals = stop_and_go_table()
    times, time_goals = timing_table()
    study.goals = [*accuracy_goals(clean, faulty, noisy), *still_goals, *time_goals]
    figure4, density = density_figure(names)
    study.tables = [
        goals_table(study.goals, seeds),
        table_iii(clean, "Table III", _HERE + " Moments about the sensor.", PAYLOAD_METHODS),
        table_iii(
            base,
            "Table III with residuals about the robot's base, as the paper's equation 7",
            _HERE + " Force noise then reaches the torques through the arm's length.",
            (BASELINE, *RIVALS),
        ),
        table_iii(
            faulty,
            "Faulty sensor: bias 0.3 N / 15 mN m, delay 10 ms, crosstalk 1 %",
            _HERE,
            PAYLOAD_METHODS,
            with_paper=False,
        ),
        table_iii(
            noisy,
            "Independent noise on both accelerations, 150 samples",
            "As in the paper's figure 6: 0.5 rad/s² and 0.05 m/s².",
            PAYLOAD_METHODS,
            with_paper=False,
        ),
        arm,
        noise_table(figure6, _FIGURE_METHODS),
        density,
        still,
        times,
    ]
    thing = modular_objects()["Tee"]
    study.figures = [
        (
            figure4,
            "Figure 4: PMD against the number of point masses; the paper's choice is"
            " 56. The time doesn't depend on the amount of data.",
        ),
        (
            weight_figure(speeds, steps, names),
            "Figure 5: PMD over time for several c1 and speeds, moderate noise on all signals.",
        ),
        (
            noise_figure(figure6, _FIGURE_METHODS),
            f"Figure 6: inertia error after {seconds:g} s at three noise levels. The TCP reaches"
            " ISO 10218's 0.25 m/s at the speed below.",
        ),
        (
            time_figure(figure7, _FIGURE_METHODS),
            "Figure 7: inertia error over time at several speeds, moderate noise.",
        ),
        (
            torque_figure(thing, record_arm(thing, np.random.default_rng(8))),
            "Figure 8: torques of the Tee on the simulated xArm 7, from its true (solid) and its"
            " estimated parameters (dashed).",
        ),
    ]
    return study
