# SPDX-License-Identifier: Apache-2.0
"""Drive gains from model torques and target currents of the controller.

Without a known load, currents determine masses only up to the drive gains. Many controllers,
however, publish the torque of their own model and the motor current that they command (UR:
`target_moment` and `target_current`). The ratio of changes of this torque to changes of this
current is the manufacturer's gain K: `i = tau / K + F_c s(v) +
F_v v + i_0`, in which the last three terms are the controller's friction compensation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.fit import Regression
from sysid_core.estimation.loaded_arm.known_load import LOAD, KnownLoad
from sysid_core.robot import Array, FrictionModel, RobotModel

GAIN = "gain"  # symbol of the drives' gains

_COULOMB_VELOCITY = 0.01  # [rad/s] of the smooth sign in a controller's friction compensation
_MAX_SD = 0.1  # relative: a gain that is known less well is refused


def joint_regression(
    parts: tuple[Regression, Regression],
    X_L: Array,
    load: KnownLoad,
    loaded_structure: Array,
    parameters: Array | None,
) -> Regression:
    """Return the regression for the bodies of the arm, the load, friction, and relative changes of
    the gains.

    Args:
        parts: Equations of the runs without and with load.
        X_L: Matrix from the load's parameters to those of the bodies, shape (10 N, 10).
        load: Known parameters of the load.
        loaded_structure: Structural rows with the load's weight in the friction, shape (s, p).
        parameters: Parameters from the previous iteration, without gains; None: the gains are
            fixed.
    """
    first, second = parts
    N, n = first.n_inertial, len(first.joints)
    tau = np.concatenate([part.tau for part in parts])
    Y = np.concatenate([_columns(part.matrix, delta, X_L) for delta, part in enumerate(parts)])
    change = np.zeros((*tau.shape, n))
    if parameters is not None:
        change[:, range(n), range(n)] = -Y @ parameters

    def arranged(inertial: Array, body: Array, rest: Array, last: Array) -> Array:
        return np.concatenate([inertial[:N], body, rest[N:], last])

    natural = np.minimum(first.prior_sd, second.prior_sd)
    no = np.zeros(10 + n, dtype=bool)
    return replace(
        first,
        Y=np.concatenate([Y, change], axis=2),
        tau=tau,
        time=None,
        motion_time=None,
        recordings=_one_after_the_other(first.recordings, second.recordings, first.n_samples),
        names=first.names[:N]
        + tuple(f"{LOAD}.{name}" for name in RobotModel.INERTIAL_NAMES)
        + first.names[N:]
        + tuple(f"{joint}.{GAIN}" for joint in first.joints),
        units=first.units[:N] + RobotModel.INERTIAL_UNITS + first.units[N:] + ("1",) * n,
        bodies=(*first.bodies, LOAD),
        prior=arranged(first.prior, load.prior, first.prior, np.zeros(n)),
        prior_sd=arranged(natural, load.prior_sd, natural, np.ones(n)),
        non_negative=arranged(first.non_negative, no[:10], first.non_negative, no[10:]),
        structure=_structure(first.structure, loaded_structure, X_L, tau),
        starts=_one_after_the_other(first.starts, second.starts, first.n_samples),
    )


def _columns(Y: Array, delta: float, X_L: Array) -> Array:
    """`[Y, delta Y X_L, Phi]` from `[Y, Phi]`."""
    N = len(X_L)
    return np.concatenate([Y[..., :N], delta * Y[..., :N] @ X_L, Y[..., N:]], axis=-1)


def _structure(unloaded: Array, loaded: Array, X_L: Array, tau: Array) -> Array:
    """Structural regressor of ideal motion, all gains included, in the torque scale of the data."""
    n = tau.shape[1]
    rows = np.vstack([_columns(unloaded, 0.0, X_L), _columns(loaded, 1.0, X_L)])
    size = np.sqrt(np.mean(tau**2, axis=0) * len(rows))
    return np.block(
        [[rows, np.zeros((len(rows), n))], [np.zeros((n, rows.shape[1])), np.diag(size)]]
    )


def _one_after_the_other(
    first: tuple[int, ...], second: tuple[int, ...], n_first: int
) -> tuple[int, ...]:
    """Samples of two recordings, joined in one sequence."""
    return first + tuple(index + n_first for index in second)


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Drive gain (torque per current) of each joint.

    Attributes:
        gains: Torque per current of each joint, shape (n,) [N m/A].
        sd: Standard deviation from the fit alone, shape (n,) [N m/A]; errors of the controller's
            own motor constants are not included.
    """

    gains: Array
    sd: Array

    @classmethod
    def from_targets(
        cls,
        current: ArrayLike,
        torque: ArrayLike,
        v: ArrayLike,
    ) -> DriveGains:
        """Return the drive gains with which a controller converts model torques to motor currents.

        Args:
            current: Desired motor currents, shape (K, n) [A].
            torque: The controller's model torques, shape (K, n) [N m].
            v: Joint velocities, shape (K, n) [rad/s].

        Raises:
            EstimationError: The shapes differ, or the torque of a joint hardly varies.
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
                [
                    torque[:, j],
                    FrictionModel.smooth_sign(v[:, j], _COULOMB_VELOCITY),
                    v[:, j],
                    np.ones(K),
                ]
            )
            scale = np.linalg.norm(X, axis=0)
            scale = np.where(scale > 0.0, scale, 1.0)
            x, *_ = np.linalg.lstsq(X / scale, current[:, j], rcond=1e-10)
            residual = current[:, j] - X / scale @ x
            variance = float(residual @ residual) / (K - 4)
            slope = x[0] / scale[0]
            slope_sd = (
                np.sqrt(variance * np.linalg.pinv((X / scale).T @ (X / scale))[0, 0]) / scale[0]
            )
            if not slope > 0.0 or slope_sd > _MAX_SD * slope:
                raise EstimationError(
                    f"The desired torque of joint {j + 1} is poorly correlated with its desired"
                    " current (slope"
                    f" {slope:.3g} ± {slope_sd:.1g} A/(N m)).",
                    remedy="Use a recording in which every joint moves, or give the gains yourself.",
                    joint=j,
                )
            gains[j], sd[j] = 1.0 / slope, slope_sd / slope**2
        return cls(gains, sd)
