# SPDX-License-Identifier: Apache-2.0
"""Report of a whole-arm identification: measured and predicted torques, and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.estimation.arm import Identification, TorqueDelay
from sysid_core.estimation.arm_fit import ArmFit
from sysid_core.estimation.loaded_arm import KnownLoad, LoadedIdentification
from sysid_core.estimation.payload import PayloadSummary
from sysid_core.export import ExportedError
from sysid_core.reasons import Verdict
from sysid_core.report.arm_charts import (
    NOMINAL,
    combination_of,
    convergence_chart,
    export_section,
    nominal_value,
    parameter_chart,
    prediction_chart,
    residual_chart,
    robot_scene,
    terms_of,
)
from sysid_core.report.charts import correlation_map, strong_correlations
from sysid_core.report.html import Report, names_of, with_deviation
from sysid_core.robot import FrictionTerm, is_physically_consistent
from sysid_core.validation import Prediction


def _prediction_table(report: Report, predictions: Sequence[Prediction]) -> None:
    """Add a table with RMS and R² of every joint and the relative error, for each recording."""
    for prediction in predictions:
        motion, whole = prediction.joints(), prediction.joints(whole=True)
        bands = prediction.bands()
        if not prediction.motion.any():  # R² of a constant says nothing
            report.table(
                ["joint", f"RMS [{prediction.unit}]"],
                [[n, whole[n]["rms"]] for n in prediction.joint_names],
                f"{Path(prediction.source).name}: the robot is at rest in the whole recording; relative error"
                f" {100 * prediction.relative_error(whole=True):.2f} %, against the raw efforts."
                " Friction at rest is undetermined",
                folded=True,
            )
            continue
        beside = None if prediction.nominal is None else prediction.beside()
        nominal = beside.joints() if beside else {}
        rows = [
            [
                *(n, motion[n]["rms"], motion[n]["r2"]),
                *((nominal[n]["rms"], nominal[n]["r2"]) if nominal else ()),
                *(joints[n]["r2"] for joints in bands.values()),
                *(whole[n]["rms"], whole[n]["r2"]),
            ]
            for n in prediction.joint_names
        ]
        report.table(
            [
                "joint",
                f"RMS [{prediction.unit}]",
                "R²",
                *((f"{NOMINAL}: RMS [{prediction.unit}]", "R²") if nominal else ()),
                *(f"R² below {hz:.4g} Hz" for hz in bands),
                f"RMS, whole run [{prediction.unit}]",
                "R², whole run",
            ],
            rows,
            f"{Path(prediction.source).name}: relative error"
            f" {100 * prediction.relative_error():.2f} % in motion"
            + (f" ({NOMINAL}: {100 * beside.relative_error():.2f} %)" if beside else "")
            + f", {100 * prediction.relative_error(whole=True):.2f} % over the whole run"
            " (standstill and impacts included), against the raw, unfiltered efforts",
            folded=True,
        )


def _sentence(predictions: Sequence[Prediction], *, held_out: bool = True) -> str:
    """Return a sentence on the error of the predicted efforts, compared with that of the URDF's
    inertial parameters.

    Args:
        predictions: Predictions by which the model is judged.
        held_out: True if these recordings were not used in the fit.
    """
    if not predictions:
        return ""
    parts = []
    for p in predictions:
        beside = ""
        if p.nominal is not None:
            beside = f" (masses of the URDF with the same friction: {100 * p.beside().relative_error():.2f} %)"
        if p.reaction is not None:
            beside += (
                f" (with the reaction of the controllers to velocity noise:"
                f" {100 * p.in_loop().relative_error():.2f} %)"
            )
        parts.append(f"{100 * p.relative_error():.2f} % RMS in {Path(p.source).stem}{beside}")
    which = "motions not used in the fit" if held_out else "the fitted motions"
    return f"Error of the predicted joint efforts on {which}: {', '.join(parts)}."


SHOWN = 4  # recordings that are drawn, so that the page stays small


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def identification_report(
    verdict: Verdict,
    identification: Identification,
    training: Sequence[Prediction],
    validation: Sequence[Prediction],
    fit: ArmFit | None = None,
    *,
    asked: str,
    exported: Sequence[tuple[ExportedError, str]] = (),
) -> Report:
    """Return a report of an identification with its data and uncertainty.

    Args:
        verdict: Verdict on the identification.
        identification: The identified robot.
        training: Predictions of the fitted recordings.
        validation: Predictions of other recordings.
        fit: Chosen settings, if all joints were fitted at once; None otherwise.
        asked: Robot and recordings, in words.
        exported: Errors of exported files, with the names of their formats.
    """
    estimate = identification.estimate
    report = Report(
        f"Identification of {estimate.robot}",
        f"method {estimate.method}, {estimate.n_samples} samples of {names_of(estimate.source)}",
    )
    consistent = _capitalised(identification.consistency)
    unseen = bool(validation)
    report.judged(
        verdict,
        _sentence(validation or training, held_out=unseen),
        asked=f"{asked}, method: {estimate.method}",
        next_steps=_next_steps(identification, verdict, unseen, exported),
    )
    report.heading(
        "Prediction of motions that were not fitted"
        if unseen
        else "Prediction of the fitted motions"
    )
    _predictions(report, validation or training)
    _parameter_parts(report, identification)
    report.heading("Checks of the estimate", folded=True)
    report.bullets(
        [
            consistent,
            f"Rank {estimate.rank}; an ideal motion reaches {estimate.structural_rank}."
            f" Condition number {estimate.condition_number:.0f}.",
            *(reason.advice for reason in estimate.certify()),
            *estimate.notes,
        ]
    )
    if fit is not None:
        _delay(report, fit.lags.common, corrected=bool(identification.processing.delay))
    _reaction(report, identification, validation or training)
    _correlations(report, estimate)
    if unseen and training:
        report.heading("Fitted recordings", folded=True)
        _predictions(report, training)
    _residuals(report, (validation or training)[:SHOWN])
    if fit is not None and fit.benefits:
        _benefit_table(report, identification, fit.benefits)
    if fit is not None and fit.loaded is not None and fit.load is not None:
        _load_section(report, fit.loaded, fit.load)
    export_section(report, exported)
    return report


def validation_report(
    verdict: Verdict, identification: Identification, predictions: Sequence[Prediction], name: str
) -> Report:
    """Return a report of the predictions of other recordings by an identified robot.

    Args:
        verdict: Verdict on the predictions.
        identification: The identified robot.
        predictions: Predictions, one per recording.
        name: Name of the identification.
    """
    report = Report(
        f"Validation of {identification.model.name}",
        f"identified by {identification.estimate.method} ({name})",
    )
    report.judged(verdict, _sentence(predictions))
    _prediction_table(report, predictions)
    for prediction in predictions:
        report.figure(prediction_chart(prediction), Path(prediction.source).name)
    report.provenance({"recordings": ", ".join(p.source for p in predictions)})
    return report


def _delay(report: Report, delay: TorqueDelay, *, corrected: bool) -> None:
    """Add the delay of the efforts, and whether it was corrected."""
    if not delay.shows:
        report.paragraph(
            "The delay of the efforts relative to the positions cannot be estimated from this"
            " motion."
        )
        return
    report.paragraph(
        f"Delay of the efforts relative to the positions: {1e3 * delay.seconds:.2f} ±"
        f" {1e3 * delay.sd:.2f} ms; {'corrected' if corrected else 'not corrected'}."
    )


def _reaction(
    report: Report, identification: Identification, predictions: Sequence[Prediction]
) -> None:
    """Add a table of the controllers' reaction to velocity noise, if one was found."""
    feedback = identification.feedback
    if feedback is None:
        return
    report.table(
        ["joint", f"velocity gain [{predictions[0].unit} s/rad]"],
        [list(x) for x in zip(identification.model.joint_names, feedback.gains, strict=True)],
        "Reaction of the controllers to the noise of the"
        f" {'measured' if feedback.measured else 'differentiated'} velocities, with a lag of"
        f" {feedback.lag} samples. The reaction is no part of the robot's torques: along a smooth"
        " motion it is 0",
        folded=True,
    )


