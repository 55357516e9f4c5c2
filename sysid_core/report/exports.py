# SPDX-License-Identifier: Apache-2.0
"""Errors of exported robots, in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from sysid_core.export import ExportedError
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
    dear = [name for name in error.dearest if abs(error.costs[name]) >= 5e-5]  # shows in print
    costs = [f"{name} {100 * error.costs[name]:+.2f} %" for name in dear]
    together = [f"all {100 * error.lost:+.2f} %"] if len(dear) > 1 else []
    return ", ".join(costs + together)


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
