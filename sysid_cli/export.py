# SPDX-License-Identifier: Apache-2.0
"""`sysid export` writes a result in the formats of simulators and controllers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sysid_cli.base import app, console, errors, require_folder, tick
from sysid_cli.settings import PathOption, command
from sysid_cli.tables import print_exports
from sysid_core import workflows
from sysid_core.errors import ModelError
from sysid_core.settings import words

if TYPE_CHECKING:
    from sysid_core.export import Target


@command(app, example="sysid export results/ur5 --to mjcf,c --out exports/ur5")
def export(
    *,
    result: Annotated[Path, typer.Argument(metavar="RESULT")],
    out: PathOption,
    to: str = "urdf,mjcf,c",
    payload: Path | None = None,
    payload_frame: str = "",
    data: Path | None = None,
) -> None:
    """Export an identified robot to simulators and controllers, and check the torques of each file.

    Friction is fitted again with the terms that each format has. The output compares the prediction
    error of each file with that of the identified model; `sysid verify OUT/proof.json` repeats the
    comparison. If the torques of a file differ from those of the model, nothing is written.

    Args:
        result: Result folder of `sysid identify`.
        out: Folder for the files and proof.json.
        to: Formats, separated by commas: urdf, mjcf, sdf, usd, c, ros2_control.
        payload: Result folder of `sysid payload`; this payload is added to the exported robot.
        payload_frame: Sensor frame in which the payload was estimated.
        data: Folder with the recordings, if they were moved.
    """
    from sysid_core.export import Carried

    targets = export_targets(to)
    require_folder(out)
    if (payload is None) != (not payload_frame):
        raise ModelError(
            "The frame of the payload is missing.",
            remedy="Give both --payload and --payload-frame.",
        )
    carried = None if payload is None else Carried.load(payload, payload_frame)
    with errors.progress("exporting") as status:
        made = workflows.export_result(
            result, targets, out, data=data, carried=carried, progress=status.step
        )
    for one in made:
        worst = max(one.differences.values())
        mark = Text("!", "yellow") if one.error.worth_a_warning else tick(True)
        text = f"{one.file}: torques agree with those of the model ({worst:.1e} N m at most)."
        if one.error.worth_a_warning:
            text += " The table below shows by how much its prediction error increases."
        console.print(mark, text, highlight=False, soft_wrap=True)
        for loss in one.losses:
            console.print("  ", loss.sentence, highlight=False, soft_wrap=True)
    print_exports([(one.error, one.name) for one in made])
    console.print(f"written to {out}, with proof.json", soft_wrap=True, markup=False)


def export_targets(text: str) -> list[Target]:
    """Export formats from a list of names separated by commas.

    Raises:
        ModelError: The list is empty, or contains an unknown format.
    """
    from sysid_core.export import Target

    names = dict.fromkeys(words(text))
    if not names:
        raise ModelError(
            "No format was specified.",
            remedy=f"Choose one or several of {', '.join(t.value for t in Target)}.",
        )
    return [Target.named(name, "The export format", ModelError) for name in names]
