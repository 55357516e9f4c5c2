# SPDX-License-Identifier: Apache-2.0
"""The options that say how a robot's base is mounted, for every command that knows gravity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.errors import ModelError

if TYPE_CHECKING:
    from sysid_core.robot import Array, RobotModel
    from sysid_core.signals import ColumnMap

ESTIMATE = "estimate"

GravityOption = Annotated[
    str,
    typer.Option(
        metavar="X,Y,Z",
        help="Gravity in the base frame [m/s^2], where the base isn't mounted as the URDF says.",
    ),
]
GravityOrEstimateOption = Annotated[
    str,
    typer.Option(
        metavar="X,Y,Z|estimate",
        help="Gravity in the base frame [m/s^2], where the base isn't mounted as the URDF says;"
        " 'estimate' finds it in the recordings.",
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


def mounted(
    model: RobotModel, gravity: str, mount: str, columns: ColumnMap | None = None
) -> RobotModel:
    """The robot with gravity as the command line says, or else the column map, or else the URDF.

    Args:
        model: The robot.
        gravity: `X,Y,Z`, or 'estimate' (the caller's affair: the model is left as it is), or "".
        mount: `ROLL,PITCH,YAW`, or "".
        columns: May hold `mount` or `gravity`.

    Raises:
        ModelError: Both are given, or no three numbers.
    """
    from sysid_core.robot import gravity_of_mount, with_gravity

    if gravity and mount:
        raise ModelError("Both --gravity and --mount are given.", remedy="Give one of them.")
    if gravity == ESTIMATE:
        return model
    if gravity:
        return with_gravity(model, _three(gravity, "--gravity"))
    if mount:
        return with_gravity(model, gravity_of_mount(_three(mount, "--mount")))
    if columns is not None and columns.gravity is not None:
        return with_gravity(model, columns.gravity)
    return model


def _three(text: str, option: str) -> Array:
    import numpy as np

    try:
        values = np.array([float(part) for part in text.split(",")])
    except ValueError as err:
        raise ModelError(
            f"{option} {text}: not three numbers.", remedy=f"Write {option} X,Y,Z with commas."
        ) from err
    if values.shape != (3,) or not np.all(np.isfinite(values)):
        raise ModelError(
            f"{option} {text}: not three numbers.", remedy=f"Write {option} X,Y,Z with commas."
        )
    return values
