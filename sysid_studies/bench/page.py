# SPDX-License-Identifier: Apache-2.0
"""Table and report of the benchmark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from sysid_core.reasons import Outcome
from sysid_core.report import Figure, Report
from sysid_studies.bench.measure import AS_EXPORTED, METHODS, METRICS
from sysid_studies.bench.recipe import Recipe

GOAL = 0.05  # median held-out error
COLUMNS = (
    "recording",
    "error in motion %",
    "with reaction %",
    "whole %",
    "below 8 Hz %",
    "above 8 Hz %",
    "fitted %",
    *(f"as {target} %" for target in AS_EXPORTED),
    "coverage %",
    "sd / error",
    "possible bodies",
    "verdict",
    "s",
    *(f"{name} %" for name in METHODS if name != "default"),
    "the best",
)
_SHOWN = (
    "moving",
    "in_loop",
    "whole",
    "band",
    "above",
    "fitted",
    *(f"as_{t}" for t in AS_EXPORTED),
)
_EQUAL = 1.005  # errors that differ by less are the same

Table = dict[str, dict[str, dict[str, Any]]]  # recipe: method: metric or "outcome", "reason"


def table_of(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the values of the benchmark by recipe, method and metric, and the outcome of each
    method.
    """
    table: Table = {}
    for row in rows:
        method, _, metric = str(row["parameter"]).partition(".")
        here = table.setdefault(row["recording"], {}).setdefault(method, {})
        if row["value"] is not None:
            here[metric] = row["value"]
        here["outcome"], here["reason"] = row["outcome"] or "", row["reason"] or ""
    return table


def summary_rows(
    rows: Sequence[Mapping[str, Any]], recipes: Sequence[Recipe], absent: Mapping[str, str]
) -> list[list[str]]:
    """Return the rows of the benchmark table, with cells as text in the order of `COLUMNS`.

    Args:
        rows: Rows of the dataset.
        recipes: Recipes in the order of the table.
        absent: Reason why a recipe was omitted, by its name.
    """
    table = table_of(rows)
    out = []
    for recipe in recipes:
        found = table.get(recipe.name, {})
        own = found.get("default", {})
        if not found or "moving" not in own:
            why = absent.get(recipe.name) or next(
                (m["reason"] for m in found.values() if m.get("reason")), "no result"
            )
            out.append([recipe.name, *[""] * (len(COLUMNS) - 2), why])
            continue
        errors = [_percent(found.get(name, {}).get("moving")) for name in METHODS]
        cells = [_percent(own.get(key)) for key in _SHOWN]
        out.append(
            [
                recipe.name,
                *cells,
                _percent(own.get("coverage"), 0),
                f"{own['width']:.1f}" if _is_known(own.get("width")) else "–",
                {1.0: "yes", 0.0: "no"}.get(own.get("consistent", math.nan), "–"),
                own["outcome"] or "–",
                f"{own['seconds']:.1f}",
                *errors[1:],
                best(found),
            ]
        )
    return out


