# SPDX-License-Identifier: Apache-2.0
"""Interface of all studies: tables compared with the paper, a report, and plain numbers. Benchmarks
print their tables in Markdown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sysid_core.report import Report


@dataclass(frozen=True)
class StudyTable:
    """Table with a title and a remark."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    note: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return a table as plain data for JSON; infinite numbers become null."""
        rows = [
            [None if isinstance(x, float) and not np.isfinite(x) else x for x in row]
            for row in self.rows
        ]
        return {"title": self.title, "columns": list(self.columns), "rows": rows, "note": self.note}


def print_head(*columns: str) -> None:
    """Print the head of a Markdown table, whose rows follow as they are measured."""
    print_row(*columns)
    print_row(*["---"] * len(columns))


def print_row(*cells: object) -> None:
    """Print a row of a Markdown table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


class Study(Protocol):
    """Result of the reproduction of a published experiment."""

    @property
    def tables(self) -> Sequence[StudyTable]:
        """Tables for the terminal."""

    @property
    def remarks(self) -> Sequence[str]:
        """Conclusions from the tables, in sentences."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""

    def report(self) -> Report:
        """Return a report of the study."""


def report_of_tables(title: str, about: str, study: Study) -> Report:
    """Return a report with the tables and remarks of a study."""
    page = Report(title, about)
    for table in study.tables:
        page.heading(table.title)
        page.table(table.columns, table.rows, table.note)
    page.bullets(study.remarks)
    return page
