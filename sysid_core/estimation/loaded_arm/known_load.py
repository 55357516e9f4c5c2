# SPDX-License-Identifier: Apache-2.0
r"""An arm, its drive gains and a load of known mass, from runs without and with it.

Currents show `parameters / gain`: only something known in advance fixes the scale. A load of known
mass in the hand does (Gautier and Briot 2014). With pi of the arm, phi of friction, and of the load
L all but its mass unknown,

    K_j i_j = Y_j pi + Phi_j phi + delta Y_j X_L pi_L,    delta = 1 in the loaded runs.

The measured current on the left has noise, which as a regressor would pull its gain towards zero;
so gains are sought relative to those of the round before, `K = K' (1 + g)`, as columns of the
torque that the model itself predicts: `K' i = (...) / (1 + g) ~ (...) - g tau_hat`. Where g
vanishes, this is maximum likelihood, with the gains' uncertainty in every parameter's.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm import (
    ArmEquations,
    Identification,
    arm_structural_rows,
    with_provenance,
)
from sysid_core.estimation.estimate import Estimate, Verdict
from sysid_core.estimation.fit import ConsistentLeastSquares, Regression
from sysid_core.estimation.loaded_arm.carried_load import carried_by
from sysid_core.estimation.loaded_arm.drive_gains import DriveGains
from sysid_core.estimation.payload import PAYLOAD_NAMES
from sysid_core.estimation.recorded import (
    Estimator,
    full_parameters,
)
from sysid_core.robot import (
    INERTIAL_NAMES,
    INERTIAL_UNITS,
    Array,
    RobotModel,
    is_physically_consistent,
    pi_from_mass_com_inertia,
)

LOAD = "load"  # its name among the bodies
GAIN = "gain"  # symbol of the drives' gains
# Where nothing is known of the load but its mass: as large as a hand can hold.
_REACH, _RADIUS = 0.2, 0.1  # [m]


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """What is known of the load in the loaded runs.

    Attributes:
        mass: [kg].
        frame: Link or frame that it is fixed to.
        com: Centre of mass in the frame, shape (3,) [m]; None: to be found.
    """

    mass: float
    frame: str
    com: Array | None = None

    def __post_init__(self) -> None:
        if not self.mass > 0.0:
            raise EstimationError(
                f"The load's mass is {self.mass} kg.", remedy="Weigh it, and give kilograms."
            )
        if self.com is not None:
            com = np.array(self.com, dtype=float)
            if com.shape != (3,) or not np.all(np.isfinite(com)):
                raise EstimationError(
                    "The load's centre of mass must be three numbers [m].",
                    remedy=f"Give x, y and z in '{self.frame}', or leave it out.",
                )
            com.setflags(write=False)
            object.__setattr__(self, "com", com)

    @property
    def prior(self) -> Array:
        """`pi` in the frame, shape (10,): a ball where nothing is known."""
        com = np.zeros(3) if self.com is None else self.com
        return pi_from_mass_com_inertia(self.mass, com, np.eye(3) * 0.4 * self.mass * _RADIUS**2)

    @property
    def prior_sd(self) -> Array:
        """Natural scale of `pi`, shape (10,)."""
        return self.mass * np.array([1.0] + [_REACH] * 3 + [_REACH**2] * 6)

    @property
    def fixed(self) -> tuple[str, ...]:
        """Parameters that aren't estimated."""
        known = INERTIAL_NAMES[: 1 if self.com is None else 4]
        return tuple(f"{LOAD}.{name}" for name in known)


