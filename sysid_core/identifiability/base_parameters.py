# SPDX-License-Identifier: Apache-2.0
"""Base parameters: the combinations that can be identified, and the maps there and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class BaseParameters:
    r"""A choice of b base parameters among p: `pi_b = R @ pi` and `Y = Y_b @ R`.

    Each base parameter stands for one of the full parameters plus a combination of dependent
    ones (Zhang et al. 2024, eqs. (15), (16), (17): `R = P_b^T + K_d P_d^T`), so `R[:, independent] = 1`.

    Attributes:
        names: The p full parameters.
        independent: Indices of the b chosen ones, ascending.
        regrouping: R, shape (b, p).
        exact: True when it follows from the structure, False when from sampled data.
        tolerance: Relative tolerance of the numerical rank (NaN when exact).
    """

    names: tuple[str, ...]
    independent: tuple[int, ...]
    regrouping: Array
    exact: bool = False
    tolerance: float = float("nan")

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    @property
    def base_names(self) -> tuple[str, ...]:
        """Name of the parameter that each base parameter stands for."""
        return tuple(self.names[i] for i in self.independent)

    def base_regressor(self, Y: ArrayLike) -> Array:
        """Columns of the base parameters, (..., p) to (..., b)."""
        return np.asarray(Y, dtype=float)[..., list(self.independent)]

    def base_values(self, pi: ArrayLike) -> Array:
        """`pi_b = R @ pi`, (..., p) to (..., b)."""
        return np.asarray(pi, dtype=float) @ self.regrouping.T

    def full_values(self, pi_b: ArrayLike, prior: ArrayLike | None = None) -> Array:
        """The full parameters closest to a prior (default: 0) that have these base values."""
        prior = np.zeros(len(self.names)) if prior is None else np.asarray(prior, dtype=float)
        step = np.linalg.pinv(self.regrouping) @ (np.asarray(pi_b) - self.regrouping @ prior)
        return prior + step

    def combination(self, i: int, cutoff: float = 1e-9) -> dict[str, float]:
        """Terms and coefficients of the i-th base parameter."""
        row = self.regrouping[i]
        return {self.names[j]: float(row[j]) for j in np.flatnonzero(np.abs(row) > cutoff)}

    def is_alone(self, i: int, cutoff: float = 1e-9) -> bool:
        """Whether the i-th base parameter is a single parameter, not a combination."""
        return len(self.combination(i, cutoff)) == 1
