# SPDX-License-Identifier: Apache-2.0
"""Structural identifiability as a table in the form of the paper, and as a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sysid_core.identifiability.rpna import Identifiability, combination_text
from sysid_core.report.html import Report
from sysid_core.robot import Array

TABLE_ROWS = ("m", "mx", "my", "mz", "Ixx", "Iyy", "Izz", "Iyz", "Ixz", "Ixy")
_WIDE = 100  # characters of a table of a page; beyond, one line per body


@dataclass(frozen=True)
class IdentifiabilityPage:
    """Structural identifiability in the form of the paper: table, sentences and report.

    Attributes:
        answer: Structural identifiability of the robot.
        weightless: Result without gravity, whose dimensions are shown first, followed by those with
            gravity in brackets; None: none.
    """

    LEGEND: ClassVar[str] = (
        "★ identifiable alone   ● identifiable in combination, chosen as base parameter"
        "   ○ absorbed into base parameters   ✕ unidentifiable"
    )
    answer: Identifiability
    weightless: Identifiability | None = None

    def table(self, width: int = _WIDE) -> tuple[list[str], list[list[str]]]:
        """Return a table of the identifiability of all parameters, in the form of the paper of Wensing
        et al.

        Args:
            width: Available line width [characters].

        Returns:
            Column headings, and rows: bodies side by side as in the paper if they fit, otherwise one
            per line.
        """
        symbols = {p.name: p.verdict.symbol for p in self.answer.parameters}
        headings = ["", *(body.name for body in self.answer.bodies)]
        rows = [
            [row, *(symbols[f"{body.name}.{row}"] for body in self.answer.bodies)]
            for row in TABLE_ROWS
        ]
        if self.answer.rotor_names:
            rows.append(
                ["Im", *(symbols.get(f"{body.joint}.Im", "") for body in self.answer.bodies)]
            )
        light = self.weightless.bodies if self.weightless is not None else self.answer.bodies
        for label, key in (("dim V", "dim_v"), ("dim K", "dim_k"), ("dim T", "dim_transfer")):
            cells = []
            for body, other in zip(self.answer.bodies, light, strict=True):
                here, there = getattr(body, key), getattr(other, key)
                cells.append(f"{here}" if self.weightless is None else f"{there} ({here})")
            rows.append([label, *cells])
        if 8 + sum(max(len(body.name), 7) + 2 for body in self.answer.bodies) <= width:
            return headings, rows
        table = [headings, *rows]
        turned = [list(column) for column in zip(*table, strict=True)]
        return ["body", *turned[0][1:]], turned[1:]

    def sentences(self) -> list[str]:
        """Return the sentences with the numbers of identifiable parameters, and the warnings."""
        base = "floating base" if self.answer.floating_base else "fixed base"
        gravity = (
            "no gravity"
            if not self.answer.gravity.any()
            else f"gravity {_vector(self.answer.gravity)} m/s²"
        )
        static = ", static postures only" if self.answer.static else ""
        lines = [
            f"{self.answer.robot} ({base}, {gravity}{static}): {self.answer.n_base} of {self.answer.n_parameters}"
            " inertial parameters are base parameters"
            + (
                f", {self.answer.n_base_with_rotors} with its {len(self.answer.rotor_names)} rotors."
                if self.answer.n_base_with_rotors is not None
                else "."
            )
        ]
        if self.weightless is not None:
            lines.append(f"Without gravity: {self.weightless.n_base}.")
        if self.answer.exact_angles is not None:
            lines.append(
                f"With exact instead of rounded angles: {self.answer.exact_angles.n_base} (as written in the"
                f" URDF: {self.answer.n_base})."
            )
        return lines

    def report(self) -> Report:
        """Return a report with the table of identifiability, the regroupings of parameters, and the
        transfers of inertia between bodies that leave all torques unchanged.
        """
        report = Report(
            f"Structural identifiability of {self.answer.robot}",
            "recursive parameter nullspace algorithm (Wensing, Niemeyer, Slotine 2023)",
        )
        counts, *others = self.sentences()
        report.headline(
            None,
            counts,
            asked="inertial parameters that can be identified from motion and joint torques",
            next_steps=[
                "Plan a motion that excites them: `sysid plan arm`, or `sysid plan sequential`."
            ],
        )
        for line in others:
            report.paragraph(line)
        for warning in self.answer.warnings:
            report.verdict(False, warning)
        headings, rows = self.table()
        brackets = "; numbers without gravity (with gravity in parentheses)"
        if self.weightless is None:
            brackets = ""
        report.heading("Every parameter")
        report.table(headings, rows, self.LEGEND + brackets)
        if self.answer.exact_angles is not None:
            headings, rows = IdentifiabilityPage(self.answer.exact_angles).table()
            report.heading("With exact angles", 3)
            report.table(
                headings, rows, "Rounded angles such as 3.1416 are replaced by exact ones (π)."
            )
        report.heading("Base parameters")
        report.table(
            ["base parameter", "combination (SI units)", "meaning"],
            [[r.base, combination_text(r.terms), r.meaning] for r in self.answer.regroupings],
            "Identifiable combinations of parameters",
            folded=len(self.answer.regroupings) > 12,
        )
        report.heading("Inertia transfers to the parent link without effect on the torques")
        report.bullets(str(transfer) for transfer in self.answer.transfers)
        return report


def _vector(values: Array) -> str:
    return "(" + " ".join(f"{x:g}" for x in values) + ")"
