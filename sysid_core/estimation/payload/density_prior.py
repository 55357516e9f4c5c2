# SPDX-License-Identifier: Apache-2.0
r"""Prior of a payload from its shape: approximately uniform, non-negative density.

The relative entropy of the cell masses keeps them near those of a homogeneous body:

    kappa sum_i [ m_i ln(m_i / n_i) - m_i + n_i ],   n_i = m v_i,   kappa = grains / (contrast^2 m)

with the volume fractions v_i: to second order, the densities of regions of 1 / `grains` of the
volume then vary independently of each other by `contrast`, for any size of the cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sysid_core.errors import EstimationError, SolverError
from sysid_core.estimation.payload.data import positive_mass
from sysid_core.robot import Array
from sysid_core.robot.shapes import Shape

GRAINS = 56.0
_MAX_EXPONENT = 30.0
_SAME_MASS = 1e-12  # relative


def shape_covariance(shape: Shape, mass: float, contrast: float) -> Array:
    """Return the prior covariance of `pi` for densities that vary independently between cells.

    Args:
        shape: Shape of the body in the sensor frame.
        mass: Total mass [kg].
        contrast: Relative standard deviation of the density between regions of 1/56 of the volume
            each.

    Returns:
        Covariance, shape (10, 10).
    """
    Phi = shape.parameters_per_mass
    variance = contrast**2 / GRAINS * mass**2 * shape.volumes / shape.volume
    return (Phi * variance) @ Phi.T


@dataclass(frozen=True)
class DensityPrior:
    """Relative-entropy prior on the density of a shape.

    Attributes:
        shape: Shape of the body in the sensor frame.
        contrast: Relative standard deviation of the density between regions of 1/56 of the volume
            each.
    """

    shape: Shape
    contrast: float = 0.7

    def __post_init__(self) -> None:
        if not self.contrast > 0:
            raise EstimationError(
                "The contrast of a density prior must be greater than zero.",
                remedy="Omit it to use the default.",
            )
        if self.shape.fingers is not None:
            raise EstimationError(
                "The opening of a gripper is not a shape and has no density.",
                remedy="Give the shape of the object instead, or no shape.",
            )

    @cached_property
    def cells(self) -> Shape:
        """Cells of the shape, each divided into eight smaller ones, so that even in a single layer
        of cells the centre of mass can differ from the centre of the layer.
        """
        return self.shape.refined()

    def covariance(self, mass: float) -> Array:
        """Return the covariance of `pi` to second order, shape (10, 10)."""
        return shape_covariance(self.cells, mass, self.contrast)

    def most_likely_masses(self, R: Array, r: Array, near: Array | None = None) -> Array:
        """Return the cell masses that minimise the data misfit plus the relative entropy to the
        prior masses.

        The prior masses are those of the homogeneous body with the total mass of the solution,
        which is found by iteration.

        Args:
            R: Whitened factor of the data, shape (p, 10).
            r: Right-hand side of the data, shape (p,).
            near: Parameters of a similar solution as initial value, shape (10,); None: none.

        Returns:
            Masses of the n `cells`, shape (n,), all positive [kg].

        Raises:
            EstimationError: The data imply a negative mass.
            SolverError: Newton's method didn't converge.
        """
        E = R @ self.cells.parameters_per_mass
        fraction = self.cells.volumes / self.cells.volume
        if near is not None and near[0] > 0:
            mass, z = float(near[0]), r - R @ near
        else:
            direction = E @ fraction
            mass = positive_mass(float(direction @ r), float(direction @ direction))
            z = np.zeros(len(r))
        for _ in range(20):
            kappa = GRAINS / (self.contrast**2 * mass)
            m, z = _entropic_masses(E, r, mass * fraction, kappa, z)
            change = abs(m.sum() - mass) / mass
            mass = positive_mass(float(m.sum()), 1.0)
            if change < _SAME_MASS:
                break
        return m


def _entropic_masses(
    E: Array, r: Array, reference: Array, kappa: float, z: Array
) -> tuple[Array, Array]:
    r"""Newton's method on the dual, `min_z kappa sum n_i e^{(E^T z)_i / kappa} + |z|^2/2 - r z`.

    Returns the masses `n_i exp((E^T z)_i / kappa)` and z, the whitened residual.
    """

    def at(z: Array) -> tuple[float, Array]:
        exponent = (z / kappa) @ E
        if exponent.max() > _MAX_EXPONENT:
            return np.inf, reference
        m = reference * np.exp(exponent)
        return float(kappa * m.sum() + 0.5 * z @ z - r @ z), m

    current, m = at(z)
    if not np.isfinite(current):
        z = np.zeros(len(r))
        current, m = at(z)
    for _ in range(200):
        gradient = E @ m + z - r
        step = -np.linalg.solve((E * (m / kappa)) @ E.T + np.eye(len(z)), gradient)
        decrement = float(-gradient @ step)
        if decrement < 1e-10 * (1.0 + abs(current)):
            # Convergence is quadratic here, and finer than differences of the value can show.
            z = z + step
            return at(z)[1], z
        t, trial = 1.0, at(z + step)
        while trial[0] > current - 1e-4 * t * decrement and t > 1e-12:
            t *= 0.5
            trial = at(z + t * step)
        z, (current, m) = z + t * step, trial
    raise SolverError(
        "The entropic payload problem did not converge.",
        remedy="Check the wrench and the shape for implausible values.",
    )
