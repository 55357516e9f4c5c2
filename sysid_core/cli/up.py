"""`sysid up`: start the live nodes without launch."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated

import typer

from sysid_core.cli.app import app
from sysid_core.errors import SysIdError


def _live(module: str) -> object:
    """A module of the ROS layer, only when it is called for: everything offline works without ROS."""
    try:
        return importlib.import_module(module)
    except ImportError as err:
        raise SysIdError(
            f"The live commands need ROS 2 and the built interfaces ({err}).",
            remedy="Run `make setup` and `source scripts/env.sh`, or source your ROS 2 workspace;"
            " `sysid doctor` says what is missing.",
        ) from err


@app.command()
def up(
    graph: Annotated[str, typer.Argument(help="demo (simulated robot) or bringup (real robot).")],
    scenario: Annotated[
        str, typer.Option(help="Of the demo: payload, sequential, arm or leg.")
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
        status = _live("sysid_demos.run").run(scenario, out, namespace=namespace, fast=fast)  # type: ignore[attr-defined]
    elif graph == "bringup":
        status = _live("sysid_nodes.bringup").run(config, out, namespace=namespace)  # type: ignore[attr-defined]
    else:
        raise SysIdError(f"No graph '{graph}'.", remedy="Choose demo or bringup.")
    raise typer.Exit(status)
