# SPDX-License-Identifier: Apache-2.0
r"""Drive gains from what the controller itself believes.

Without a known load, currents show masses only up to the gains. But many controllers publish their
own model torque beside the motor current they ask for (UR: `target_moment` and `target_current`),
and the slope of the one over the other is the manufacturer's gain: `i = tau / K + F_c s(v) +
F_v v + i_0`, the last three being the controller's friction compensation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.robot import Array, smooth_sign


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Torque per current of each joint.

    Attributes:
        gains: Shape (n,) [N m/A].
        sd: Standard deviation of the fit alone, shape (n,) [N m/A]: it says nothing of how well
            the controller knows its motors.
    """

    gains: Array
    sd: Array


def drive_gains_from_targets(
    current: ArrayLike,
    torque: ArrayLike,
    v: ArrayLike,
    *,
    coulomb_velocity: float = 0.01,
    max_relative_sd: float = 0.1,
) -> DriveGains:
    """Gains by which a controller turns the torques of its own model into motor currents.

    Args:
        current: Desired motor currents, shape (K, n) [A].
        torque: The controller's model torques, shape (K, n) [N m].
        v: Joint velocities, shape (K, n) [rad/s].
        coulomb_velocity: Velocity scale of the smooth sign in the friction compensation [rad/s].
        max_relative_sd: A joint whose gain is known less well is refused.

    Raises:
        EstimationError: Shapes differ, or a joint's torque hardly varies.
    """
    current, torque, v = (np.asarray(x, dtype=float) for x in (current, torque, v))
    if not current.shape == torque.shape == v.shape or current.ndim != 2 or len(current) < 10:
        raise EstimationError(
            f"Currents {current.shape}, torques {torque.shape} and velocities {v.shape} must all"
            " be (samples, joints), ten samples at least.",
            remedy="Give the columns of one recording.",
        )
    K, n = current.shape
    gains, sd = np.empty(n), np.empty(n)
    for j in range(n):
        X = np.column_stack(
            [torque[:, j], smooth_sign(v[:, j], coulomb_velocity), v[:, j], np.ones(K)]
        )
        scale = np.linalg.norm(X, axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        x, *_ = np.linalg.lstsq(X / scale, current[:, j], rcond=1e-10)
        residual = current[:, j] - X / scale @ x
        variance = float(residual @ residual) / (K - 4)
        slope = x[0] / scale[0]
        slope_sd = np.sqrt(variance * np.linalg.pinv((X / scale).T @ (X / scale))[0, 0]) / scale[0]
        if not slope > 0.0 or slope_sd > max_relative_sd * slope:
            raise EstimationError(
                f"The desired torque of joint {j + 1} hardly shows in its desired current"
                f" (slope {slope:.3g} ± {slope_sd:.1g} A/(N m)).",
                remedy="Use a recording in which every joint moves, or give the gains yourself.",
                joint=j,
            )
        gains[j], sd[j] = 1.0 / slope, slope_sd / slope**2
    return DriveGains(gains, sd)
