# SPDX-License-Identifier: Apache-2.0
"""The page of a closed-chain identification."""

from __future__ import annotations

from collections.abc import Mapping

from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.reasons import Verdict, text_of
from sysid_core.report.html import Report, with_deviation
from sysid_core.robot.loops import ClosedChain
from sysid_core.validation import TorqueError


def constrained_identification_report(
    chain: ClosedChain,
    estimate: Estimate,
    runs: Mapping[str, tuple[Mapping[str, TorqueError], Mapping[str, TorqueError]]],
    verdict: Verdict | None = None,
) -> Report:
    """Values, warnings, and torques of every run predicted by the identified and the nominal model.

    Args:
        chain: The nominal mechanism.
        estimate: What was identified.
        runs: Label to (identified, nominal) torque errors of every joint.
        verdict: Verdict of runs that weren't fitted.
    """
    report = Report(
        f"Closed chain identified: {chain.name}",
        f"{estimate.method}, {estimate.n_samples} samples, rank {estimate.rank} of"
        f" {estimate.structural_rank}",
    )
    _verdicts(report, estimate, verdict)
    report.heading("Torque prediction")
    for label, (identified, nominal) in runs.items():
        _torque_table(report, chain, label, identified, nominal)
    report.heading("Parameters")
    _parameter_table(report, chain, estimate)
    return report


def _verdicts(report: Report, estimate: Estimate, verdict: Verdict | None) -> None:
    """What the motion excites, what rests on the description, and how well torques are predicted."""
    warnings = estimate.certify()
    report.verdict(
        not warnings,
        " ".join(map(text_of, warnings))
        or f"The motion excites all {estimate.structural_rank} directions that can be identified,"
        f" the weakest {estimate.condition_number:.3g} times less than the strongest, against"
        " vigorous motion.",
    )
    weak = sum(verdict is ParameterVerdict.PRIOR_DOMINATED for verdict in estimate.verdicts)
    if weak:
        report.verdict(
            False,
            f"{weak} of {len(estimate.names)} parameters rest on the description rather than on"
            " these data: noise hides them. Use their combinations, or record longer.",
        )
    if verdict is not None:
        report.verdict(not verdict.failures, verdict.text)
    report.bullets(estimate.notes)


def _torque_table(
    report: Report,
    chain: ClosedChain,
    label: str,
    identified: Mapping[str, TorqueError],
    nominal: Mapping[str, TorqueError],
) -> None:
    report.table(
        (
            "joint",
            "RMS [N m]",
            "nominal",
            "RMS above 0.05 rad/s",
            "nominal",
            "R²",
            "nominal",
        ),
        [
            (
                joint,
                identified[joint].rms,
                nominal[joint].rms,
                identified[joint].rms_moving,
                nominal[joint].rms_moving,
                identified[joint].r2,
                nominal[joint].r2,
            )
            for joint in chain.actuated
        ],
        label,
    )


def _parameter_table(report: Report, chain: ClosedChain, estimate: Estimate) -> None:
    nominal_values = {
        f"{joint}.{symbol}": value
        for joint in chain.model.joint_names
        for symbol, value in zip(
            ("F_c", "F_v", "I_a", "beta"), chain.drive(joint).values, strict=True
        )
    }
    report.table(
        ("parameter", "value ± standard deviation", "nominal", "unit", "verdict"),
        [
            (
                name,
                with_deviation(value, sd),
                nominal_values.get(name),
                unit,
                verdict.value,
            )
            for name, value, sd, unit, verdict in estimate.rows()
        ],
    )
