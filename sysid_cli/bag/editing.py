# SPDX-License-Identifier: Apache-2.0
"""`sysid bag cut | merge | export`: bags out of bags, tables out of bags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import console, example
from sysid_cli.bag.group import (
    JointTopicOption,
    PathArgument,
    WrenchTopicOption,
    bag,
    require_bag,
)

if TYPE_CHECKING:
    from sysid_core.signals.bags import StoredBag


@bag.command(epilog=example("sysid bag cut recording.mcap part --start 10 --end 70"))
def cut(
    path: PathArgument,
    out: Annotated[Path, typer.Argument(help="Folder to create for the part.")],
    start: Annotated[float, typer.Option(min=0.0, help="Begin of the part, s.")] = 0.0,
    end: Annotated[float, typer.Option(min=0.0, help="End of the part, s.")] = float("inf"),
) -> None:
    """Write a part of a bag into a new one; the robot's description is kept."""
    require_bag(path)
    from sysid_core.signals.bags import cut_bag

    _tell_written(cut_bag(path, out, start_s=start, end_s=end), out)


@bag.command(epilog=example("sysid bag merge monday.mcap tuesday.mcap --out both"))
def merge(
    paths: Annotated[list[Path], typer.Argument(help="Bags, in any order.")],
    out: Annotated[Path, typer.Option(help="Folder to create.")],
) -> None:
    """Write several bags into one, in the order in which messages were received."""
    from sysid_core.signals.bags import merge_bags

    _tell_written(merge_bags(paths, out), out)


@bag.command(epilog=example("sysid bag export recording.mcap recording.csv"))
def export(
    path: PathArgument,
    out: Annotated[Path, typer.Argument(help="File that ends in .npz, .csv or .parquet.")],
    joint_topic: JointTopicOption = "",
    wrench_topic: WrenchTopicOption = "",
) -> None:
    """Write joint states and wrenches as a table that other programs read."""
    require_bag(path)
    from sysid_core.signals import export_recording
    from sysid_core.signals.bags import read_bag

    recording = read_bag(path, joint_topic=joint_topic or None, wrench_topic=wrench_topic or None)
    for note in recording.notes:
        console.print(note, style="yellow", soft_wrap=True)
    for file in export_recording(recording, out):
        console.print(f"'{file}' written.", soft_wrap=True)


def _tell_written(stored: StoredBag, out: Path) -> None:
    console.print(
        f"{stored.count} messages over {stored.seconds:.1f} s are in '{out}'.",
        soft_wrap=True,
    )
