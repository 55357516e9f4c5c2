# SPDX-License-Identifier: Apache-2.0
"""The options that say how a robot's base is mounted, for every command that knows gravity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sysid_core.robot import RobotModel

GravityOption = Annotated[
    str,
    typer.Option(
        metavar="X,Y,Z",
        help="Gravity in the base frame [m/s^2], where the base isn't mounted as the URDF says.",
    ),
]
MountOption = Annotated[
    str,
    typer.Option(
        metavar="ROLL,PITCH,YAW",
        help="Orientation of the base in the world instead [rad]: 3.14159,0,0 hangs from the"
        " ceiling.",
    ),
]


def mounted(model: RobotModel, gravity: str, mount: str) -> RobotModel:
    """The robot with gravity as the command line says, or else the URDF."""
    from sysid_core import robot

    return robot.mounted(model, gravity, mount)
