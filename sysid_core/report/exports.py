# SPDX-License-Identifier: Apache-2.0
"""Errors of exported robots, in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from sysid_core.export import ExportedError, Loss, LossCode
from sysid_core.reasons import Reason
from sysid_core.report.html import Report


def export_table(
    errors: Sequence[tuple[ExportedError, str]],
) -> tuple[str, tuple[str, ...], list[list[str]]]:
    """Return a caption, columns and rows of a table with the errors of the model and of each
    exported file, and the effect of lost terms.
    """
    columns = ("file", "model error", "exported error", "ratio", "cost of the missing terms")
    rows = [
        [
            file,
            f"{100 * error.inside:.2f} %",
            f"{100 * error.exported:.2f} %",
            f"{error.rise:.2f}",
            _losses(error),
        ]
        for error, file in errors
    ]
    runs = "held-out recordings" if all(e.held_out for e, _ in errors) else "the fitted recordings"
    caption = (
        f"Relative error of the efforts in {runs}, of the identified model and of the exported file"
        " as read by other software. Last column: increase of the error due to each term that the"
        " format lacks."
    )
    return caption, columns, rows


def _losses(error: ExportedError) -> str:
    dear = [name for name in _by_cost(error) if abs(error.costs[name]) >= 5e-5]  # shows in print
    costs = [f"{name} {100 * error.costs[name]:+.2f} %" for name in dear]
    together = [f"all {100 * error.lost:+.2f} %"] if len(dear) > 1 else []
    return ", ".join(costs + together)


def _by_cost(error: ExportedError) -> list[str]:
    """Lost terms, in decreasing order of their error."""
    return sorted(error.costs, key=lambda name: -error.costs[name])


_LOST = {
    LossCode.GRAVITY: "direction of gravity (rotate the base in the world of the simulator):",
    LossCode.VELOCITY_LIMITS: "velocity limits of",
    LossCode.EFFORT_LIMITS: "effort limits of",
    LossCode.ACCELERATION_LIMITS: "acceleration limits (fill them in) of",
    LossCode.LOCKED: "motion of locked joints, which are fixed (rad or m):",
    LossCode.MIMIC: "coupling of mimic joints",
    LossCode.SHAPES: "visual and collision shapes of",
    LossCode.NAMES: "names that the format does not allow (replaced):",
    LossCode.MESH_MISSING: "meshes that were not found:",
    LossCode.MESH_FORMAT: "meshes that the format does not support:",
}


def loss_sentence(loss: Loss) -> str:
    """Return a sentence on a term that a file format lacks."""
    return f"Lost: {_LOST[loss.code]} {', '.join(loss.names)}."


def export_warnings(errors: Sequence[tuple[ExportedError, str]]) -> tuple[Reason, ...]:
    """Return the warnings about exported files that have a larger error than the model, or
    unexplained errors.
    """
    return tuple(_warning(error, file) for error, file in errors if error.worth_a_warning)


def _warning(error: ExportedError, file: str) -> Reason:
    inside, exported, rise = 100.0 * error.inside, 100.0 * error.exported, error.rise
    if error.unexplained:
        return Reason.warning(
            "export-differs",
            file=file,
            inside=inside,
            exported=exported,
            rise=rise,
            unexplained=error.unexplained_rise,
        )
    return Reason.warning(
        "export-loses",
        file=file,
        inside=inside,
        exported=exported,
        rise=rise,
        lost=", ".join(_by_cost(error)),
    )


def export_section(report: Report, errors: Sequence[tuple[ExportedError, str]]) -> None:
    """Report section on the exported files."""
    if not errors:
        return
    report.heading("Exported files", folded=True)
    caption, columns, rows = export_table(errors)
    report.table(columns, rows, caption=caption)
    for error, file in errors:
        report.table(
            ["joint", "RMS of the identified model", f"RMS of {file}"],
            [[name, *pair] for name, pair in error.joints.items()],
            caption="Errors during motion, in the unit of the efforts.",
        )
