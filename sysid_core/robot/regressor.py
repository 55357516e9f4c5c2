# SPDX-License-Identifier: Apache-2.0
"""Joint torques as linear functions of the parameters: `tau = Y @ pi`."""

from __future__ import annotations

from numpy.typing import ArrayLike

from sysid_core.robot.inertia import INERTIAL_NAMES, Array
from sysid_core.robot.model import RobotModel


def inertial_parameter_names(model: RobotModel) -> tuple[str, ...]:
    """Names of the 10 parameters of every body, such as `link3.mx`, in the order of the regressor."""
    return tuple(f"{body}.{name}" for body in model.body_names for name in INERTIAL_NAMES)


def joint_torque_regressor(model: RobotModel, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    r"""Regressor Y of the rigid-body torques: `rnea(q, v, a) = Y @ pi`.

    Wensing, Niemeyer and Slotine (2023), eq. (2).

    Args:
        model: The robot, with n = nv degrees of freedom and N bodies.
        q: Joint positions, shape (K, nv) or (K, nq).
        v: Joint velocities, shape (K, nv).
        a: Joint accelerations, shape (K, nv).

    Returns:
        Shape (K, n, 10 N).

    Examples:
        >>> import numpy as np
        >>> model = RobotModel.from_urdf("panda").with_locked(["panda_finger_joint1", "panda_finger_joint2"])
        >>> q, v, a = np.random.default_rng(0).normal(size=(3, 4, model.nv))
        >>> Y = joint_torque_regressor(model, q, v, a)
        >>> Y.shape, bool(np.allclose(Y @ model.pi.ravel(), model.inverse_dynamics(q, v, a)))
        ((4, 7, 70), True)
    """
    return model.torque_regressor(q, v, a)
