# SPDX-License-Identifier: Apache-2.0
"""Report that compares the results of several runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.estimation import EstimateDifference, difference, measured_part
from sysid_core.report.charts import COLOURS, Figure
from sysid_core.report.html import Report, with_deviation
from sysid_core.report.runs.saved import SavedRun


def differences_from_first(runs: Sequence[SavedRun]) -> list[EstimateDifference]:
    """Difference of each further run from the first.

    Raises:
        SignalError: Fewer than two runs.
        EstimationError: Runs without a common parameter.
    """
    if len(runs) < 2:
        raise SignalError("Only one run is given.", remedy="Name two folders or more.")
    return [difference(runs[0].estimate, run.estimate) for run in runs[1:]]


def comparison_report(runs: Sequence[SavedRun], found: Sequence[EstimateDifference]) -> Report:
    """Report that compares parameters, errors, verdicts and settings of several runs with the first
    run.

    Args:
        runs: Results; the first is what the others are compared with.
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
        f"Differences from {first.name} in standard deviations. Differences between the dashed lines are"
        " not significant (all parameters tested together).",
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
    """Sentence on the difference of two runs."""
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


def _next_steps(
    first: SavedRun, others: Sequence[SavedRun], found: Sequence[EstimateDifference]
) -> Iterator[str]:
    shared = [run.name for run in others if run.recordings & first.recordings]
    if shared:
        yield (
            f"{', '.join(shared)} and {first.name} were fitted to the same recordings and share their"
            " noise: differences are due to the settings, and z underestimates their significance."
        )
    if any(run.estimate.urdf_hash != first.estimate.urdf_hash for run in others):
        yield "The URDFs differ, and frames may have other poses. Compare results of one URDF."
    for run, d in zip(others, found, strict=True):
        if d.other_meaning:
            yield (
                f"{len(d.other_meaning)} base parameters of {run.name} are other combinations than in"
                f" {first.name} and are not compared. Identify with the same friction terms."
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
    estimates = [measured_part(run.estimate) for run in runs]
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
    """z of every parameter, a row of dots for each run."""
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
