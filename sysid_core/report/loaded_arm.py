# SPDX-License-Identifier: Apache-2.0
"""Report of a payload that was estimated from joint torques."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.controller_payload import ControllerSetting
from sysid_core.estimation.loaded_arm import ExtraTorque, LoadedArm
from sysid_core.report.charts import Figure, time_series
from sysid_core.report.html import Report
from sysid_core.report.payload import controller_block, payload_numbers


def extra_torque_figure(joint_names: Sequence[str], extra: ExtraTorque) -> Figure:
    """Chart of the payload's contribution to each joint torque: measured and estimated."""
    return time_series(
        extra.time,
        {
            name: {"loaded minus unloaded arm": extra.measured[:, j], "payload": y}
            for j, (name, y) in enumerate(zip(joint_names, extra.predicted.T, strict=True))
        },
        ylabel="torque [N m]",
    )


def loaded_arm_report(
    fit: LoadedArm,
    *,
    frame: str,
    gains: Sequence[float],
    gain_sd: float,
    true_mass: float | None = None,
    settings: Sequence[ControllerSetting] = (),
) -> Report:
    """Report of a payload estimated from joint torques: verdict, standard deviations, and the
    torques that the payload explains.

    Args:
        fit: The estimate and its torques.
        frame: Frame that carries the payload.
        gains: Gains of the drives, one per joint [N m/A, or 1].
        gain_sd: Their relative standard deviation.
        true_mass: To compare with [kg].
        settings: The payload for vendors' controllers.
    """
    estimate = fit.estimate
    report = Report(f"Payload of {estimate.robot} from joint torques", estimate.source)
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
        "Measured torque minus the torque of the unloaded arm for the same motion, and the predicted"
        " torque of the estimated payload."
    )
    for k, extra in enumerate(fit.extra):
        report.figure(extra_torque_figure(fit.joint_names, extra), f"Loaded recording {k + 1}")
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
        f"Standard deviation of each gain: {100 * gain_sd:.3g} %, independent of the others",
    )
    return report
