# SPDX-License-Identifier: Apache-2.0
"""Self-contained HTML report of one result: text, tables and charts, without external files."""

from __future__ import annotations

import json
import platform
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from sysid_core.files import write_text
from sysid_core.reasons import TEXTS, Outcome, Reason, Verdict
from sysid_core.report.charts import Figure

# Word to its meaning. Words are looked for as they stand; after a `|`, other spellings.
GLOSSARY: Mapping[str, str] = {
    "MAP|map": "maximum a posteriori estimate: the most probable values, given the data and the prior.",
    "map-running": "running MAP estimate, updated with every sample; it models the sensor's gains, crosstalk and"
    " delay linearly. The batch MAP uses the whole recording, smoothed in both directions.",
    "PMD|pmd": "point-mass discretisation (Nadeau et al. 2022): non-negative masses at fixed points inside the"
    " given shape.",
    "OLS|ols": "ordinary least squares: no prior, equal weights of all samples.",
    "WLS|wls": "weighted least squares: each joint is weighted by the inverse variance of its residual.",
    "IRLS|irls": "iteratively reweighted least squares: robust against outliers.",
    "RTLS|rtls": "recursive total least squares: includes the noise of the accelerations.",
    "GEO|geo|entropic": "regression with a geometric (entropic) distance from the prior, which keeps every body"
    " physically consistent.",
    "LMI|lmi": "linear matrix inequality: the constraint that every link is physically consistent.",
    "prior": "knowledge before the data, such as the values of the URDF or the shape of the object.",
    "prior-dominated": "identifiable, but determined more by the prior than by these data.",
    "identifiable": "determined by these data alone.",
    "in combination": "only a combination with other parameters is determined; the table states it.",
    "not identifiable": "the parameter has no effect on the measured efforts in any motion of this robot.",
    "base parameter|base parameters": "a minimal set of combinations of inertial parameters that determines"
    " all torques.",
    "rank": "number of independent parameter combinations that the data excite.",
    "condition number": "ratio of the best to the worst excited parameter combination: near 1 is ideal, 1000 is poor.",
    "natural size|natural scale": "typical magnitude of a parameter, from the masses and lengths of the URDF;"
    " standard deviations are compared with it.",
    "R²": "share of the variance of the efforts that the model explains: 1 is perfect, 0 is no better than the mean.",
    "RMS": "root mean square.",
    "relative error": "RMS of the residual divided by RMS of the measured efforts, over all joints.",
    "residual|difference": "measured minus predicted value.",
    "held out|held-out|not used in the fit": "excluded from the fit and used for validation.",
    "physically consistent": "parameters of a possible body: positive mass, and an inertia that a mass"
    " distribution can have.",
    "sd|standard deviation|standard deviations": "standard deviation; the interval of ± 2 standard deviations contains the true value with a probability"
    " of 95 % if the model is correct.",
    "correlation|Correlation": "correlation between the errors of two estimates, from -1 to 1.",
    "F_c": "Coulomb friction; torque F_c sign(v) [N m].",
    "F_v": "viscous friction; torque F_v v [N m s/rad].",
    "I_a": "rotor inertia on the joint side of the gear; torque I_a a [kg m²].",
    "beta": "constant offset of a joint's effort [N m].",
    "F_l": "friction proportional to the load torque of the joint [-].",
    "F_s": "Stribeck friction: additional friction at low speed [N m].",
    "F_p": "presliding friction: builds up over a small angle after each reversal [N m].",
    "F_b": "breakaway friction: additional friction after a reversal, until the surfaces slide [N m].",
    "F_a": "difference of the Coulomb friction between the two directions [N m].",
    "F_t": "friction proportional to the square root of speed, due to shear-thinning grease [N m (s/rad)^0.5].",
    "F_k": "torque lost by saturation of the motor, proportional to the square of the load torque [1/(N m)].",
    "F_rc|F_rs|F_oc|F_os|F_wc|F_ws|F_uc|F_us": "torque ripple over one turn of an axis: cosine and sine amplitudes.",
    "mx|my|mz": "first moment of mass: mass times a coordinate of the centre of mass [kg m].",
    "URDF": "Unified Robot Description Format: file with the links, joints and masses of a robot.",
    "pi": "the ten inertial parameters of a body: m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz.",
    "wrench": "force and torque at the force-torque sensor.",
    "tare": "estimation of the sensor bias, without a load or in several postures.",
    "TCP": "tool centre point: the frame whose speed and position are limited.",
    "harmonics": "sine waves of a Fourier motion.",
    "criterion": "quantity that the planner minimises: d, volume of the expected covariance; a, mean relative"
    " variance; worst, largest relative variance.",
    "closed chain|loop|loops": "kinematic chain with closed loops; its passive joints are determined by the driven ones.",
    "loops close|close the loops": "the loop closure equations have a solution in this posture.",
}
MARKS: Mapping[str, str] = {"pass": "✓", "warn": "!", "fail": "✗", "not judged": "–", "info": "→"}
_PACKAGES = ("robot_sysid", "numpy", "scipy", "pin", "cvxpy", "clarabel")


