# SPDX-License-Identifier: Apache-2.0
"""The report of a whole-arm identification: torques measured and predicted, and the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.estimation.arm import Identification
from sysid_core.estimation.recorded import TorqueDelay
from sysid_core.reasons import advice_of
from sysid_core.report.arm_charts import (
    NOMINAL,
    combination_of,
    convergence_chart,
    nominal_value,
    parameter_charts,
    prediction_chart,
    residual_charts,
    robot_scene,
    terms_of,
)
from sysid_core.report.charts import correlation_map, strong_correlations
from sysid_core.report.html import Report, with_deviation
from sysid_core.robot import FrictionTerm
from sysid_core.validation import Prediction


def prediction_table(report: Report, predictions: Sequence[Prediction]) -> None:
    """RMS and R² of every joint, and the relative error, run by run."""
    for prediction in predictions:
        motion, whole = prediction.joints(), prediction.joints(whole=True)
        bands = prediction.bands()
        if not prediction.motion.any():  # R² of a constant says nothing
            report.table(
                ["joint", f"RMS [{prediction.unit}]"],
                [[n, whole[n]["rms"]] for n in prediction.joint_names],
                f"{prediction.source}: at rest throughout, relative error"
                f" {100 * prediction.relative_error(whole=True):.2f} %, against the raw efforts."
                " Friction at rest is anywhere between its limits",
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
            f"{prediction.source}: relative error"
            f" {100 * prediction.relative_error():.2f} % in motion"
            + (f" ({NOMINAL}: {100 * beside.relative_error():.2f} %)" if beside else "")
            + f", {100 * prediction.relative_error(whole=True):.2f} % over the whole run"
            " (standstill and impacts included), against the raw, unfiltered efforts",
        )


def prediction_sentence(predictions: Sequence[Prediction]) -> str:
    """How well efforts are predicted, beside what the URDF's inertial parameters predict."""
    parts = []
    for p in predictions:
        beside = "" if p.nominal is None else f" (URDF: {100 * p.beside().relative_error():.2f} %)"
        parts.append(f"{Path(p.source).stem} {100 * p.relative_error():.2f} %{beside}")
    return f"Error of the predicted efforts: {', '.join(parts)}." if parts else ""


CONSISTENT = ("lmi", "entropic")  # methods whose every link is a solid body's


def consistency_sentence(identification: Identification) -> str:
    """Whether every link is physically possible, or why that wasn't asked."""
    if identification.physically_consistent:
        return "every link is physically consistent, no friction has the wrong sign."
    if identification.estimate.method in CONSISTENT:
        return "not physically consistent as a whole."
    return (
        f"base parameters predict torques; '{identification.estimate.method}' doesn't ask whether"
        " each link alone is a possible body (--method lmi does, for a model to simulate with)."
    )


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def identification_report(
    identification: Identification,
    training: Sequence[Prediction],
    validation: Sequence[Prediction],
    benefits: Mapping[str, Mapping[str, float]] | None = None,
    delay: TorqueDelay | None = None,
) -> Report:
    """Everything that a reader needs to judge an identification.

    Args:
        identification: The identified robot.
        training: Predictions of the runs that it was fitted to.
        validation: Predictions of other runs.
        benefits: What each friction term buys (`term_benefits`).
        delay: Delay of the efforts behind the positions.
    """
    estimate = identification.estimate
    report = Report(
        f"Identification of {estimate.robot}",
        f"method {estimate.method}, {estimate.n_samples} samples of {estimate.source}",
    )
    sentence = consistency_sentence(identification)
    if identification.physically_consistent or estimate.method in CONSISTENT:
        report.verdict(identification.physically_consistent, _capitalised(sentence))
    else:
        report.paragraph(_capitalised(sentence))
    excited = estimate.maximally_exciting
    report.verdict(
        excited,
        f"Rank {estimate.rank} of {estimate.structural_rank} that ideal motion would reach;"
        f" condition number {estimate.condition_number:.0f}.",
    )
    report.bullets([*map(advice_of, estimate.certify()), *estimate.notes])
    if validation:
        report.heading("Runs that were not used for fitting")
        prediction_table(report, validation)
        for prediction in validation:
            report.figure(
                prediction_chart(prediction),
                f"{prediction.source}: raw measured efforts and what the model predicts from motion"
                " alone. Shaded: the motion that the numbers above are taken over.",
            )
    if training:
        report.heading("Runs that were fitted")
        prediction_table(report, training)
    for prediction in training:
        report.figure(prediction_chart(prediction), f"{prediction.source}, fitted")
    for prediction in validation or training:
        for chart, caption in residual_charts(prediction):
            report.figure(chart, caption)
    if benefits:
        _benefit_table(report, identification, benefits)
    if delay is not None and not delay.shows:
        report.paragraph(
            "The motion doesn't show by how much the efforts lag behind the positions."
        )
    elif delay is not None:
        corrected = identification.processing.delay
        report.paragraph(
            f"The efforts lag {1e3 * delay.seconds:.2f} ± {1e3 * delay.sd:.2f} ms behind the"
            f" positions; {'corrected' if corrected else 'not corrected'}."
        )
    _parameter_tables(report, identification)
    return report


