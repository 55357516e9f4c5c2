# SPDX-License-Identifier: Apache-2.0
"""Report of a payload identification: data, results, uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.controller_payload import ControllerSetting
from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import (
    CompressedWrenches,
    PayloadData,
    PayloadSummary,
    PointMassDiscretization,
)
from sysid_core.reasons import TEXTS, Verdict
from sysid_core.report.charts import Figure, strong_correlations
from sysid_core.report.html import Report, names_of, with_deviation
from sysid_core.report.payload_charts import (
    error_charts,
    object_scene,
    signal_charts,
    wrench_chart,
)
from sysid_core.robot.shapes import Shape
from sysid_core.signals import JointStream, Recording

if TYPE_CHECKING:
    from sysid_core.estimation.loaded_arm import LoadedArm


def _sentence(estimate: Estimate, verdict: Verdict | None = None) -> str:
    """Return a sentence with mass and centre of mass and their standard deviations, and with the
    first cause if the verdict is a failure.
    """
    if verdict is not None and verdict.failures:
        cause = TEXTS[verdict.failures[0].code].title
        return f"Not usable ({cause[0].lower()}{cause[1:]}): {_sentence(estimate)}"
    if not estimate.values[0] > 0:
        return (
            f"No payload: {with_deviation(estimate.values[0], estimate.standard_deviations[0])} kg."
        )
    payload = PayloadSummary.of(estimate)
    com = ", ".join(
        with_deviation(1e3 * x, 1e3 * sd) for x, sd in zip(payload.com, payload.com_sd, strict=True)
    )
    return f"{with_deviation(payload.mass, payload.mass_sd)} kg, centre of mass ({com}) mm."


def _steps(verdict: Verdict) -> list[str]:
    """Return the recommended actions after weighing: what the warnings ask for comes first."""
    if not verdict.ok:
        return [
            *dict.fromkeys(reason.remedy for reason in verdict.failures if reason.remedy),
            "Do not send this result to the controller. Weigh again.",
        ]
    return [
        *dict.fromkeys(reason.remedy for reason in verdict.warnings if reason.remedy),
        "Send it to the controller: the line for each vendor is below (For your controller).",
    ]


def add_headline(report: Report, estimate: Estimate, verdict: Verdict, asked: str) -> None:
    """Add the headline: mass and centre of mass, verdict, and recommended actions."""
    sentence = _sentence(estimate, verdict)
    report.judged(verdict, sentence, asked=asked, next_steps=_steps(verdict))


def _matched(row: Sequence[object]) -> str:
    """Value and deviation of a row of `PayloadSummary.compared`."""
    value, sd = row[2:4]
    assert isinstance(value, float) and isinstance(sd, float)
    return with_deviation(value, sd)


def _in_mm(row: Sequence[object]) -> list[object]:
    """A row of `PayloadSummary.compared` with lengths in mm."""
    if row[1] != "m":
        return list(row)
    return [row[0], "mm", *(1e3 * x if isinstance(x, float) else x for x in row[2:])]


def payload_report(
    report: Report,
    verdict: Verdict,
    *,
    estimate: Estimate,
    data: PayloadData,
    shape: Shape | None,
    recording: Recording | None = None,
    smoothed: JointStream | None = None,
    truth: ArrayLike | None = None,
    others: Sequence[Estimate] = (),
    settings: Sequence[ControllerSetting] = (),
    controller_frame: str = "",
) -> None:
    """Add the sections of a payload result to a report.

    Args:
        report: Report to which the sections are added.
        verdict: Verdict on the estimate.
        estimate: Estimate of the payload.
        data: Data of the estimate.
        shape: Shape of the object, in the sensor frame; None: unknown.
        recording: Raw streams of the recording; None: no charts of them.
        smoothed: Smoothed joint states of the estimate; None: none.
        truth: True parameters pi, shape (10,); None: unknown.
        others: Estimates by other methods from the same data.
        settings: Payload settings for vendors' controllers.
        controller_frame: Name of the frame of the controller settings.
    """
    asked = f"payload of the robot, in the sensor frame ({estimate.method})"
    add_headline(report, estimate, verdict, asked)
    payload_numbers(report, estimate, truth)
    controller_block(report, settings, controller_frame)
    if others:
        _other_methods(report, estimate, others, shape, truth)
    report.heading("Wrench, measured against predicted")
    report.figure(
        wrench_chart(data, estimate.values[:10]),
        "The bias and the tool are subtracted from the measured wrench. Without a tare, the bias is"
        " estimated from the same recording.",
    )
    report.heading("Errors of the fit", folded=True)
    for chart, caption in error_charts(data, estimate):
        report.figure(chart, caption)
    if pairs := strong_correlations(estimate.names, estimate.covariance):
        report.paragraph("Parameter pairs with the strongest correlation (0.9 and more):")
        report.bullets(pairs)
    if shape is not None:
        pmd = PointMassDiscretization(shape)
        masses = pmd.masses(CompressedWrenches.from_data(data, pmd.dynamism_scale))
        report.heading("Point masses inside the shape")
        report.figure(
            object_scene(shape, masses, estimate),
            "Balls: estimated point masses, with a volume in proportion to the mass. Diamond:"
            " centre of mass. Ellipsoid: region of two standard deviations of the centre of mass.",
        )
    if recording is not None and smoothed is not None:
        report.heading("Signals", folded=True)
        trajectory, rates, wrench = signal_charts(recording, smoothed)
        report.figure(trajectory, "Measured joint positions.")
        report.figure(rates, "Velocity of the last joint before and after smoothing.")
        report.figure(wrench, "Measured wrench, including the sensor bias.")
        report.bullets(recording.notes)


def controller_block(report: Report, settings: Sequence[ControllerSetting], frame: str) -> None:
    """Add the payload as calls for each vendor's controller, to be copied; nothing without
    settings.

    Args:
        report: Report to which the sections are added.
        settings: Payload settings for vendors' controllers.
        frame: Name of the frame of the controller settings.
    """
    if not settings:
        return
    report.heading("For your controller")
    report.paragraph(
        f"Copy the lines for your controller. Values refer to the frame '{frame}'. Add the mass and"
        " inertia of parts that are mounted between the flange and this frame."
    )
    for s in settings:
        report.preformatted(
            f"# {s.vendor}: {s.error_torque:.1g} ± {s.torque_sd:.1g} N m stay uncompensated, by rounding ±"
            f" uncertainty\n{s.text}"
        )


def payload_numbers(
    report: Report, estimate: Estimate, truth: ArrayLike | None = None, *, frame: str = ""
) -> None:
    """Add tables of the values, the standard deviations and the quality of the data.

    Args:
        report: Report to which the sections are added.
        estimate: Estimate of a payload.
        truth: True parameters pi, shape (10,); None: unknown.
        frame: Name of the frame of the parameters; empty: the sensor frame.
    """
    report.heading(
        f"The payload in the frame '{frame}'" if frame else "The payload in the sensor frame"
    )
    columns = ("quantity", "unit", "estimate ± sd", "truth", "error", "verdict")
    kept = [i for i in range(len(columns)) if truth is not None or i not in (3, 4)]
    report.table(
        [columns[i] for i in kept],
        [
            [[*row[:2], _matched(row), *row[4:]][i] for i in kept]
            for row in map(_in_mm, PayloadSummary.compared(estimate, truth))
        ],
        "Inertia about the centre of mass, in the axes of the frame. Prior-dominated: the prior"
        " (the shape, or the usual size) determines the value more than the data do.",
    )
    report.table(
        ("", ""),
        (
            ("method", estimate.method),
            ("samples", estimate.n_samples),
            ("rank of the data", f"{estimate.rank} of {estimate.structural_rank}"),
            ("condition number (scaled columns)", estimate.condition_number),
            ("physically consistent", bool(estimate.physically_consistent)),
            *(
                (f"residual RMS, {k} [{'N' if k == 'force' else 'N m'}]", v)
                for k, v in estimate.residual_rms.items()
            ),
        ),
        "Quality of the data",
        folded=True,
    )
    report.bullets([*estimate.notes, *(reason.advice for reason in estimate.certify())])


def _other_methods(
    report: Report,
    estimate: Estimate,
    others: Sequence[Estimate],
    shape: Shape | None,
    truth: ArrayLike | None,
) -> None:
    """Add a table with the results of other methods on the same data."""
    report.heading("All methods on the same data", folded=True)
    report.paragraph(
        "MAP uses the whole recording, smoothed in both directions, and models errors of the sensor"
        " (gains, crosstalk, delay). MAP (running) is the estimate of the node, updated with every"
        " sample; it differs from MAP by less than one standard deviation. The other methods assume"
        " an ideal sensor: with a real one, their standard deviations are too small."
    )
    measures = () if truth is None else ("mass", "com", "inertia")
    size = PayloadSummary.of(estimate).box_lengths if shape is None else shape.size
    rows = []
    for other in (estimate, *others):
        p = PayloadSummary.of(other) if other.values[0] > 0 else None
        errors = (
            PayloadSummary.errors_percent(other.values, truth, size)
            if p and truth is not None
            else {}
        )
        rows.append(
            [
                other.method,
                None if p is None else p.mass,
                *([None] * 3 if p is None else ((1e3 * p.com).round(9) + 0.0).tolist()),
                bool(other.physically_consistent),
                *(errors.get(name) for name in measures),
            ]
        )
    report.table(
        (
            "method",
            "mass [kg]",
            "com x [mm]",
            "com y [mm]",
            "com z [mm]",
            "consistent",
            *(f"{name} error [%]" for name in measures),
        ),
        rows,
        "Relative errors as defined by Nadeau et al. 2022 (eq. 10–12)." if measures else "",
    )


def loaded_arm_report(
    fit: LoadedArm,
    verdict: Verdict,
    *,
    frame: str,
    gains: Sequence[float],
    gain_sd: float,
    true_mass: float | None = None,
    settings: Sequence[ControllerSetting] = (),
) -> Report:
    """Return a report of a payload estimated from joint torques: verdict, standard deviations, and
    the torques that the payload explains.

    Args:
        fit: Estimate with the torques of the payload.
        verdict: Verdict on the estimate.
        frame: Name of the frame that carries the payload.
        gains: Gain of each drive [N m/A, or 1].
        gain_sd: Relative standard deviation of the gains [-].
        true_mass: True mass for comparison [kg]; None: unknown.
        settings: Payload settings for vendors' controllers.
    """
    estimate = fit.estimate
    report = Report(f"Payload of {estimate.robot} from joint torques", names_of(estimate.source))
    asked = f"mass, centre of mass and inertia of the payload at '{frame}'"
    add_headline(report, estimate, verdict, asked)
    report.provenance({"data": estimate.source})
    if true_mass is not None:
        off = estimate.values[0] - true_mass
        report.paragraph(
            f"Error of the mass: {off:+.3f} kg, {100 * off / true_mass:+.1f} % from the true"
            f" {true_mass:g} kg ({off / estimate.standard_deviations[0]:+.1f} standard deviations)."
        )
    if estimate.values[0] > 0:
        payload_numbers(report, estimate, frame=frame)
    else:
        report.bullets(estimate.notes)
    controller_block(report, settings, frame)
    report.heading("Torques due to the payload")
    report.paragraph(
        "Measured torque minus the torque of the unloaded arm for the same motion, and the"
        " predicted torque of the estimated payload."
    )
    for k, extra in enumerate(fit.extra):
        pairs = zip(extra.measured.T, extra.predicted.T, strict=True)
        series = {
            name: {"measured": measured, "predicted": predicted}
            for name, (measured, predicted) in zip(fit.joint_names, pairs, strict=True)
        }
        figure = Figure.time_series(extra.time, series, ylabel="torque [N m]")
        report.figure(figure, f"Loaded recording {k + 1}")
    report.table(
        ["joint", "gain", "payload torque RMS [N m]"],
        [
            [name, float(gain), float(rms)]
            for name, gain, rms in zip(
                fit.joint_names,
                gains,
                np.sqrt(np.mean(np.concatenate([e.predicted for e in fit.extra]) ** 2, axis=0)),
                strict=True,
            )
        ],
        f"Standard deviation of each gain: {100 * gain_sd:.3g} %, half of its variance common to all drives",
    )
    return report
