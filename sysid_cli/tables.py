# SPDX-License-Identifier: Apache-2.0
"""Output of commands: verdicts, tables and lists that remain readable at 80 columns and in a pipe."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.measure import measure_renderables
from rich.table import Table
from rich.text import Text

from sysid_cli.base import console
from sysid_core.reasons import Outcome, Verdict

if TYPE_CHECKING:
    from sysid_core.controller_payload import ControllerSetting
    from sysid_core.export import ExportedError

_PIPED = 100_000  # characters a line: nobody's terminal cuts what goes into a file


def print_table(table: Table) -> None:
    """Print a table without truncating names or numbers.

    If the terminal is narrow, the left columns are wrapped; all others keep their width. A table
    that is still wider than the terminal, or that goes into a pipe or file, is printed at full
    width.
    """
    for column in table.columns:
        folds = column.justify == "left"
        column.overflow, column.no_wrap = "fold", not folds
        if folds:
            column.min_width = min(10, max((len(str(cell)) for cell in column.cells), default=0))
    options = console.options.update(width=_PIPED)
    needed = measure_renderables(console, options, [table])
    least = needed.minimum if console.is_terminal else needed.maximum
    usual = console.width
    try:
        console.width = max(usual, least)
        console.print(table)
    finally:
        console.width = usual


def print_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    left: Collection[str] = (),
    **options: Any,
) -> None:
    """Print a table; numbers are aligned on the right.

    Args:
        columns: Headings.
        rows: Cells of each row.
        left: Further columns of text, aligned on the left like the first column.
        options: Options of `rich.table.Table`.
    """
    table = Table(**options)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 or column in left else "right")
    for row in rows:
        table.add_row(*row)
    print_table(table)


def print_exports(errors: Sequence[tuple[ExportedError, str]]) -> None:
    """Print the prediction errors of exported files beside those of the identified model."""
    from sysid_core.report import export_table

    if not errors:
        return
    caption, columns, rows = export_table(errors)
    print_rows(columns, rows, left=columns[4:], title=caption, title_justify="left")


def print_list(lines: Sequence[str | Text], *, most: int, whole: bool) -> None:
    """Print the first `most` lines of a list, and the number of the remaining ones.

    Args:
        lines: Lines to print.
        most: Number of lines that are always shown.
        whole: True to print all lines.
    """
    shown = len(lines) if whole or len(lines) <= most + 1 else most
    for line in lines[:shown]:
        console.print(line, highlight=False, soft_wrap=True)
    if shown < len(lines):
        console.print(f"… {len(lines) - shown} more: --all", style="dim", highlight=False)


def print_settings(settings: Sequence[ControllerSetting], frame: str) -> None:
    """Print the calls that set the payload in the controller of each vendor, in a given frame."""
    if settings:
        console.print(
            f"For controllers, in '{frame}' (add everything mounted between the flange and this"
            " frame):"
        )
    for s in settings:
        console.print(
            f"  {s.vendor:7} {s.text}  (rounding error: {s.error_torque:.1g} N m,"
            f" uncertainty: {s.torque_sd:.1g} N m)",
            highlight=False,
            soft_wrap=True,
        )


_STYLES = {
    Outcome.PASS: "bold green",
    Outcome.WARN: "bold yellow",
    Outcome.FAIL: "bold red",
    Outcome.NOT_JUDGED: "bold yellow",
}


def print_verdict(verdict: Verdict, consequence: str = "") -> None:
    """Print the verdict, its reasons, and the consequence of a failure."""
    console.print(f"Verdict: {verdict.outcome.value}", style=_STYLES[verdict.outcome])
    for reason in verdict.decisive:
        console.print(f"· {reason.advice}", highlight=False, soft_wrap=True, markup=False)
    if not verdict.ok and consequence:
        console.print(consequence, highlight=False, soft_wrap=True, markup=False)
