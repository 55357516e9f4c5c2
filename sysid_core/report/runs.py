# SPDX-License-Identifier: Apache-2.0
"""Saved results, their comparison, and the page that lists them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np
from pydantic import Field

from sysid_core.errors import SignalError, SysIdError
from sysid_core.estimation import Estimate, EstimateDifference
from sysid_core.files import FileKind, FileSchema
from sysid_core.report.charts import COLOURS, Figure
from sysid_core.report.html import MARKS, Report, with_deviation

_RESULT = FileKind("result", "Repeat the command that wrote it.", SignalError)
_SETTINGS = FileKind("identified robot", "Give a result folder of `sysid identify`.")
_SAID = ("method", "gravity", "prior_weight", "delay_corrected", "differentiate", "friction_terms")
INDEX = "index.html"
_HEAD = 65_536  # characters of a page in which its summary stands
_SUMMARY = re.compile(r'<meta name="robot-sysid" content="([^"]*)">')
_PAGE = FileKind("report", "Repeat the command that wrote it.")
_TITLE = "Reports in"


class _More(FileSchema):
    MORE_KEYS: ClassVar[bool] = True


class _Input(_More):
    role: str = ""
    sha256: str


class _Inputs(_More):
    files: list[_Input] = Field(default_factory=list)
    options: dict[str, Any] = Field(default_factory=dict)


class _Recording(_More):
    source: str
    relative_error: float | None = None


class _Verdict(_More):
    outcome: str = "–"
    failures: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)


class SavedResult(_More):
    """Fields read from a result.json."""

    inputs: _Inputs = Field(default_factory=_Inputs)
    verdict: _Verdict = Field(default_factory=_Verdict)
    training: list[_Recording] = Field(default_factory=list)
    validation: list[_Recording] = Field(default_factory=list)


class _Parameters(_More):
    processing: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SavedRun:
    """Saved result of one command.

    Attributes:
        name: Name of the result folder.
        folder: Path of the folder with estimate.yaml, result.json and perhaps parameters.yaml.
        estimate: Estimate of the parameters.
        result: Content of result.json.
        settings: Values of all settings, by name.
    """

    name: str
    folder: Path
    estimate: Estimate
    result: SavedResult
    settings: Mapping[str, str]

    @classmethod
    def read(cls, folder: str | Path) -> SavedRun:
        """Read a result folder of `sysid identify` or `sysid payload`.

        Raises:
            SysIdError: The folder does not exist, or contains no result.
        """
        folder = Path(folder)
        if not (folder / "estimate.yaml").is_file():
            raise SignalError(
                f"'{folder}' has no estimate.yaml.",
                remedy="Give result folders of `sysid identify` or `sysid payload` (--out).",
            )
        content = _RESULT.read_json(folder / "result.json")
        result = _RESULT.validated(content, SavedResult, folder / "result.json")
        estimate = Estimate.load(folder / "estimate.yaml")
        settings = {"URDF": estimate.urdf_hash, "samples": str(estimate.n_samples)}
        settings |= {k: _text(content[k]) for k in _SAID if k in content}
        settings |= {k: _text(x) for k, x in result.inputs.options.items()}
        if (folder / "parameters.yaml").is_file():
            raw = _SETTINGS.read_yaml(folder / "parameters.yaml")
            used = _SETTINGS.validated(raw, _Parameters, folder / "parameters.yaml").processing
            settings |= {k: _text(x) for k, x in used.items()}
        return cls(folder.resolve().name, folder, estimate, result, settings)

    @property
    def recordings(self) -> frozenset[str]:
        """Hashes of the fitted recordings, if they are stored."""
        files = self.result.inputs.files
        return frozenset(f.sha256 for f in files if f.role in ("recordings", "loaded"))

    def errors(self, kind: str) -> dict[str, float]:
        """Return the relative error of the predicted efforts for each recording; kind: training or
        validation.
        """
        runs = self.result.validation if kind == "validation" else self.result.training
        return {
            Path(run.source).stem: run.relative_error
            for run in runs
            if run.relative_error is not None
        }


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(x)}" for key, x in value.items())
    if isinstance(value, list):
        return ", ".join(_text(x) for x in value) or "–"
    return Report.cell_text(value) or "–"


def differences_from_first(runs: Sequence[SavedRun]) -> list[EstimateDifference]:
    """Return the difference of each further result from the first.

    Raises:
        SignalError: There are fewer than two runs.
        EstimationError: The runs have no common parameter.
    """
    if len(runs) < 2:
        raise SignalError("Only one run is given.", remedy="Name at least two result folders.")
    return [EstimateDifference.of(runs[0].estimate, run.estimate) for run in runs[1:]]


def comparison_report(runs: Sequence[SavedRun], found: Sequence[EstimateDifference]) -> Report:
    """Return a report that compares parameters, errors, verdicts and settings of several results
    with those of the first.

    Args:
        runs: Results of the runs; the first is the reference.
        found: Difference of each further run from the first.
    """
    first, others = runs[0], runs[1:]
    report = Report(f"{', '.join(run.name for run in others)} against {first.name}")
    report.headline(
        None,
        " ".join(comparison_sentence(first, r, d) for r, d in zip(others, found, strict=True)),
        asked="differences between the results of several runs",
        next_steps=_next_steps(first, others, found),
    )
    report.heading("Verdicts and errors")
    report.table(("run", *(run.name for run in runs)), _verdict_rows(runs))
    report.heading("Parameters")
    report.figure(
        _z_chart(others, found),
        f"Differences from {first.name} in standard deviations. Differences between the dashed"
        " lines are not significant (all parameters tested together).",
    )
    report.table(
        ("parameter", "unit", *(run.name for run in runs), *(f"z of {r.name}" for r in others)),
        list(_parameter_rows(runs, found)),
        "Values ± standard deviations, and z: difference divided by its standard deviation",
        folded=True,
    )
    report.heading("Settings")
    rows = list(_setting_rows(runs))
    differing = [row for row in rows if len(set(row[1:])) > 1]
    if differing:
        report.table(("setting", *(run.name for run in runs)), differing, "Different settings")
    else:
        report.paragraph("No setting differs.")
    same = [row[:2] for row in rows if row not in differing]
    report.table(("setting", "value"), same, "Settings that agree in all runs", folded=True)
    report.provenance({run.name: run.folder.resolve() for run in runs})
    return report


def comparison_sentence(a: SavedRun, b: SavedRun, found: EstimateDifference) -> str:
    """Return a sentence on the difference of two results."""
    count, many = len(found.differing), len(found.names)
    which = f" ({', '.join(found.differing[:3])}{', …' if count > 3 else ''})" if count else ""
    errors = [run.errors("validation") or run.errors("training") for run in (a, b)]
    common = [name for name in errors[0] if name in errors[1]]
    shown = "".join(
        f"; error of {name} {100 * errors[1][name]:.2f} % instead of {100 * errors[0][name]:.2f} %"
        for name in common[:2]
    )
    return (
        f"{b.name}: {count} of {many} parameters differ significantly from {a.name}{which}{shown}."
    )


def compare_runs(
    folders: Sequence[str | Path], page: str | Path
) -> tuple[list[tuple[str, list[str]]], Path]:
    """Compare the results of several folders with the first one.

    Args:
        folders: Result folders of `sysid identify`; the first is the reference.
        page: Path of the new report.

    Returns:
        Sentence and parameters of each further run, the largest difference first; and the path of
        the report.

    Raises:
        SysIdError: There are fewer than two runs, no result in a folder, or no common parameter.
    """
    found = [SavedRun.read(folder) for folder in folders]
    changes = differences_from_first(found)
    first = found[0]
    lines = [
        (comparison_sentence(first, run, change), _parameter_lines(first, run, change))
        for run, change in zip(found[1:], changes, strict=True)
    ]
    return lines, ReportIndex.add(comparison_report(found, changes), page)


def _parameter_lines(a: SavedRun, b: SavedRun, found: EstimateDifference) -> list[str]:
    """Parameters in the order of their difference z, one per line."""
    tables = [
        {name: (x, s, unit) for name, x, s, unit, _ in run.estimate.measured_part.rows()}
        for run in (a, b)
    ]
    z = found.z
    order = np.argsort(-np.nan_to_num(np.abs(z)), kind="stable")
    width = max(len(name) for name in found.names)
    lines = []
    for k in order:
        name = found.names[k]
        before, after = (with_deviation(*table[name][:2]) for table in tables)
        size = f"{z[k]:+.1f}" if np.isfinite(z[k]) else "–"
        lines.append(f"  {name:{width}}  z {size:>6}  {before} → {after} {tables[0][name][2]}")
    return lines


def _next_steps(
    first: SavedRun, others: Sequence[SavedRun], found: Sequence[EstimateDifference]
) -> Iterator[str]:
    shared = [run.name for run in others if run.recordings & first.recordings]
    if shared:
        yield (
            f"{', '.join(shared)} and {first.name} were fitted to the same recordings and share"
            " their"
            " noise: differences are due to the settings, and z underestimates their significance."
        )
    if any(run.estimate.urdf_hash != first.estimate.urdf_hash for run in others):
        yield "The URDFs differ, and frames may have other poses. Compare results of one URDF."
    for run, d in zip(others, found, strict=True):
        if d.other_meaning:
            yield (
                f"{len(d.other_meaning)} base parameters of {run.name} are other combinations than"
                f" in {first.name} and are not compared. Identify with the same friction terms."
            )
    if any(d.differing for d in found):
        yield "Compare the predictions of another recording by each result (`sysid validate`)."


def _verdict_rows(runs: Sequence[SavedRun]) -> Iterator[list[object]]:
    def row(name: str, values: Sequence[object]) -> list[object]:
        return [name, *values]

    verdicts = [run.result.verdict for run in runs]
    yield row("verdict", [v.outcome for v in verdicts])
    reasons = [[*v.failures, *v.warnings] for v in verdicts]
    if any(reasons):
        yield row("reasons", [" ".join(r) or "–" for r in reasons])
    yield row("method", [run.estimate.method for run in runs])
    yield row("rank", [f"{r.estimate.rank} of {r.estimate.structural_rank}" for r in runs])
    yield row("condition number", [run.estimate.condition_number for run in runs])
    for kind, word in (("validation", "not fitted"), ("training", "fitted")):
        errors = [run.errors(kind) for run in runs]
        for name in dict.fromkeys(name for e in errors for name in e):
            shown = [f"{100 * e[name]:.2f} %" if name in e else "–" for e in errors]
            yield row(f"error of {name} ({word})", shown)


def _parameter_rows(
    runs: Sequence[SavedRun], found: Sequence[EstimateDifference]
) -> Iterator[list[object]]:
    estimates = [run.estimate.measured_part for run in runs]
    tables = [{name: (x, s, unit) for name, x, s, unit, _ in e.rows()} for e in estimates]
    zs = [dict(zip(d.names, d.z.tolist(), strict=True)) for d in found]
    for name in dict.fromkeys(name for table in tables for name in table):
        unit = next(t[name][2] for t in tables if name in t)
        values = [with_deviation(*t[name][:2]) if name in t else "–" for t in tables]
        marks = [f"{z[name]:+.1f}" if np.isfinite(z.get(name, np.nan)) else "–" for z in zs]
        yield [name, unit, *values, *marks]


def _setting_rows(runs: Sequence[SavedRun]) -> Iterator[list[str]]:
    for name in dict.fromkeys(name for run in runs for name in run.settings):
        yield [name, *(run.settings.get(name, "–") for run in runs)]


def _z_chart(others: Sequence[SavedRun], found: Sequence[EstimateDifference]) -> Figure:
    """Chart of the z values of all parameters, with a row of dots for each run."""
    figure = Figure(
        [f"{run.name}: limit ± {d.limit:.1f}" for run, d in zip(others, found, strict=True)]
    )
    for k, d in enumerate(found):
        z = np.clip(d.z, -50, 50)
        beyond = np.abs(np.nan_to_num(z)) > d.limit
        for name, rows, colour in (
            ("not significant", ~beyond, COLOURS[0]),
            ("significant", beyond, COLOURS[1]),
        ):
            if rows.any():
                names = [n for n, here in zip(d.names, rows, strict=True) if here]
                figure.add(k, "dots", names, z[rows], name, colour=colour)
        for limit in (-d.limit, d.limit):
            figure.mark(k, "y", limit)
        figure.axis("x", k, names=list(d.names), hidden=k + 1 < len(found))
    figure.axis("y", title="z")
    return figure


class ReportIndex:
    """Page `index.html` with a list of the reports below a folder."""

    @staticmethod
    def write(folder: str | Path) -> Path:
        """Write `index.html` with a list of all reports below a folder, the newest first.

        Args:
            folder: Folder with reports in it or its subfolders, such as `results`.

        Raises:
            SignalError: There is no report, or `index.html` is not a list of reports.
        """
        folder = Path(folder)
        page = folder / INDEX
        if page.exists() and not is_index(page):
            raise SignalError(
                f"'{page}' is not a list of reports.",
                remedy="Move this file, or give another folder.",
            )
        found = []
        for file in sorted(folder.rglob("*.html")):
            summary = read_summary(file)
            if summary and not summary["title"].startswith(_TITLE):
                found.append((summary, file))
        if not found:
            raise SignalError(
                f"There is no report in '{folder}' or its subfolders.",
                remedy="Give the folder that was given to --out.",
            )
        found.sort(key=lambda pair: pair[0]["when"], reverse=True)
        counts = {level: sum(s["level"] == level for s, _ in found) for level in MARKS}
        report = Report(f"{_TITLE} {folder.absolute().name}")
        report.headline(
            None,
            f"{len(found)} reports: "
            + ", ".join(
                f"{count} {'for information' if level == 'info' else level}"
                for level, count in counts.items()
                if count
            )
            + ".",
        )
        report.table(
            ("", "report", "answer", "written"),
            [
                (
                    MARKS.get(summary["level"], ""),
                    (summary["title"], quote(Path(os.path.relpath(file, folder)).as_posix())),
                    summary["sentence"],
                    summary["when"],
                )
                for summary, file in found
            ],
        )
        return report.save(page)

    @staticmethod
    def add(report: Report, path: str | Path) -> Path:
        """Save a report, and add it to the `index.html` of its folder.

        The list is written only if the folder contains one already, or is called `results`.
        """
        written = report.save(path)
        for folder in written.absolute().parents[:2]:
            if folder.name == "results" or is_index(folder / INDEX):
                # The report is there; a list that can't be written is no reason to fail.
                with suppress(OSError, SignalError):
                    ReportIndex.write(folder)
                break
        return written


def read_summary(file: Path) -> dict[str, str] | None:
    """Return the title, time, verdict and headline of a report; None for other pages."""
    try:
        with _PAGE.open(file) as stream:
            match = _SUMMARY.search(stream.read(_HEAD).decode("utf-8", errors="replace"))
        summary = json.loads(unescape(match[1])) if match else None
    except (OSError, SysIdError, ValueError):
        return None
    if not isinstance(summary, dict):
        return None
    return {key: str(summary.get(key, "")) for key in ("title", "when", "level", "sentence")}


def is_index(file: Path) -> bool:
    """Return True if a page is a list of reports."""
    summary = read_summary(file) if file.is_file() else None
    return summary is not None and summary["title"].startswith(_TITLE)
