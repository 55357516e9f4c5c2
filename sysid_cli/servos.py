# SPDX-License-Identifier: Apache-2.0
"""`sysid servos`: identifies position servos from commands and encoders, simulates and exports
them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import console, copy_json, errors, remark, require_folder, servos
from sysid_cli.progress import shown_by
from sysid_cli.settings import JsonPathOption, command
from sysid_cli.tables import print_table
from sysid_core import workflows
from sysid_core.workflows import ServoFiles, ServoSettings

if TYPE_CHECKING:
    from sysid_core.servos import Replay, ServoIdentification


@dataclass(frozen=True, kw_only=True)
class IdentifyOptions:
    """Options of `sysid servos identify`."""

    settings: ServoSettings
    out: Annotated[Path, typer.Option(help="Folder for servos.yaml, result.json and report.html.")]
    json_path: JsonPathOption = ""


@command(
    servos, "identify", example="sysid servos identify my_dataset --robot so101.urdf --out arm"
)
def identify(options: IdentifyOptions) -> None:
    """Identify position servos (stiction, delay, motion profile, stiffness) from commands and positions."""
    require_folder(options.out)
    with errors.status("reading") as status:
        found = workflows.identify_servos(
            options.settings,
            shown_by(status),
            lambda phase: status.update(f"servos: {phase}"),
        )
        files = found.write(options.out)
    text = (options.out / "result.json").read_text(encoding="utf-8")
    if not copy_json(text, options.json_path):
        _print_result(found.result)
        console.print(f"written to {options.out}: {', '.join(files)}", highlight=False)
    raise typer.Exit(found.verdict.exit_status)


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """Options of `sysid servos simulate`."""

    model: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of `sysid servos identify`.")]
    files: ServoFiles
    mjcf: Annotated[
        Path | None,
        typer.Option(help="MJCF file of `sysid servos export`, to be simulated in MuJoCo as well."),
    ] = None
    json_path: JsonPathOption = ""


@command(servos, "simulate", example="sysid servos simulate arm other_dataset")
def simulate(options: SimulateOptions) -> None:
    """Simulate recorded commands in open loop, and print the error of each motion and joint."""
    from sysid_core.servos import load_servos, overall, replay, replay_in_mujoco

    model = load_servos(options.model)
    replays = replay(model, options.files.read())
    errors_of = {
        "rms": [item.rms for item in replays],
        "command_rms": [item.command_rms for item in replays],
    }
    if options.mjcf is not None:
        exported = replay_in_mujoco(options.mjcf, model, replays)
        errors_of["mjcf_rms"] = [item.rms for item in exported]
    seconds = [item.recording.duration for item in replays]
    whole = {kind: overall(of_motions, seconds) for kind, of_motions in errors_of.items()}
    content = whole | {
        "motions": {
            item.recording.name: {
                kind: dict(zip(model.joints, map(float, of_motions[k]), strict=True))
                for kind, of_motions in errors_of.items()
            }
            for k, item in enumerate(replays)
        },
    }
    if not copy_json(json.dumps(content, indent=1), options.json_path):
        _print_replays(model.joints, replays)
        for note in dict.fromkeys(note for item in replays for note in item.recording.notes):
            remark("note:", note)
        in_mujoco = f" in MuJoCo: {whole['mjcf_rms'] * 1e3:.2f} mrad;" if options.mjcf else ""
        console.print(
            f"All motions: {whole['rms'] * 1e3:.2f} mrad rms;{in_mujoco} position = target:"
            f" {whole['command_rms'] * 1e3:.2f} mrad.",
            highlight=False,
        )


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Options of `sysid servos export`."""

    model: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of `sysid servos identify`.")]
    out: Annotated[Path, typer.Option(help="MJCF file to write.")]


@command(servos, "export", example="sysid servos export arm --out arm.xml")
def export(options: ExportOptions) -> None:
    """Write MJCF with position actuators, and list the terms that MJCF lacks."""
    from sysid_core.export import write_mjcf
    from sysid_core.servos import load_servos, servo_mjcf

    mjcf = servo_mjcf(load_servos(options.model))
    path = write_mjcf(options.out, mjcf.text)
    for sentence in mjcf.sentences:
        remark("note:", sentence)
    console.print(f"MJCF: {path}", highlight=False)


def _print_result(result: ServoIdentification) -> None:
    from rich.table import Table

    from sysid_core.servos import TERMS

    table = Table("joint", "term", "unit")
    for name in ("value", "held-out [mrad]", "command [mrad]"):
        table.add_column(name, justify="right")
    for joint in result.joints:
        cells = (joint.servo.joint, f"{joint.held_out * 1e3:.2f}", f"{joint.baseline * 1e3:.2f}")
        table.add_row(cells[0], "", "", "", *cells[1:])
        for term in joint.servo.values:
            table.add_row("", term.value, TERMS[term].unit, joint.servo.in_words(term), "", "")
    print_table(table)
    if result.model.ground is not None:
        remark(
            "note:",
            f"Contact with a level surface at a height of {result.model.ground.height:.3f} m,"
            " relative to the origin of the base.",
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
