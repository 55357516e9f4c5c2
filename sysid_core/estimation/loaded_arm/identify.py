# SPDX-License-Identifier: Apache-2.0
r"""Identification of an arm, its drive gains and a load of known mass, from recordings without and
with the load.

Currents determine only `parameters / gain`. A held load of known mass determines the gain (Gautier
and Briot 2014). The unknowns are the parameters pi of the arm, phi of friction, and those of the
load L except its mass:

    K_j i_j = Y_j pi + Phi_j phi + delta Y_j X_L pi_L,    delta = 1 in the loaded runs.

The measured current on the left is noisy; as a regressor, it would bias the gain towards zero. The
gains are therefore estimated relative to those of the previous iteration, `K = K' (1 + g)`, with
the predicted torque as the regressor of g: `K' i = (...) / (1 + g) ~ (...) - g tau_hat`. Once g has
converged to zero, the result is the maximum-likelihood estimate, and the standard deviations of all
parameters contain the uncertainty of the gains.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm import ArmEquations, Identification
from sysid_core.estimation.arm.equations import arm_structural_rows
from sysid_core.estimation.arm.spans import Estimator
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import ConsistentLeastSquares
from sysid_core.estimation.loaded_arm.carried_body import carried_by
from sysid_core.estimation.loaded_arm.drive_gains import GAIN, DriveGains, joint_regression
from sysid_core.estimation.loaded_arm.known_load import LOAD, KnownLoad, load_estimate
from sysid_core.robot import Array, RobotModel

_ROUNDS = 40  # of the gains at most


@dataclass(frozen=True, eq=False)
class LoadedIdentification:
    """Arm and drive gains, identified together from recordings without and with a known load.

    Attributes:
        identification: The arm without load, its drives with the identified gains. Its estimate
            also contains the load (`load.mx` ...) and the gains (`elbow.gain`).
        loaded: Model of the arm with the load, which predicts the loaded recordings.
        gains: Identified drive gains, in the robot's order of joints.
        payload: Estimate of the load alone, in its frame.
    """

    identification: Identification
    loaded: Identification
    gains: DriveGains
    payload: Estimate


def identify_with_load(
    unloaded: ArmEquations,
    loaded: ArmEquations,
    load: KnownLoad,
    estimator: Estimator,
) -> LoadedIdentification:
    """Identify an arm, its drive gains, and the unknown parameters of a load of known mass.

    Args:
        unloaded: Equations of the runs without load; their drive gains are the initial values.
        loaded: Equations of the runs with load, for the same robot and friction terms.
        load: Known parameters of the load.
        estimator: Whole-robot estimator, such as `ConsistentLeastSquares`.

    Raises:
        EstimationError: The gains do not converge, a joint has no efforts, or a link has the same
            name as the load.
    """
    model, friction = unloaded.model, unloaded.friction
    _require_gains(model, unloaded.unmeasured() | loaded.unmeasured())
    X_L = carried_by(model, load.frame)
    found = _settled_gains(unloaded, loaded, load, _with_known_load(estimator, load), X_L)
    n, N = model.nv, 10 * model.n_bodies
    pi, pi_L, names = found.full[:N], found.full[N : N + 10], found.names
    estimate = _with_absolute_gains(found.estimate, found.gains)
    estimate = unloaded.with_provenance(estimate, loaded)
    arm = Identification(
        model,
        replace(friction, drives=friction.drives.with_gains(found.gains)),
        unloaded.processing,
        estimate,
        np.concatenate([pi, found.full[N + 10 : -n]]),
        names[:N] + names[N + 10 : -n],
    )
    with_load = replace(arm, parameters=np.concatenate([pi + X_L @ pi_L, arm.parameters[N:]]))
    sd = estimate.standard_deviations[
        [estimate.names.index(f"{joint}.{GAIN}") for joint in model.joint_names]
    ]
    gains = DriveGains(found.gains, sd)
    return LoadedIdentification(arm, with_load, gains, load_estimate(estimate, pi_L, load))


@dataclass(frozen=True, eq=False)
class _Settled:
    """Result of the last iteration: gains (n,), estimate, all parameters (p,) and their names."""

    gains: Array
    estimate: Estimate
    full: Array
    names: tuple[str, ...]


def _settled_gains(
    unloaded: ArmEquations,
    loaded: ArmEquations,
    load: KnownLoad,
    estimator: Estimator,
    X_L: Array,
) -> _Settled:
    """Iterated fits, each with gains relative to those of the last fit, until the gains
    converge.
    """
    model, friction = unloaded.model, unloaded.friction
    first = copy(estimator)
    first.fixed = (*estimator.fixed, GAIN)
    n, N = model.nv, 10 * model.n_bodies
    gains = friction.drives.gains
    pi, pi_L, parameters = unloaded.prior, load.prior, None
    for _ in range(_ROUNDS):
        regression = joint_regression(
            (
                with_gains(unloaded, gains).regression(pi),
                with_gains(loaded, gains).regression(pi + X_L @ pi_L),
            ),
            X_L,
            load,
            arm_structural_rows(model.with_pi(pi + X_L @ pi_L), friction)
            if friction.needs_load
            else unloaded.structure,
            parameters,
        )
        fitting = first if parameters is None else estimator
        estimate = fitting.fit(regression)
        full = regression.full_parameters(estimate, fitting.fixed)
        pi, pi_L, parameters, step = full[:N], full[N : N + 10], full[:-n], full[-n:]
        gains = gains * np.exp(np.clip(step, -0.5, 0.5))
        if fitting is estimator and np.all(np.abs(step) < 1e-4):
            return _Settled(gains, estimate, full, regression.names)
    raise EstimationError(
        "The estimation of the drive gains does not converge.",
        remedy="The load moves too little, or is too light compared with the arm.",
    )


def with_gains(equations: ArmEquations, gains: ArrayLike) -> ArmEquations:
    """Return a copy of the recordings with other drive gains, shape (n,)."""
    drives = equations.friction.drives
    found = drives.with_gains(gains)
    return replace(
        equations,
        friction=replace(equations.friction, drives=found),
        spans=tuple(
            replace(s, tau=found.torques(drives.efforts(s.tau, s.motion.q), s.motion.q))
            for s in equations.spans
        ),
    )


def _require_gains(model: RobotModel, silent: NDArray[np.bool_]) -> None:
    """Raise an error if no data determine the gain of a joint, or if a link has the name of the
    load.
    """
    if LOAD in model.body_names:
        raise EstimationError(
            f"A link of '{model.name}' has the name '{LOAD}', which is reserved for the known"
            " load.",
            remedy="Give the link another name in the URDF.",
        )
    if np.any(silent):
        joints = np.array(model.joint_names)[silent].tolist()
        raise EstimationError(
            f"The efforts of {joints} are zero throughout: their gains cannot be estimated.",
            remedy="Lock joints without a measured drive, such as a gripper's: "
            f"{RobotModel.lock_options(joints)}.",
            joints=joints,
        )


def _with_known_load(estimator: Estimator, load: KnownLoad) -> Estimator:
    """Copy of the estimator that keeps the known parameters of the load, and has no prior from the
    URDF for load and gains.
    """
    estimator = copy(estimator)
    estimator.fixed = (*estimator.fixed, *load.fixed)
    if isinstance(estimator, ConsistentLeastSquares):
        estimator.prior_weights = {**estimator.prior_weights, LOAD: 1.0, GAIN: 1.0}
    return estimator


def _with_absolute_gains(estimate: Estimate, gains: Array) -> Estimate:
    """Estimate with gains in N m per unit of effort instead of relative changes."""
    values, units = estimate.values.copy(), list(estimate.units)
    scale, notes = np.ones(len(values)), []
    of_gains = [i for i, name in enumerate(estimate.names) if name.endswith(f".{GAIN}")]
    for i, gain in zip(of_gains, gains, strict=True):
        values[i], scale[i], units[i] = gain, gain, "N m per unit of effort"
        relative = estimate.standard_deviations[i]
        if relative > 0.1:
            notes.append(
                f"The drive gain {estimate.names[i]} is known only to within {100 * relative:.0f} %,"
                " because the weight of the load has little effect on that joint."
            )
    return replace(
        estimate,
        values=values,
        units=tuple(units),
        covariance=estimate.covariance * np.outer(scale, scale),
        notes=(*notes, *estimate.notes),
    )
