# SPDX-License-Identifier: Apache-2.0
"""What is supposed of an unknown load beforehand, and what a solution becomes by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.fit import nearest_consistent, root
from sysid_core.estimation.payload import MIN_MASS, DensityPrior, ball_prior
from sysid_core.robot import Array, is_physically_consistent

# Of chi-squared with ten degrees of freedom, once in a thousand.
_MAX_SURPRISE = 29.6


@dataclass(frozen=True)
class SupposedLoad:
    """A ball about the frame, or a shape of known density.

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
        """Mean and covariance of the payload, given roughly what it is."""
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
                "The torques contradict what was assumed of the payload"
                f" ({'shape' if self.density else 'reach and size'}) by"
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
                "The plain estimate was not physically consistent: this is the nearest one that is."
            )
        return pi, notes


def _surprise(R: Array, innovation: Array, prior: Array) -> float:
    """Squared distance of data from prior, chi-squared with ten degrees of freedom at most.

    `innovation^T (1 + R P R^T)^-1 innovation` by the singular values of `R P^(1/2)`: where the data
    are far more certain than the prior the sum itself would be singular in floating point.
    """
    U, s, _ = np.linalg.svd(R @ np.linalg.cholesky(prior))
    return float(np.sum((U.T @ innovation) ** 2 / (1.0 + s**2)))
