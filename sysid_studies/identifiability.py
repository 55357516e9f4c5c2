# SPDX-License-Identifier: Apache-2.0
"""Tables 2, 4 and 5 and the two-link examples of Wensing, Niemeyer, Slotine 2023."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_core.identifiability import NumericalRank
from sysid_core.identifiability.rpna import (
    Identifiability,
    combination_text,
    structural_identifiability,
)
from sysid_core.report import IdentifiabilityPage, Report
from sysid_core.robot import RobotModel, Rotor
from sysid_studies.table import StudyTable


@dataclass(frozen=True)
class PaperRobot:
    """Published values for one robot.

    Attributes:
        title: Table or figure of the paper.
        robot: Name of the reference robot.
        floating_base: True for a base that moves freely; the table of the paper does not contain
            its ten parameters and its column.
        dim_v: Dimension of the velocity span of each body, without and with gravity.
        dim_k: Dimension of the parameter span of each body, without and with gravity.
        dim_transfer: Number of inertial transfers of each joint, with gravity.
        n_base: Number of base parameters.
        n_base_with_rotors: Number of base parameters with the rotors of the motors.
    """

    title: str
    robot: str
    floating_base: bool
    dim_v: tuple[Sequence[int], Sequence[int]] | None
    dim_k: tuple[Sequence[int], Sequence[int]] | None
    dim_transfer: Sequence[int]
    n_base: int
    n_base_with_rotors: int


_SIX, _TEN = (6, 6, 6), (10, 10, 10)
PAPER_ROBOTS = (
    PaperRobot(
        "Table 2: PUMA 560",
        "puma560",
        False,
        ((1, 3, 6, 6, 6, 6), (2, 5, 6, 6, 6, 6)),
        ((1, 6, 10, 10, 10, 10), (1, 8, 10, 10, 10, 10)),
        (9, 3, 3, 3, 3, 3),
        36,
        40,
    ),
    PaperRobot(
        "Table 4: SCARA",
        "scara",
        False,
        ((1, 3, 4, 4), (2, 4, 4, 4)),
        ((1, 4, 4, 4), (1, 4, 4, 4)),
        (9, 7, 9, 7),
        8,
        11,
    ),
    PaperRobot(
        "Table 5: Cheetah 3 leg, torso fixed",
        "cheetah3-leg",
        False,
        ((1, 3, 6), (3, 6, 6)),
        ((1, 6, 10), (3, 9, 10)),
        (7, 3, 3),
        17,
        18,
    ),
    PaperRobot(
        "Table 5: Cheetah 3 leg, torso free",
        "cheetah3-leg",
        True,
        (_SIX, _SIX),
        (_TEN, _TEN),
        (3, 3, 3),
        21,
        24,
    ),
    PaperRobot("Figure 4 (a): parallel axes", "two-link-parallel", False, None, None, (9, 7), 4, 5),
    PaperRobot(
        "Figure 4 (b): perpendicular axes",
        "two-link-perpendicular",
        False,
        None,
        None,
        (9, 3),
        8,
        8,
    ),
)


@dataclass(frozen=True)
class PaperComparison:
    """Three values of one quantity: computed by this package, published, and (if possible) the rank
    of a sampled regressor.
    """

    robot: str
    quantity: str
    here: str
    paper: str
    sampled: str = ""

    @property
    def agrees(self) -> bool:
        """True if all available values agree."""
        return self.here == self.paper and self.sampled in ("", self.here)


@dataclass(frozen=True, eq=False)
class IdentifiabilityStudy:
    """Comparisons with the paper, and the underlying results by title."""

    comparisons: tuple[PaperComparison, ...]
    answers: dict[str, tuple[Identifiability, Identifiability]]

    @property
    def agrees(self) -> bool:
        """True if every value agrees with the paper."""
        return all(comparison.agrees for comparison in self.comparisons)

    @property
    def tables(self) -> tuple[StudyTable, ...]:
        """Tables with every value next to the published one."""
        return (
            StudyTable(
                "Structural identifiability, here and in the paper",
                ("robot", "quantity", "here", "paper", "sampled regressor", "agrees"),
                tuple(
                    (c.robot, c.quantity, c.here, c.paper, c.sampled, c.agrees)
                    for c in self.comparisons
                ),
                "Dimensions without gravity (with gravity in brackets).",
            ),
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentence on whether all values agree."""
        return ("Every figure is the paper's." if self.agrees else "Some figures differ.",)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        return {
            "schema": "robot_sysid/identifiability_study/1",
            "agrees": self.agrees,
            "comparisons": [
                {
                    "robot": c.robot,
                    "quantity": c.quantity,
                    "here": c.here,
                    "paper": c.paper,
                    "sampled": c.sampled,
                    "agrees": c.agrees,
                }
                for c in self.comparisons
            ],
        }

    def report(self) -> Report:
        """Return a report with every value next to the published one."""
        report = Report(
            "Structural identifiability: the paper's tables",
            "Wensing, Niemeyer, Slotine 2023, tables 2, 4, 5 and figure 4",
        )
        report.verdict(self.agrees, "Every number agrees with the paper.")
        (table,) = self.tables
        report.table(table.columns, table.rows, table.note)
        for title, (answer, weightless) in self.answers.items():
            report.heading(title, folded=True)
            page = IdentifiabilityPage(answer, weightless)
            report.table(*page.table(), page.LEGEND)
            report.table(
                ["stands for", "combination", "meaning"],
                [
                    [r.base, combination_text(r.terms), r.meaning]
                    for r in answer.regroupings
                    if len(r.terms) > 1
                ],
                "Identified only in combination (SI units).",
            )
        return report


