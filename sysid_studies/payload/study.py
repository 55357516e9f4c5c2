# SPDX-License-Identifier: Apache-2.0
"""The whole payload study: tables III and IV, figures 4 to 8, goals, checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sysid_core.report import Report
from sysid_studies.payload.arm import record_arm, table_iv
from sysid_studies.payload.checks import stop_and_go_table, timing_table
from sysid_studies.payload.figures import (
    density_figure,
    noise_figure,
    time_figure,
    torque_figure,
    weight_figure,
)
from sysid_studies.payload.objects import modular_objects
from sysid_studies.payload.runs import (
    BASELINE,
    FIGURE_METHODS,
    PAYLOAD_METHODS,
    RIVALS,
    Extent,
    Progress,
    Runs,
    run_all,
)
from sysid_studies.payload.tables import (
    Goal,
    StudyTable,
    accuracy_goals,
    goals_table,
    noise_table,
    table_iii,
)

if TYPE_CHECKING:
    from sysid_core.report import Figure

_HERE = (
    "150 samples at 100 Hz, moderate noise, encoders with 0.1 mrad, filters from a cold start;"
    " means over eight objects. Rivals get the filtered motion, MAP the encoder readings."
)


@dataclass
class PayloadStudy:
    """Result of the study.

    Attributes:
        tables: In the order of the report.
        figures: With captions.
        goals: With limits and values.
        runs: Simulated runs.
    """

    tables: list[StudyTable] = field(default_factory=list)
    figures: list[tuple[Figure, str]] = field(default_factory=list)
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
    extent = Extent.of(full, objects)
    reported = progress or (lambda what, done, total: None)
    runs = run_all(extent, workers, reported)
    reported("table IV", 0, 1)
    arm = table_iv(extent.seeds, tuple(extent.names))
    reported("table IV", 1, 1)
    still, still_goals = stop_and_go_table()
    times, time_goals = timing_table()
    goals = [*accuracy_goals(runs.clean, runs.faulty, runs.noisy), *still_goals, *time_goals]
    figure4, density = density_figure(extent.names)
    return PayloadStudy(
        tables=[
            goals_table(goals, extent.seeds),
            *_accuracy_tables(runs),
            arm,
            noise_table(runs.figure6, FIGURE_METHODS),
            density,
            still,
            times,
        ],
        figures=_figures(extent, runs, figure4),
        goals=goals,
        runs=runs.count,
    )


def _accuracy_tables(runs: Runs) -> list[StudyTable]:
    """Table III, and the same under harder conditions."""
    return [
        table_iii(runs.clean, "Table III", _HERE + " Moments about the sensor.", PAYLOAD_METHODS),
        table_iii(
            runs.base,
            "Table III with residuals about the robot's base, as the paper's equation 7",
            _HERE + " Force noise then reaches the torques through the arm's length.",
            (BASELINE, *RIVALS),
        ),
        table_iii(
            runs.faulty,
            "Faulty sensor: bias 0.3 N / 15 mN m, delay 10 ms, crosstalk 1 %",
            _HERE,
            PAYLOAD_METHODS,
            with_paper=False,
        ),
        table_iii(
            runs.noisy,
            "Independent noise on both accelerations, 150 samples",
            "As in the paper's figure 6: 0.5 rad/s² and 0.05 m/s².",
            PAYLOAD_METHODS,
            with_paper=False,
        ),
    ]


def _figures(extent: Extent, runs: Runs, figure4: Figure) -> list[tuple[Figure, str]]:
    """Figures 4 to 8 with captions."""
    tee = modular_objects()["Tee"]
    return [
        (
            figure4,
            "Figure 4: PMD against the number of point masses; the paper's choice is"
            " 56. The time doesn't depend on the amount of data.",
        ),
        (
            weight_figure(extent.speeds, extent.steps, extent.names),
            "Figure 5: PMD over time for several c1 and speeds, moderate noise on all signals.",
        ),
        (
            noise_figure(runs.figure6, FIGURE_METHODS),
            f"Figure 6: inertia error after {extent.seconds:g} s at three noise levels. The TCP"
            " reaches ISO 10218's 0.25 m/s at the speed below.",
        ),
        (
            time_figure(runs.figure7, FIGURE_METHODS),
            "Figure 7: inertia error over time at several speeds, moderate noise.",
        ),
        (
            torque_figure(tee, record_arm(tee, np.random.default_rng(8))),
            "Figure 8: torques of the Tee on the simulated xArm 7, from its true (solid) and its"
            " estimated parameters (dashed).",
        ),
    ]
