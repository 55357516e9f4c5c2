# SPDX-License-Identifier: Apache-2.0
"""Known load held by an arm: its use in an identification, and the joint torques of any carried
body.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm import Processing
from sysid_core.estimation.arm.spans import require_finite, require_torques
from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.fit.consistent_problem import nearest_consistent, root
from sysid_core.estimation.loaded_arm.carried_body import payload_torque_regressor
from sysid_core.estimation.payload import DensityPrior
from sysid_core.estimation.payload.ball_prior import MIN_MASS, ball_prior
from sysid_core.estimation.payload.result import PAYLOAD_NAMES
from sysid_core.identifiability import NumericalRank
from sysid_core.robot import (
    Array,
    FrictionModel,
    RobotModel,
    is_physically_consistent,
    pi_from_mass_com_inertia,
)
from sysid_core.signals import EffortKind, JointStream, Recording

LOAD = "load"  # its name among the bodies
# Where nothing is known of the load but its mass: as large as a hand can hold.
_REACH, _RADIUS = 0.2, 0.1  # [m]
# Of chi-squared with ten degrees of freedom, once in a thousand.
_MAX_SURPRISE = 29.6
RANK_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """Known parameters of the load that the arm carries in the loaded recordings.

    Attributes:
        mass: Mass [kg].
        frame: Name of the link or frame to which the load is fixed.
        com: Centre of mass in that frame, shape (3,) [m]; None: unknown, to be estimated.
    """

    mass: float
    frame: str
    com: Array | None = None

    def __post_init__(self) -> None:
        if not self.mass > 0.0:
            raise EstimationError(
                f"A mass of the load of {self.mass} kg is invalid.",
                remedy="Weigh the load, and give its mass in kilograms.",
            )
        if self.com is not None:
            com = np.array(self.com, dtype=float)
            if com.shape != (3,) or not np.all(np.isfinite(com)):
                raise EstimationError(
                    "The load's centre of mass must be three numbers [m].",
                    remedy=f"Give x, y and z in '{self.frame}', or omit the centre of mass.",
                )
            com.setflags(write=False)
            object.__setattr__(self, "com", com)

    @property
    def prior(self) -> Array:
        """Prior `pi` of the load in its frame, shape (10,); a ball if only the mass is known."""
        com = np.zeros(3) if self.com is None else self.com
        return pi_from_mass_com_inertia(self.mass, com, np.eye(3) * 0.4 * self.mass * _RADIUS**2)

    @property
    def prior_sd(self) -> Array:
        """Prior standard deviations of `pi`, shape (10,)."""
        return self.mass * np.array([1.0] + [_REACH] * 3 + [_REACH**2] * 6)

    @property
    def fixed(self) -> tuple[str, ...]:
        """Names of the parameters that keep their known values."""
        known = RobotModel.INERTIAL_NAMES[: 1 if self.com is None else 4]
        return tuple(f"{LOAD}.{name}" for name in known)

    @staticmethod
    def torque_streams(
        model: RobotModel,
        recording: Recording,
        friction: FrictionModel,
        processing: Processing,
    ) -> tuple[JointStream, ...]:
        """Return the filtered gapless spans of motion and joint torques, with trimmed ends, for
        `PayloadFromTorques`.

        Args:
            model: Robot model.
            recording: Joint states with declared efforts.
            friction: Friction model with the drives, which convert efforts to torques.
            processing: Sampling rates and cut-off frequencies.
        """
        out = []
        for span in processing.prepare(model, recording, friction):
            trim = round(processing.end_trim * span.rate_hz)
            inside = slice(trim, len(span.tau) - trim)
            if len(span.tau) > 2 * trim + 2:
                motion = span.motion.select(inside)
                torque = EffortKind.ACTUATOR_TORQUE
                out.append(replace(motion, effort=span.tau[inside], effort_kind=torque))
        return tuple(out)


def load_estimate(estimate: Estimate, pi_L: Array, load: KnownLoad) -> Estimate:
    """Return the estimate of the load. Directions that are identifiable only in combination have
    their natural scale as standard deviation.
    """
    names = [f"{LOAD}.{name}" for name in RobotModel.INERTIAL_NAMES]
    index = {name: i for i, name in enumerate(estimate.names)}
    own = [k for k, name in enumerate(names) if name in index]
    of = [index[names[k]] for k in own]
    covariance = np.diag(
        [0.0 if n in load.fixed else sd**2 for n, sd in zip(names, load.prior_sd, strict=True)]
    )
    covariance[np.ix_(own, own)] = estimate.covariance[np.ix_(of, of)]
    verdicts = [
        ParameterVerdict.PRIOR_DOMINATED if name in load.fixed else ParameterVerdict.COMBINATION
        for name in names
    ]
    for k, i in zip(own, of, strict=True):
        verdicts[k] = estimate.verdicts[i]
    return Estimate(
        method=estimate.method,
        names=PAYLOAD_NAMES,
        values=pi_L,
        units=RobotModel.INERTIAL_UNITS,
        covariance=covariance,
        verdicts=tuple(verdicts),
        consistent={"payload": bool(is_physically_consistent(pi_L))},
        n_samples=estimate.n_samples,
        robot=estimate.robot,
        urdf_hash=estimate.urdf_hash,
        source=estimate.source,
    )


@dataclass(frozen=True)
class SupposedLoad:
    """Assumption about a load: a ball about the origin of the frame, or a shape of known density.

    Attributes:
        frame: Name of the frame that carries the load.
        reach: Prior standard deviation of each coordinate of the centre of mass, about the origin
            of the frame [m].
        size: Radius of a ball of about the size of the load [m].
        density: Prior on the density of a known shape, instead of `reach` and `size`; None: ball.
    """

    frame: str
    reach: float
    size: float
    density: DensityPrior | None

    def prior(self, pi: Array) -> tuple[Array, Array]:
        """Return the prior mean and covariance of the load."""
        if self.density is not None:
            mass = max(float(pi[0]), MIN_MASS)
            shape = self.density.cells
            even = mass * shape.parameters_per_mass @ (shape.volumes / shape.volume)
            spread = self.density.covariance(mass)
            # The mass itself is left to the data.
            return even, spread + 25.0 * np.outer(even, even) + 1e-9 * np.diag(np.diag(spread))
        return ball_prior(pi, self.reach, self.size)

    def consistent(
        self, pi: Array, covariance: Array, information: Array, mean: Array, prior: Array
    ) -> tuple[Array, list[str]]:
        """Return the physically consistent payload nearest to the solution or, for a known shape,
        the most likely one under the prior on its density; also returns notes.
        """
        notes = [f"In the axes of '{self.frame}', about its origin."]
        score = information @ pi + np.linalg.solve(prior, pi - mean)
        R = root(information)
        r = np.linalg.lstsq(R.T, score, rcond=1e-9)[0]
        surprise = _surprise(R, r - R @ mean, prior)
        if surprise > _MAX_SURPRISE:
            notes.append(
                "The torques contradict the assumed payload ("
                f"{'shape' if self.density else 'reach and size'}) by"
                f" {np.sqrt(surprise):.1f} standard deviations: give the right one, in the axes of"
                f" '{self.frame}'."
            )
        if self.density is not None:
            return self.density.cells.parameters_per_mass @ self.density.most_likely_masses(
                R, r
            ), notes
        if not bool(is_physically_consistent(pi)):
            pi = nearest_consistent(pi, covariance, self.size)
            notes.append(
                "The unconstrained estimate was not physically consistent: this is the nearest"
                " consistent one."
            )
        return pi, notes


def _surprise(R: Array, innovation: Array, prior: Array) -> float:
    """Squared Mahalanobis distance of the data from the prior, chi-squared with at most ten degrees
    of freedom.

    The distance is `innovation^T (1 + R P R^T)^-1 innovation`, computed from the singular values of
    `R P^(1/2)`: if the data are far more accurate than the prior, the matrix `1 + R P R^T` itself
    is singular in floating point.
    """
    U, s, _ = np.linalg.svd(R @ np.linalg.cholesky(prior))
    return float(np.sum((U.T @ innovation) ** 2 / (1.0 + s**2)))


def structural_verdicts(model: RobotModel, frame: str) -> tuple[int, tuple[ParameterVerdict, ...]]:
    """Return the structural rank of the ten load parameters at a frame of this arm, with a verdict
    for each.
    """
    states = model.random_states(40, np.random.default_rng(0))
    Y = payload_torque_regressor(model, frame, *states).reshape(-1, 10)
    length = np.linalg.norm(Y, axis=0)
    unseen = length <= RANK_TOLERANCE * length.max(initial=1e-300)
    rank = NumericalRank.of(Y, RANK_TOLERANCE).rank
    kernel = np.linalg.svd(Y / np.where(unseen, np.inf, length))[2][rank:]
    leak = np.where(unseen, 0.0, np.linalg.norm(kernel, axis=0))
    return rank, tuple(
        ParameterVerdict.UNIDENTIFIABLE
        if none
        else (ParameterVerdict.COMBINATION if x > 1e-6 else ParameterVerdict.IDENTIFIABLE)
        for none, x in zip(unseen, leak, strict=True)
    )


def require_filtered(stream: JointStream, source: str) -> None:
    """Raise an error for a stream without velocities, accelerations or true joint torques.

    Raises:
        SignalError: Velocities, accelerations or joint torques are missing.
    """
    require_torques(stream, source)
    require_finite(stream, source)
    _ = stream.kinematics  # raises an error
