# SPDX-License-Identifier: Apache-2.0
"""`sysid robot`: what a running robot says about itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import example, group
from sysid_cli.live.ros import ros_module

robot = group(
    "robot",
    "What a running robot says about itself.",
    "sysid robot save robot.urdf",
    {"save": "live.robot"},
)


@robot.command(epilog=example("sysid robot save robot.urdf"))
def save(
    path: Annotated[Path, typer.Argument(help="URDF file to write.")],
    topic: Annotated[
        str, typer.Option(help="Where the robot publishes it (latched).")
    ] = "robot_description",
    namespace: Annotated[str, typer.Option(help="Namespace of a relative topic.")] = "",
    timeout: Annotated[float, typer.Option(min=0.1, help="How long to wait, in s.")] = 10.0,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Save the robot's description as a URDF file, with the hash that plans are made for."""
    module = ros_module("sysid_nodes.client")
    raise typer.Exit(
        module.save_robot(path, topic=topic, namespace=namespace, timeout_s=timeout, force=force)
    )