def words_in(text: str) -> list[tuple[str, str]]:
    """Return the glossary words that occur in a text, with their meanings, in the order of the
    glossary.

    Args:
        text: Complete text of a page.
    """
    words = set(re.findall(r"[\w-]+", text))

    def has(name: str) -> bool:
        parts = set(re.findall(r"[\w-]+", name))
        if parts == {name} or not parts <= words:
            return name in words
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None

    every = ((spellings.split("|"), meaning) for spellings, meaning in GLOSSARY.items())
    return [(names[0], meaning) for names, meaning in every if any(map(has, names))]


def names_of(sources: str) -> str:
    """Return the names of recordings without their folders, from paths separated by commas."""
    return ", ".join(Path(source).name for source in sources.split(", "))


def with_deviation(value: float, sd: float) -> str:
    """Return the value and standard deviation with matching digits: `1.116 ± 0.007`; NaN: not
    measured.
    """
    if sd != sd:
        return f"{value:.4g} (undetermined, from the URDF)"
    if not (0 < sd < 1e300 and abs(value) < 1e300):
        return f"{value:.4g} ± {sd:.2g}"
    from math import floor, log10

    digits = 1 - floor(log10(sd))  # two digits of the deviation
    if digits > 5 or digits < -3:
        return f"{value:.{max(1, digits + floor(log10(abs(value))) if value else 1)}e} ± {sd:.1e}"
    value = round(value, max(0, digits)) + 0.0  # no minus before a zero
    return f"{value:.{max(0, digits)}f} ± {sd:.{max(0, digits)}f}"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: object, label: str, headed: bool) -> dict[str, object]:
    if isinstance(value, tuple):
        text, link = value
        return {"text": text, "link": link, "number": False, "label": label}
    return {"text": Report.cell_text(value), "number": headed and _is_number(value), "label": label}


def _explained(reason: Reason) -> dict[str, str]:
    """Sentence, remedy and meaning of a reason, with the anchor of its entry in the documentation."""
    text = TEXTS[reason.code]
    return {
        "code": reason.code,
        "text": reason.text,
        "remedy": reason.remedy,
        "title": text.title,
        "meaning": text.meaning,
        "page": text.page,
    }


