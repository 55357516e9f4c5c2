# SPDX-License-Identifier: Apache-2.0
"""Mounting of a robot's base: the direction of gravity in its base frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.model import STANDARD_GRAVITY, RobotModel
from sysid_core.settings import numbers


def gravity_of_mount(rpy: ArrayLike) -> Array:
    r"""Gravity in the frame of a base that is rotated relative to the world, `g_B = R_WB^T g_W`.

    Args:
        rpy: Roll, pitch and yaw of the base in the world (z up), shape (3,) [rad].

    Returns:
        Shape (3,) [m/s^2].

    Raises:
        ModelError: Not three finite numbers.
    """
    rpy = np.asarray(rpy, dtype=float)
    if rpy.shape != (3,) or not np.all(np.isfinite(rpy)):
        raise ModelError(
            f"A mount is three angles, roll, pitch and yaw [rad], not {rpy.tolist()}.",
            remedy="Examples: 3.14159,0,0 for a base on the ceiling; 0,1.5708,0 for a base on a wall.",
        )
    return np.asarray(pin.rpy.rpyToMatrix(*rpy).T @ np.array(STANDARD_GRAVITY))


def with_gravity(model: RobotModel, gravity: ArrayLike) -> RobotModel:
    """Copy with another direction of gravity in the base frame.

    Args:
        model: The robot.
        gravity: Shape (3,) [m/s^2].

    Raises:
        ModelError: Not three finite numbers, or far from any gravity on a planet.
    """
    gravity = np.asarray(gravity, dtype=float)
    if gravity.shape != (3,) or not np.all(np.isfinite(gravity)):
        raise ModelError(
            f"Gravity is three numbers in the base frame, not {gravity.tolist()}.",
            remedy="Write x,y,z in m/s^2: 0,0,-9.81 for a robot on the floor.",
        )
    size = float(np.linalg.norm(gravity))
    if size > 0.0 and not 1.0 <= size <= 30.0:
        raise ModelError(
            f"Gravity of {size:.3g} m/s^2 can't be.",
            remedy="Write x,y,z in m/s^2: 0,0,-9.81 for a robot on the floor.",
        )
    tree = model.pin_model.copy()
    tree.gravity.linear = gravity
    return replace(model, pin_model=tree)


def mounted(
    model: RobotModel, gravity: str = "", mount: str = "", otherwise: ArrayLike | None = None
) -> RobotModel:
    """Robot with gravity from the options, otherwise from the file, otherwise from its description.

    Args:
        model: The robot.
        gravity: `X,Y,Z` in the base frame [m/s^2], or "".
        mount: `ROLL,PITCH,YAW` of the base in the world [rad], or "".
        otherwise: Gravity where both are "", shape (3,) [m/s^2].

    Raises:
        ModelError: Both are given, or no three numbers.
    """
    if gravity and mount:
        raise ModelError("Both --gravity and --mount are given.", remedy="Give one of them.")
    if gravity:
        return with_gravity(model, numbers(gravity, (3,), "--gravity", ModelError))
    if mount:
        return with_gravity(model, gravity_of_mount(numbers(mount, (3,), "--mount", ModelError)))
    return model if otherwise is None else with_gravity(model, otherwise)
