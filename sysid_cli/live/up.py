# SPDX-License-Identifier: Apache-2.0
"""`sysid up`: start the live nodes without launch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import app, example
from sysid_cli.live.ros import ros_module
from sysid_core.errors import SysIdError


@app.command(epilog=example("sysid up demo --scenario arm"))
def up(
    graph: Annotated[str, typer.Argument(help="demo (simulated robot) or bringup (real robot).")],
    scenario: Annotated[
        str, typer.Option(help="Scenario of the demo: payload, sequential, arm or leg.")
    ] = "payload",
    out: Annotated[Path, typer.Option(help="Folder for bag, report and logs.")] = Path(
        "results/demo"
    ),
    config: Annotated[
        Path | None, typer.Option(help="Parameters of a bringup, see config/bringup_*.yaml.")
    ] = None,
    namespace: Annotated[str, typer.Option(help="Namespace of all nodes.")] = "",
    fast: Annotated[bool, typer.Option(help="A shorter motion, for a quick look.")] = False,
) -> None:
    """Start the nodes. `demo` plays a whole identification on a simulated robot and reports."""
    if graph == "demo":
        status = ros_module("sysid_demos.run").run(scenario, out, namespace=namespace, fast=fast)
    elif graph == "bringup":
        status = ros_module("sysid_nodes.bringup").bring_up(config, out, namespace=namespace)
    else:
        raise SysIdError(f"No graph '{graph}'.", remedy="Choose demo or bringup.")
    raise typer.Exit(status)
