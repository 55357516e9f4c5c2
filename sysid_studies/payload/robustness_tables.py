# SPDX-License-Identifier: Apache-2.0
"""What the robustness study found, row by row: errors, deviations that hold, what was noted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from sysid_core.report import Report
from sysid_core.robot import Array
from sysid_studies.payload.tables import StudyTable

INSIDE = 0.9  # share inside two deviations that a row needs, or share noted
FALSE_ALARMS = 0.02  # of right shapes and sound sensors
_CHANCE = 0.01
FAR = 3.0  # deviations
RIGHT = ("shape right", "none")  # rows where nothing is wrong


@dataclass(frozen=True, eq=False)
class Outcome:
    """One fit against the truth.

    Attributes:
        row: Row of the table.
        kind: "clean", "faulty" or "running".
        errors: Mass, centre of mass and inertia in per cent.
        z: Errors of the ten numbers in standard deviations, shape (10,).
        shape_noted, misfit_noted: Whether the estimate says so.
    """

    row: str
    kind: str
    errors: tuple[float, float, float]
    z: Array
    shape_noted: bool
    misfit_noted: bool

    @property
    def noted(self) -> bool:
        """Whether anything is said against the estimate."""
        return self.shape_noted or self.misfit_noted


@dataclass(frozen=True)
class RobustnessRow:
    """Estimates of many objects under one condition.

    Attributes:
        case: What was wrong.
        sensor: "clean", "faulty", "MAP" or "running".
        count: How many estimates.
        errors: Medians of mass, centre of mass and inertia in per cent.
        inertia_mean: Mean of the inertia's [%].
        squares: Mean squares of their errors in deviations.
        inside: Shares inside two deviations.
        shape_noted, misfit_noted, noted: Shares of which that, or either, was said.
        far, far_noted: Estimates whose inertia is beyond three deviations, and those noted of them.
    """

    case: str
    sensor: str
    count: int
    errors: tuple[float, float, float]
    inertia_mean: float
    squares: tuple[float, float, float]
    inside: tuple[float, float, float]
    shape_noted: float
    misfit_noted: float
    noted: float
    far: int
    far_noted: int

    @classmethod
    def of(cls, some: Sequence[Outcome]) -> RobustnessRow:
        """Summary of the outcomes of one row."""
        z = np.array([o.z for o in some])
        groups = (z[:, :1], z[:, 1:4], z[:, 4:])
        errors = np.array([o.errors for o in some])
        medians = np.median(errors, axis=0)
        squares = [float(np.mean(g**2)) for g in groups]
        inside = [float(np.mean(np.abs(g) < 2.0)) for g in groups]
        far = [o for o in some if np.abs(o.z[4:]).max() > FAR]
        return cls(
            some[0].row,
            some[0].kind,
            len(some),
            (float(medians[0]), float(medians[1]), float(medians[2])),
            float(errors[:, 2].mean()),
            (squares[0], squares[1], squares[2]),
            (inside[0], inside[1], inside[2]),
            float(np.mean([o.shape_noted for o in some])),
            float(np.mean([o.misfit_noted for o in some])),
            float(np.mean([o.noted for o in some])),
            len(far),
            sum(o.noted for o in far),
        )

    @property
    def holds(self) -> bool:
        """Whether the deviations hold, or the estimates say that something is wrong, but for chance."""
        least = binom.ppf(_CHANCE, self.count, INSIDE) / self.count
        return max(min(self.inside), self.noted) >= least

    @property
    def alarms(self) -> bool:
        """Whether right data were noted more often than by chance."""
        most = binom.ppf(1.0 - _CHANCE, self.count, FALSE_ALARMS) / self.count
        return self.case in RIGHT and self.noted > most

    def cells(self) -> tuple[object, ...]:
        """The row as it is shown."""
        mass, com, inertia = self.errors
        return (
            self.case,
            self.sensor,
            f"{mass:.2f} / {com:.2f} / {inertia:.1f}",
            round(self.inertia_mean, 1),
            " / ".join(f"{x:.1f}" for x in self.squares),
            " / ".join(f"{100 * x:.0f}" for x in self.inside),
            round(100 * self.shape_noted),
            round(100 * self.misfit_noted),
            f"{self.far_noted} of {self.far}",
        )


@dataclass(frozen=True)
class RobustnessTable:
    """Rows of one kind of condition, with a title and a remark."""

    title: str
    rows: tuple[RobustnessRow, ...]
    note: str = ""

    @classmethod
    def of(cls, title: str, outcomes: Sequence[Outcome], note: str = "") -> RobustnessTable:
        """Outcomes of the same case and sensor make a row."""
        keys = dict.fromkeys((o.row, o.kind) for o in outcomes)
        rows = [RobustnessRow.of([o for o in outcomes if (o.row, o.kind) == key]) for key in keys]
        return cls(title, tuple(rows), note)

    def table(self) -> StudyTable:
        """As it is shown; the last column: of inertias beyond three deviations, how many were noted."""
        columns = (
            "case",
            "sensor",
            "mass / COM / inertia, median %",
            "inertia, mean %",
            "z² mass / COM / inertia",
            "inside 2 sd %",
            "shape noted %",
            "misfit noted %",
            "inertia beyond 3 sd: noted",
        )
        return StudyTable(self.title, columns, tuple(row.cells() for row in self.rows), self.note)


@dataclass(frozen=True)
class RobustnessStudy:
    """The tables of the study, and what they come to."""

    found: tuple[RobustnessTable, ...]

    @property
    def tables(self) -> list[StudyTable]:
        """All of them, as they are shown."""
        return [one.table() for one in self.found]

    def report(self) -> Report:
        """One page with everything."""
        rows = [row for one in self.found for row in one.rows]
        count = sum(row.count for row in rows)
        page = Report(
            "Payload identification: other objects, wrong shapes, faults", f"{count} estimates"
        )
        weak = [f"{row.case} ({row.sensor})" for row in rows if not row.holds]
        alarms = [f"{row.case} ({row.sensor})" for row in rows if row.alarms]
        page.verdict(
            not weak and not alarms,
            f"In {len(rows) - len(weak)} of {len(rows)} rows 90 % lie inside two deviations or are noted"
            + (f"; not in: {'; '.join(weak)}" if weak else "")
            + (f"; right data noted too often: {'; '.join(alarms)}" if alarms else "")
            + ".",
        )
        for table in self.tables:
            page.heading(table.title)
            page.table(table.columns, table.rows, table.note)
        return page
