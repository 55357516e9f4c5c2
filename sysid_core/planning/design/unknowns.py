# SPDX-License-Identifier: Apache-2.0
"""Unknown parameters of an identification, their prior, and the noise of efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError, listed
from sysid_core.identifiability import BaseParameters
from sysid_core.identifiability.rpna import Identifiability, structural_identifiability
from sysid_core.robot import (
    Array,
    DriveTrain,
    FrictionModel,
    FrictionTerm,
    RobotModel,
)

EFFORT_SHARE = 0.01  # of the effort limits: noise of the efforts where none is stated
CORRELATION = 0.1  # [s], over which errors of the efforts are correlated
SMOOTH_SIGN = 0.05  # [rad/s or m/s], of Coulomb friction while a motion is improved
# Natural size of friction, by the drive's largest effort and velocity.
COULOMB_SHARE, OFFSET_SHARE, ROTOR_ACCELERATION = 0.05, 0.02, 100.0  # [-], [-], [rad/s^2]
PLANNED_TERMS = (*FrictionTerm.listed("usual"), FrictionTerm.ASYMMETRY, FrictionTerm.STRIBECK)
GOOD, ROUGH = 0.1, 0.5  # of the natural size: known well, known roughly


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Inertial and friction parameters of an arm that an identification estimates.

    Attributes:
        model: Robot with nominal parameters.
        structure: Exact structural identifiability of the robot.
        friction: Friction terms that are estimated as well.
        effort_sd: Standard deviation of the error of each joint's effort, shape (n,) [N m or N].
        correlation: Time over which errors of the efforts are correlated [s].
        base: Identifiable combinations of all parameters, inertial and friction together.
        prior_covariance: Prior covariance of all parameters, shape (p, p).
        size: Natural size of every base parameter, to which relative deviations refer, shape (b,).
    """

    model: RobotModel
    structure: Identifiability
    friction: FrictionModel
    effort_sd: Array
    correlation: float
    base: BaseParameters
    prior_covariance: Array
    size: Array

    @classmethod
    def of_arm(
        cls,
        model: RobotModel,
        *,
        terms: Sequence[FrictionTerm] = FrictionTerm.listed("usual"),
        effort_sd: ArrayLike | None = None,
    ) -> Unknowns:
        """Return the unknown parameters of an arm of which only the URDF is known.

        Args:
            model: Robot model.
            terms: Terms of friction and drive, for every joint.
            effort_sd: Standard deviations of each joint's effort, one for all or shape (n,);
                default: 1 % of the effort limits.

        Raises:
            ExcitationError: A term depends on the past of the motion or on the load.
        """
        later = [term.value for term in terms if FrictionTerm(term) not in PLANNED_TERMS]
        if later:
            raise ExcitationError(
                f"Motions can't be planned for the friction terms {later}.",
                remedy=f"Plan for {', '.join(t.value for t in PLANNED_TERMS)}; identify with all.",
            )
        friction = FrictionModel(DriveTrain.direct(model.joint_names), tuple(terms))
        sd = EFFORT_SHARE * typical_efforts(model) if effort_sd is None else np.asarray(effort_sd)
        sd = np.array(np.broadcast_to(np.asarray(sd, dtype=float), (model.nv,)))
        if not (np.all(np.isfinite(sd)) and np.all(sd > 0)):
            raise ExcitationError(
                f"The effort noise {sd.tolist()} is not a list of positive numbers.",
                remedy="Give standard deviations above zero.",
            )
        structure = structural_identifiability(model)
        base = _base(model, structure, friction)
        scale = np.concatenate([model.inertial_scale, friction_scale_of(model, friction)])
        covariance = np.diag(scale**2)
        size = np.sqrt(np.diag(base.regrouping @ covariance @ base.regrouping.T))
        return cls(model, structure, friction, sd, CORRELATION, base, covariance, size)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the b base parameters."""
        return self.base.base_names

    @property
    def n_rigid(self) -> int:
        """Number of inertial base parameters, which precede the others."""
        return sum(i < 10 * self.model.n_bodies for i in self.base.independent)

    @cached_property
    def prior_information(self) -> Array:
        """Information matrix of the prior about the base parameters, shape (b, b)."""
        R = self.base.regrouping
        covariance = R @ self.prior_covariance @ R.T / np.outer(self.size, self.size)
        covariance += 1e-12 * np.eye(len(covariance))
        return np.asarray(np.linalg.inv(covariance) / np.outer(self.size, self.size))

    def smooth(self) -> Unknowns:
        """Return a copy with a smoother sign of Coulomb friction, for gradient-based
        optimisation.
        """
        v_0 = max(SMOOTH_SIGN, self.friction.coulomb_velocity)
        return replace(self, friction=replace(self.friction, coulomb_velocity=v_0))

    def after(self, names: Sequence[str], covariance: ArrayLike) -> Unknowns:
        """Return a copy with the information of an earlier estimate.

        The information is added, `P^-1 = P_prior^-1 + P_estimate^-1`, so that no standard deviation
        increases.

        Args:
            names: Names of the estimated parameters.
            covariance: Covariance of these parameters, shape (len(names), len(names)).

        Raises:
            ExcitationError: The estimate contains none of the unknown parameters.
        """
        mine = {name: i for i, name in enumerate(self.base.names)}
        pairs = [(mine[name], j) for j, name in enumerate(names) if name in mine]
        if not pairs:
            raise ExcitationError(
                "The earlier estimate contains none of the planned parameters.",
                remedy=f"It has {', '.join(names[:6])} …; planned for {', '.join(self.base.names[:6])} ….",
            )
        rows, columns = (np.array(x) for x in zip(*pairs, strict=True))
        P = self.prior_covariance
        measured = np.asarray(covariance, dtype=float)[np.ix_(columns, columns)]
        together = P[np.ix_(rows, rows)] + measured
        size = np.sqrt(np.maximum(np.diag(together), 1e-300))  # parameters differ by decades
        gain = np.linalg.lstsq(together / np.outer(size, size), P[rows] / size[:, None], rcond=None)
        new = P - P[:, rows] @ (gain[0] / size[:, None])
        return replace(self, prior_covariance=0.5 * (new + new.T))

    def after_information(self, information: Array) -> Unknowns:
        """Return a copy with the information (b, b) of an executed motion."""
        R = self.base.regrouping
        gain = np.linalg.solve(
            information @ R @ self.prior_covariance @ R.T + np.eye(len(information)), information
        )
        P = self.prior_covariance
        return replace(self, prior_covariance=P - P @ R.T @ gain @ R @ P)

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the regressor of the base parameters, (K, n) each to (K, n, b)."""
        Y = self.model.torque_regressor(q, v, a)
        return self.base.base_regressor(np.concatenate([Y, self.friction.regressor(q, v, a)], 2))

    def information(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, duration: float) -> Array:
        r"""Return the information matrix of a motion about the base parameters, `sum Phi^T R^-1
        Phi`, with Phi their regressor and R the noise covariance; shape (b, b).

        Args:
            q: Joint positions at equal steps, shape (K, n) [rad or m].
            v: Joint velocities, shape (K, n) [rad/s or m/s].
            a: Joint accelerations, shape (K, n) [rad/s^2 or m/s^2].
            duration: Duration of motion that the samples represent [s]; it counts as `duration /
                correlation` independent samples.
        """
        Phi = self.regressor(q, v, a) / self.effort_sd[:, None]
        flat = Phi.reshape(-1, Phi.shape[-1])
        return np.asarray(flat.T @ flat) * (duration / self.correlation / len(Phi))


