# SPDX-License-Identifier: Apache-2.0
"""What the commands of `sysid bag` share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sysid_cli.app import group
from sysid_core.errors import SignalError

bag = group(
    "bag",
    "rosbag2 bags: look into, check, recover. No ROS needed.",
    "sysid bag check results/demo/bag",
    {
        "check": "bag.check",
        "cut": "bag.editing",
        "merge": "bag.editing",
        "export": "bag.editing",
        "info": "bag.info",
        "recover": "bag.info",
        "replay": "live.replay",
    },
)

PathArgument = Annotated[Path, typer.Argument(help="rosbag2 folder, or an .mcap or .db3 file.")]
JsonOption = Annotated[
    str, typer.Option("--json", help="Also write the findings here; - for standard output.")
]
JointTopicOption = Annotated[str, typer.Option(help="Topic of the joint states.")]
WrenchTopicOption = Annotated[str, typer.Option(help="Topic of the wrenches.")]


def require_bag(path: Path) -> None:
    """Answer a typing error before anything heavy is imported.

    Raises:
        SignalError: Nothing is there.
    """
    if not path.exists():
        raise SignalError(
            f"There is no bag at '{path}'.", remedy="Give a rosbag2 folder or an .mcap file."
        )


def write_json(target: str, result: dict[str, Any]) -> None:
    """Write to a file, or print where the target is `-`."""
    if target == "-":
        print(json.dumps(result, indent=2))
    elif target:
        Path(target).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
