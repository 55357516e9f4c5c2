# SPDX-License-Identifier: Apache-2.0
"""`sysid run`: a whole identification on a real robot, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import app, example
from sysid_cli.live.ros import ros_module
from sysid_core.errors import SysIdError


@app.command(epilog=example("sysid run config/bringup_ur.yaml plan --out results/run"))
def run(
    config: Annotated[Path, typer.Argument(help="Bringup file, see config/bringup_*.yaml.")],
    plan: Annotated[Path, typer.Argument(help="Trajectory or folder that `sysid plan` wrote.")],
    out: Annotated[Path, typer.Option(help="New folder for bag, results and logs.")] = Path(
        "results/run"
    ),
    namespace: Annotated[str, typer.Option(help="Namespace of all nodes.")] = "",
    slow: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Speed of a first pass, share of the plan's; 0: none."),
    ] = 0.3,
    method: Annotated[str, typer.Option(help="Estimator, for plans of a whole arm.")] = "lmi",
    calibration: Annotated[
        Path | None, typer.Option(help="Kept calibration of the sensor, for plans without tare.")
    ] = None,
    until: Annotated[
        str,
        typer.Option(
            help="Stop the motion smoothly once 'mass', 'com' or 'inertia' of a payload is known."
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask before the robot moves.")] = False,
) -> None:
    """Check a motion, play it slowly, then fully and recorded; weigh the payload or identify the arm.

    The robot's driver must be running. Nothing moves before you have said yes; Ctrl-C stops smoothly.
    """
    module = ros_module("sysid_nodes.bringup")
    if out.exists() and any(out.iterdir()):
        raise SysIdError(f"'{out}' isn't empty.", remedy="Give another --out.")
    if until not in ("", "mass", "com", "inertia"):
        raise SysIdError(f"No quantity '{until}'.", remedy="Give --until mass, com or inertia.")
    if calibration is not None and not calibration.is_file():
        raise SysIdError(f"No file '{calibration}'.", remedy="`sysid tare` writes one.")
    options = module.RunOptions(
        out=out,
        namespace=namespace,
        slow=slow,
        method=method,
        calibration=calibration,
        until=until,
    )
    raise typer.Exit(
        module.run_plan(config, plan, options, lambda text: yes or typer.confirm(text))
    )