def typical_efforts(model: RobotModel) -> Array:
    """Return the effort limits, replaced by their median where the URDF has none; shape (n,) [N m
    or N].
    """
    effort = model.effort_limits
    usable = np.isfinite(effort) & (effort > 0)
    return np.where(usable, effort, float(np.median(effort[usable])) if usable.any() else 1.0)


def friction_scale_of(model: RobotModel, friction: FrictionModel) -> Array:
    """Return the natural scale of friction parameters from the efforts and velocities of the
    drives, shape (p,).
    """
    effort = typical_efforts(model)
    velocity = model.velocity_limits
    velocity = np.where(np.isfinite(velocity) & (velocity > 0), velocity, 1.0)
    factor = {
        FrictionTerm.VISCOUS: COULOMB_SHARE / velocity,
        FrictionTerm.INERTIA: np.full(model.nv, 1.0 / ROTOR_ACCELERATION),
        FrictionTerm.OFFSET: np.full(model.nv, OFFSET_SHARE),
    }
    usual = np.full(model.nv, COULOMB_SHARE)
    return np.array(
        [
            effort[j] * factor.get(term, usual)[j]
            for j, axis in enumerate(model.joint_names)
            for term in friction.terms_of(axis)
        ]
    )


def _base(model: RobotModel, structure: Identifiability, friction: FrictionModel) -> BaseParameters:
    """Base parameters of links and friction together: the exact base parameters of the links, and
    the friction parameters that are linearly independent of them.
    """
    exact = structure.practical.base
    names = model.parameter_names + friction.names
    tree = model.with_exact_angles()[0]
    rng = np.random.default_rng(7)
    q, v, a = tree.random_states(2 * len(names) // model.nv + 60, rng)
    angles = q if q.shape[1] == model.nv else rng.uniform(-np.pi, np.pi, v.shape)
    Y = tree.torque_regressor(q, v, a)
    Phi = friction.regressor(angles, v, a)
    # The exact base first: friction and drive columns join it where they add something.
    Y_b = np.concatenate([exact.base_regressor(Y), Phi], axis=2)
    found = BaseParameters.sampled(Y_b.reshape(-1, Y_b.shape[2]), exact.base_names + friction.names)
    lift = np.zeros((len(found.names), len(names)))
    lift[: exact.rank, : 10 * model.n_bodies] = exact.regrouping
    lift[exact.rank :, 10 * model.n_bodies :] = np.eye(len(friction.names))
    index = [names.index(name) for name in found.base_names]
    return BaseParameters(names, tuple(index), found.regrouping @ lift, False, found.tolerance)


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected standard deviations of the base parameters after a motion.

    Attributes:
        names: Names of the b base parameters, inertial ones first.
        n_rigid: Number of inertial parameters.
        deviation: Standard deviations from the motion and the prior, shape (b,).
        prior: Standard deviations before the motion, shape (b,).
        size: Natural sizes of the parameters, shape (b,).
        data: Standard deviations from the motion alone, shape (b,); infinite if it does not excite
            a parameter.
        duration: Duration of the motion [s].
    """

    names: tuple[str, ...]
    n_rigid: int
    deviation: Array
    prior: Array
    size: Array
    data: Array
    duration: float

    @classmethod
    def of(cls, unknowns: Unknowns, information: Array, duration: float) -> Expectation:
        """Return the expected standard deviations from the information matrix (b, b) of a
        motion.
        """
        size = unknowns.size
        scaled = information * np.outer(size, size)
        prior = unknowns.prior_information * np.outer(size, size)
        after = np.sqrt(np.diag(np.linalg.inv(scaled + prior)))
        before = np.sqrt(np.diag(np.linalg.inv(prior)))
        values, U = np.linalg.eigh(scaled)
        seen = values > 1e-13 * values[-1]
        alone = np.sqrt(np.sum((U[:, seen] ** 2) / values[seen], axis=1))
        hidden = np.any(np.abs(U[:, ~seen]) > 1e-6, axis=1)
        return cls(
            unknowns.names,
            unknowns.n_rigid,
            after * size,
            before * size,
            size,
            np.where(hidden, np.inf, alone) * size,
            duration,
        )

    @property
    def relative(self) -> Array:
        """Expected standard deviations divided by the natural scales, shape (b,)."""
        return self.deviation / self.size

    @property
    def mean_deviation(self) -> float:
        """Geometric mean of the relative standard deviations of the inertial base parameters."""
        return float(np.exp(np.mean(np.log(self.relative[: self.n_rigid]))))

    @property
    def mean_friction_deviation(self) -> float:
        """Geometric mean of the relative standard deviations of friction and drive parameters; NaN
        if none is estimated.
        """
        own = self.relative[self.n_rigid :]
        return float(np.exp(np.mean(np.log(own)))) if len(own) else float("nan")

    def __str__(self) -> str:
        r = self.relative
        good, rough = int(np.sum(r <= GOOD)), int(np.sum((r > GOOD) & (r <= ROUGH)))
        unknown = [n for n, x in zip(self.names, r, strict=True) if x > ROUGH]
        text = f"{good} of {len(r)} base parameters will be known better than 10 %, {rough} roughly"
        if unknown:
            text += f"; not: {listed(unknown, 6)}"
        return text

    def rows(self) -> list[tuple[str, float, float, str]]:
        """Return table rows: name, standard deviation before and after the motion [SI units], and a
        verdict in words.
        """
        words = ["well" if x <= GOOD else "roughly" if x <= ROUGH else "not" for x in self.relative]
        return [
            (name, float(before), float(after), word)
            for name, before, after, word in zip(
                self.names, self.prior, self.deviation, words, strict=True
            )
        ]
