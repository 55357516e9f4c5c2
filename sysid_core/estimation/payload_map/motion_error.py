# SPDX-License-Identifier: Apache-2.0
"""Errors of the motion in the wrench, and the wrench expected under them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.payload.ball_prior import ball_prior, conditioned
from sysid_core.robot import Array, RobotModel, skew, wrench_regressor
from sysid_core.signals.filters import FilteredJointStream


def motion_covariance(
    model: RobotModel,
    frame: str,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    sd: ArrayLike,
) -> Array:
    """Return the covariance of a frame's motion (a, omega, alpha) from the covariance of the joint
    motion, shape (K, 9, 9).

    Args:
        model: The robot, with n joints.
        frame: Name of the sensor's frame.
        q: Joint positions, shape (K, n) [rad].
        v: Joint velocities, shape (K, n) [rad/s].
        a: Joint accelerations, shape (K, n) [rad/s^2].
        sd: Standard deviations of q, v and a, shape (3, K, n).
    """
    S = model.frame_motion_sensitivity(frame, q, v, a)  # (K, 9, n, 3)
    S = (S * np.moveaxis(np.asarray(sd), 0, -1)[:, None]).reshape(len(S), 9, -1)
    return np.asarray(S @ S.transpose(0, 2, 1))


def filtered_motion_covariance(model: RobotModel, frame: str, joints: FilteredJointStream) -> Array:
    """Return the covariance of a frame's motion (a, omega, alpha) from the standard deviations of
    filtered joints, shape (K, 9, 9).

    Args:
        model: The robot, with joints in the order of the stream.
        frame: Name of the sensor's frame.
        joints: Filtered joint states with standard deviations.

    Raises:
        EstimationError: The stream has no velocities, accelerations or standard deviations.
    """
    q, v, a, sd = joints.q, joints.v, joints.a, (joints.q_sd, joints.v_sd, joints.a_sd)
    if v is None or a is None or any(x is None for x in sd):
        raise EstimationError(
            "The joint stream has no standard deviations.",
            remedy="Filter it with `JointFilter.filter_stream`.",
        )
    return motion_covariance(model, frame, q, v, a, np.array(sd))


def wrench_sensitivity(x: Array, pi: Array) -> Array:
    r"""Return the derivative of `wrench_regressor(a, omega, alpha) @ pi` with respect to (a, omega,
    alpha).

    Args:
        x: Motion (a, omega, alpha), shape (K, 9).
        pi: Inertial parameters, shape (10,).

    Returns:
        Derivatives, shape (K, 6, 9).
    """
    omega = x[:, 3:6]
    m, h = pi[0], pi[1:4]
    inertia = np.array([[pi[4], pi[5], pi[7]], [pi[5], pi[6], pi[8]], [pi[7], pi[8], pi[9]]])
    H, W = skew(h), skew(omega)
    T = np.zeros((len(x), 6, 9))
    T[:, :3, :3] = m * np.eye(3)
    # omega x (omega x h): derivative -[omega x h]x - [omega]x [h]x
    T[:, :3, 3:6] = -skew(W @ h) - W @ H
    T[:, :3, 6:] = -H
    T[:, 3:, :3] = H
    T[:, 3:, 3:6] = W @ inertia - skew(omega @ inertia)
    T[:, 3:, 6:] = inertia
    return T


def regressor_derivatives(omega: ArrayLike) -> Array:
    r"""Return the derivatives of `wrench_regressor(a, omega, alpha)` with respect to its arguments.

    `wrench_sensitivity(x, pi)` is these times `pi`.

    Args:
        omega: Angular velocity, shape (3,) [rad/s].

    Returns:
        Derivatives with respect to the nine components, shape (9, 6, 10).
    """
    still, axes = np.zeros((3, 3)), np.eye(3)
    forth, back = (
        wrench_regressor(still, np.asarray(omega) + step, still) for step in (axes, -axes)
    )
    by_a, by_alpha = _linear_derivatives()
    by_omega = 0.5 * (forth - back)  # exact: the regressor is quadratic in omega
    return np.concatenate([by_a, by_omega, by_alpha])


@cache
def _linear_derivatives() -> tuple[Array, Array]:
    still, axes = np.zeros((3, 3)), np.eye(3)
    return wrench_regressor(axes, still, still), wrench_regressor(still, still, axes)


@dataclass(frozen=True, eq=False)
class ExpectedWrench:
    """Payload and sensor bias from the samples so far, with a weak prior.

    A strong prior on the body (its shape, or a small size) may be wrong; its error would then look
    like a change of the load at every reversal of the motion.

    Attributes:
        pi: Inertial parameters, shape (10,).
        covariance: Covariance of `pi`, shape (10, 10).
        bias: Bias of the sensor, shape (6,) [N, N m].
    """

    pi: Array
    covariance: Array
    bias: Array

    @classmethod
    def of(cls, R: Array, r: Array, back: Array, pi: Array, extent: float) -> ExpectedWrench:
        """Return the expected wrench from compressed data (R, r) and the map back to the bias
        (`eliminate_nuisances`).

        Args:
            R: Triangular factor of the data, shape (p, 10).
            r: Right-hand side of the data, shape (p,).
            back: Rows of the bias in the map, shape (6, 11); (0, 11) for a sensor without bias.
            pi: Present estimate of the parameters, shape (10,).
            extent: Size of the space that contains the object [m].
        """
        mean, C = ball_prior(pi, extent / 2.0, extent / 2.0)
        (found,), (left,), _ = conditioned(R, r, mean[None], C[None])
        bias = back[:, -1] - back[:, :-1] @ found if len(back) else np.zeros(6)
        return cls(found, left, bias)

    def at(self, regressor: Array) -> tuple[Array, Array]:
        """Return the predicted wrench and its standard deviation, shape (6,) each, for the
        regressor of a motion (6, 10).
        """
        variance = ((regressor @ self.covariance) * regressor).sum(axis=1)
        return regressor @ self.pi + self.bias, np.sqrt(np.maximum(variance, 0.0))
