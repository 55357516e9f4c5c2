# SPDX-License-Identifier: Apache-2.0
"""`sysid bag info | recover`: what is in a bag, and a whole one out of a damaged one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from sysid_cli.app import console, errors, example, remark
from sysid_cli.bag.group import JsonOption, PathArgument, bag, require_bag, write_json
from sysid_cli.tables import print_table

if TYPE_CHECKING:
    from sysid_core.signals.bags import StoredBag


@bag.command(epilog=example("sysid bag info recording.mcap"))
def info(path: PathArgument, json_out: JsonOption = "") -> None:
    """List topics, counts, rates, what the logger noted, and damage."""
    require_bag(path)
    from sysid_core.signals.bags import open_bag

    with errors.status("Reading"):
        stored = open_bag(path)
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
    if json_out != "-":
        _show_info(stored)
    write_json(json_out, result)


@bag.command(epilog=example("sysid bag recover truncated.mcap repaired"))
def recover(
    path: PathArgument,
    out: Annotated[Path, typer.Argument(help="Folder to create for the whole bag.")],
) -> None:
    """Write all that can be read of a damaged bag into a new one with index and metadata."""
    require_bag(path)
    from sysid_core.signals.bags import open_bag, recover_bag

    with errors.status("Recovering"):
        damaged = open_bag(path)
        stored = recover_bag(path, out)
    for sentence in damaged.damage:
        console.print(sentence, style="yellow", soft_wrap=True)
    if damaged.damage:
        console.print(f"{damaged.lost_s:.2f} s of messages in damaged chunks are lost.")
    else:
        console.print(f"'{path}' was whole; it has been copied.", soft_wrap=True)
    console.print(
        f"{stored.count} messages over {stored.seconds:.1f} s are in '{out}'.",
        soft_wrap=True,
    )


def _show_info(stored: StoredBag) -> None:
    table = Table(box=None, title=f"{stored.count} messages over {stored.seconds:.1f} s")
    for column in ("topic", "type", "messages", "Hz"):
        table.add_column(column, justify="right" if column in ("messages", "Hz") else "left")
    for topic in stored.topics:
        table.add_row(
            topic.name,
            topic.type,
            str(topic.count),
            f"{topic.rate_hz:.1f}" if topic.count > 1 else "–",
        )
    print_table(table)
    for key, value in stored.custom_data.items():
        console.print(f"{key}: {value}", soft_wrap=True)
    for sentence in stored.damage:
        console.print(sentence, style="yellow", soft_wrap=True)
    if stored.damage:
        remark("what to do:", "`sysid bag recover` makes a whole bag of it.", "bold")
