# SPDX-License-Identifier: Apache-2.0
r"""Pull of a dress pack (cables and hoses along the arm) on a force-torque sensor.

Near the centre p_0 of the workspace, the pull in the axes of the base is

    F_B = c + K (p - p_0),   T_B = d + D (p - p_0)

with the position p of the sensor. Forces that turn with the sensor are part of its bias. Static
postures of the empty arm determine c, K, d, D together with bias and tool. The prior sizes of c, K,
d, D relative to the noise (or no pull at all) are chosen such that each posture is predicted best
from all others (leave-one-out; Rasmussen and Williams 2006, Gaussian processes for machine
learning, section 5.3). The errors of these predictions state how much of the pull remains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.robot import Array, skew
from sysid_core.signals.recording import frozen_array

MIN_POSTURES = 12  # 72 equations for 34 unknowns
_LEAST_TRAVEL = (
    0.1  # [m] of standard deviation of the positions: the pull is to be seen over the workspace
)
_REACH = 0.3  # [m] over which a pull doubles: prior size of c beside that of K
_SIZES = (0.0, *np.geomspace(0.3, 3e3, 13))  # of the stiffness in noise [1/m]: none to rigid


@dataclass(frozen=True, eq=False)
class DressPack:
    """Pull of cables and hoses on the sensor.

    Attributes:
        origin: Reference position p_0 in the world, shape (3,) [m].
        pull: Force and torque (rows) in the world's axes at p_0, then their change per metre along
            x, y and z (columns), shape (6, 4) [N, N m].
    """

    origin: Array
    pull: Array

    def __post_init__(self) -> None:
        for key, shape in (("origin", (3,)), ("pull", (6, 4))):
            value = frozen_array(getattr(self, key))
            if value.shape != shape or not np.all(np.isfinite(value)):
                raise SignalError(
                    f"'{key}' of a dress pack must be finite and of shape {shape}.",
                    remedy="Learn it again with `sysid tare --dress-pack`.",
                )
            object.__setattr__(self, key, value)

    def wrench(self, R_WS: Array, p_WS: Array) -> Array:
        """Return the wrench of the dress pack in the readings, in the sensor's axes, shape (K, 6).

        Args:
            R_WS: Orientation of the sensor, shape (K, 3, 3).
            p_WS: Position of the sensor's origin in the world, shape (K, 3) [m].
        """
        pull = np.column_stack([np.ones(len(p_WS)), p_WS - self.origin]) @ self.pull.T
        turned = R_WS.transpose(0, 2, 1)[:, None] @ pull.reshape(-1, 2, 3, 1)
        return np.asarray(turned.reshape(-1, 6))


def fit_dress_pack(
    readings: Array, gravity_S: Array, R_WS: Array, p_WS: Array
) -> tuple[DressPack, Array, Array, Array]:
    """Estimate dress pack, tool and bias of an empty arm.

    Args:
        readings: Mean readings in static postures, gains and sign corrected, shape (K, 6) [N, N m].
        gravity_S: Gravity in the sensor's axes, shape (K, 3) [m/s^2].
        R_WS: Orientation of the sensor, shape (K, 3, 3).
        p_WS: Position of the sensor's origin in the world, shape (K, 3) [m].

    Returns:
        Dress pack; tool `[m, m cx, m cy, m cz]`, shape (4,); bias, shape (6,); mean squared
        prediction errors in postures that were not used in the fit, shape (6,).

    Raises:
        SignalError: There are too few postures, or all are near the same position.
    """
    K, origin = len(p_WS), p_WS.mean(axis=0)
    if K < MIN_POSTURES or np.linalg.norm(p_WS.std(axis=0)) < _LEAST_TRAVEL:
        raise SignalError(
            f"{K} postures that span {np.linalg.norm(np.ptp(p_WS, axis=0)):.2f} m are too few or too close"
            " together to estimate the pull of the dress pack (cables and hoses).",
            remedy=f"Hold still in {MIN_POSTURES} postures or more, spread over the workspace.",
        )
    spread = np.concatenate([np.full((K, 1), _REACH), p_WS - origin], axis=1)
    pull = np.einsum("kil,kj->kilj", R_WS.transpose(0, 2, 1), spread).reshape(K, 3, 12)
    unit = np.tile(np.eye(3), (K, 1, 1))
    weight = np.concatenate([-gravity_S[:, :, None], unit], axis=2)
    force, force_left = _fit(weight, pull, readings[:, :3])
    moment = np.concatenate([skew(gravity_S), unit], axis=2)
    torque, torque_left = _fit(moment, pull, readings[:, 3:])
    pulls = np.vstack([force[4:].reshape(3, 4), torque[6:].reshape(3, 4)])
    pulls[:, 0] *= _REACH
    return (
        DressPack(origin, pulls),
        np.concatenate([force[:1], torque[:3]]),
        np.concatenate([force[1:4], torque[3:6]]),
        np.concatenate([force_left, torque_left]),
    )


def _fit(free: Array, pull: Array, readings: Array) -> tuple[Array, Array]:
    """Unknowns, and mean squared prediction errors of the axes in postures that were left out,
    shape (3,).

    Args:
        free: Columns without a prior, shape (K, 3, n).
        pull: Columns of the pull, shape (K, 3, 12).
        readings: Forces or torques, shape (K, 3).
    """
    n, y = free.shape[2], readings.ravel()
    best: tuple[float, Array, Array] | None = None
    for size in _SIZES:
        X = np.concatenate([free, size * pull], axis=2).reshape(len(y), -1)
        A = X.T @ X + np.diag(np.repeat([0.0, 1.0], [n, 12]))
        x = np.linalg.solve(A, X.T @ y)
        H = X @ np.linalg.solve(A, X.T)
        blocks = np.array([np.eye(3) - H[k : k + 3, k : k + 3] for k in range(0, len(y), 3)])
        left = np.linalg.solve(blocks, (y - X @ x).reshape(-1, 3, 1))[:, :, 0]
        if best is None or np.sum(left**2) < best[0]:
            x[n:] *= size
            best = float(np.sum(left**2)), x, np.mean(left**2, axis=0)
    assert best is not None
    return best[1], best[2]
