# SPDX-License-Identifier: Apache-2.0
"""`sysid payload-torques`: what an arm without force-torque sensor carries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.cli.app import app, console, copy_json, errors, example, require_folder
from sysid_core.cli.mounting import GravityOption, MountOption, mounted
from sysid_core.cli.recordings import ColumnsOption, EffortKindOption, JsonPathOption, RobotOption
from sysid_core.cli.tables import print_table
from sysid_core.errors import SignalError

if TYPE_CHECKING:
    from sysid_core.estimation.loaded_arm import LoadedArm
    from sysid_core.judgement import Judgement
    from sysid_core.robot import Array, RobotModel
    from sysid_core.signals import ColumnMap


@app.command(
    "payload-torques",
    epilog=example(
        "sysid payload-torques loaded.mcap --unloaded bare.mcap --robot robot.urdf --frame tool0 --out results/load"
    ),
)
def payload_torques(
    loaded: Annotated[
        list[Path], typer.Argument(metavar="LOADED...", help="Tables (CSV) or rosbag2 bags.")
    ],
    robot: RobotOption,
    frame: Annotated[str, typer.Option(help="Frame that carries the payload, such as tool0.")],
    out: Annotated[Path, typer.Option(help="Folder for estimate, result and report.")],
    unloaded: Annotated[
        list[Path] | None,
        typer.Option(help="The same arm without payload; may be repeated. Without: the URDF's."),
    ] = None,
    arm: Annotated[
        Path | None,
        typer.Option(help="estimate.yaml of the unloaded arm (full parameters) instead."),
    ] = None,
    columns: ColumnsOption = None,
    gain_sd: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Relative standard deviation of each drive gain; default: the column map's"
            " `gain_sd`, or 0.05.",
            show_default=False,
        ),
    ] = None,
    target_current: Annotated[
        str,
        typer.Option(
            metavar="FIRST-LAST",
            help="Columns of the controller's desired currents; with --target-torque they replace"
            " the column map's gains.",
        ),
    ] = "",
    target_torque: Annotated[
        str, typer.Option(metavar="FIRST-LAST", help="Columns of its own model torques.")
    ] = "",
    friction: Annotated[
        str, typer.Option(help="'usual', 'geared', or terms with commas, as in `identify`.")
    ] = "geared",
    shape: Annotated[
        str, typer.Option(help="Shape in the frame, as in `payload`: a prior on the inertia.")
    ] = "",
    reach: Annotated[
        float, typer.Option(min=1e-3, help="How far the centre of mass may be off the frame, in m.")
    ] = 0.3,
    size: Annotated[
        float, typer.Option(min=1e-3, help="Radius of a ball as large as the payload, in m.")
    ] = 0.15,
    rate_hz: Annotated[float, typer.Option(min=1.0, help="Rate of the regressor.")] = 50.0,
    motion_cutoff_hz: Annotated[float, typer.Option(min=0.1, help="Low-pass of the motion.")] = 8.0,
    effort_kind: EffortKindOption = "",
    gravity: GravityOption = "",
    mount: MountOption = "",
    true_mass: Annotated[float, typer.Option(help="To compare with, in kg.")] = float("nan"),
    json_path: JsonPathOption = "",
) -> None:
    """Weigh a payload by joint torques or currents, as the difference to the unloaded arm."""
    import numpy as np

    from sysid_core.cli.verdict import print_judgement
    from sysid_core.estimation import Estimate
    from sysid_core.estimation.arm import Processing
    from sysid_core.estimation.loaded_arm import PayloadFromTorques, torque_streams, with_load
    from sysid_core.estimation.payload import DensityPrior
    from sysid_core.pipeline import drives_of, friction_terms, load_recording
    from sysid_core.plausibility import examine, require_fit
    from sysid_core.report import loaded_arm_report, payload_sentence, save_and_list
    from sysid_core.robot import FrictionModel, RobotModel
    from sysid_core.robot.shapes import load_shape
    from sysid_core.signals import ColumnMap
    from sysid_core.validation import judge_estimate

    require_folder(out)
    column_map = None if columns is None else ColumnMap.load(columns)
    model = mounted(RobotModel.from_urdf(robot), gravity, mount, column_map)
    drives = drives_of(model, column_map, gains=not (target_current or target_torque))
    unloaded = unloaded or []
    with errors.status("reading recordings") as status:
        if target_current or target_torque:
            drives = drives.with_gains(
                target_gains(model, unloaded or loaded, column_map, target_current, target_torque)
            )
        sd = gain_deviations(model, column_map, gain_sd)
        friction_model = FrictionModel(drives, friction_terms(friction))
        processing = Processing(rate_hz=rate_hz, motion_cutoff_hz=motion_cutoff_hz)
        runs = [
            [load_recording(path, column_map, effort_kind) for path in paths]
            for paths in (loaded, unloaded)
        ]
        for run in (*runs[0], *runs[1]):
            require_fit(model, run)
        streams = [
            [s for run in some for s in torque_streams(model, run, friction_model, processing)]
            for some in runs
        ]
        status.update("weighing the payload")
        fit = PayloadFromTorques(
            model,
            frame,
            friction=friction_model,
            gain_sd=sd,
            reach=reach,
            size=size,
            density=DensityPrior(load_shape(shape)) if shape else None,
        ).compare(
            *streams,
            identified=Estimate.load(arm) if arm else None,
            source=", ".join(str(path) for path in loaded),
        )
        status.update("looking for faults of data and description")
        carrying = with_load(model, frame, fit.estimate.values)
        judgement = judge_estimate(fit.estimate) + judge_added(*fit.added)
        for robot_then, some in zip((carrying, model), runs, strict=True):
            if some:
                judgement = judgement + examine(robot_then, some, drives).judgement
    truth = true_mass if np.isfinite(true_mass) else None
    out.mkdir(parents=True, exist_ok=True)
    fit.estimate.save(out / "estimate.yaml")
    report = loaded_arm_report(
        fit, gains=drives.gains.tolist(), gain_sd=float(sd.max()), true_mass=truth
    )
    report.judged(judgement, payload_sentence(fit.estimate))
    save_and_list(report, out / "report.html")
    result = result_dict(fit, drives.gains.tolist(), sd.tolist(), truth)
    text = json.dumps({"verdict": judgement.to_dict()} | result, indent=2)
    (out / "result.json").write_text(text + "\n", encoding="utf-8")
    if copy_json(text, json_path):
        raise typer.Exit(judgement.exit_status)
    print_judgement(judgement)
    _print_summary(fit, truth, out)
    raise typer.Exit(judgement.exit_status)


def judge_added(mass: float, sd: float) -> Judgement:
    """Fail where loaded runs carry less than unloaded ones, mass and deviation in kg."""
    from sysid_core.judgement import Judgement

    if mass >= -3.0 * sd:
        return Judgement()
    return Judgement(
        (
            f"The loaded runs carry {-mass:.2f} ± {sd:.2f} kg less than the unloaded arm: are loaded"
            " and unloaded runs exchanged, or are the efforts' signs or the mounting (--gravity)"
            " wrong?",
        )
    )


def gain_deviations(model: RobotModel, columns: ColumnMap | None, given: float | None) -> Array:
    """Relative standard deviation of each gain, (n,): as given, of the column map, or 5 %."""
    import numpy as np

    if given is None and columns is not None and columns.gain_sd is not None:
        return np.array([columns.gain_sd[columns.joints.index(j)] for j in model.joint_names])
    return np.full(model.nv, 0.05 if given is None else given)


def target_gains(
    model: RobotModel,
    recordings: list[Path],
    columns: ColumnMap | None,
    current: str,
    torque: str,
) -> Array:
    """Drive gains that the controller itself uses, from the first recording, robot's order."""
    from dataclasses import replace

    from sysid_core.estimation.loaded_arm import drive_gains_from_targets
    from sysid_core.signals import read_table

    if columns is None or not (current and torque):
        raise SignalError(
            "Gains from the controller's targets need a table, a column map and both"
            " --target-current and --target-torque.",
            remedy="For the UR10e tables: --target-current 19-24 --target-torque 25-30.",
        )
    streams = [
        read_table(
            recordings[0], replace(columns, effort=column_range(text, len(columns.joints)))
        ).joints.ordered(model.joint_names)
        for text in (current, torque)
    ]
    (desired, v), torques = (streams[0].effort, streams[0].v), streams[1].effort
    if desired is None or torques is None or v is None:
        raise SignalError(
            f"'{recordings[0]}' has no velocities.",
            remedy="They tell the controller's friction compensation from its model torque.",
        )
    return drive_gains_from_targets(desired, torques, v).gains


def column_range(text: str, n: int) -> tuple[int, ...]:
    """Columns `19-24`, both ends included."""
    try:
        first, last = (int(part) for part in text.split("-"))
    except ValueError as err:
        raise SignalError(
            f"'{text}' is not a range of columns.", remedy="Write FIRST-LAST, such as 19-24."
        ) from err
    if last - first + 1 != n:
        raise SignalError(
            f"Columns {text} are {last - first + 1}, the robot has {n} joints.",
            remedy="Columns are counted from 0; both ends belong to the range.",
        )
    return tuple(range(first, last + 1))


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
        "doubts": list(estimate.certify()),
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


def _print_summary(fit: LoadedArm, true_mass: float | None, out: Path) -> None:
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
    for line in estimate.notes:
        console.print(f"- {line}", soft_wrap=True, highlight=False, markup=False)
    console.print(f"Report: {out / 'report.html'}", soft_wrap=True)
