# SPDX-License-Identifier: Apache-2.0
"""Complete payload study: tables III and IV, the runs of figure 6, and weighing at rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_core.estimation.payload import PayloadData, PointMassDiscretization
from sysid_core.estimation.payload_map import CALIBRATED_SENSOR, PayloadMAP
from sysid_core.report import Report
from sysid_core.robot import STANDARD_GRAVITY, wrench_regressor
from sysid_core.validation import payload_errors
from sysid_studies.payload.arm import table_iv
from sysid_studies.payload.objects import StudyObject, modular_objects
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
from sysid_studies.payload.scene import NOISE_LEVELS, NoiseLevel
from sysid_studies.payload.tables import noise_table, table_iii
from sysid_studies.table import StudyTable

_HERE = (
    "150 samples at 100 Hz, moderate noise, encoders with 0.1 mrad, filters from a cold start;"
    " means over eight objects. Rivals get the filtered motion, MAP the encoder readings."
)


def stop_and_go(
    thing: StudyObject,
    noise: NoiseLevel,
    rng: np.random.Generator,
) -> PayloadData:
    """Return the simulated wrenches at rest in twelve random orientations, with a hundred samples
    in each.
    """
    R = Rotation.random(12, rng=rng)
    gravity = np.repeat(R.inv().apply(STANDARD_GRAVITY), 100, axis=0)
    still = np.zeros_like(gravity)
    wrench = wrench_regressor(-gravity, still, still) @ thing.pi
    sd = np.repeat([noise.force, noise.torque], 3)
    wrench = wrench + sd * rng.normal(size=wrench.shape)
    stamps = np.arange(len(wrench)) / 100.0
    return PayloadData(stamps, wrench, -gravity, still, still, gravity)


def stop_and_go_table() -> StudyTable:
    """Return a table of the mass and centre-of-mass errors of PMD and MAP from static data, for all
    eight objects.
    """
    rows = []
    for noise in ("none", "moderate"):
        worst = {"PMD": [0.0, 0.0], "MAP": [0.0, 0.0]}
        for thing in modular_objects().values():
            data = stop_and_go(thing, NOISE_LEVELS[noise], np.random.default_rng(0))
            for name, estimator in (
                ("PMD", PointMassDiscretization(thing.shape)),
                ("MAP", PayloadMAP(thing.shape, sensor=CALIBRATED_SENSOR)),
            ):
                mass, com, _ = payload_errors(estimator.fit(data).values, thing.pi, thing.size)
                worst[name] = [max(worst[name][0], mass), max(worst[name][1], com)]
        for name, (mass, com) in worst.items():
            rows.append((name, noise, mass, com))
    note = "12 postures of one second at 100 Hz; the worst of the eight objects. The paper asks for < 0.1 %."
    columns = ("method", "noise", "mass error %", "COM error %")
    return StudyTable("Stop and go", columns, tuple(rows), note)


@dataclass
class PayloadStudy:
    """Result of the payload study.

    Attributes:
        tables: Tables in the order of the report.
        runs: Number of simulated runs.
    """

    tables: list[StudyTable] = field(default_factory=list)
    runs: int = 0

    remarks = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return {
            "schema": "robot_sysid/payload_study/1",
            "runs": self.runs,
            "tables": [table.to_dict() for table in self.tables],
        }

    def report(self) -> Report:
        """Return a report with all tables and charts."""
        page = Report(
            "Payload identification: the study of Nadeau, Giamou and Kelly (2022)",
            f"{self.runs} simulated runs",
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
        full: True for 4 seeds, 10 s of data and all speeds of figure 6; False for 1 seed and less
            data.
        objects: Names of the objects; None: all eight (three of them for figure 6 of the quick
            study).
        workers: Number of processes.
        progress: Function called with the completed part, its number, and the number of parts.

    Raises:
        EstimationError: An object is not one of the eight.
    """
    extent = Extent.of(full, objects)
    reported = progress or (lambda what, done, total: None)
    runs = run_all(extent, workers, reported)
    reported("table IV", 0, 1)
    arm = table_iv(extent.seeds, tuple(extent.names))
    reported("table IV", 1, 1)
    return PayloadStudy(
        tables=[
            *_accuracy_tables(runs),
            arm,
            noise_table(runs.figure6, FIGURE_METHODS),
            stop_and_go_table(),
        ],
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
