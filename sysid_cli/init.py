# SPDX-License-Identifier: Apache-2.0
"""`sysid init` writes the files for a first identification, completed as far as possible."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.base import app, console, remark, require_folder, write_new
from sysid_cli.settings import command
from sysid_core.errors import ModelError, SignalError

if TYPE_CHECKING:
    from sysid_core.robot import RobotModel
    from sysid_core.signals import TableLayout

_KINDS = ("link_torque", "actuator_torque", "motor_current")
_DRIVERS = ("ur", "franka", "xarm", "servos", "simulated")
OPEN = '"?"'  # what a person has to fill in


@command(app, example="sysid init log.csv --robot robot.urdf --effort-kind motor_current")
def init(
    *,
    recording: Annotated[Path | None, typer.Argument()] = None,
    robot: str = "",
    driver: Annotated[str, typer.Option(metavar="NAME")] = "",
    effort_kind: Annotated[
        str, typer.Option(metavar="KIND", help=f"Kind of the efforts: {', '.join(_KINDS)}.")
    ] = "",
    out: Path = Path(),
    force: bool = False,
) -> None:
    """Write a commented column map for a recording, or a bringup file for a driver.

    Joint names, units, rates and the order of columns are determined from the recording. The kind
    of the efforts must be declared. Position servos (--driver servos) need no efforts. The last
    lines of the output list the missing entries and the next command.

    Args:
        recording: Recording of the robot's motion: table (CSV), rosbag2 folder or dataset.
        robot: URDF file, or the name of a robot, such as puma560 or ur5.
        driver: Driver of the robot: ur, franka, xarm, servos for position servos, or simulated to
            rehearse without hardware.
        out: Folder for the files.
        force: Overwrite existing files.
    """
    if recording is None and not driver and sys.stdin.isatty():
        given = typer.prompt(f"Recording (table or bag), or driver ({', '.join(_DRIVERS)})")
        recording, driver = (None, given) if given in _DRIVERS else (Path(given), "")
    if not robot and sys.stdin.isatty():
        robot = typer.prompt("Robot (URDF file, or robot name such as ur5)")
    if not robot or (recording is None and not driver):
        raise SignalError(
            "Give the robot, and either a recording or a driver.",
            remedy="sysid init log.csv --robot robot.urdf, or sysid init --driver ur --robot robot.urdf.",
        )
    if effort_kind and effort_kind not in _KINDS:
        raise SignalError(
            f"'{effort_kind}' is not a kind of effort.",
            remedy=f"Choose one of {', '.join(_KINDS)}.",
        )
    if driver and driver not in _DRIVERS:
        raise SignalError(
            f"'{driver}' is not a known driver.", remedy=f"Choose one of {', '.join(_DRIVERS)}."
        )
    require_folder(out)
    from sysid_core.robot import RobotModel

    model = RobotModel.from_urdf(robot)
    out.mkdir(parents=True, exist_ok=True)
    missing: list[str] = []
    columns, bringup = out / "columns.yaml", out / "bringup.yaml"
    if driver == "servos" and recording is not None:
        remark("next:", _servos(recording, robot, model, columns, force), "green")
        return
    if recording is not None:
        if not effort_kind and sys.stdin.isatty():
            effort_kind = typer.prompt(f"Kind of the efforts ({', '.join(_KINDS)})")
        text, missing = _column_map(recording, model, effort_kind)
        _write(columns, text, force)
    if driver:
        text = _bringup(driver)
        if driver == "simulated":
            text = _simulated(text, robot, model)
        missing += _unfit(text, model)
        _write(bringup, text, force)
    for one in missing:
        remark("missing:", one)
    following = {
        "": f"sysid identify {recording} --robot {robot} --columns {columns} --out results",
        "servos": f"sysid plan servos {robot} --ground 0 --tcp-speed 0.5 --out plan;"
        f" sysid run {bringup} plan --method servos --out results",
    }.get(
        driver,
        f"sysid plan payload {robot} --limits {bringup} --out plan; sysid run {bringup} plan",
    )
    remark("next:", following, "green")


def _servos(recording: Path, robot: str, model: RobotModel, columns: Path, force: bool) -> str:
    """Next command for a recording of position servos; for a table, a column map is written first."""
    from sysid_cli.init_servos import describe, servo_columns

    given = ""
    if recording.suffix.lower() in (".csv", ".tsv"):
        text, missing = servo_columns(recording, model)
        _write(columns, text, force)
        given = f" --columns {columns}"
    else:
        missing = describe(recording, model)
    for one in missing:
        remark("missing:", one)
    return f"sysid servos identify {recording} --robot {robot}{given} --out arm"


def _write(path: Path, text: str, force: bool) -> None:
    write_new(path, text, force)
    console.print(f"wrote {path}", highlight=False, soft_wrap=True)


def largest_position(model: RobotModel) -> float:
    """Return the largest joint limit of a robot; 2 pi if it has none [rad]."""
    import numpy as np

    limits = np.abs(np.concatenate(model.position_limits))
    return float(max(limits[np.isfinite(limits)], default=0.0)) or 2 * np.pi


def _bringup(driver: str) -> str:
    """Path of the bringup file that this package provides for a driver."""
    name = f"bringup_{driver}.yaml"
    places = [Path(__file__).resolve().parent.parent / "config"]
    places.append(Path(sys.prefix) / "share" / "robot_sysid" / "config")
    for place in places:
        if (place / name).is_file():
            return (place / name).read_text(encoding="utf-8")
    raise SignalError(f"{name} isn't installed.", remedy="Install robot_sysid with its data files.")


def _simulated(text: str, robot: str, model: RobotModel) -> str:
    """Bringup file of a simulated robot with its description, its arm's joints, and its tool frame."""
    from sysid_core.planning import MotionLimits, joints_beside_arm

    held = {name for names in joints_beside_arm(model) for name in names}
    arm = model.with_locked([name for name in model.joint_names if name in held])
    frame = MotionLimits.from_model(arm).tcp_frame
    values = {
        "joints": list(arm.joint_names),
        "robot": str(Path(robot).resolve()) if Path(robot).is_file() else robot,
        "tcp_frame": frame,
        "sensor_frame": frame,
    }
    lines = text.splitlines(keepends=True)
    keys = [line.strip().partition(":")[0] for line in lines]
    return "".join(
        f"  {key}: {json.dumps(values[key])}\n" if key in values else line
        for key, line in zip(keys, lines, strict=True)
    )