@dataclass(frozen=True, eq=False)
class LoadedIdentification:
    """An arm identified together with its drive gains by a known load.

    Attributes:
        identification: The arm without load; its drives have the gains that were found. Its
            estimate holds the load (`load.mx` ...) and the gains (`elbow.gain`) as well.
        loaded: The same arm with the load, to predict the loaded runs.
        gains: Gains of the drives, in the robot's order of joints.
        payload: The load alone, in its frame.
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
    *,
    rounds: int = 40,
) -> LoadedIdentification:
    """Identify an arm, its drive gains and the rest of a load of known mass.

    Args:
        unloaded: Runs without load; its drives' gains are the starting point only.
        loaded: Runs with it, of the same robot with the same friction terms.
        load: What is known.
        estimator: One of this room's whole-robot estimators.
        rounds: Most rounds of gains.

    Raises:
        EstimationError: The gains don't settle, a joint has no efforts, or a link has the load's
            name.
    """
    model, friction = unloaded.model, unloaded.friction
    _require_gains(model, unloaded.unmeasured() | loaded.unmeasured())
    X_L = carried_by(model, load.frame)
    estimator = _with_known_load(estimator, load)
    first = copy(estimator)
    first.fixed = (*estimator.fixed, GAIN)
    n, N = model.nv, 10 * model.n_bodies
    gains = friction.drives.gains
    pi, pi_L, parameters = unloaded.prior, load.prior, None
    for _ in range(rounds):
        regression = _joint_regression(
            [
                with_gains(part, gains).regression(rigid)
                for part, rigid in ((unloaded, pi), (loaded, pi + X_L @ pi_L))
            ],
            X_L,
            load,
            arm_structural_rows(model.with_pi(pi + X_L @ pi_L), friction)
            if friction.needs_load
            else unloaded.structure,
            parameters,
        )
        fitting = first if parameters is None else estimator
        estimate = fitting.fit(regression)
        full = full_parameters(regression, estimate, fitting.fixed)
        pi, pi_L, parameters, step = full[:N], full[N : N + 10], full[:-n], full[-n:]
        gains = gains * np.exp(np.clip(step, -0.5, 0.5))
        if fitting is estimator and np.all(np.abs(step) < 1e-4):
            break
    else:
        raise EstimationError(
            "The drive gains don't settle.",
            remedy="The load moves too little, or is too light against the arm.",
        )
    estimate = with_provenance(_with_absolute_gains(estimate, gains), (unloaded, loaded))
    found = replace(friction, drives=friction.drives.with_gains(gains))
    arm = Identification(
        model,
        found,
        unloaded.processing,
        estimate,
        np.concatenate([pi, parameters[N + 10 :]]),
        regression.names[:N] + regression.names[N + 10 : -n],
    )
    with_load = replace(arm, parameters=np.concatenate([pi + X_L @ pi_L, arm.parameters[N:]]))
    sd = estimate.standard_deviations[
        [estimate.names.index(f"{joint}.{GAIN}") for joint in model.joint_names]
    ]
    return LoadedIdentification(
        arm, with_load, DriveGains(gains, sd), _payload(estimate, pi_L, load)
    )


def with_gains(equations: ArmEquations, gains: ArrayLike) -> ArmEquations:
    """The same data with other gains of the drives, shape (n,)."""
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
    """Refuse joints whose gains nothing shows, and a robot that has a link called as the load is."""
    if LOAD in model.body_names:
        raise EstimationError(
            f"A link of '{model.name}' is called '{LOAD}', as the known load is.",
            remedy="Give the link another name in the URDF.",
        )
    if np.any(silent):
        joints = np.array(model.joint_names)[silent].tolist()
        raise EstimationError(
            f"The efforts of {joints} are zero throughout: their gains can't be found.",
            remedy="Lock joints without a measured drive, such as a gripper's: "
            f"--lock {' --lock '.join(joints)}.",
            joints=joints,
        )


def _joint_regression(
    parts: Sequence[Regression],
    X_L: Array,
    load: KnownLoad,
    loaded_structure: Array,
    parameters: Array | None,
) -> Regression:
    """Columns: the arm's bodies, the load, friction, and the gains' relative changes.

    Args:
        parts: Equations of the runs without and with load.
        X_L: The load's parameters to those of the bodies, shape (10 N, 10).
        load: What is known of it.
        loaded_structure: Structural rows with the load's weight in the friction, shape (s, p).
        parameters: Parameters of the round before, gains left out; None: gains are fixed in this one.
    """
    first = parts[0]
    N, n = first.n_inertial, len(first.joints)

    def columns(Y: Array, delta: float) -> Array:
        return np.concatenate([Y[..., :N], delta * Y[..., :N] @ X_L, Y[..., N:]], axis=-1)

    tau = np.concatenate([part.tau for part in parts])
    Y = np.concatenate([columns(part.matrix, delta) for delta, part in enumerate(parts)])
    change = np.zeros((*tau.shape, n))
    if parameters is not None:
        change[:, range(n), range(n)] = -Y @ parameters
    structure = np.vstack([columns(first.structure, 0.0), columns(loaded_structure, 1.0)])
    # Ideal motion shows every gain, in torques as these data have them.
    size = np.sqrt(np.mean(tau**2, axis=0) * len(structure))
    structure = np.block(
        [[structure, np.zeros((len(structure), n))], [np.zeros((n, Y.shape[2])), np.diag(size)]]
    )

    def arranged(inertial: Array, body: Array, rest: Array, last: Array) -> Array:
        return np.concatenate([inertial[:N], body, rest[N:], last])

    natural = np.min([part.prior_sd for part in parts], axis=0)
    no = np.zeros(10 + n, dtype=bool)
    return replace(
        first,
        Y=np.concatenate([Y, change], axis=2),
        tau=tau,
        time=None,
        recordings=tuple(
            first + before
            for before, part in zip((0, parts[0].n_samples), parts, strict=True)
            for first in part.recordings
        ),
        names=first.names[:N]
        + tuple(f"{LOAD}.{name}" for name in INERTIAL_NAMES)
        + first.names[N:]
        + tuple(f"{joint}.{GAIN}" for joint in first.joints),
        units=first.units[:N] + INERTIAL_UNITS + first.units[N:] + ("1",) * n,
        bodies=(*first.bodies, LOAD),
        prior=arranged(first.prior, load.prior, first.prior, np.zeros(n)),
        prior_sd=arranged(natural, load.prior_sd, natural, np.ones(n)),
        non_negative=arranged(first.non_negative, no[:10], first.non_negative, no[10:]),
        structure=structure,
        starts=tuple(
            start + before
            for before, part in zip((0, first.n_samples), parts, strict=True)
            for start in part.starts
        ),
    )


def _with_known_load(estimator: Estimator, load: KnownLoad) -> Estimator:
    """The estimator that keeps what is known, and whose URDF says nothing of load and gains."""
    estimator = copy(estimator)
    estimator.fixed = (*estimator.fixed, *load.fixed)
    if isinstance(estimator, ConsistentLeastSquares):
        estimator.prior_weights = {**estimator.prior_weights, LOAD: 1.0, GAIN: 1.0}
    return estimator


def _with_absolute_gains(estimate: Estimate, gains: Array) -> Estimate:
    """Gains in N m per unit of effort instead of their relative changes, which are zero."""
    values, units = estimate.values.copy(), list(estimate.units)
    scale, notes = np.ones(len(values)), []
    of_gains = [i for i, name in enumerate(estimate.names) if name.endswith(f".{GAIN}")]
    for i, gain in zip(of_gains, gains, strict=True):
        values[i], scale[i], units[i] = gain, gain, "N m per unit of effort"
        relative = estimate.standard_deviations[i]
        if relative > 0.1:
            notes.append(
                f"The drive gain {estimate.names[i]} is known to {100 * relative:.0f} % only: the"
                " load's weight hardly shows in that joint's effort."
            )
    return replace(
        estimate,
        values=values,
        units=tuple(units),
        covariance=estimate.covariance * np.outer(scale, scale),
        notes=(*notes, *estimate.notes),
    )


def _payload(estimate: Estimate, pi_L: Array, load: KnownLoad) -> Estimate:
    """The load alone. What only shows together with other parameters has its natural scale."""
    names = [f"{LOAD}.{name}" for name in INERTIAL_NAMES]
    index = {name: i for i, name in enumerate(estimate.names)}
    own = [k for k, name in enumerate(names) if name in index]
    of = [index[names[k]] for k in own]
    covariance = np.diag(
        [0.0 if n in load.fixed else sd**2 for n, sd in zip(names, load.prior_sd, strict=True)]
    )
    covariance[np.ix_(own, own)] = estimate.covariance[np.ix_(of, of)]
    verdicts = [
        Verdict.PRIOR_DOMINATED if name in load.fixed else Verdict.COMBINATION for name in names
    ]
    for k, i in zip(own, of, strict=True):
        verdicts[k] = estimate.verdicts[i]
    return Estimate(
        method=estimate.method,
        names=PAYLOAD_NAMES,
        values=pi_L,
        units=INERTIAL_UNITS,
        covariance=covariance,
        verdicts=tuple(verdicts),
        consistent={"payload": bool(is_physically_consistent(pi_L))},
        n_samples=estimate.n_samples,
        robot=estimate.robot,
        urdf_hash=estimate.urdf_hash,
        source=estimate.source,
    )
