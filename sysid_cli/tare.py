# SPDX-License-Identifier: Apache-2.0
"""`sysid tare` estimates bias, tool and delay of a force-torque sensor from a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sysid_cli.base import app, console, copy_json, errors, remark
from sysid_cli.settings import JsonPathOption, PathOption, command
from sysid_cli.tables import print_rows
from sysid_core import workflows
from sysid_core.workflows import TareSettings

if TYPE_CHECKING:
    from sysid_core.robot import Array
    from sysid_core.signals.wrench import FullCalibration, SensorCalibration
    from sysid_core.workflows import Tared


@command(app, example="sysid tare still.mcap --sensor-frame link_eef --out tare.yaml")
def tare(*, settings: TareSettings, out: PathOption, json_path: JsonPathOption = "") -> None:
    """Estimate bias and load of a force-torque sensor from static postures, and check its mounting.

    Args:
        out: Calibration file (YAML) to write.
    """
    with errors.progress("reading recordings") as status:
        found = workflows.Tared.from_file(settings, status.step)
    for sentence in found.remarks:
        remark("note:", sentence, to=errors)
    if found.no_delay:
        remark("no delay:", found.no_delay, to=errors)
    out.parent.mkdir(parents=True, exist_ok=True)
    found.calibration.save(out)
    if copy_json(found.to_dict(), json_path):
        return
    if found.change is not None:
        _print_change(found, out)
        return
    print_summary(found.calibration, out)
    if found.full is not None:
        print_full(found.full)


def _print_change(found: Tared, out: Path) -> None:
    import numpy as np

    assert found.change is not None
    force, torque = np.abs(found.change[:3]).max(), np.abs(found.change[3:]).max()
    console.print(
        f"The bias has changed by {force:.2g} N and {torque:.2g} N m"
        + (f" in {found.hours:.1f} h" if np.isfinite(found.hours) else "")
        + (f", {found.warmer:+.1f} °C" if np.isfinite(found.warmer) else "")
        + f". Everything else is unchanged. Written: {out}",
        soft_wrap=True,
        highlight=False,
    )


def print_full(full: FullCalibration) -> None:
    """Print gains, mounting, gravity and drift, one per line."""
    import numpy as np

    def pairs(values: Array, sds: Array, scale: float, digits: int) -> str:
        return ", ".join(
            f"{scale * x:.{digits}f} ± {scale * s:.{digits}f}"
            for x, s in zip(values, sds, strict=True)
        )

    gains, degrees = np.diag(full.gain), np.rad2deg(1.0)
    for line in (
        f"Force gains of x, y, z: {pairs(gains, np.diag(full.gain_sd), 1.0, 3)}.",
        f"Mounting: {pairs(full.mounting, full.mounting_sd, degrees, 2)} degrees about x, y, z.",
        f"Tilt of gravity about the horizontal axes of the base: {pairs(full.tilt, full.tilt_sd, degrees, 2)} degrees.",
        f"Drift of the forces during the recording: {pairs(full.drift[:3], full.drift_sd[:3], 1.0, 2)}"
        " N.",
        "Not separable by these postures: " + " ".join(full.confounded),
    ):
        console.print(line, soft_wrap=True, highlight=False)


def print_summary(calibration: SensorCalibration, out: Path) -> None:
    """Print bias and noise of each axis, and the mounted load."""
    import numpy as np

    from sysid_core.signals.wrench import SensorCalibration

    of_axes = zip(
        SensorCalibration.AXES,
        calibration.bias,
        calibration.bias_sd,
        calibration.noise,
        strict=True,
    )
    print_rows(
        ("axis", "unit", "bias", "± sd", "noise per sample"),
        (
            (axis, "N" if axis[0] == "f" else "N m", f"{bias:.4g}", f"{sd:.2g}", f"{noise:.2g}")
            for axis, bias, sd, noise in of_axes
        ),
        left=("unit",),
        title=f"Sensor '{calibration.frame}', {calibration.n_postures} postures",
    )
    mass, mass_sd = calibration.tare_mass
    com, com_sd = calibration.tare_com
    axes = ", ".join(f"{1e3 * x:.2f} ± {1e3 * s:.2f}" for x, s in zip(com, com_sd, strict=True))
    lines = [
        f"Load on the sensor: {mass:.4f} ± {mass_sd:.4f} kg at [{axes}] mm (± sd of the"
        " scatter; errors of the sensor gains, usually 2 to 5 %, are not included)."
    ]
    if np.isfinite(calibration.misalignment):
        lines.append(
            f"The axes agree with the model within {np.rad2deg(calibration.misalignment):.1f}"
            " degrees."
        )
    delay, delay_sd = calibration.delay
    if np.isfinite(delay_sd):
        lines.append(
            f"The wrench {'lags behind' if delay >= 0.0 else 'leads'} the joint positions by"
            f" {abs(delay) * 1e3:.1f} ± {delay_sd * 1e3:.1f} ms."
        )
    if calibration.matrix[0, 0] < 0:
        lines.append(
            "The measured wrench acts from the load on the sensor (f = +m g at rest); it is negated by the calibration."
        )
    if calibration.tool_pi[0] > 0:
        lines.append("This load is stored as the tool. Estimates that use this file exclude it.")
    for line in (*lines, *calibration.notes, f"Written: {out}"):
        console.print(line, soft_wrap=True, highlight=False)