def _unfit(text: str, model: RobotModel) -> list[str]:
    """Entries of a bringup file that a person must complete: those marked so in a comment, and joints
    and frames that the robot lacks.
    """

    marked = re.findall(r"(?m)^ +(\w+): (.*?) +# ((?:set|replace) it.*)$", text)
    missing = [f"{key} ({value}): {what}." for key, value, what in marked]
    import yaml

    for name, section in yaml.safe_load(text).items():
        for key, value in (section or {}).items():
            try:
                if key == "joints":
                    model.holding(joints=value)
                elif key in ("tcp_frame", "sensor_frame") and value:
                    model.frame_id(value)
            except ModelError as err:
                missing.append(f"{name}.{key}: {err}")
    return missing


def _column_map(recording: Path, model: RobotModel, kind: str) -> tuple[str, list[str]]:
    """Text of a column map for a recording, and the entries that a person must complete."""
    if recording.is_dir() or recording.suffix in (".mcap", ".db3", ".bag"):
        return _map_of_bag(model, kind)
    from sysid_core.signals import TableLayout

    layout = TableLayout.of(recording, model.joint_names, largest_position(model))
    missing = _missing(layout, model, kind)
    joints = ", ".join(model.joint_names)
    how = (
        "The columns were recognised by their names."
        if layout.by_name
        else "Velocities were recognised as the derivatives of positions."
        if layout.velocity
        else "Positions and velocities were not recognised."
    )
    lines = [
        f"# Column map of '{recording.name}', written by `sysid init`. {how}",
        "schema: robot_sysid/columns/1",
        f"header: {str(layout.header).lower()}",
        f"delimiter: {_quoted(layout.delimiter)}",
        f"n_columns: {len(layout.names)}",
    ]
    if layout.time is None:
        lines.append('rate_hz: "?"  # no column of time was found: give the sampling rate')
    else:
        about = f"# {layout.rate_hz:.4g} samples a second"
        lines.append(f"time: {{column: {layout.time}, unit: {layout.time_unit}}}  {about}")
    lines += [
        "# Names of the URDF's joints, in the order of the columns below.",
        f"joints: [{joints}]",
    ]
    lines.append(_columns("position", layout.position, layout, f"unit: {layout.position_unit}"))
    if layout.velocity:
        unit = f"unit: {layout.position_unit}/s"
        lines.append(_columns("velocity", layout.velocity, layout, unit))
    if not layout.effort:
        lines += _unrecognised(layout, len(model.joint_names))
    lines.append(_columns("effort", layout.effort, layout, f"kind: {kind or OPEN}"))
    return "\n".join([*lines, *_drives(kind, len(model.joint_names))]) + "\n", missing