def best(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the name of the method with the smallest error during motion."""
    errors = {name: m["moving"] for name, m in found.items() if _is_known(m.get("moving"))}
    if not errors:
        return "–"
    name = min(errors, key=lambda n: errors[n])
    own = errors.get("default", math.inf)
    return "default" if own <= _EQUAL * errors[name] else name


def standing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the median errors over the robots compared with the goal, and all recordings on which
    the default settings are not the best.
    """
    table = table_of(rows)
    own = _measured(table)
    if not own:
        return ["Nothing was measured."]
    if not (arms := _arms(table)):
        return [f"No robot was measured, only {', '.join(own)}."]
    middles = [
        f"{100 * median(values):.2f} % {words}"
        for metric, words in (
            ("moving", "in motion, raw"),
            ("whole", "whole"),
            ("band", "below 8 Hz"),
        )
        if (values := [arm[metric] for arm in arms if _is_known(arm.get(metric))])
    ]
    lines = [
        f"Median held-out error of the defaults over {len(arms)} robots:"
        f" {', '.join(middles)} (goal: {100 * GOAL:.0f} %)."
    ]
    for name, error in own.items():
        first = best(table[name])
        if first != "default":
            other = table[name][first]["moving"]
            lines.append(
                f"{name}: the defaults are not the best: {100 * error:.2f} % against"
                f" {100 * other:.2f} % by {METHODS[first]}."
            )
    return lines


def outcome_of(rows: Sequence[Mapping[str, Any]]) -> Outcome:
    """Warn if the default settings are not the best on some robot; not judged without robots."""
    if not _arms(table_of(rows)):
        return Outcome.NOT_JUDGED
    return Outcome.WARN if len(standing(rows)) > 1 else Outcome.PASS


def _arms(table: Table) -> list[dict[str, Any]]:
    """Results of the default settings on robots (not sensors)."""
    return [found["default"] for found in table.values() if "band" in found.get("default", {})]


def _measured(table: Table) -> dict[str, float]:
    """Error of the default settings during motion, by recording."""
    return {
        name: found["default"]["moving"]
        for name, found in table.items()
        if _is_known(found.get("default", {}).get("moving"))
    }


def bench_report(
    rows: Sequence[Mapping[str, Any]], recipes: Sequence[Recipe], absent: Mapping[str, str]
) -> Report:
    """Return a report of the benchmark: table, chart, conclusions, and the source of each
    recording.
    """
    report = Report("Benchmark", "real robots, one set of defaults, split frozen by hash")
    lines = standing(rows)
    report.headline(
        outcome_of(rows),
        lines[0],
        next_steps=lines[1:],
        asked="How accurate are the defaults?",
    )
    report.table(
        COLUMNS,
        # The reason stands with the recording below: a cell of words would squeeze the numbers.
        [
            row if any(row[1:-1]) else [*row[:-1], "not run"]
            for row in summary_rows(rows, recipes, absent)
        ],
        "Held-out relative error of raw efforts; no setting was chosen on these recordings",
    )
    report.bullets([f"{name}: {what}" for name, what in METHODS.items()])
    report.bullets([f"{name}: {what}" for name, what in METRICS.items()])
    table = table_of(rows)
    names = [r.name for r in recipes if r.name in table]
    figure = Figure(height=380)
    for k, (method, what) in enumerate(METHODS.items()):
        values = [table[name].get(method, {}).get("moving", math.nan) for name in names]
        shown = [100 * v for v in values]
        figure.add(0, "bars", names, shown, what, colour=Figure.COLOURS[k % len(Figure.COLOURS)])
    figure.axis("y", title="held-out error [%]")
    report.figure(figure, "Held-out error in motion, raw")
    for recipe in recipes:
        report.heading(recipe.title, 3)
        report.bullets(
            [
                f"{recipe.source.repository}, commit {recipe.source.commit[:12]}; licence:"
                f" {recipe.source.licence}",
                f"Efforts: {recipe.efforts}",
                *([recipe.note] if recipe.note else []),
                *(f"Published, {p.method}: {_published(p)} ({p.source})" for p in recipe.published),
                *(
                    f"{METHODS.get(m, m)}: {values['outcome']}: {values['reason']}"
                    for m, values in table.get(recipe.name, {}).items()
                    if values["reason"]
                ),
                *([absent[recipe.name]] if recipe.name in absent else []),
            ]
        )
    return report


def _published(published: Any) -> str:
    parts = [] if published.error is None else [f"{100 * published.error:.2f} %"]
    return ", ".join([*parts, *([published.says] if published.says else [])])


def _percent(value: object, digits: int = 2) -> str:
    return f"{100 * float(value):.{digits}f}" if _is_known(value) else "–"  # type: ignore[arg-type]


def _is_known(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)
