# SPDX-License-Identifier: Apache-2.0
"""`sysid bag replay`: a recorded bag as a live robot."""

from __future__ import annotations

from typing import Annotated

import typer

from sysid_cli.app import console, example
from sysid_cli.bag import PathArgument, bag
from sysid_cli.live.ros import ros_module


@bag.command(epilog=example("sysid bag replay recording.mcap --rate 2 --clock"))
def replay(
    path: PathArgument,
    rate: Annotated[float, typer.Option(min=0.01, max=1000.0, help="Times real time.")] = 1.0,
    start: Annotated[
        float, typer.Option(min=0.0, help="Leave out so much of the beginning, s.")
    ] = 0.0,
    loop: Annotated[bool, typer.Option("--loop", help="Begin again at the end.")] = False,
    clock: Annotated[
        bool, typer.Option("--clock", help="Publish /clock, for nodes with use_sim_time.")
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0.0, help="For subscribers, at most so long, s.")
    ] = 10.0,
    listeners: Annotated[
        list[str] | None,
        typer.Option("--for", metavar="NODE", help="Wait for this node, too (repeatable)."),
    ] = None,
) -> None:
    """Send a bag's messages again (needs ROS): space pauses, s sends one; ~/pause and ~/step too."""
    module = ros_module("sysid_nodes.replay")
    sent = module.replay(
        path,
        rate=rate,
        start_s=start,
        loop=loop,
        clock=clock,
        wait_s=wait,
        listeners=listeners or (),
        say=console.print,
    )
    console.print(f"{sent} messages sent.")
