# SPDX-License-Identifier: Apache-2.0
"""`sysid tare`: bias, tool and delay of a force-torque sensor from a recording."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import app, console, copy_json, errors, remark
from sysid_cli.recordings import JsonPathOption
from sysid_cli.sensor import SensorSettings
from sysid_cli.settings import command
from sysid_cli.tare.result import full_dict, print_full, print_summary, result_dict
from sysid_core.errors import SignalError

if TYPE_CHECKING:
    from sysid_core.robot import RobotModel
    from sysid_core.signals import Recording
    from sysid_core.signals.wrench import FullCalibration, SensorCalibration, StaticPostures


@dataclass(frozen=True, kw_only=True)
class TareSettings:
    """Everything that `sysid tare` is given."""

    recording: Annotated[
        Path, typer.Argument(help="rosbag2 bag: three or more tilted postures, a second each.")
    ]
    sensor_frame: Annotated[str, typer.Option(help="Frame of the force-torque sensor.")]
    out: Annotated[Path, typer.Option(help="Calibration file (YAML) to write.")]
    sensor: SensorSettings
    tool: Annotated[
        bool, typer.Option("--tool", help="What hangs there is the tool: subtract it from now on.")
    ] = False
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Gains, mounting, gravity's direction and drift too: 8 postures or more.",
        ),
    ] = False
    check: Annotated[
        Path | None,
        typer.Option(
            help="A kept calibration: only its bias is taken anew, from one still posture or more"
            " with nothing held."
        ),
    ] = None
    temperature: Annotated[
        float,
        typer.Option(
            help="Temperature of the sensor, in °C, kept with the tare.", show_default=False
        ),
    ] = float("nan")
    bare: Annotated[bool, typer.Option("--bare", help="Nothing hangs on the sensor.")] = False
    expected_mass: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="What should hang there, in kg; 0: not known. With --calibrate it is taken as exact.",
        ),
    ] = 0.0
    force_range: Annotated[
        float, typer.Option(min=0.0, help="Full scale of the forces, in N; 0: not known.")
    ] = 0.0
    torque_range: Annotated[
        float, typer.Option(min=0.0, help="Full scale of the torques, in N m; 0: not known.")
    ] = 0.0
    json_path: JsonPathOption = ""


@command(app, example="sysid tare still.mcap --sensor-frame link_eef --out tare.yaml")
def tare(settings: TareSettings) -> None:
    """Find the sensor's bias and load in still postures; refuse a wrong mounting."""
    run, model, postures = _load(settings)
    if settings.check is not None:
        _recheck(settings, settings.check, postures)
        return
    calibration, full = _fit(settings, postures)
    calibration = _with_delay(calibration, run, model, settings.sensor_frame)
    if settings.tool:
        calibration = calibration.with_load_as_tool()
    _save(calibration, settings.out)
    result = result_dict(calibration) | ({} if full is None else full_dict(full))
    if copy_json(json.dumps(result, indent=2), settings.json_path):
        return
    print_summary(calibration, settings.out)
    if full is not None:
        print_full(full)


def _load(settings: TareSettings) -> tuple[Recording, RobotModel, StaticPostures]:
    """The recording, its robot, and the still postures in it."""
    from sysid_core.signals.bags import read_bag
    from sysid_core.signals.wrench import require_sound_wrench, static_postures

    with errors.status("reading the recording"):
        run = read_bag(settings.recording)
    run, model = settings.sensor.on_sensor(run, settings.sensor_frame)
    if run.wrench is not None:
        require_sound_wrench(
            run.wrench,
            force_range=settings.force_range or None,
            torque_range=settings.torque_range or None,
        )
    return run, model, static_postures(run, model, settings.sensor_frame)


def _fit(
    settings: TareSettings, postures: StaticPostures
) -> tuple[SensorCalibration, FullCalibration | None]:
    """Bias and load, with `--calibrate` gains, mounting and drift as well."""
    from sysid_core.signals.wrench import calibrate_static, is_reversed, tare_static

    full = None
    if settings.calibrate:
        reversed_ = is_reversed(postures.wrench[:, :3], postures.gravity_S, postures.R_WS)
        full = calibrate_static(
            -postures.wrench if reversed_ else postures.wrench,
            postures.gravity_S,
            postures.R_WS,
            postures.start_ns * 1e-9,
            known_mass=settings.expected_mass or None,
            frame=settings.sensor_frame,
            noise=postures.noise,
            source=str(settings.recording),
        )
        found = full.calibration.of_opposite_sign() if reversed_ else full.calibration
    else:
        found = tare_static(
            postures.wrench,
            postures.gravity_S,
            R_WS=postures.R_WS,
            frame=settings.sensor_frame,
            noise=postures.noise,
            expected_mass=settings.expected_mass or None,
            allow_bare=settings.bare,
            sign=settings.sensor.sign,
            source=str(settings.recording),
        )
    newest = int(postures.start_ns.max())
    notes = (*found.notes, *postures.notes)
    found = replace(found, stamp_ns=newest, temperature=settings.temperature, notes=notes)
    return found, full


def _with_delay(
    calibration: SensorCalibration, run: Recording, model: RobotModel, sensor_frame: str
) -> SensorCalibration:
    """The calibration with the wrench's delay, where the recording shows it."""
    from sysid_core.signals.wrench import delay_of_recording

    try:
        delay = delay_of_recording(run, model, sensor_frame)
    except SignalError as err:
        remark("no delay:", str(err), to=errors)
        return calibration
    if not delay.is_known:
        return calibration
    return replace(calibration, delay=(delay.delay, delay.sd))


def _save(calibration: SensorCalibration, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    calibration.save(out)


def _recheck(settings: TareSettings, kept_file: Path, postures: StaticPostures) -> None:
    """A kept calibration with today's bias."""
    import numpy as np

    from sysid_core.signals.wrench import SensorCalibration, retare

    kept = SensorCalibration.load(kept_file)
    found, change = retare(kept, postures, temperature=settings.temperature)
    _save(found, settings.out)
    age_h = kept.age_s(found.stamp_ns) / 3600.0
    warmer = found.temperature - kept.temperature
    result = result_dict(found) | {
        "change": change.tolist(),
        "hours_since": age_h if np.isfinite(age_h) else None,
        "warmer": warmer if np.isfinite(warmer) else None,
    }
    if copy_json(json.dumps(result, indent=2), settings.json_path):
        return
    force, torque = np.abs(change[:3]).max(), np.abs(change[3:]).max()
    console.print(
        f"The bias has moved by {force:.2g} N and {torque:.2g} N m"
        + (f" in {age_h:.1f} h" if np.isfinite(age_h) else "")
        + (f", {warmer:+.1f} °C" if np.isfinite(warmer) else "")
        + f". All else is kept. Written: {settings.out}",
        soft_wrap=True,
        highlight=False,
    )