def _residuals(report: Report, predictions: Sequence[Prediction]) -> None:
    """Add the spectra of the residuals."""
    drawn = [(p, residual_chart(p)) for p in predictions]
    if any(chart is not None for _, chart in drawn):
        report.heading("Residuals by frequency", folded=True)
    for prediction, chart in drawn:
        if chart is not None:
            report.figure(
                chart,
                f"{Path(prediction.source).name}: amplitude density of the residual. Peaks are due to"
                " torque ripple of gears and motors, and a rise towards low frequencies to model errors;"
                " the spectrum of noise is flat.",
            )


def _predictions(report: Report, predictions: Sequence[Prediction]) -> None:
    """Add charts of the efforts of each run over time with their errors; the first run is unfolded,
    and only some of the runs get charts.
    """
    for k, prediction in enumerate(predictions[:SHOWN]):
        report.figure(
            prediction_chart(prediction),
            f"{Path(prediction.source).name}: measured and predicted effort of every joint. Efforts"
            " are predicted from the motion alone. The error is computed over the shaded intervals.",
            folded=k > 0,
        )
    if len(predictions) > SHOWN:
        report.paragraph(
            f"{len(predictions) - SHOWN} more recordings are shown in the tables only."
        )
    _prediction_table(report, predictions)


def _benefit_table(
    report: Report, identification: Identification, benefits: Mapping[str, Mapping[str, float]]
) -> None:
    report.heading("Contribution of each friction term", folded=True)
    joints = identification.model.joint_names
    report.table(
        ["removed term", "all joints", *joints],
        [
            [term, *(f"{100 * rises[key]:+.1f} %" for key in ("all", *joints))]
            for term, rises in benefits.items()
        ],
        "Increase of the cross-validation error when the term is removed; positive: the term helps",
    )


