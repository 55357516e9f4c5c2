# SPDX-License-Identifier: Apache-2.0
"""Prior of an arm without load, from its model or from an earlier estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import Regression
from sysid_core.estimation.fit.consistent_problem import inverse, root
from sysid_core.estimation.fit.uncertainty import autocovariance, correlation_lag, score_covariance
from sysid_core.estimation.loaded_arm.drive_gains import GAIN
from sysid_core.estimation.loaded_arm.known_load import LOAD
from sysid_core.robot import (
    Array,
    FrictionModel,
    FrictionTerm,
    RobotModel,
)
from sysid_core.signals import JointStream


@dataclass(frozen=True, eq=False)
class PriorFit:
    """Solution of a least-squares problem with prior, and the terms of its covariance.

    Attributes:
        regression: Fitted equations.
        x: Solution, shape (p,).
        gain: Inverse of the normal matrix, shape (p, p).
        precision: Inverse covariance of the prior, shape (p, p).
        weights: Inverse noise variance of each joint, shape (n,).
        per_joint: Contribution of each joint to the right-hand side, shape (n, p).
        max_lag: Largest correlation lag of the noise [samples].
    """

    regression: Regression
    x: Array
    gain: Array
    precision: Array
    weights: Array
    per_joint: Array
    max_lag: int

    @property
    def residual(self) -> Array:
        """Residual torques, shape (K, n)."""
        return self.regression.tau - self.regression.predict(self.x)

    @property
    def scores(self) -> Array:
        """Covariance of the right-hand side for noise that is correlated in time, (p, p)."""
        data = self.regression
        noise = score_covariance(
            data.blocks(), self.weights * self.residual, data.starts, self.max_lag
        )
        return self.precision + noise.sum(axis=0)


def noise_weights(regression: Regression, max_lag: int, x: Array | None = None) -> Array:
    """Return the inverse noise variance of each joint, shape (n,); samples correlated in time count
    as one.

    Args:
        regression: Equations for K samples of n torques.
        max_lag: Largest correlation lag of the noise [samples].
        x: Present solution, shape (p,), from which the residuals are computed; None: the torques
            are used as residuals.
    """
    signal = np.mean(regression.tau**2, axis=0)
    noise = signal
    if x is not None:
        residual = regression.tau - regression.predict(x)
        repetition = [_repetition(column, regression.starts, max_lag) for column in residual.T]
        noise = np.mean(residual**2, axis=0) * repetition
    # No torque is measured to better than 1e-4; beyond, only rounding would be weighted.
    floor = 1e-8 * np.maximum(signal, 1e-6 * signal.max())
    return np.asarray(1.0 / np.maximum(noise, floor))


def solve_with_prior(
    regression: Regression, weights: Array, mean: Array, precision: Array, max_lag: int
) -> PriorFit:
    """Minimise the weighted residuals and the distance from the prior.

    Args:
        regression: Equations for K samples of n torques in p parameters.
        weights: Inverse noise variance of each joint, shape (n,).
        mean: Mean of the prior, shape (p,).
        precision: Inverse covariance of the prior, shape (p, p).
        max_lag: Largest correlation lag of the noise [samples].
    """
    H, per_joint = precision.copy(), np.zeros((len(weights), len(mean)))
    for rows, Y in regression.blocks():
        H += np.einsum("kji,j,kjl->il", Y, weights, Y, optimize=True)
        per_joint += weights[:, None] * np.einsum("kji,kj->ji", Y, regression.tau[rows])
    gain = inverse(H)
    right = precision @ mean + per_joint.sum(axis=0)
    x = gain @ right
    x = x + gain @ (right - H @ x)
    return PriorFit(regression, x, gain, precision, weights, per_joint, max_lag)


def _repetition(residual: Array, starts: tuple[int, ...], max_lag: int) -> float:
    """Variance inflation by autocorrelation: number of neighbouring samples with the same
    information.
    """
    gamma = autocovariance(residual, starts, min(max_lag, len(residual) // 4))
    tail = gamma[1 : correlation_lag(gamma) + 1].sum() / max(gamma[0], 1e-300)
    return max(1.0, 1.0 + 2.0 * float(tail))


def arm_prior(
    model: RobotModel,
    friction: FrictionModel,
    stream: JointStream,
    relative_sd: float,
    identified: Estimate | None = None,
) -> tuple[Array, Array]:
    """Return the prior mean and covariance of an arm's parameters: inertial parameters, then
    friction.

    Args:
        model: Robot model, whose inertial parameters are the prior mean.
        friction: Friction model; its parameters have prior mean 0 and a standard deviation as large
            as the torques permit.
        stream: Motion and torques, which determine the scale of friction.
        relative_sd: Standard deviation of the inertial parameters, relative to the links' size.
        identified: Estimate of all parameters with covariance, as the prior instead of the model.

    Raises:
        EstimationError: The estimate does not contain exactly the parameters of the arm.
    """
    names = model.parameter_names + friction.names
    q, v, a = stream.q, np.asarray(stream.v), np.asarray(stream.a)
    tau = np.asarray(stream.effort)
    Phi = friction.regressor(q, v, a, tau)
    mean = np.concatenate([model.pi.ravel(), np.zeros(Phi.shape[2])])
    sd = np.concatenate(
        [
            relative_sd * model.inertial_scale,
            Regression.friction_scale(Phi, tau, friction.names),
        ]
    )
    covariance = np.diag(sd**2)
    if identified is None:
        return mean, covariance
    # Gains and load that were estimated with the arm say nothing of the arm itself.
    own = [
        i
        for i, name in enumerate(identified.names)
        if name in names or not (name.startswith(f"{LOAD}.") or name.endswith(f".{GAIN}"))
    ]
    given = [identified.names[i] for i in own]
    foreign = [name for name in given if name not in names]
    inertial = set(model.parameter_names)
    if foreign or not inertial <= set(given) or not identified.consistent:
        raise EstimationError(
            f"The estimate '{identified.method}' doesn't hold the arm's full parameters"
            f"{f' (unknown here: {foreign[:3]} …)' if foreign else ''}.",
            remedy="Identify the unloaded arm with a physically consistent method of full"
            " parameters and the same friction terms.",
            foreign=foreign,
        )
    k = [names.index(name) for name in given]
    mean[k] = identified.values[own]
    # Directions that no data showed keep at most the natural spread.
    R = root(identified.covariance[np.ix_(own, own)])
    known = inverse(R.T @ R + 1e-12 * covariance[np.ix_(k, k)])
    precision = np.diag(1.0 / sd**2)
    precision[np.ix_(k, k)] = known + np.diag(1.0 / sd[k] ** 2)
    return mean, inverse(precision)


def drift_precision(
    friction: FrictionModel, parameters: Array, natural: Array, drift: float
) -> Array:
    """Return the inverse covariance of the change of friction between two recordings, shape (p, p).

    Args:
        friction: Friction model; rotor inertias and torque waves do not change.
        parameters: Friction parameters, shape (p,).
        natural: Natural scale of the parameters, shape (p,); standard deviations are at least 1/50
            of it.
        drift: Relative standard deviation of the change of friction [-].
    """
    size = np.maximum(np.abs(parameters), 0.02 * natural)
    fixed = {
        name
        for axis in friction.drives.axis_names
        for term in friction.terms_of(axis)
        if term is FrictionTerm.INERTIA or term.waves
        for name in friction.parameters_of(axis, term)
    }
    sd = np.where([name in fixed for name in friction.names], 1e-6 * size, drift * size)
    return np.diag(1.0 / sd**2)
