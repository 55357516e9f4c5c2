# SPDX-License-Identifier: Apache-2.0
"""`sysid limits` writes the limits file, which contains the motion limits for planner and executor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.base import console, group, write_new
from sysid_cli.settings import command

limits = group(
    "limits",
    "Write the limits file, which contains the motion limits for planner and executor.",
    "sysid limits init ur5 --out limits.yaml",
)


@command(limits, example="sysid limits init robot.urdf --tcp-frame tool0 --out limits.yaml")
def init(
    *,
    robot: Annotated[str, typer.Argument()],
    out: Path = Path("limits.yaml"),
    tcp_frame: Annotated[str, typer.Option(metavar="LINK")] = "",
    tcp_speed: Annotated[float, typer.Option(min=0.001)] = 0.25,
    srdf: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    force: bool = False,
) -> None:
    """Write the motion limits of a robot from its URDF and the values published by its vendor.

    Check the file before use: values that the URDF lacks are set to cautious defaults. Add the
    surroundings of the robot (ground, workspace, planes, obstacles).

    Args:
        robot: URDF file, or the name of a robot, such as puma560 or ur5.
        out: File to write (YAML).
        tcp_frame: Link whose speed is limited.
        tcp_speed: TCP speed limit [m/s].
        srdf: SRDF of MoveIt, from which the pairs of links that may touch are copied.
        force: Overwrite an existing file.
    """

    from sysid_core.planning import LimitsFile, MotionLimits
    from sysid_core.robot import RobotModel

    model = RobotModel.from_urdf(robot)
    pairs = (
        LimitsFile.contacts_of_srdf(srdf, {f.name for f in model.pin_model.frames}) if srdf else ()
    )
    found, sources = MotionLimits.initial(
        model, tcp_frame=tcp_frame or None, tcp_speed=tcp_speed, allowed_contacts=pairs
    )
    if srdf:
        sources = (*sources, f"{len(pairs)} pairs of links are permitted to touch: {srdf.name}.")
    text = LimitsFile.text(found, robot=model.name, urdf_hash=model.urdf_hash, sources=sources)
    write_new(out, text, force)
    for line in (*sources, f"limits of {len(found.joint_names)} joints in {out}"):
        console.print(line, highlight=False, soft_wrap=True)
