# SPDX-License-Identifier: Apache-2.0
"""What is known of an arm before it is loaded: from its model, or from an earlier estimate."""

from __future__ import annotations

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import friction_scale, inverse, root
from sysid_core.estimation.loaded_arm.gain_equations import GAIN
from sysid_core.estimation.loaded_arm.known_load import LOAD
from sysid_core.robot import (
    Array,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    inertial_parameter_names,
    inertial_scale,
)
from sysid_core.signals import JointStream


def arm_prior(
    model: RobotModel,
    friction: FrictionModel,
    stream: JointStream,
    relative_sd: float,
    identified: Estimate | None = None,
) -> tuple[Array, Array]:
    """Mean and covariance of an arm's parameters: inertial, then friction.

    Args:
        model: Its inertial parameters are the mean.
        friction: Its parameters are zero on average, as large as the torques allow.
        stream: Motion and torques, for the size of friction.
        relative_sd: Standard deviation of the inertial parameters, relative to the links' own size.
        identified: Full parameters with covariance, instead of the model's.

    Raises:
        EstimationError: The estimate holds foreign parameters, or not all.
    """
    names = inertial_parameter_names(model) + friction.names
    q, v, a = stream.q, np.asarray(stream.v), np.asarray(stream.a)
    tau = np.asarray(stream.effort)
    Phi = friction.regressor(q, v, a, tau)
    mean = np.concatenate([model.pi.ravel(), np.zeros(Phi.shape[2])])
    sd = np.concatenate(
        [
            relative_sd * inertial_scale(model),
            friction_scale(Phi, tau, friction.names),
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
    inertial = set(inertial_parameter_names(model))
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
    """Precision of the change of friction between two runs, shape (p, p).

    Args:
        friction: Its terms; rotors and gear waves don't change.
        parameters: Friction parameters, shape (p,).
        natural: Their natural scale, shape (p,): below a fiftieth they count as that.
        drift: Relative standard deviation of the change.
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