def _value_table(
    report: Report, identification: Identification, estimate: Estimate, caption: str
) -> None:
    """Add a table of the estimates and the URDF's values, with every combination written out."""
    terms = [terms_of(estimate, name) for name in estimate.names]
    report.table(
        ["parameter", "value ± standard deviation", "URDF", "unit", "verdict"],
        [
            [
                combination_of(of),
                with_deviation(float(x), float(s)),
                beside if np.isfinite(beside := nominal_value(identification, of)) else None,
                unit,
                verdict.value,
            ]
            for of, x, s, unit, verdict in zip(
                terms,
                estimate.values,
                estimate.standard_deviations,
                estimate.units,
                estimate.verdicts,
                strict=True,
            )
        ],
        caption,
        folded=True,
    )


def _parameter_parts(report: Report, identification: Identification) -> None:
    estimate, measured = identification.estimate, identification.estimate.measured
    report.heading("Friction and drives")
    if (chart := parameter_chart(identification, estimate, inertial=False)) is not None:
        report.figure(
            chart,
            "Friction and drive parameters with bars of ± 2 standard deviations. Hollow marks: the data do"
            " not determine the value, or only in combination with the inertia of links, or only with a"
            " standard deviation larger than the band. Band: values that were plausible before the measurement. At the"
            " end of the band, the parameter alone would explain the torque of the joint.",
        )
    _friction_table(report, identification)
    _wave_table(report, identification)
    report.heading("Inertial parameters")
    chart = parameter_chart(identification, measured or estimate, inertial=True)
    if chart is not None:
        report.figure(
            chart,
            "Identified combinations of inertial parameters, compared with the URDF. Hover over a"
            " mark to see its combination; the table below lists all of them.",
        )
    if measured is not None:
        _value_table(report, identification, measured, "Base parameters and their combinations")
        chart = parameter_chart(identification, estimate, inertial=True)
        if chart is not None:
            report.figure(
                chart,
                "Parameters of every link. Hollow marks: the data do not determine the value, or"
                " only with a standard deviation larger than the band. Such a value stays near that"
                " of the URDF, and is valid only together with the others. Band: usual values for a"
                " link of this mass and length.",
                folded=True,
            )
    counts = {v: sum(x is v for x in estimate.verdicts) for v in ParameterVerdict}
    _value_table(
        report,
        identification,
        estimate,
        "All parameters: "
        + "; ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count),
    )
    report.heading("The robot")
    home = identification.model.home
    report.figure(
        robot_scene(identification),
        f"Centres of mass {'in the home posture' if np.any(home) else 'at zero positions'}. Rings: URDF. Diamonds: identified, shown if every"
        " link is physically consistent. They include centres of mass that the data determine only"
        " in combination (hollow marks above).",
        folded=not bool(np.all(is_physically_consistent(identification.pi))),  # URDF alone
    )
    report.provenance(
        {
            "robot": f"{estimate.robot}, URDF {estimate.urdf_hash}",
            "data": estimate.source,
            "settings": identification.processing,
            "friction terms": ", ".join(t.value for t in identification.friction.all_terms),
        }
    )


def _correlations(report: Report, estimate: Estimate) -> None:
    if pairs := strong_correlations(estimate.names, estimate.covariance):
        report.paragraph("Parameter pairs with the strongest correlation (0.9 and more):")
        report.bullets(pairs)
    report.figure(
        correlation_map(estimate.names, estimate.covariance),
        "Correlation of the estimates. Strong colours off the diagonal: parameters that these data"
        " determine only in combination.",
    )
    if len(estimate.changes) > 1:
        report.figure(
            convergence_chart(estimate.changes),
            "Convergence of the fit: RMS change of the values in each iteration, in standard"
            " deviations.",
        )


