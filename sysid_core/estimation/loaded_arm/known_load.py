# SPDX-License-Identifier: Apache-2.0
"""Known load that an arm carries, and its use in an identification."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.fit import nearest_consistent, root
from sysid_core.estimation.payload import MIN_MASS, PAYLOAD_NAMES, DensityPrior, ball_prior
from sysid_core.robot import (
    INERTIAL_NAMES,
    INERTIAL_UNITS,
    Array,
    is_physically_consistent,
    pi_from_mass_com_inertia,
)

LOAD = "load"  # its name among the bodies
# Where nothing is known of the load but its mass: as large as a hand can hold.
_REACH, _RADIUS = 0.2, 0.1  # [m]


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """Known parameters of the load that the arm carries in the loaded runs.

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
        known = INERTIAL_NAMES[: 1 if self.com is None else 4]
        return tuple(f"{LOAD}.{name}" for name in known)


def load_estimate(estimate: Estimate, pi_L: Array, load: KnownLoad) -> Estimate:
    """Estimate of the load. Directions that are identifiable only in combination have their natural
    scale as standard deviation.
    """
    names = [f"{LOAD}.{name}" for name in INERTIAL_NAMES]
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
        units=INERTIAL_UNITS,
        covariance=covariance,
        verdicts=tuple(verdicts),
        consistent={"payload": bool(is_physically_consistent(pi_L))},
        n_samples=estimate.n_samples,
        robot=estimate.robot,
        urdf_hash=estimate.urdf_hash,
        source=estimate.source,
    )


# Of chi-squared with ten degrees of freedom, once in a thousand.
_MAX_SURPRISE = 29.6


@dataclass(frozen=True)
class SupposedLoad:
    """Assumption about a load: a ball about the frame, or a shape of known density.

    Attributes:
        frame: Frame that carries the load.
        reach: How far from the frame its centre of mass may well be [m].
        size: Radius of a ball as large as the load [m].
        density: Prior on its density where its shape is known; replaces `reach` and `size`.
    """

    frame: str
    reach: float
    size: float
    density: DensityPrior | None

    def prior(self, pi: Array) -> tuple[Array, Array]:
        """Prior mean and covariance of the load."""
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
        """Consistent payload nearest to the solution, or the density's most likely; with notes."""
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
                "The unconstrained estimate was not physically consistent: this is the nearest consistent one."
            )
        return pi, notes


def _surprise(R: Array, innovation: Array, prior: Array) -> float:
    """Squared distance of data from prior, chi-squared with ten degrees of freedom at most.

    `innovation^T (1 + R P R^T)^-1 innovation` by the singular values of `R P^(1/2)`: where the data
    are far more certain than the prior the sum itself would be singular in floating point.
    """
    U, s, _ = np.linalg.svd(R @ np.linalg.cholesky(prior))
    return float(np.sum((U.T @ innovation) ** 2 / (1.0 + s**2)))