def _benefit_table(
    report: Report, identification: Identification, benefits: Mapping[str, Mapping[str, float]]
) -> None:
    report.heading("What each friction term buys")
    joints = identification.model.joint_names
    report.table(
        ["without the term", "all joints", *joints],
        [
            [term, *(f"{100 * rises[key]:+.1f} %" for key in ("all", *joints))]
            for term, rises in benefits.items()
        ],
        "Change of the prediction error on blocks of the fitted runs that were held out, when the"
        " term is left out: positive, it helps",
    )


def _value_table(
    report: Report, identification: Identification, estimate: Estimate, caption: str
) -> None:
    """Values beside the URDF's, with every combination written out."""
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


def _parameter_tables(report: Report, identification: Identification) -> None:
    estimate = identification.estimate
    report.heading("Friction and drives")
    _friction_table(report, identification)
    _wave_table(report, identification)
    report.heading("Parameters")
    counts = {v: sum(x is v for x in estimate.verdicts) for v in ParameterVerdict}
    report.paragraph(
        "; ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count) + "."
    )
    for chart, caption in parameter_charts(identification):
        report.figure(chart, caption)
    _value_table(
        report,
        identification,
        estimate,
        "All parameters. Those not known from the data have the URDF's values; together with the"
        " measured combinations they predict"
        if estimate.measured is not None
        else "All parameters, combinations written out",
    )
    if estimate.measured is not None:
        caption = "What these data measured: base parameters, whatever the prior"
        _value_table(report, identification, estimate.measured, caption)
    report.figure(
        correlation_map(estimate.names, estimate.covariance),
        "Correlation of the estimates: strong colours far from the diagonal are parameters that"
        " these data show only together.",
    )
    if len(estimate.changes) > 1:
        report.figure(
            convergence_chart(estimate.changes),
            "Convergence of the fit: how far the values moved in each round of reweighting, as a"
            " root mean square in deviations. It ends when they stay.",
        )
    if pairs := strong_correlations(estimate.names, estimate.covariance):
        report.paragraph("Pairs that err together most (correlation of 0.9 and more):")
        report.bullets(pairs)
    report.heading("The robot in space")
    report.figure(
        robot_scene(identification),
        "Zero posture. Grey rings: centres of mass by the URDF; diamonds: identified. Ellipsoids:"
        " uniform solids of each link's mass and inertia, identified where every link is physically"
        " consistent, else the URDF's. A solid wider than the whole arm (more inertia than its mass could"
        " have there) is shown when its name is clicked.",
    )
    report.provenance(
        {
            "robot": f"{estimate.robot}, URDF {estimate.urdf_hash}",
            "data": estimate.source,
            "settings": identification.processing,
            "friction terms": ", ".join(t.value for t in identification.friction.all_terms),
        }
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
        "N m, rad, s; ± one standard deviation, with the residuals' correlation in time",
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
    """Amplitude of every torque wave."""
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
