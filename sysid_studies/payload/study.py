# SPDX-License-Identifier: Apache-2.0
"""Complete payload study: tables III and IV, the runs of figure 6, goals, checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sysid_core.report import Report
from sysid_studies.payload.arm import table_iv
from sysid_studies.payload.checks import stop_and_go_table
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
    accuracy_goals,
    goals_table,
    noise_table,
    table_iii,
)
from sysid_studies.table import StudyTable

_HERE = (
    "150 samples at 100 Hz, moderate noise, encoders with 0.1 mrad, filters from a cold start;"
    " means over eight objects. Rivals get the filtered motion, MAP the encoder readings."
)


@dataclass
class PayloadStudy:
    """Result of the payload study.

    Attributes:
        tables: In the order of the report.
        goals: With limits and values.
        runs: Simulated runs.
    """

    tables: list[StudyTable] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    runs: int = 0

    remarks = ()

    def to_dict(self) -> dict[str, Any]:
        """Result as plain data for JSON."""
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
        """Report with all tables and charts."""
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
        return page


def payload_study(
    *,
    full: bool = False,
    objects: Sequence[str] | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> PayloadStudy:
    """Run the complete payload study.

    Args:
        full: 4 seeds, 10 s of data and all speeds for figure 6, instead of 1 seed and less.
        objects: Names of those to use; None: all eight (for the quick run's figure 6, three).
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
    goals = [*accuracy_goals(runs.clean, runs.faulty, runs.noisy), *still_goals]
    return PayloadStudy(
        tables=[
            goals_table(goals, extent.seeds),
            *_accuracy_tables(runs),
            arm,
            noise_table(runs.figure6, FIGURE_METHODS),
            still,
        ],
        goals=goals,
        runs=runs.count,
    )


def _accuracy_tables(runs: Runs) -> list[StudyTable]:
    """Table III of the paper, and the same under harder conditions."""
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
