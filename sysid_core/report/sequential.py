# SPDX-License-Identifier: Apache-2.0
"""Report of a sequential identification, with its steps and the growth of the error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.estimation.sequential import SequentialIdentification
from sysid_core.export import ExportedError
from sysid_core.reasons import Verdict
from sysid_core.report.charts import COLOURS, GREY, Figure
from sysid_core.report.html import Report, with_deviation
from sysid_core.report.identification import identification_report
from sysid_core.validation import Prediction


def error_growth_figure(result: SequentialIdentification) -> Figure:
    """Return a chart of the standard deviation of every constant, by the step that contributes the
    noise.

    Upper chart: standard deviations in units of the constant's natural scale, for this sequential
    estimate and for an estimate from all rows at once. Lower chart: shares of the variance. The
    constants are in the order in which the recursion estimates them, from the last joint to the
    first.
    """
    fit = result.fit
    steps = [step.name for step in fit.solution.steps]
    place = {name: i for i, name in enumerate(steps)}  # coupled axes come last
    order = sorted(
        range(len(fit.constants)), key=lambda k: (place.get(fit.joints[k], len(steps)), k)
    )
    scale = np.sqrt(np.diag(fit.prior_covariance))
    names = [fit.constants[k] for k in order]
    titles = [
        "standard deviation / natural scale",
        "share of the variance due to each joint's noise",
    ]
    figure = Figure(titles, height=325)
    for label, sd, symbol in (
        ("simultaneous fit", fit.at_once_sd, "circle-open"),
        ("sequential fit", fit.standard_deviations, "diamond"),
    ):
        figure.add(0, "dots", names, (sd / scale)[order], label, symbol=symbol, colour=COLOURS[0])
    shares = np.asarray(fit.inherited_shares())[:, order]
    labels = [*(f"noise of {name}" for name in steps), "not excited (URDF value)"]
    colours = [*(COLOURS[i % len(COLOURS)] for i in range(len(steps))), GREY]
    for label, share, colour in zip(
        labels, [*shares, 1.0 - shares.sum(axis=0)], colours, strict=True
    ):
        figure.add(1, "bars", names, share, label, colour=colour, stacked=True)
    figure.axis("x", 0, hidden=True, names=names)
    figure.axis("y", 0, log=True)
    return figure


STEP_COLUMNS = (
    "joint",
    "samples",
    "estimated",
    "postponed",
    "condition number",
    "residual RMS",
    "variance from other steps",
    "sd / sd of the simultaneous fit",
)


def sequential_report(
    verdict: Verdict,
    result: SequentialIdentification,
    validation: Sequence[Prediction],
    *,
    asked: str,
    exported: Sequence[tuple[ExportedError, str]] = (),
) -> Report:
    """Return a report of a sequential identification with its data, verdict and uncertainty.

    Args:
        verdict: Verdict on the identification.
        result: Result of the sequential identification.
        validation: Predictions of other recordings.
        asked: Robot and recordings, in words.
        exported: Errors of exported files, with the names of their formats.
    """
    report = identification_report(
        verdict, result.identification, [], validation, asked=asked, exported=exported
    )
    add_sequential_parts(report, result)
    report.heading("Segments used", folded=True)
    report.table(
        ["segment", "from [s]", "to [s]"],
        [[s.label, s.start, s.end] for s in result.segments],
    )
    return report


def add_sequential_parts(report: Report, result: SequentialIdentification) -> None:
    """Add the sections on steps, growth of the error and constants."""
    fit = result.fit
    report.heading("Steps, from the last joint to the first")
    report.table(
        STEP_COLUMNS,
        [list(row.values()) for row in fit.step_rows()],
        "Each step treats the constants of earlier steps as known. Residuals are computed while the"
        " joint moves, because friction at standstill is undetermined. The last two columns are"
        " medians over the constants of the joint; the last compares with one fit of all samples.",
    )
    report.figure(
        error_growth_figure(result),
        "Growth of the error from joint to joint. Horizontal axis: minimal constants (base parameters) in the order in which they are estimated.",
    )
    report.heading("Minimal constants (base parameters) and friction", folded=True)
    report.table(
        ["constant", "joint", "value ± standard deviation", "sd, simultaneous fit", "unit"],
        [
            [name, joint, with_deviation(float(x), float(s)), f"{t:.2g}", unit]
            for name, joint, x, s, t, unit in zip(
                fit.constants,
                fit.joints,
                fit.values,
                fit.standard_deviations,
                fit.at_once_sd,
                fit.units,
                strict=True,
            )
        ],
    )
