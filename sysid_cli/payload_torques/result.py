# SPDX-License-Identifier: Apache-2.0
"""What `sysid payload-torques` writes and prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sysid_cli.app import console
from sysid_cli.tables import print_table

if TYPE_CHECKING:
    from sysid_core.estimation.loaded_arm import LoadedArm


def result_dict(
    fit: LoadedArm, gains: list[float], gain_sd: list[float], true_mass: float | None
) -> dict[str, object]:
    """Contents of result.json."""
    from sysid_core.estimation.payload import summarise_payload

    estimate = fit.estimate
    out: dict[str, object] = {
        "schema": "robot_sysid/payload_from_torques/1",
        "estimate": estimate.to_dict(),
        "drive_gains": gains,
        "gain_sd": gain_sd,
        "true_mass": true_mass,
        "mass_error_percent": None
        if true_mass is None
        else 100.0 * (float(estimate.values[0]) / true_mass - 1.0),
        "warnings": [reason.to_dict() for reason in estimate.certify()],
    }
    if estimate.values[0] > 0:
        payload = summarise_payload(estimate)
        out |= {
            "mass": payload.mass,
            "mass_sd": payload.mass_sd,
            "com": payload.com.tolist(),
            "com_sd": payload.com_sd.tolist(),
            "inertia": payload.inertia.tolist(),
            "inertia_sd": payload.inertia_sd.tolist(),
        }
    return out


def print_summary(
    fit: LoadedArm, true_mass: float | None, out: Path, said: Sequence[str] = ()
) -> None:
    """The payload with deviations, how far the mass is off, if it is known, and what wasn't `said` yet."""
    from rich.table import Table

    from sysid_core.report import with_deviation

    estimate = fit.estimate
    table = Table(title=f"{estimate.robot}: {estimate.method}")
    for column in ("parameter", "value ± sd", "unit", "verdict"):
        table.add_column(column, justify="right" if "±" in column else "left")
    for name, x, sd, unit, verdict in estimate.rows():
        table.add_row(name, with_deviation(float(x), float(sd)), unit, verdict.value)
    print_table(table)
    if true_mass is not None:
        off = estimate.values[0] - true_mass
        console.print(
            f"Mass {estimate.values[0]:.3f} kg, {off:+.3f} kg ({100 * off / true_mass:+.1f} %) from"
            f" the true {true_mass:g} kg: {off / estimate.standard_deviations[0]:+.1f} sd."
        )
    for line in dict.fromkeys(n for n in estimate.notes if n not in said):
        console.print(f"- {line}", soft_wrap=True, highlight=False, markup=False)
    console.print(f"Report: {out / 'report.html'}", soft_wrap=True)
