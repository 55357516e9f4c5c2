# SPDX-License-Identifier: Apache-2.0
"""`sysid servos`: position servos from commands and encoders, and their replay."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import console, copy_json, errors, remark, require_folder, servos
from sysid_cli.settings import (
    GravityOption,
    JsonPathOption,
    MountOption,
    RobotOption,
    command,
    mounted,
)
from sysid_cli.tables import print_table
from sysid_core.errors import SysIdError

if TYPE_CHECKING:
    from sysid_core.servos import Replay, ServoIdentification, ServoRecording

_FILES = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="SAGE folders, LeRobot datasets, rosbag2 bags, CSV, NPZ or JSON; or folders of them.",
    ),
]
_MOTIONS = Annotated[
    str, typer.Option(metavar="NAME,…", help="Only these motions (episodes); default: all.")
]
_JOINTS = Annotated[
    str,
    typer.Option(
        metavar="NAME,…", help="Joint names of the columns, if the files do not contain them."
    ),
]
_DEGREES = Annotated[bool, typer.Option("--degrees", help="The angles are in degrees.")]
_PERCENT = Annotated[
    bool,
    typer.Option(
        "--percent",
        help="The angles are LeRobot's -100 to 100 of each joint's range (URDF limits); grippers: 0 to 100.",
    ),
]
_CALIBRATION = Annotated[
    Path | None,
    typer.Option(
        metavar="JSON", help="LeRobot's calibration with these ranges; implies --percent."
    ),
]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass(frozen=True, kw_only=True)
class IdentifySettings:
    """Options of `sysid servos identify`."""

    files: _FILES
    robot: RobotOption
    out: Annotated[Path, typer.Option(help="Folder for servos.yaml and report.html.")]
    motions: _MOTIONS = ""
    joints: _JOINTS = ""
    degrees: _DEGREES = False
    percent: _PERCENT = False
    calibration: _CALIBRATION = None
    gravity: GravityOption = ""
    mount: MountOption = ""
    gain: Annotated[
        list[str], typer.Option(metavar="JOINT=K", help="Known stiffness [N m/rad], repeatable.")
    ] = field(default_factory=list)
    ground: Annotated[
        float | None,
        typer.Option(
            metavar="HEIGHT",
            help="Height of the table above the origin of the base [m]; default: estimated if the motions show it.",
        ),
    ] = None
    unseen: Annotated[
        list[Path], typer.Option(help="Held-out motions, simulated in the report.")
    ] = field(default_factory=list)
    json_path: JsonPathOption = ""


@command(
    servos, "identify", example="sysid servos identify my_dataset --robot so101.urdf --out arm"
)
def identify(settings: IdentifySettings) -> None:
    """Identify position servos (stiction, delay, motion profile, stiffness) from commands and positions."""
    from sysid_core.robot import load_robot
    from sysid_core.servos import (
        identify_servos,
        replay,
        save_servos,
        servo_report,
    )

    require_folder(settings.out)
    robot = mounted(load_robot(settings.robot), settings.gravity, settings.mount)
    recordings = _recordings(settings, settings.files, settings.motions)
    with errors.status("reading") as status:
        result = identify_servos(
            recordings,
            robot,
            gains=_gains(settings.gain),
            ground=settings.ground,
            progress=lambda phase: status.update(f"servos: {phase}"),
        )
    save_servos(result, settings.out)
    unseen = recordings
    if settings.unseen:
        unseen = _recordings(settings, settings.unseen)
    page = servo_report(
        result, settings.out / "report.html", replays=replay(result.model, unseen[:6])
    )
    if not copy_json(json.dumps(_result_dict(result), indent=1), settings.json_path):
        _print_result(result)
        console.print(f"Report: {page}", highlight=False)
    if not result.fit_for_use:
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class SimulateSettings:
    """Options of `sysid servos simulate`."""

    model: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of `sysid servos identify`.")]
    files: _FILES
    motions: _MOTIONS = ""
    joints: _JOINTS = ""
    degrees: _DEGREES = False
    percent: _PERCENT = False
    calibration: _CALIBRATION = None
    json_path: JsonPathOption = ""


@command(servos, "simulate", example="sysid servos simulate arm other_dataset")
def simulate(settings: SimulateSettings) -> None:
    """Simulate recorded commands in open loop, and print the error of each motion and joint."""
    from sysid_core.servos import load_servos, overall, replay

    model = load_servos(settings.model)
    recordings = _recordings(settings, settings.files, settings.motions)
    replays = replay(model, recordings)
    seconds = [item.recording.duration for item in replays]
    error = overall([item.rms for item in replays], seconds)
    command_error = overall([item.command_rms for item in replays], seconds)
    content = {
        "rms": error,
        "command_rms": command_error,
        "motions": {
            item.recording.name: {
                "rms": dict(zip(model.joints, map(float, item.rms), strict=True)),
                "command_rms": dict(zip(model.joints, map(float, item.command_rms), strict=True)),
            }
            for item in replays
        },
    }
    if not copy_json(json.dumps(content, indent=1), settings.json_path):
        _print_replays(model.joints, replays)
        for note in dict.fromkeys(note for item in replays for note in item.recording.notes):
            remark("note:", note)
        console.print(
            f"All motions: {error * 1e3:.2f} mrad rms; position = target:"
            f" {command_error * 1e3:.2f} mrad.",
            highlight=False,
        )


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """Options of `sysid servos export`."""

    model: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of `sysid servos identify`.")]
    out: Annotated[Path, typer.Option(help="MJCF file to write.")]


@command(servos, "export", example="sysid servos export arm --out arm.xml")
def export(settings: ExportSettings) -> None:
    """Write MJCF with position actuators, and list the terms that MJCF lacks."""
    from sysid_core.export import write_mjcf
    from sysid_core.servos import load_servos, servo_mjcf

    mjcf = servo_mjcf(load_servos(settings.model))
    path = write_mjcf(settings.out, mjcf.text)
    for sentence in mjcf.sentences:
        remark("note:", sentence)
    console.print(f"MJCF: {path}", highlight=False)


def _recordings(
    settings: IdentifySettings | SimulateSettings, files: list[Path], motions: str = ""
) -> tuple[ServoRecording, ...]:
    from sysid_core.servos import read_recordings

    return read_recordings(
        files,
        motions=_names(motions),
        joints=_names(settings.joints),
        degrees=settings.degrees,
        percent=settings.percent,
        calibration=settings.calibration,
    )


def _gains(texts: list[str]) -> dict[str, float]:
    gains = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            gains[name] = float(value)
        except ValueError:
            gains[name] = 0.0
        if not 0.0 < gains[name] < float("inf"):
            raise SysIdError(
                f"'{text}' is not a gain.", remedy="Write JOINT=K with the stiffness K in N m/rad."
            )
    return gains


def _result_dict(result: ServoIdentification) -> dict[str, object]:
    return {
        "verdict": result.outcome.value,
        "fit_for_use": result.fit_for_use,
        "findings": [
            {"reason": f.reason.value, "joint": f.joint, "sentence": f.sentence}
            for f in result.findings
        ],
        "ground": None if result.model.ground is None else result.model.ground.height,
        "joints": {
            j.servo.joint: {
                "held_out_rms": j.held_out,
                "command_rms": j.baseline,
                "terms": {t.value: x for t, x in j.servo.values.items()},
                "deviations": {t.value: x for t, x in j.servo.deviations.items()},
            }
            for j in result.joints
        },
    }


def _print_result(result: ServoIdentification) -> None:
    from rich.table import Table

    from sysid_core.servos import TERMS, term_in_words

    table = Table("joint", "term", "unit")
    for name in ("value", "held-out [mrad]", "command [mrad]"):
        table.add_column(name, justify="right")
    for joint in result.joints:
        cells = (joint.servo.joint, f"{joint.held_out * 1e3:.2f}", f"{joint.baseline * 1e3:.2f}")
        table.add_row(cells[0], "", "", "", *cells[1:])
        for term in joint.servo.values:
            table.add_row(
                "", term.value, TERMS[term].unit, term_in_words(joint.servo, term), "", ""
            )
    print_table(table)
    if result.model.ground is not None:
        remark(
            "note:",
            f"Contact with a level surface at a height of {result.model.ground.height:.3f} m, relative to the origin of the base.",
        )
    for note in result.notes:
        remark("note:", note)
    for finding in result.findings:
        remark("failed:" if finding.reason.fails else "warning:", finding.sentence, to=errors)


def _print_replays(joints: tuple[str, ...], replays: tuple[Replay, ...]) -> None:
    from rich.table import Table

    from sysid_core.servos import overall

    table = Table("motion", title="error [mrad rms]")
    for name in (*joints, "all", "position = target"):
        table.add_column(name, justify="right")
    for item in replays:
        numbers = [*item.rms, overall([item.rms], [1.0]), overall([item.command_rms], [1.0])]
        table.add_row(item.recording.name, *(f"{x * 1e3:.2f}" for x in numbers))
    print_table(table)