def _unrecognised(layout: TableLayout, n: int) -> list[str]:
    """Comment with the unrecognised columns and their ranges, in groups of one column per joint."""
    known = {layout.time, *layout.position, *layout.velocity}
    others = [k for k in range(len(layout.names)) if k not in known]
    lines = ["# Columns that were not recognised (numbered from 0), with their ranges:"]
    for start in range(0, len(others), n):
        group = others[start : start + n]
        ranges = "; ".join(
            f"{low:.3g} to {high:.3g}" for low, high in map(layout.ranges.__getitem__, group)
        )
        lines.append(f"#   {', '.join(map(str, group))}: {ranges}")
    return lines


def _map_of_bag(model: RobotModel, kind: str) -> tuple[str, list[str]]:
    """Column map of a bag. It declares only the efforts and their drive gains (a bag names its joints
    and units).
    """
    lines = [
        "# A bag contains joint names, units and stamps; this file declares the kind of its"
        " efforts.",
        "schema: robot_sysid/columns/1",
        f"joints: [{', '.join(model.joint_names)}]",
        f"effort: {{kind: {kind or OPEN}}}",
        *_drives(kind, len(model.joint_names)),
    ]
    missing = [] if kind else [_EFFORT_MISSING]
    return "\n".join(lines) + "\n", missing + _gain_missing(kind)


_EFFORT_MISSING = f"effort.kind, one of {', '.join(_KINDS)}: the meaning of the effort depends on the vendor (docs/vendors.md)."


def _gain_missing(kind: str) -> list[str]:
    if kind != "motor_current":
        return []
    return [
        "drives.gain [N m/A], and drives.source (such as a data sheet). To estimate unknown gains, record with a known load: sysid identify … --loaded RECORDING --load-mass KG."
    ]


def _missing(layout: TableLayout, model: RobotModel, kind: str) -> list[str]:
    n = len(model.joint_names)
    missing = []
    if layout.time is None:
        missing.append("rate_hz, or the column of time.")
    if not layout.position:
        missing.append(f"position.columns: the {n} columns of joint positions were not recognised.")
    if not layout.effort:
        missing.append(
            f"effort.columns: the {n} columns of efforts cannot be recognised by their values."
        )
    if not kind:
        missing.append(_EFFORT_MISSING)
    return missing + _gain_missing(kind)


def _columns(kind: str, columns: tuple[int, ...], layout: TableLayout, rest: str) -> str:
    listed = ", ".join(map(str, columns)) or OPEN
    named = [layout.names[k] for k in columns if layout.names[k]]
    about = f"  # {', '.join(named)}" if named else ""
    return f"{kind}: {{columns: [{listed}], {rest}}}{about}"


def _drives(kind: str, n: int) -> list[str]:
    if kind != "motor_current":
        return []
    return [
        "drives:",
        "  # Joint torque per motor current [N m/A], including the gear ratio; one value for"
        " each joint.",
        f"  gain: [{', '.join([OPEN] * n)}]",
        f"  source: {OPEN}",
    ]


def _quoted(delimiter: str) -> str:
    return delimiter if delimiter == "whitespace" else '"' + delimiter.replace("\t", "\\t") + '"'