def _friction_table(report: Report, identification: Identification) -> None:
    estimate = identification.estimate
    values = identification.friction_parameters
    sd = dict(zip(estimate.names, estimate.standard_deviations.tolist(), strict=True))
    axes = identification.friction.drives.axis_names
    waves = _wave_names(identification)
    symbols = list(dict.fromkeys(n.rsplit(".", 1)[1] for n in values if n not in waves))
    report.table(
        ["axis", *symbols],
        [
            [
                axis,
                *(
                    with_deviation(values[f"{axis}.{s}"], sd[f"{axis}.{s}"])
                    if f"{axis}.{s}" in sd
                    else (f"{values[f'{axis}.{s}']:.4g}" if f"{axis}.{s}" in values else None)
                    for s in symbols
                ),
            ]
            for axis in axes
        ],
        "Friction and drives in N m, rad, s; ± one standard deviation",
        folded=True,
    )


def _wave_names(identification: Identification) -> set[str]:
    friction = identification.friction
    return {
        name
        for axis in friction.drives.axis_names
        for term in friction.terms_of(axis)
        if term.waves
        for name in friction.parameters_of(axis, term)
    }


def _wave_table(report: Report, identification: Identification) -> None:
    """Add a table with the amplitude of every torque wave."""
    friction, values = identification.friction, identification.friction_parameters
    kinds = [term for term in friction.all_terms if term.waves]
    sizes: dict[tuple[str, float], dict[FrictionTerm, float]] = {}
    for axis in friction.drives.axis_names:
        for term in (t for t in kinds if t in friction.terms_of(axis)):
            parameters = [values[name] for name in friction.parameters_of(axis, term)]
            pairs = np.reshape(parameters, (-1, 2))
            for wave, pair in zip(friction.drives.waves_of(term.value, axis), pairs, strict=True):
                sizes.setdefault((axis, wave), {})[term] = float(np.hypot(*pair))
    if sizes:
        report.table(
            ["axis", "waves per turn", *(f"{term.value} [{term.unit}]" for term in kinds)],
            [[axis, wave, *map(found.get, kinds)] for (axis, wave), found in sizes.items()],
            "Amplitudes of torque waves",
        )


def _load_section(report: Report, found: LoadedIdentification, load: KnownLoad) -> None:
    """Report section with gains and load."""
    report.heading("Drive gains, by the known load")
    report.table(
        ["joint", "gain", "standard deviation"],
        [
            [joint, float(gain), float(sd)]
            for joint, gain, sd in zip(
                found.identification.model.joint_names,
                found.gains.gains,
                found.gains.sd,
                strict=True,
            )
        ],
        f"Joint torque per unit of effort [N m/A for currents], from {load.mass:g} kg at"
        f" {load.frame}; the deviations of all parameters above include those of the gains",
    )
    summary = PayloadSummary.of(found.payload)
    rows = [
        [f"centre of mass {axis}", float(c), float(sd), "m"]
        for axis, c, sd in zip("xyz", summary.com, summary.com_sd, strict=True)
    ]
    rows += [
        [
            f"I{a}{b} about the centre of mass",
            float(summary.inertia[i, j]),
            float(summary.inertia_sd[i, j]),
            "kg m²",
        ]
        for i, a in enumerate("xyz")
        for j, b in enumerate("xyz")
        if i <= j
    ]
    report.table(["load", "value", "standard deviation", "unit"], rows, f"in {load.frame}")


def _next_steps(
    identification: Identification,
    verdict: Verdict,
    unseen: bool,
    exported: Sequence[tuple[ExportedError, str]],
) -> list[str]:
    """Recommended actions after an identification."""
    if not verdict.ok:
        return [
            "Correct the faults named in the reasons (record again if the motion is the cause),"
            " and repeat."
        ]
    steps = []
    if not unseen:
        steps.append(
            "Record another motion, and repeat with --validate: the fitted data cannot validate"
            " the result."
        )
    if identification.estimate.physically_consistent is None:  # base parameters only
        steps.append("For a model for simulation or control, repeat with --method lmi.")
    elif any(file == "identified.urdf" for _, file in exported):
        steps.append("identified.urdf, in the same folder, contains these values.")
    steps.append("Check later recordings with the command sysid validate.")
    return steps
