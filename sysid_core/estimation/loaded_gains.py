r"""Drive gains from runs without and with a known load.

Currents show `parameters / gain`: only something known in advance fixes the scale. A load of known
mass m in the hand does (Gautier and Briot 2014): with pi, friction phi and the load's other
parameters unknown,

    i_j = (Y_j pi + Phi_j phi + delta Y_L,j pi_L) / K_j,    pi_L = [m, h, I],

delta = 1 in the loaded runs. This is linear but for K_j, and solved by Gauss-Newton.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm_regression import ArmEquations, Processing
from sysid_core.estimation.covariance import correlated_information
from sysid_core.estimation.drive_gains import DriveGains
from sysid_core.estimation.regression import Regression
from sysid_core.robot import Array, FrictionModel, RobotModel
from sysid_core.signals import Recording


def drive_gains_from_load(
    model: RobotModel,
    unloaded: Sequence[Recording],
    loaded: Sequence[Recording],
    mass: float,
    friction: FrictionModel,
    processing: Processing | None = None,
    *,
    body: str = "",
    iterations: int = 30,
) -> DriveGains:
    """Gains of all drives from a load of known mass.

    Args:
        model: The robot without load.
        unloaded: Runs without load.
        loaded: Runs with it.
        mass: Of the load [kg].
        friction: Terms; its drives' gains are the starting point only. Terms that depend on the
            load are not used here.
        processing: Rates and cut-offs.
        body: That carries the load; default: the last one.
        iterations: Most Gauss-Newton steps.

    Raises:
        EstimationError: A run is missing, or the gains don't settle.
    """
    if not unloaded or not loaded or not mass > 0.0:
        raise EstimationError(
            "Gains need runs without load, runs with it, and the load's mass.",
            remedy="Give at least one recording of each, and a mass above zero.",
        )
    if friction.needs_load:
        raise EstimationError(
            "Gains are found with friction terms that don't depend on the load.",
            remedy="Leave 'load' and 'saturation' out here.",
        )
    names = model.body_names
    carrier = names.index(body) if body else len(names) - 1
    settings = processing or Processing()
    parts = [ArmEquations.build(model, runs, friction, settings) for runs in (unloaded, loaded)]
    regressions = [part.regression(part.prior) for part in parts]
    base = regressions[0].base
    block = slice(10 * carrier, 10 * carrier + 10)
    scale = regressions[0].prior_sd
    # Columns: base parameters, then what the load adds: its mass is known, the rest is not.
    T, known, currents = [], [], []
    K_0 = friction.drives.gains
    for delta, regression in enumerate(regressions):
        load = delta * regression.Y[:, :, block]
        T.append(np.concatenate([base.base_regressor(regression.Y), load[:, :, 1:]], axis=2))
        known.append(load[:, :, 0] * mass)
        currents.append(regression.tau / K_0)
    A, b, i = np.concatenate(T), np.concatenate(known), np.concatenate(currents)
    load_sd = scale[block][1:]
    base_sd = np.sqrt(np.diag(base.regrouping @ np.diag(scale**2) @ base.regrouping.T))
    start = np.concatenate([base.base_values(regressions[0].prior), np.zeros(9)])
    natural = np.concatenate([base_sd, load_sd])
    x, kappa = start, 1.0 / K_0
    for _ in range(iterations):
        torque = A @ x + b
        residual = i - kappa * torque
        weights = 1.0 / np.maximum(np.mean(residual**2, axis=0), 1e-18)
        J = _jacobian(A, torque, kappa)
        # A weak prior on the parameters alone; the gains are free.
        precision = np.concatenate([1e-2 / natural**2, np.zeros(len(kappa))])
        H = np.einsum("j,kjp,kjq->pq", weights, J, J) + np.diag(precision)
        g = np.einsum("j,kjp,kj->p", weights, J, residual)
        g[: len(x)] += precision[: len(x)] * (start - x)
        s = 1.0 / np.sqrt(np.diag(H))
        step = s * np.linalg.solve(H * np.outer(s, s), s * g)
        x = x + step[: len(x)]
        kappa = kappa * np.exp(np.clip(step[len(x) :] / kappa, -0.5, 0.5))
        if np.all(np.abs(step[len(x) :]) < 1e-7 * kappa):
            break
    else:
        raise EstimationError(
            "The drive gains don't settle.",
            remedy="The load moves too little, or is too light against the arm.",
        )
    starts = _starts(regressions)
    M = correlated_information(J, residual, weights, starts, 400)
    inverse = np.linalg.inv(H * np.outer(s, s)) * np.outer(s, s)
    covariance = inverse @ (M + np.diag(precision)) @ inverse
    sd_kappa = np.sqrt(np.diag(covariance)[len(x) :])
    return DriveGains(1.0 / kappa, sd_kappa / kappa**2)


def _jacobian(A: Array, torque: Array, kappa: Array) -> Array:
    """Derivatives of `kappa_j (A x + b)_j`, shape (K, n, p + n)."""
    K, n, p = A.shape
    J = np.zeros((K, n, p + n))
    J[:, :, :p] = A * kappa[:, None]
    J[:, np.arange(n), p + np.arange(n)] = torque
    return J


def _starts(regressions: Sequence[Regression]) -> tuple[int, ...]:
    out, count = [], 0
    for regression in regressions:
        out += [count + s for s in regression.starts]
        count += regression.n_samples
    return tuple(out)
