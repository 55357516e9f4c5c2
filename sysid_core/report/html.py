# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page per run: text, tables, charts and pictures, nothing loaded from outside."""

from __future__ import annotations

import base64
import gzip
import io
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from matplotlib.figure import Figure

from sysid_core.judgement import Judgement, Outcome

MARKS: Mapping[str, str] = {"pass": "✓", "warn": "!", "fail": "✗"}
_PACKAGES = ("robot_sysid", "numpy", "scipy", "pin", "cvxpy", "clarabel")


def cell_text(value: object) -> str:
    """Text of a number or word in a table: four significant digits, no noise."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else str(value)


def with_deviation(value: float, sd: float) -> str:
    """A value and its deviation with matched digits: `1.116 ± 0.007`; NaN: nobody measured it."""
    if sd != sd:
        return f"{value:.4g} (not known, from the URDF)"
    if not (sd > 0 and abs(value) < 1e300):
        return f"{value:.4g} ± {sd:.2g}"
    from math import floor, log10

    digits = 1 - floor(log10(sd))  # two digits of the deviation
    if digits > 5 or digits < -3:
        return f"{value:.{max(1, digits + floor(log10(abs(value))) if value else 1)}e} ± {sd:.1e}"
    return f"{value:.{max(0, digits)}f} ± {sd:.{max(0, digits)}f}"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Report:
    """Collects sections and writes them as one HTML file.

    Args:
        title: Heading of the page.
        subtitle: One line below it.

    Examples:
        >>> from sysid_core.judgement import Outcome
        >>> report = Report("Payload")
        >>> report.headline(Outcome.PASS, "1.116 ± 0.007 kg", next_steps=["Send it to the controller."])
        >>> report.table(("quantity", "value"), [("mass [kg]", 1.116)])
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title = title
        self.subtitle = subtitle
        self._headline: dict[str, Any] | None = None
        self._parts: list[dict[str, Any]] = []
        self._provenance: dict[str, str] = {}

    def headline(
        self, level: Outcome, sentence: str, *, asked: str = "", next_steps: Iterable[str] = ()
    ) -> None:
        """The verdict in one sentence and colour, above everything else.

        Args:
            level: Colour and mark.
            sentence: The answer and why it is good or not.
            asked: The question, in words.
            next_steps: Sentences that say what to do now.
        """
        self._headline = {
            "level": level,
            "sentence": sentence,
            "asked": asked,
            "next_steps": list(next_steps),
        }

    def judged(self, judgement: Judgement) -> None:
        """The headline of a result that was judged: its reasons, the first as the sentence."""
        first, *others = judgement.reasons or (judgement.basis,)
        self.headline(judgement.outcome, first, next_steps=others)

    def provenance(self, facts: Mapping[str, object]) -> None:
        """Facts that repeat the run: files with their hashes, settings. Versions and the command are added."""
        self._provenance.update({name: str(value) for name, value in facts.items()})

    def heading(self, text: str, level: int = 2) -> None:
        """A section heading (level 2 or 3)."""
        self._parts.append({"kind": "heading", "level": int(level), "text": text})

    def paragraph(self, text: str) -> None:
        """Plain text; it is escaped."""
        self._parts.append({"kind": "paragraph", "text": text})

    def bullets(self, items: Iterable[str]) -> None:
        """A list of sentences; nothing when empty."""
        if entries := list(items):
            self._parts.append({"kind": "bullets", "entries": entries})

    def preformatted(self, text: str) -> None:
        """Text in a fixed-width font."""
        self._parts.append({"kind": "preformatted", "text": text})

    def verdict(self, ok: bool | Outcome, text: str) -> None:
        """A line that says pass, warn or fail."""
        level = ok if isinstance(ok, Outcome) else (Outcome.PASS if ok else Outcome.FAIL)
        self._parts.append({"kind": "verdict", "level": level, "text": text})

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        caption: str = "",
        *,
        folded: bool = False,
    ) -> None:
        """A table; numbers are right-aligned, with four significant digits.

        Args:
            columns: Names; all blank: no head.
            rows: Cells of each row.
            caption: Line above it; the line to click at when it is folded.
            folded: Whether it opens only when clicked.
        """
        headed = any(columns)
        labels = [*columns, *[""] * 99]
        cells = [
            [
                {"text": cell_text(x), "number": headed and _is_number(x), "label": labels[i]}
                for i, x in enumerate(row)
            ]
            for row in rows
        ]
        self._parts.append(
            {
                "kind": "table",
                "columns": list(columns),
                "rows": cells,
                "caption": caption,
                "folded": folded,
            }
        )

    def figure(self, figure: Figure | go.Figure, caption: str = "") -> None:
        """A chart (plotly: it can be zoomed) or a picture (matplotlib: embedded as PNG)."""
        from matplotlib.figure import Figure as Picture

        if isinstance(figure, Picture):
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=130, bbox_inches="tight", facecolor="white")
            data = base64.b64encode(buffer.getvalue()).decode()
            self._parts.append({"kind": "picture", "data": data, "caption": caption})
            return
        text = figure.to_json().replace("</", "<\\/")  # no tag of the page ends inside
        height = figure.layout.height or 420
        self._parts.append({"kind": "chart", "json": text, "height": height, "caption": caption})

    def save(self, path: str | Path) -> Path:
        """Write the page and return where it is."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        when = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        headline = self._headline or {}
        summary = {
            "title": self.title,
            "when": when,
            "level": headline.get("level", ""),
            "sentence": headline.get("sentence", ""),
        }
        has_charts = any(part["kind"] == "chart" for part in self._parts)
        page = _template("page.html.j2").render(
            title=self.title,
            subtitle=self.subtitle,
            when=when,
            version=_version("robot_sysid"),
            summary=summary,
            style=_raw("page.css"),
            script=_raw("page.js"),
            headline=self._headline,
            marks=MARKS,
            parts=self._parts,
            provenance=[*self._provenance.items(), *_circumstances()],
            plotly=_plotly() if has_charts else "",
        )
        path.write_text(page, encoding="utf-8")
        return path


def _circumstances() -> list[tuple[str, str]]:
    """Command and versions."""
    program = Path(sys.argv[0]).name
    command = shlex.join(["sysid", *sys.argv[1:]]) if program in ("sysid", "__main__.py") else ""
    versions = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    rows = [("versions", f"{versions}, Python {platform.python_version()}")]
    return [("command", command), *rows] if command else rows


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


@cache
def _text(name: str) -> str:
    return files("sysid_core.report").joinpath("templates", name).read_text(encoding="utf-8")


def _raw(name: str) -> Any:
    from markupsafe import Markup

    return Markup(_text(name))  # our own file


@cache
def _template(name: str) -> Any:
    from jinja2 import Environment

    return Environment(autoescape=True, trim_blocks=True).from_string(_text(name))


@cache
def _plotly() -> str:
    """The chart library, compressed, as base64."""
    library = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return base64.b64encode(gzip.compress(library, 9, mtime=0)).decode()