def identifiability_study(rng: np.random.Generator) -> IdentifiabilityStudy:
    """Analyse the robots of the paper; ranks are also computed from sampled regressors.

    Args:
        rng: Random generator of the states of the sampled regressors.
    """
    comparisons: list[PaperComparison] = []
    answers: dict[str, tuple[Identifiability, Identifiability]] = {}
    for paper in PAPER_ROBOTS:
        model = RobotModel.from_urdf(paper.robot, floating_base=paper.floating_base)
        rotors = Rotor.of_reference(paper.robot)
        answer = structural_identifiability(model, rotors=rotors)
        weightless = structural_identifiability(model, gravity=(0, 0, 0), rotors=rotors)
        answers[paper.title] = answer, weightless
        # The torso's own column and ten parameters aren't in the paper's table.
        first = 1 if paper.floating_base else 0
        bodies, light = answer.bodies[first:], weightless.bodies[first:]
        q, v, a = model.random_states(20 * model.n_bodies + 20, rng)
        Y = model.torque_regressor(q, v, a)
        Y_m = np.concatenate([Y, Rotor.regressor(model, rotors, q, v, a)], axis=2)
        sampled, with_rotors = (NumericalRank.of(x.reshape(-1, x.shape[-1])).rank for x in (Y, Y_m))

        def add(
            quantity: str, here: object, there: object, rank: object = "", title: str = paper.title
        ) -> None:
            comparisons.append(PaperComparison(title, quantity, str(here), str(there), str(rank)))

        if paper.dim_v is not None and paper.dim_k is not None:
            for key, name, values in (
                ("dim_v", "dim V", paper.dim_v),
                ("dim_k", "dim K", paper.dim_k),
            ):
                here = [
                    (getattr(b, key), getattr(o, key)) for b, o in zip(light, bodies, strict=True)
                ]
                add(name, _pairs(here), _pairs(zip(*values, strict=True)))
        add("dim T", _row(b.dim_transfer for b in bodies), _row(paper.dim_transfer))
        own = 10 * first
        add("base parameters", answer.n_base - own, paper.n_base, sampled - own)
        add(
            "with rotors",
            (answer.n_base_with_rotors or 0) - own,
            paper.n_base_with_rotors,
            with_rotors - own,
        )
        if paper.robot == "puma560":
            q, v, a = model.random_states(20 * model.n_bodies + 20, rng)
            Y0 = (
                RobotModel.from_urdf("puma560", gravity=(0, 0, 0))
                .torque_regressor(q, v, a)
                .reshape(-1, 60)
            )
            add("base parameters without gravity", weightless.n_base, 34, NumericalRank.of(Y0).rank)
        if paper.robot == "two-link-parallel":
            add(
                "which",
                ", ".join(n for n in answer.base.base_names if not n.endswith(".Im")),
                "link1.Izz, link2.mx, link2.my, link2.Izz",
            )
    return IdentifiabilityStudy(tuple(comparisons), answers)


def _pairs(values: Iterable[tuple[int, int]]) -> str:
    return " ".join(f"{a} ({b})" for a, b in values)


def _row(values: Iterable[int]) -> str:
    return " ".join(str(x) for x in values)
