# SPDX-License-Identifier: Apache-2.0
"""Body that is fixed to a frame of an arm, as part of the arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.robot import Array, RobotModel, parameter_transform


def payload_torque_regressor(
    model: RobotModel, frame: str, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    """Return the regressor of the joint torques of a body that is fixed to a frame, for its
    parameters in that frame.

    Args:
        model: The robot.
        frame: A link or frame of it.
        q: Joint positions, shape (K, nv).
        v: Velocities, shape (K, nv).
        a: Accelerations, shape (K, nv).

    Returns:
        Y_L, shape (K, nv, 10).
    """
    return model.torque_regressor(q, v, a) @ carried_by(model, frame)


def carried_by(model: RobotModel, frame: str) -> Array:
    """Return the matrix from `pi` of a body in a frame to the parameters of all N bodies, shape (10
    N, 10).

    Raises:
        EstimationError: The frame doesn't move.
    """
    placed = model.pin_model.frames[model.frame_id(frame)]
    body = int(placed.parentJoint) - 1
    if body < 0:
        raise EstimationError(
            f"'{frame}' is fixed to the base of '{model.name}': no joint carries it.",
            remedy="Give a frame on the moving part of the arm, such as the flange.",
        )
    out = np.zeros((10 * model.n_bodies, 10))
    out[10 * body : 10 * body + 10] = parameter_transform(placed.placement.homogeneous)
    return out


def with_load(model: RobotModel, frame: str, pi: ArrayLike) -> RobotModel:
    """Return the robot with an additional body fixed to one of its frames.

    Args:
        model: The robot without it.
        frame: What carries the body.
        pi: Its parameters in that frame, shape (10,).
    """
    added = carried_by(model, frame) @ np.asarray(pi, dtype=float)
    return model.with_pi(model.pi.ravel() + added)
