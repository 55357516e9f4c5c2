# SPDX-License-Identifier: Apache-2.0
"""`sysid tare`: bias, tool and delay of a force-torque sensor from a recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.cli.app import app, console, copy_json, errors, example, remark
from sysid_core.cli.mounting import GravityOption, MountOption
from sysid_core.cli.recordings import BagRobotOption, JsonPathOption
from sysid_core.cli.sensor import (
    LockOption,
    SensorParentOption,
    SensorPoseOption,
    WrenchFrameOption,
    sensor_robot,
)
from sysid_core.cli.tables import print_table

if TYPE_CHECKING:
    from sysid_core.robot import Array
    from sysid_core.signals.wrench import FullCalibration, SensorCalibration, StaticPostures


@app.command(epilog=example("sysid tare still.mcap --sensor-frame link_eef --out tare.yaml"))
def tare(
    recording: Annotated[
        Path, typer.Argument(help="rosbag2 bag: three or more tilted postures, a second each.")
    ],
    sensor_frame: Annotated[str, typer.Option(help="Frame of the force-torque sensor.")],
    out: Annotated[Path, typer.Option(help="Calibration file (YAML) to write.")],
    robot: BagRobotOption = "",
    lock: LockOption = None,
    wrench_frame: WrenchFrameOption = None,
    sensor_parent: SensorParentOption = "",
    sensor_pose: SensorPoseOption = "",
    gravity: GravityOption = "",
    mount: MountOption = "",
    tool: Annotated[
        bool, typer.Option("--tool", help="What hangs there is the tool: subtract it from now on.")
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Gains, mounting, gravity's direction and drift too: 8 postures or more.",
        ),
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option(
            help="A kept calibration: only its bias is taken anew, from one still posture or more"
            " with nothing held."
        ),
    ] = None,
    temperature: Annotated[
        float, typer.Option(help="Of the sensor, in °C, kept with the tare.", show_default=False)
    ] = float("nan"),
    bare: Annotated[bool, typer.Option("--bare", help="Nothing hangs on the sensor.")] = False,
    expected_mass: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="What should hang there, in kg; 0: not known. With --calibrate it is taken as exact.",
        ),
    ] = 0.0,
    force_range: Annotated[
        float, typer.Option(min=0.0, help="Full scale of the forces, in N; 0: not known.")
    ] = 0.0,
    torque_range: Annotated[
        float, typer.Option(min=0.0, help="Full scale of the torques, in N m; 0: not known.")
    ] = 0.0,
    json_path: JsonPathOption = "",
) -> None:
    """Find the sensor's bias and load in still postures; refuse a wrong mounting."""
    from dataclasses import replace

    from sysid_core.errors import SignalError
    from sysid_core.signals.bags import read_bag
    from sysid_core.signals.wrench import (
        calibrate_static,
        delay_of_recording,
        require_sound_wrench,
        static_postures,
        tare_static,
    )

    with errors.status("reading the recording"):
        run = read_bag(recording)
    model = sensor_robot(
        run,
        robot,
        sensor_frame,
        lock=lock or (),
        accepted=wrench_frame or (),
        parent=sensor_parent,
        pose=sensor_pose,
        gravity=gravity,
        mount=mount,
    )
    if run.wrench is not None:
        require_sound_wrench(
            run.wrench, force_range=force_range or None, torque_range=torque_range or None
        )
    postures = static_postures(run, model, sensor_frame)
    if check is not None:
        _recheck(check, postures, temperature, out, json_path)
        return
    full = None
    if calibrate:
        full = calibrate_static(
            postures.wrench,
            postures.gravity_S,
            postures.R_WS,
            postures.start_ns * 1e-9,
            known_mass=expected_mass or None,
            frame=sensor_frame,
            noise=postures.noise,
            source=str(recording),
        )
    calibration = (
        full.calibration
        if full
        else tare_static(
            postures.wrench,
            postures.gravity_S,
            R_WS=postures.R_WS,
            frame=sensor_frame,
            noise=postures.noise,
            expected_mass=expected_mass or None,
            allow_bare=bare,
            source=str(recording),
        )
    )
    calibration = replace(
        calibration,
        stamp_ns=int(postures.start_ns.max()),
        temperature=temperature,
        notes=postures.notes,
    )
    try:
        delay = delay_of_recording(run, model, sensor_frame)
        if delay.is_known:
            calibration = replace(calibration, delay=(delay.delay, delay.sd))
    except SignalError as err:
        remark("no delay:", str(err), to=errors)
    if tool:
        calibration = calibration.with_load_as_tool()
    out.parent.mkdir(parents=True, exist_ok=True)
    calibration.save(out)
    result = result_dict(calibration) | ({} if full is None else full_dict(full))
    text = json.dumps(result, indent=2)
    if copy_json(text, json_path):
        return
    _print_summary(calibration, out)
    if full is not None:
        _print_full(full)


def _recheck(
    kept_file: Path, postures: StaticPostures, temperature: float, out: Path, json_path: str
) -> None:
    """A kept calibration with today's bias."""
    import numpy as np

    from sysid_core.signals.wrench import SensorCalibration, retare

    kept = SensorCalibration.load(kept_file)
    found, change = retare(kept, postures, temperature=temperature)
    out.parent.mkdir(parents=True, exist_ok=True)
    found.save(out)
    age_h = kept.age_s(found.stamp_ns) / 3600.0
    warmer = found.temperature - kept.temperature
    result = result_dict(found) | {
        "change": change.tolist(),
        "hours_since": age_h if np.isfinite(age_h) else None,
        "warmer": warmer if np.isfinite(warmer) else None,
    }
    if copy_json(json.dumps(result, indent=2), json_path):
        return
    force, torque = np.abs(change[:3]).max(), np.abs(change[3:]).max()
    console.print(
        f"The bias has moved by {force:.2g} N and {torque:.2g} N m"
        + (f" in {age_h:.1f} h" if np.isfinite(age_h) else "")
        + (f", {warmer:+.1f} °C" if np.isfinite(warmer) else "")
        + f". All else is kept. Written: {out}",
        soft_wrap=True,
        highlight=False,
    )


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


def _print_full(full: FullCalibration) -> None:
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
        "Not to be told apart by these postures: " + " ".join(full.confounded),
    ):
        console.print(line, soft_wrap=True, highlight=False)


def _print_summary(calibration: SensorCalibration, out: Path) -> None:
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
