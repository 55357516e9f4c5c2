# SPDX-License-Identifier: Apache-2.0
"""What `sysid tare` writes and prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sysid_cli.app import console
from sysid_cli.tables import print_table

if TYPE_CHECKING:
    from sysid_core.robot import Array
    from sysid_core.signals.wrench import FullCalibration, SensorCalibration


def result_dict(calibration: SensorCalibration) -> dict[str, object]:
    """The calibration in numbers that people compare."""
    import numpy as np

    mass, mass_sd = calibration.tare_mass
    com, com_sd = calibration.tare_com
    delay, delay_sd = calibration.delay
    return {
        "schema": "robot_sysid/tare/1",
        "frame": calibration.frame,
        "n_postures": calibration.n_postures,
        "bias": calibration.bias.tolist(),
        "bias_sd": calibration.bias_sd.tolist(),
        "noise": calibration.noise.tolist(),
        "mass": mass,
        "mass_sd": mass_sd,
        "com": com.tolist() if np.all(np.isfinite(com)) else None,
        "com_sd": com_sd.tolist() if np.all(np.isfinite(com_sd)) else None,
        "misalignment_deg": float(np.rad2deg(calibration.misalignment))
        if np.isfinite(calibration.misalignment)
        else None,
        "delay": delay if np.isfinite(delay_sd) else None,
        "delay_sd": delay_sd if np.isfinite(delay_sd) else None,
        "tool_mass": float(calibration.tool_pi[0]),
    }


def full_dict(full: FullCalibration) -> dict[str, object]:
    """What `--calibrate` adds to the result."""
    arrays = ("gain", "gain_sd", "mounting", "mounting_sd", "tilt", "tilt_sd", "drift", "drift_sd")
    found: dict[str, object] = {name: getattr(full, name).tolist() for name in arrays}
    return found | {"confounded": list(full.confounded)}


def print_full(full: FullCalibration) -> None:
    """Gains, mounting, gravity and drift, a line each."""
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
        f"Gravity in the base: {pairs(full.tilt, full.tilt_sd, degrees, 2)} degrees off.",
        f"Drift of the forces while it lasted: {pairs(full.drift[:3], full.drift_sd[:3], 1.0, 2)} N.",
        "Not distinguished by these postures: " + " ".join(full.confounded),
    ):
        console.print(line, soft_wrap=True, highlight=False)


def print_summary(calibration: SensorCalibration, out: Path) -> None:
    """Bias and noise of each axis, and what hangs there."""
    import numpy as np
    from rich.table import Table

    from sysid_core.signals.wrench import WRENCH_AXES

    table = Table(title=f"Sensor '{calibration.frame}', {calibration.n_postures} postures")
    for column in ("axis", "unit", "bias", "± sd", "noise per sample"):
        table.add_column(column, justify="left" if column in ("axis", "unit") else "right")
    for axis, bias, sd, noise in zip(
        WRENCH_AXES, calibration.bias, calibration.bias_sd, calibration.noise, strict=True
    ):
        table.add_row(
            axis, "N" if axis[0] == "f" else "N m", f"{bias:.4g}", f"{sd:.2g}", f"{noise:.2g}"
        )
    print_table(table)
    mass, mass_sd = calibration.tare_mass
    com, com_sd = calibration.tare_com
    axes = ", ".join(f"{1e3 * x:.2f} ± {1e3 * s:.2f}" for x, s in zip(com, com_sd, strict=True))
    lines = [f"On the sensor: {mass:.4f} ± {mass_sd:.4f} kg at [{axes}] mm (± sd)."]
    if np.isfinite(calibration.misalignment):
        lines.append(
            f"Axes agree with the model to {np.rad2deg(calibration.misalignment):.1f} degrees."
        )
    delay, delay_sd = calibration.delay
    if np.isfinite(delay_sd):
        lines.append(f"The wrench is {delay * 1e3:.1f} ± {delay_sd * 1e3:.1f} ms late.")
    if calibration.tool_pi[0] > 0:
        lines.append("This load is the tool now: it is subtracted wherever the file is used.")
    for line in (*lines, *calibration.notes, f"Written: {out}"):
        console.print(line, soft_wrap=True, highlight=False)
