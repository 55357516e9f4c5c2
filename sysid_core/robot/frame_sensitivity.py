# SPDX-License-Identifier: Apache-2.0
"""Effect of errors in the joint states on the motion of a frame."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.robot.inertia import Array, skew
from sysid_core.robot.model import RobotModel


def frame_motion_sensitivity(
    model: RobotModel, frame: str, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    r"""Return the derivatives of `RobotModel.frame_motion` with respect to q, v and a of each
    joint.

    Args:
        model: The robot, with n = nv degrees of freedom.
        frame: Name of the frame F.
        q: Joint positions, shape (K, n).
        v: Shape (K, n).
        a: Shape (K, n).

    Returns:
        Derivatives of (proper acceleration, omega, alpha) in the axes of F, shape (K, 9, n, 3):
        sample, component, joint, and whether by its position, velocity or acceleration.
    """
    frame_id = model.frame_id(frame)
    pin_model, data = model.pin_model, model.pin_model.createData()
    q_pin = model.configuration(q)
    v, a = np.asarray(v, dtype=float), np.asarray(a, dtype=float)
    K, n = len(q_pin), model.nv
    v_dq, a_dq, a_dv, a_da = np.empty((4, K, 6, n))
    angular, linear, gravity = np.empty((3, K, 3))
    for k in range(K):
        pin.computeForwardKinematicsDerivatives(pin_model, data, q_pin[k], v[k], a[k])
        placement = pin.updateFramePlacement(pin_model, data, frame_id)
        twist = pin.getFrameVelocity(pin_model, data, frame_id)
        v_dq[k], a_dq[k], a_dv[k], a_da[k] = pin.getFrameAccelerationDerivatives(
            pin_model, data, frame_id, pin.ReferenceFrame.LOCAL
        )
        angular[k], linear[k] = twist.angular, twist.linear
        gravity[k] = placement.rotation.T @ model.gravity
    W, V, G = skew(angular), skew(linear), skew(gravity)
    out = np.zeros((K, 9, n, 3))
    # Proper acceleration: spatial acceleration + omega x v - R^T g.
    out[:, :3, :, 0] = a_dq[:, :3] + W @ v_dq[:, :3] - V @ v_dq[:, 3:] - G @ a_da[:, 3:]
    out[:, :3, :, 1] = a_dv[:, :3] + W @ a_da[:, :3] - V @ a_da[:, 3:]
    out[:, :3, :, 2] = a_da[:, :3]
    out[:, 3:6, :, 0], out[:, 3:6, :, 1] = v_dq[:, 3:], a_da[:, 3:]
    out[:, 6:, :, 0], out[:, 6:, :, 1], out[:, 6:, :, 2] = a_dq[:, 3:], a_dv[:, 3:], a_da[:, 3:]
    return out