class Report:
    """HTML report, which collects sections and writes them as one file.

    Args:
        title: Heading of the page.
        subtitle: Line below the title.
        details: Address of a page with details, relative to this page; empty: none.

    Examples:
        >>> from sysid_core.reasons import Outcome
        >>> report = Report("Payload")
        >>> report.headline(Outcome.PASS, "1.116 ± 0.007 kg", next_steps=["Send it to the controller."])
        >>> report.table(("quantity", "value"), [("mass [kg]", 1.116)])
    """

    def __init__(self, title: str, subtitle: str = "", *, details: str = "") -> None:
        self.title, self.details = title, details
        self.subtitle = subtitle
        self._headline: dict[str, Any] | None = None
        self._parts: list[dict[str, Any]] = []
        self._provenance: dict[str, str] = {}

    def headline(
        self,
        level: Outcome | None,
        sentence: str,
        *,
        asked: str = "",
        next_steps: Iterable[str] = (),
    ) -> None:
        """Add the headline: the verdict in one sentence, with its colour.

        Args:
            level: Outcome, for colour and mark; None: information without verdict.
            sentence: Answer with its reason.
            asked: Subject of the verdict, in words; empty: none.
            next_steps: Recommended actions, one sentence each.
        """
        self._headline = {
            "level": level.value if level else "info",
            "sentence": sentence,
            "asked": asked,
            "next_steps": list(next_steps),
        }

    def judged(
        self,
        verdict: Verdict,
        answer: str = "",
        *,
        asked: str = "",
        next_steps: Iterable[str] = (),
    ) -> None:
        """Add the headline of a result that has a verdict.

        Args:
            verdict: Verdict, whose reasons are listed below the answer.
            answer: Result with its uncertainty; empty: the first reason.
            asked: Subject of the verdict, in words; empty: none.
            next_steps: Recommended actions, one sentence each.
        """
        sentence = answer or next((reason.text for reason in verdict.decisive), "")
        self.headline(verdict.outcome, sentence, asked=asked, next_steps=next_steps)
        if self._headline is not None:
            self._headline["reasons"] = [_explained(reason) for reason in verdict.notable]
            self._headline["held"] = [reason.text for reason in verdict.held]
            self._headline["said"] = {x for r in verdict.reasons for x in (r.text, r.advice)}
            self._headline["not_judged"] = [reason.advice for reason in verdict.not_judged]

    def provenance(self, facts: Mapping[str, object]) -> None:
        """Add the data needed to repeat the computation, such as file hashes and settings; versions
        and the command are added automatically.
        """
        self._provenance.update({name: str(value) for name, value in facts.items()})

    def heading(self, text: str, level: int = 2, *, folded: bool = False) -> None:
        """Add a section heading (level 2 or 3); a folded section of level 2 opens with a click."""
        heading = {"kind": "heading", "level": int(level), "text": text, "folded": folded}
        self._parts.append({**heading, "id": f"s{len(self._parts)}"})

    def paragraph(self, text: str) -> None:
        """Add plain text; HTML characters are escaped."""
        self._parts.append({"kind": "paragraph", "text": text})

    def bullets(self, items: Iterable[str]) -> None:
        """Add a list of sentences, without those that are reasons in the headline."""
        self._parts.append({"kind": "bullets", "entries": list(items)})

    def preformatted(self, text: str) -> None:
        """Add text in a fixed-width font."""
        self._parts.append({"kind": "preformatted", "text": text})

    def verdict(self, ok: bool | Outcome, text: str) -> None:
        """Add a line with the outcome: pass, warn, fail or not judged."""
        level = ok if isinstance(ok, Outcome) else (Outcome.PASS if ok else Outcome.FAIL)
        self._parts.append({"kind": "verdict", "level": level.value, "text": text})

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        caption: str = "",
        *,
        folded: bool = False,
    ) -> None:
        """Add a table; numbers are right-aligned, with four significant digits.

        Args:
            columns: Column headings; if all are blank, there is no heading.
            rows: Cells of each row; a pair of text and address becomes a link.
            caption: Line above the table; for a folded table, the line that unfolds it.
            folded: True if the table is hidden until clicked.
        """
        headed = any(columns)
        labels = [*columns, *[""] * 99]
        cells = [[_cell(x, labels[i], headed) for i, x in enumerate(row)] for row in rows]
        numbers = [
            all(row[i]["number"] for row in cells if i < len(row)) for i in range(len(columns))
        ]
        self._parts.append(
            {
                "kind": "table",
                "columns": list(zip(columns, numbers, strict=True)),
                "rows": cells,
                "caption": caption,
                "folded": folded,
            }
        )

    def figure(self, figure: Figure, caption: str = "", *, folded: bool = False) -> None:
        """Add a chart whose lines can be read off, zoomed, hidden and played, by mouse and
        keyboard.

        Args:
            figure: Chart with data and layout.
            caption: Title of the chart up to the first full stop, then its description.
            folded: True if the chart is hidden until clicked.
        """
        title = re.split(r"(?<=[\w)])[.;] ", caption, maxsplit=1)[0].rstrip(".") or "Chart"
        caption = caption[len(title) :].lstrip(".; ")
        caption = caption[:1].upper() + caption[1:]
        chart = {"kind": "chart", "json": figure.json(), "folded": folded}
        self._parts.append({**chart, "caption": caption, "title": title})

    def save(self, path: str | Path) -> Path:
        """Write the page, and return its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        when = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        headline, parts = self._headline, self._parts
        if headline is None:
            headline, parts = self._from_verdicts()
        said = (headline or {}).get("said", ())
        for part in (part for part in parts if part["kind"] == "bullets"):
            part["entries"] = [x for x in part["entries"] if x not in said]
        parts = [part for part in parts if part.get("entries") != []]
        summary = {
            "title": self.title,
            "when": when,
            "level": headline["level"] if headline else "",
            "sentence": headline["sentence"] if headline else "",
        }
        page = _template("page.html.j2").render(
            title=self.title,
            subtitle=self.subtitle,
            details=self.details,
            when=when,
            version=_version("robot_sysid"),
            summary=summary,
            style=_raw("page.css"),
            script=_raw("page.js"),
            headline=headline,
            marks=MARKS,
            parts=parts,
            contents=[p for p in parts if p["kind"] == "heading" and p["level"] == 2],
            fold=_Fold(),
            provenance=[*self._provenance.items(), *_circumstances()],
            words=words_in(_all_text(headline, parts)),
            has_charts=any(part["kind"] == "chart" for part in parts),
        )
        page = page.replace(" m^2", " m²")  # the files' unit, set in type
        write_text(path, page)
        return path

    def _from_verdicts(self) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """Headline from the verdicts of a page that has no headline, and the remaining parts of the
        page.

        Verdicts before the first section heading move into the headline; of all others, only the
        number is stated.
        """
        verdicts = [part for part in self._parts if part["kind"] == "verdict"]
        if not verdicts:
            return None, self._parts
        order = ("fail", "warn", "pass")
        level = min((part["level"] for part in verdicts), key=order.index)
        first = next(
            (i for i, part in enumerate(self._parts) if part["kind"] == "heading"), len(self._parts)
        )
        leading = [part for part in self._parts[:first] if part["kind"] == "verdict"]
        sentences = [p["text"] for p in sorted(leading, key=lambda p: order.index(p["level"]))]
        if len(leading) < len(verdicts):
            held = sum(part["level"] == "pass" for part in verdicts)
            sentences.insert(0, f"{held} of {len(verdicts)} checks on this page passed.")
        headline = {
            "level": level,
            "sentence": sentences[0],
            "reasons": [{"text": text} for text in sentences[1:]],
        }
        return headline, [part for part in self._parts if part not in leading]

    @staticmethod
    def cell_text(value: object) -> str:
        """Return the text of a number or word in a table: four significant digits, without rounding
        noise.
        """
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return f"{value:.4g}"
        return "–" if value is None else str(value)


class _Fold:
    """State of the template inside a folded section."""

    is_open = False

    def set(self, value: bool) -> str:
        self.is_open = value
        return ""


def _all_text(*parts: Any) -> str:
    """All text of the page, with the names of the charts."""
    return json.dumps(parts, ensure_ascii=False, default=str)


def _circumstances() -> list[tuple[str, str]]:
    """Command and versions of the run."""
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
