# SPDX-License-Identifier: Apache-2.0
"""`sysid payload-torques` identifies the payload of an arm without a force-torque sensor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sysid_cli.base import app, console, copy_json, errors, require_folder
from sysid_cli.settings import JsonPathOption, PathOption, command
from sysid_cli.tables import print_rows, print_settings, print_verdict
from sysid_core import workflows
from sysid_core.workflows import TorqueWeighingSettings

if TYPE_CHECKING:
    from sysid_core.estimation.loaded_arm import LoadedArm


@command(
    app,
    "payload-torques",
    example="sysid payload-torques loaded.mcap --unloaded bare.mcap --robot robot.urdf --frame tool0 --out results/load",
)
def payload_torques(
    *, settings: TorqueWeighingSettings, out: PathOption, json_path: JsonPathOption = ""
) -> None:
    """Estimate a payload from joint torques or motor currents, compared with those of the unloaded
    arm.

    Args:
        out: Folder for estimate, result and report.
    """
    require_folder(out)
    with errors.progress("reading recordings") as status:
        found = workflows.weigh_by_torques(settings, status.step)
        found.write(out)
    if not copy_json(found.to_dict(), json_path):
        print_verdict(found.verdict)
        said = tuple(reason.text for reason in found.verdict.notable)
        print_summary(found.fit, found.true_mass, out, said)
        print_settings(found.settings, found.frame)
    raise typer.Exit(found.verdict.exit_status)


def print_summary(
    fit: LoadedArm, true_mass: float | None, out: Path, said: Sequence[str] = ()
) -> None:
    """Print the payload with its standard deviations, its difference from a known mass, and the
    remarks that were not printed before.
    """
    from sysid_core.report import with_deviation

    estimate = fit.estimate
    print_rows(
        ("parameter", "value ± sd", "unit", "verdict"),
        (
            (name, with_deviation(float(x), float(sd)), unit, verdict.value)
            for name, x, sd, unit, verdict in estimate.rows()
        ),
        left=("unit", "verdict"),
        title=f"{estimate.robot}: {estimate.method}",
    )
    if true_mass is not None:
        off = estimate.values[0] - true_mass
        console.print(
            f"Mass {estimate.values[0]:.3f} kg, {off:+.3f} kg ({100 * off / true_mass:+.1f} %) from"
            f" the true {true_mass:g} kg: {off / estimate.standard_deviations[0]:+.1f} sd."
        )
    for line in dict.fromkeys(n for n in estimate.notes if n not in said):
        console.print(f"- {line}", soft_wrap=True, highlight=False, markup=False)
    console.print(f"Report: {out / 'report.html'}", soft_wrap=True)
