# SPDX-License-Identifier: Apache-2.0
"""Structural identifiability as a table in the form of the paper, and as a report."""

from __future__ import annotations

from sysid_core.identifiability.rpna import Identifiability, combination_text
from sysid_core.report.html import Report
from sysid_core.robot import Array

TABLE_ROWS = ("m", "mx", "my", "mz", "Ixx", "Iyy", "Izz", "Iyz", "Ixz", "Ixy")
LEGEND = (
    "★ identifiable alone   ● identifiable in combination, chosen as base parameter"
    "   ○ absorbed into base parameters   ✕ unidentifiable"
)
_WIDE = 100  # characters of a table of a page; beyond, one line per body


def identifiability_table(
    answer: Identifiability, weightless: Identifiability | None = None, *, width: int = _WIDE
) -> tuple[list[str], list[list[str]]]:
    """Return a table of the identifiability of all parameters, in the form of the paper of Wensing
    et al.

    Args:
        answer: Structural identifiability of the robot.
        weightless: Result without gravity, whose dimensions are shown first, followed by those with
            gravity in brackets.
        width: Available line width [characters].

    Returns:
        Column headings, and rows: bodies side by side as in the paper if they fit, otherwise one
        per line.
    """
    symbols = {p.name: p.verdict.symbol for p in answer.parameters}
    headings = ["", *(body.name for body in answer.bodies)]
    rows = [[row, *(symbols[f"{body.name}.{row}"] for body in answer.bodies)] for row in TABLE_ROWS]
    if answer.rotor_names:
        rows.append(["Im", *(symbols.get(f"{body.joint}.Im", "") for body in answer.bodies)])
    light = weightless.bodies if weightless is not None else answer.bodies
    for label, key in (("dim V", "dim_v"), ("dim K", "dim_k"), ("dim T", "dim_transfer")):
        cells = []
        for body, other in zip(answer.bodies, light, strict=True):
            here, there = getattr(body, key), getattr(other, key)
            cells.append(f"{here}" if weightless is None else f"{there} ({here})")
        rows.append([label, *cells])
    if 8 + sum(max(len(body.name), 7) + 2 for body in answer.bodies) <= width:
        return headings, rows
    table = [headings, *rows]
    turned = [list(column) for column in zip(*table, strict=True)]
    return ["body", *turned[0][1:]], turned[1:]


def identifiability_summary(
    answer: Identifiability, weightless: Identifiability | None = None
) -> list[str]:
    """Return the sentences with the numbers of identifiable parameters, and the warnings."""
    base = "floating base" if answer.floating_base else "fixed base"
    gravity = (
        "no gravity" if not answer.gravity.any() else f"gravity {_vector(answer.gravity)} m/s²"
    )
    static = ", static postures only" if answer.static else ""
    lines = [
        f"{answer.robot} ({base}, {gravity}{static}): {answer.n_base} of {answer.n_parameters}"
        " inertial parameters are base parameters"
        + (
            f", {answer.n_base_with_rotors} with its {len(answer.rotor_names)} rotors."
            if answer.n_base_with_rotors is not None
            else "."
        )
    ]
    if weightless is not None:
        lines.append(f"Without gravity: {weightless.n_base}.")
    if answer.exact_angles is not None:
        lines.append(
            f"With exact instead of rounded angles: {answer.exact_angles.n_base} (as written in the"
            f" URDF: {answer.n_base})."
        )
    return lines


def identifiability_report(
    answer: Identifiability, weightless: Identifiability | None = None
) -> Report:
    """Return a report with the table of identifiability, the regroupings of parameters, and the
    transfers of inertia between bodies that leave all torques unchanged.

    Args:
        answer: Structural identifiability of the robot.
        weightless: Result without gravity; None: none.
    """
    report = Report(
        f"Structural identifiability of {answer.robot}",
        "recursive parameter nullspace algorithm (Wensing, Niemeyer, Slotine 2023)",
    )
    counts, *others = identifiability_summary(answer, weightless)
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
    for warning in answer.warnings:
        report.verdict(False, warning)
    headings, rows = identifiability_table(answer, weightless)
    report.heading("Every parameter")
    report.table(headings, rows, _caption(weightless))
    if answer.exact_angles is not None:
        headings, rows = identifiability_table(answer.exact_angles)
        report.heading("With exact angles", 3)
        report.table(
            headings, rows, "Rounded angles such as 3.1416 are replaced by exact ones (π)."
        )
    report.heading("Base parameters")
    report.table(
        ["base parameter", "combination (SI units)", "meaning"],
        [[r.base, combination_text(r.terms), r.meaning] for r in answer.regroupings],
        "Identifiable combinations of parameters",
        folded=len(answer.regroupings) > 12,
    )
    report.heading("Inertia transfers to the parent link without effect on the torques")
    report.bullets(str(transfer) for transfer in answer.transfers)
    return report


def _caption(weightless: Identifiability | None) -> str:
    brackets = (
        "" if weightless is None else "; numbers without gravity (with gravity in parentheses)"
    )
    return LEGEND + brackets


def _vector(values: Array) -> str:
    return "(" + " ".join(f"{x:g}" for x in values) + ")"
