# SPDX-License-Identifier: Apache-2.0
"""What the commands of `sysid bag` share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sysid_core.cli.app import app
from sysid_core.errors import SignalError

bag = typer.Typer(help="rosbag2 bags: look into, check, recover. No ROS needed.")
app.add_typer(bag, name="bag", no_args_is_help=True)


def _there(path: Path) -> Path:
    """The path of something: a typing error is answered before anything heavy is imported."""
    if not path.exists():
        raise SignalError(
            f"There is no bag at '{path}'.", remedy="Give a rosbag2 folder or an .mcap file."
        )
    return path


PathArgument = Annotated[
    Path, typer.Argument(callback=_there, help="rosbag2 folder, or an .mcap or .db3 file.")
]
JsonOption = Annotated[
    str, typer.Option("--json", help="Also write the findings here; - for standard output.")
]
JointTopicOption = Annotated[str, typer.Option(help="Topic of the joint states.")]
WrenchTopicOption = Annotated[str, typer.Option(help="Topic of the wrenches.")]


def write_json(target: str, result: dict[str, Any]) -> None:
    """Write to a file, or print where the target is `-`."""
    if target == "-":
        print(json.dumps(result, indent=2))
    elif target:
        Path(target).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
