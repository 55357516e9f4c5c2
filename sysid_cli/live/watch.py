# SPDX-License-Identifier: Apache-2.0
"""`sysid watch`: the live graph at a glance."""

from __future__ import annotations

from typing import Annotated

import typer

from sysid_cli.app import app, example
from sysid_cli.live.ros import ros_module


@app.command(epilog=example("sysid watch --seconds 60"))
def watch(
    namespace: Annotated[str, typer.Option(help="Namespace of the nodes.")] = "",
    seconds: Annotated[float, typer.Option(min=0.0, help="How long [s]; 0: until Ctrl-C.")] = 0.0,
) -> None:
    """Show nodes, streams, motion, payload and parameters of the running graph, over ssh too.

    Example: `sysid watch --namespace left`. Exit status 1: no node is heard, or one has an error.
    """
    show = ros_module("sysid_monitor.watch").watch
    raise typer.Exit(show(namespace, seconds or float("inf")))
