# SPDX-License-Identifier: Apache-2.0
"""`sysid servos` identifies position servos from commands and encoders, simulates and exports them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.base import console, copy_json, errors, group, remark, require_folder, tick
from sysid_cli.settings import JsonPathOption, PathOption, command
from sysid_cli.tables import print_rows, print_verdict
from sysid_core import workflows
from sysid_core.workflows import ServoFiles, ServoSettings

if TYPE_CHECKING:
    from sysid_core.servos import Replay, ServoIdentification


ServosArgument = Annotated[Path, typer.Argument(metavar="DIR")]


servos = group(
    "servos",
    "Identify and simulate position servos without torque sensors.",
    "sysid servos identify my_dataset --robot so101.urdf --out arm",
)


@command(
    servos, "identify", example="sysid servos identify my_dataset --robot so101.urdf --out arm"
)
def identify(*, settings: ServoSettings, out: PathOption, json_path: JsonPathOption = "") -> None:
    """Identify position servos (stiction, delay, motion profile, stiffness) from commands and positions.

    Args:
        out: Folder for servos.yaml, result.json and report.html.
    """
    require_folder(out)
    with errors.progress("reading") as status:
        found = workflows.identify_servos(
            settings,
            status.step,
            lambda phase: status.update(f"servos: {phase}"),
        )
        files = found.write(out)
    if not copy_json(found.to_dict(), json_path):
        _print_result(found.result)
        if found.unseen is not None:
            ours, command_alone = (x * 1e3 for x in found.unseen)
            console.print(
                f"Recordings that were not fitted: {ours:.2f} mrad rms; position = target:"
                f" {command_alone:.2f} mrad.",
                highlight=False,
            )
        print_verdict(found.verdict)
        console.print(f"written to {out}: {', '.join(files)}", highlight=False)
    raise typer.Exit(found.verdict.exit_status)


@command(servos, "simulate", example="sysid servos simulate arm other_dataset")
def simulate(
    *,
    folder: ServosArgument,
    files: ServoFiles,
    mjcf: Path | None = None,
    json_path: JsonPathOption = "",
) -> None:
    """Simulate recorded commands in open loop, and print the error of each motion and joint.

    Args:
        folder: Folder of `sysid servos identify`.
        mjcf: MJCF file of `sysid servos export`, to be simulated in MuJoCo as well.
    """
    from sysid_core.servos import Replay, ServoMjcf, load_servos

    model = load_servos(folder)
    replays = Replay.all_of(model, files.read())
    errors_of = {
        "rms": [item.rms for item in replays],
        "command_rms": [item.command_rms for item in replays],
    }
    if mjcf is not None:
        exported = ServoMjcf.replay(mjcf, model, replays)
        errors_of["mjcf_rms"] = [item.rms for item in exported]
    seconds = [item.recording.duration for item in replays]
    whole = {kind: Replay.overall(of_motions, seconds) for kind, of_motions in errors_of.items()}
    content = whole | {
        "motions": {
            item.recording.name: {
                kind: dict(zip(model.joints, map(float, of_motions[k]), strict=True))
                for kind, of_motions in errors_of.items()
            }
            for k, item in enumerate(replays)
        },
    }
    if not copy_json(content, json_path):
        _print_replays(model.joints, replays)
        for note in dict.fromkeys(note for item in replays for note in item.recording.notes):
            remark("note:", note)
        in_mujoco = f" in MuJoCo: {whole['mjcf_rms'] * 1e3:.2f} mrad;" if mjcf else ""
        console.print(
            f"All motions: {whole['rms'] * 1e3:.2f} mrad rms;{in_mujoco} position = target:"
            f" {whole['command_rms'] * 1e3:.2f} mrad.",
            highlight=False,
        )


@command(servos, "export", example="sysid servos export arm --out arm.xml")
def export(*, folder: ServosArgument, out: PathOption, data: Path | None = None) -> None:
    """Export identified servos as MJCF or C code, compare the torques of the exported file with those
    of the servos, and list the terms that the format cannot represent.

    Beside the file, FILE_actuators.yaml contains actuators for Isaac Lab, and FILE.proof.json the
    comparison, which `sysid verify FILE.proof.json` repeats. Exit status 1 if the torques of the file
    differ from those of the servos.

    Args:
        folder: Folder of `sysid servos identify`.
        out: File to write: C code if its name ends in .c, otherwise MJCF. The proof file is written to
            the same folder.
        data: Folder with the recordings, if they were moved.
    """
    made = workflows.export_servos(folder, out, data=data)
    for sentence in made.sentences:
        remark("note:", sentence)
    worst = max(made.differences.values())
    text = f"{made.file}: torques differ by {worst:.1e} N m from those of the servos."
    console.print(tick(made.equal), text, highlight=False, soft_wrap=True)
    if made.errors is not None:
        kind = "held-out motions" if made.errors.held_out else "motions of the fit"
        console.print(
            f"Error on the {kind}: {made.errors.inside * 1e3:.2f} mrad rms; in MuJoCo:"
            f" {made.errors.exported * 1e3:.2f} mrad. MuJoCo differs from the servos by"
            f" {made.errors.apart * 1e3:.2f} mrad, {made.errors.apart / made.errors.command:.0%} of their"
            " difference from the command.",
            highlight=False,
        )
    names = f"{made.file}, with {made.actuators.name} and {made.proof.name}"
    console.print(f"Written: {names}", highlight=False, soft_wrap=True)
    raise typer.Exit(int(not made.equal))


def _print_result(result: ServoIdentification) -> None:

    from sysid_core.servos import TERMS

    rows: list[tuple[str, ...]] = []
    for joint in result.joints:
        errors_of = f"{joint.held_out * 1e3:.2f}", f"{joint.baseline * 1e3:.2f}"
        rows.append((joint.servo.joint, "", "", "", *errors_of))
        rows += (
            ("", term.value, TERMS[term].unit, joint.servo.in_words(term), "", "")
            for term in joint.servo.values
        )
    columns = ("joint", "term", "unit", "value", "held-out [mrad]", "command [mrad]")
    print_rows(columns, rows, left=columns[:3])
    if result.model.ground is not None:
        remark(
            "note:",
            f"Contact with a horizontal surface (such as a table) at a height of {result.model.ground.height:.3f} m,"
            " relative to the origin of the base.",
        )
    for note in result.notes:
        remark("note:", note)


def _print_replays(joints: tuple[str, ...], replays: tuple[Replay, ...]) -> None:

    from sysid_core.servos import Replay

    def numbers(item: Replay) -> list[float]:
        return [
            *item.rms,
            Replay.overall([item.rms], [1.0]),
            Replay.overall([item.command_rms], [1.0]),
        ]

    print_rows(
        ("motion", *joints, "all", "position = target"),
        ([item.recording.name, *(f"{x * 1e3:.2f}" for x in numbers(item))] for item in replays),
        title="error [mrad rms]",
    )
