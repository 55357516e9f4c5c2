# SPDX-License-Identifier: Apache-2.0
"""Base parameters: which parameters are independent and how the others are regrouped into them; in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.robot import Array

_WORDS = {
    "m": "mass",
    "mx": "first moment m c_x",
    "my": "first moment m c_y",
    "mz": "first moment m c_z",
    "Ixx": "moment of inertia I_xx",
    "Iyy": "moment of inertia I_yy",
    "Izz": "moment of inertia I_zz",
    "Ixy": "product of inertia I_xy",
    "Ixz": "product of inertia I_xz",
    "Iyz": "product of inertia I_yz",
    "F_c": "Coulomb friction",
    "F_v": "viscous friction",
    "I_a": "drive inertia",
    "beta": "torque offset",
}


def in_words(parameter: str) -> str:
    """Parameter name in words: `shin.Ixx` as "moment of inertia I_xx of shin"."""
    owner, _, symbol = parameter.rpartition(".")
    return f"{_WORDS[symbol]} of {owner}" if symbol in _WORDS else parameter


def listed(names: Sequence[str] | Array) -> str:
    """List of parameter names, grouped by body: `m, Ixx of shin; F_c of knee`."""
    by_owner: dict[str, list[str]] = {}
    for name in map(str, names):
        owner, _, symbol = name.rpartition(".")
        by_owner.setdefault(owner, []).append(symbol)
    return "; ".join(f"{', '.join(symbols)} of {owner}" for owner, symbols in by_owner.items())


@dataclass(frozen=True, eq=False)
class BaseParameters:
    r"""Selection of b base parameters from p parameters: `pi_b = R @ pi` and `Y = Y_b @ R`.

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
        """Number b of base parameters."""
        return len(self.independent)

    @property
    def base_names(self) -> tuple[str, ...]:
        """Names of the base parameters; each is named after its leading parameter."""
        return tuple(self.names[i] for i in self.independent)

    def base_regressor(self, Y: ArrayLike) -> Array:
        """Regressor of the base parameters, (..., p) to (..., b)."""
        return np.asarray(Y, dtype=float)[..., list(self.independent)]

    def base_values(self, pi: ArrayLike) -> Array:
        """Values of the base parameters, `pi_b = R @ pi`, (..., p) to (..., b)."""
        return np.asarray(pi, dtype=float) @ self.regrouping.T

    def full_values(self, pi_b: ArrayLike, prior: ArrayLike | None = None) -> Array:
        """Full parameters with these base values, as close as possible to a prior (default: 0)."""
        prior = np.zeros(len(self.names)) if prior is None else np.asarray(prior, dtype=float)
        step = np.linalg.pinv(self.regrouping) @ (np.asarray(pi_b) - self.regrouping @ prior)
        return prior + step

    def combination(self, i: int, cutoff: float = 1e-9) -> dict[str, float]:
        """Terms and coefficients of the i-th base parameter."""
        row = self.regrouping[i]
        return {self.names[j]: float(row[j]) for j in np.flatnonzero(np.abs(row) > cutoff)}

    def is_alone(self, i: int) -> bool:
        """True if the i-th base parameter is a single parameter instead of a combination."""
        return len(self.combination(i)) == 1
