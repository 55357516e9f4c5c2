# SPDX-License-Identifier: Apache-2.0
"""Errors of exported robots in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from sysid_core.export import ExportedError, Loss, LossCode
from sysid_core.reasons import Reason, warning
from sysid_core.report.html import Report


def export_sentence(error: ExportedError, file: str) -> str:
    """Sentence with the errors of the identified and the exported model, and the lost terms."""
    runs = "held-out runs" if error.held_out else "the fitted runs"
    text = (
        f"Error of {file} in other software: {100 * error.exported:.2f} % of the efforts in {runs},"
        f" {error.rise:.2f} times that of the identified model ({100 * error.inside:.2f} %)"
    )
    if abs(error.standstill) >= 5e-5:  # shows in the last digit printed
        text += (
            f"; of this, {100 * error.standstill:+.2f} % is due to the friction model of that"
            " software near standstill"
        )
    dear = [name for name in _by_cost(error) if abs(error.costs[name]) >= 5e-5]
    if not dear:
        return f"{text}."
    costs = ", ".join(f"{name} {100 * error.costs[name]:+.2f} %" for name in dear)
    return (
        f"{text}. The format lacks these terms (with the resulting change of the error): {costs};"
        f" all together {100 * error.lost:+.2f} %."
    )


def _by_cost(error: ExportedError) -> list[str]:
    """Lost terms, in decreasing order of their error."""
    return sorted(error.costs, key=lambda name: -error.costs[name])


_LOST = {
    LossCode.GRAVITY: "direction of gravity (rotate the base in the world of the simulator):",
    LossCode.VELOCITY_LIMITS: "velocity limits of",
    LossCode.EFFORT_LIMITS: "effort limits of",
    LossCode.ACCELERATION_LIMITS: "acceleration limits (fill them in) of",
    LossCode.MIMIC: "coupling of mimic joints",
    LossCode.SHAPES: "visual and collision shapes of",
    LossCode.NAMES: "names that the format does not allow (replaced):",
    LossCode.MESH_MISSING: "meshes that were not found:",
    LossCode.MESH_FORMAT: "meshes in an unsupported format:",
}


def loss_sentence(loss: Loss) -> str:
    """Sentence on a term that a file format lacks."""
    return f"Lost: {_LOST[loss.code]} {', '.join(loss.names)}."


def export_warnings(errors: Sequence[tuple[ExportedError, str]]) -> tuple[Reason, ...]:
    """Exported files that are a larger source of error than the model, or with unexplained
    errors.
    """
    return tuple(_warning(error, file) for error, file in errors if error.worth_a_warning)


def _warning(error: ExportedError, file: str) -> Reason:
    inside, exported, rise = 100.0 * error.inside, 100.0 * error.exported, error.rise
    if error.unexplained:
        return warning(
            "export-differs",
            file=file,
            inside=inside,
            exported=exported,
            rise=rise,
            unexplained=error.unexplained_rise,
        )
    return warning(
        "export-loses",
        file=file,
        inside=inside,
        exported=exported,
        rise=rise,
        lost=", ".join(_by_cost(error)),
    )


def export_section(report: Report, errors: Sequence[tuple[ExportedError, str]]) -> None:
    """A section on the files that others read."""
    if not errors:
        return
    report.heading("Exported files", folded=True)
    for error, file in errors:
        report.paragraph(export_sentence(error, file))
        rows = [[name, *pair] for name, pair in error.joints.items()]
        report.table(
            ["joint", "RMS of the identified model", f"RMS of {file}"],
            rows,
            caption="Errors during motion, in the unit of the efforts.",
        )
