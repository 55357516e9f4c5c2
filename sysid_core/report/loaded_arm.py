# SPDX-License-Identifier: Apache-2.0
"""Report of a payload that was weighed by joint torques."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sysid_core.estimation.loaded_arm import ExtraTorque, LoadedArm
from sysid_core.estimation.payload import summarise_payload
from sysid_core.reasons import advice_of
from sysid_core.report.charts import time_series
from sysid_core.report.html import Report, with_deviation

if TYPE_CHECKING:
    import plotly.graph_objects as go


def extra_torque_figure(joint_names: Sequence[str], extra: ExtraTorque) -> go.Figure:
    """What the payload adds to every joint's torque: measured, and by the estimate."""
    return time_series(
        extra.time,
        {
            name: {"loaded minus unloaded arm": extra.measured[:, j], "payload": y}
            for j, (name, y) in enumerate(zip(joint_names, extra.predicted.T, strict=True))
        },
        ylabel="torque [N m]",
    )


def loaded_arm_report(
    fit: LoadedArm, *, gains: Sequence[float], gain_sd: float, true_mass: float | None = None
) -> Report:
    """One page: verdict, payload with deviations, torques that it explains.

    Args:
        fit: The estimate and its torques.
        gains: Gains of the drives, one per joint [N m/A, or 1].
        gain_sd: Their relative standard deviation.
        true_mass: To compare with [kg].
    """
    estimate = fit.estimate
    report = Report(f"Payload of {estimate.robot} from joint torques", estimate.source)
    if estimate.values[0] > 0:
        payload = summarise_payload(estimate)
        text = f"{payload.mass:.3f} ± {payload.mass_sd:.3f} kg"
        if true_mass is not None:
            off = 100.0 * (payload.mass / true_mass - 1.0)
            text += f", {off:+.1f} % from the true {true_mass:g} kg"
        report.verdict(not estimate.certify(), text)
        rows: list[list[object]] = [["mass", with_deviation(payload.mass, payload.mass_sd), "kg"]]
        rows += [
            [f"centre of mass {axis}", with_deviation(payload.com[i], payload.com_sd[i]), "m"]
            for i, axis in enumerate("xyz")
        ]
        rows += [
            [
                f"I{'xyz'[i]}{'xyz'[j]} about the centre of mass",
                with_deviation(payload.inertia[i, j], payload.inertia_sd[i, j]),
                "kg m²",
            ]
            for i in range(3)
            for j in range(i, 3)
        ]
        report.table(["quantity", "value ± standard deviation", "unit"], rows)
    report.bullets([*map(advice_of, estimate.certify()), *estimate.notes])
    report.heading("Parameters")
    report.table(
        ["parameter", "value ± standard deviation", "unit", "verdict"],
        [
            [name, with_deviation(x, sd), unit, verdict.value]
            for name, x, sd, unit, verdict in estimate.rows()
        ],
        f"Rank {estimate.rank} of {estimate.structural_rank},"
        f" condition number {estimate.condition_number:.3g}",
    )
    report.heading("What the payload adds to the torques")
    report.paragraph(
        "Measured torque minus what the unloaded arm needs for the same motion, and the torque of"
        " the estimated payload."
    )
    for k, extra in enumerate(fit.extra):
        report.figure(extra_torque_figure(fit.joint_names, extra), f"Loaded recording {k + 1}")
    report.table(
        ["joint", "gain", "residual RMS [N m]", "payload torque RMS [N m]"],
        [
            [name, float(gain), estimate.residual_rms[name], float(rms)]
            for name, gain, rms in zip(
                fit.joint_names,
                gains,
                np.sqrt(np.mean(np.concatenate([e.predicted for e in fit.extra]) ** 2, axis=0)),
                strict=True,
            )
        ],
        f"Gains are taken as known to {100 * gain_sd:.3g} % each, independently.",
    )
    return report
