# SPDX-License-Identifier: Apache-2.0
"""`sysid bag` inspects, checks, repairs and exports recordings in rosbag2 format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.base import console, copy_json, errors, group, remark
from sysid_cli.settings import JsonPathOption, command
from sysid_cli.tables import print_rows
from sysid_core.errors import SignalError

if TYPE_CHECKING:
    from sysid_core.signals.bags import StoredBag

bag = group(
    "bag",
    "Inspect, check, repair, export and replay rosbag2 bags.",
    "sysid bag check results/demo/bag",
)

PathArgument = Annotated[Path, typer.Argument(help="rosbag2 folder, or an .mcap or .db3 file.")]
JointTopicOption = Annotated[str, typer.Option(help="Topic of the joint states.")]
WrenchTopicOption = Annotated[str, typer.Option(help="Topic of the wrenches.")]


def require_bag(path: Path) -> None:
    """Raise an error for a path that is not a bag, before large libraries are imported.

    Raises:
        SignalError: There is no bag at this path.
    """
    if not path.exists():
        raise SignalError(
            f"There is no bag at '{path}'.", remedy="Give a rosbag2 folder or an .mcap file."
        )


@command(bag, example="sysid bag info recording.mcap")
def info(*, path: PathArgument, json_out: JsonPathOption = "") -> None:
    """List a bag's topics, message counts and rates, the messages of the logger in it, and its damage."""
    require_bag(path)
    from sysid_core.signals.bags import StoredBag

    with errors.progress("Reading"):
        stored = StoredBag.open(path)
    result = {
        "path": str(path),
        "files": [file.name for file in stored.files],
        "messages": stored.count,
        "seconds": stored.seconds,
        "topics": [
            {"name": t.name, "type": t.type, "messages": t.count, "rate_hz": t.rate_hz}
            for t in stored.topics
        ],
        "custom_data": stored.custom_data,
        "damage": list(stored.damage),
        "lost_s": stored.lost_s,
    }
    if not copy_json(result, json_out):
        _show_info(stored)


@command(bag, example="sysid bag recover truncated.mcap repaired")
def recover(*, path: PathArgument, out: Path) -> None:
    """Write all readable messages of a damaged bag to a new bag with index and metadata.

    Args:
        out: Folder to create for the repaired bag.
    """
    require_bag(path)
    from sysid_core.signals.bags import BagWriter, StoredBag

    with errors.progress("Recovering"):
        damaged = StoredBag.open(path)
        stored = BagWriter.recover(path, out)
    for sentence in damaged.damage:
        console.print(sentence, style="yellow", soft_wrap=True)
    if damaged.damage:
        console.print(f"{damaged.lost_s:.2f} s of messages in damaged chunks are lost.")
    else:
        console.print(f"'{path}' is not damaged; it has been copied.", soft_wrap=True)
    console.print(
        f"{stored.count} messages over {stored.seconds:.1f} s are in '{out}'.",
        soft_wrap=True,
    )


def _show_info(stored: StoredBag) -> None:
    print_rows(
        ("topic", "type", "messages", "Hz"),
        (
            (t.name, t.type, str(t.count), f"{t.rate_hz:.1f}" if t.count > 1 else "–")
            for t in stored.topics
        ),
        left=("type",),
        box=None,
        title=f"{stored.count} messages over {stored.seconds:.1f} s",
    )
    for key, value in stored.custom_data.items():
        console.print(f"{key}: {value}", soft_wrap=True)
    for sentence in stored.damage:
        console.print(sentence, style="yellow", soft_wrap=True)
    if stored.damage:
        remark("what to do:", "`sysid bag recover` repairs the bag.", "bold")


@command(bag, example="sysid bag export recording.mcap recording.csv")
def export(
    *,
    path: PathArgument,
    out: Path,
    joint_topic: JointTopicOption = "",
    wrench_topic: WrenchTopicOption = "",
) -> None:
    """Export joint states and wrenches as a table (NPZ, CSV, Parquet).

    Args:
        out: Table to write; its suffix (.npz, .csv or .parquet) selects the format.
    """
    require_bag(path)
    from sysid_core.signals import export_recording
    from sysid_core.signals.bags import read_bag

    recording = read_bag(path, joint_topic=joint_topic or None, wrench_topic=wrench_topic or None)
    for note in recording.notes:
        console.print(note, style="yellow", soft_wrap=True)
    for file in export_recording(recording, out):
        console.print(f"'{file}' written.", soft_wrap=True)
