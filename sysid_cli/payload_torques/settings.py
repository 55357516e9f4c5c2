# SPDX-License-Identifier: Apache-2.0
"""The options of `sysid payload-torques`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.mounting import GravityOption, MountOption
from sysid_cli.recordings import ColumnsOption, EffortKindOption, JsonPathOption, RobotOption


@dataclass(frozen=True, kw_only=True)
class PayloadTorquesSettings:
    """Everything that `sysid payload-torques` is given."""

    loaded: Annotated[
        list[Path], typer.Argument(metavar="LOADED...", help="Tables (CSV) or rosbag2 bags.")
    ]
    robot: RobotOption
    frame: Annotated[str, typer.Option(help="Frame that carries the payload, such as tool0.")]
    out: Annotated[Path, typer.Option(help="Folder for estimate, result and report.")]
    unloaded: Annotated[
        list[Path],
        typer.Option(help="The same arm without payload; may be repeated. Without: the URDF's."),
    ] = field(default_factory=list)
    arm: Annotated[
        Path | None,
        typer.Option(help="estimate.yaml of the unloaded arm (full parameters) instead."),
    ] = None
    columns: ColumnsOption = None
    gain_sd: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Relative standard deviation of each drive gain; default: the column map's"
            " `gain_sd`, or 0.05.",
            show_default=False,
        ),
    ] = None
    target_current: Annotated[
        str,
        typer.Option(
            metavar="FIRST-LAST",
            help="Columns of the controller's desired currents; with --target-torque they replace"
            " the column map's gains.",
        ),
    ] = ""
    target_torque: Annotated[
        str, typer.Option(metavar="FIRST-LAST", help="Columns of its own model torques.")
    ] = ""
    friction: Annotated[
        str, typer.Option(help="'usual', 'geared', or terms with commas, as in `identify`.")
    ] = "geared"
    shape: Annotated[
        str, typer.Option(help="Shape in the frame, as in `payload`: a prior on the inertia.")
    ] = ""
    reach: Annotated[
        float, typer.Option(min=1e-3, help="How far the centre of mass may be off the frame, in m.")
    ] = 0.3
    size: Annotated[
        float, typer.Option(min=1e-3, help="Radius of a ball as large as the payload, in m.")
    ] = 0.15
    rate_hz: Annotated[float, typer.Option(min=1.0, help="Rate of the regressor.")] = 50.0
    motion_cutoff_hz: Annotated[float, typer.Option(min=0.1, help="Low-pass of the motion.")] = 8.0
    effort_kind: EffortKindOption = ""
    gravity: GravityOption = ""
    mount: MountOption = ""
    true_mass: Annotated[float, typer.Option(help="To compare with, in kg.")] = float("nan")
    json_path: JsonPathOption = ""
