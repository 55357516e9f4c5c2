# SPDX-License-Identifier: Apache-2.0
"""Base parameters: selection of independent parameters (exact, or numerical at random states),
regrouping of the dependent parameters into them, and both in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
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
    """Write a parameter name in words: `shin.Ixx` as "moment of inertia I_xx of shin"."""
    owner, _, symbol = parameter.rpartition(".")
    return f"{_WORDS[symbol]} of {owner}" if symbol in _WORDS else parameter


def listed(names: Sequence[str] | Array) -> str:
    """Return a list of parameter names, grouped by body: `m, Ixx of shin; F_c of knee`."""
    by_owner: dict[str, list[str]] = {}
    for name in map(str, names):
        owner, _, symbol = name.rpartition(".")
        by_owner.setdefault(owner, []).append(symbol)
    return "; ".join(f"{', '.join(symbols)} of {owner}" for owner, symbols in by_owner.items())


@dataclass(frozen=True, eq=False)
class BaseParameters:
    r"""Selection of b base parameters from p parameters: `pi_b = R @ pi` and `Y = Y_b @ R`.

    Each base parameter stands for one of the full parameters plus a combination of dependent
    ones (Zhang et al. 2024, eqs. (15), (16), (17): `R = P_b^T + K_d P_d^T` with the selection
    matrices P_b and P_d of independent and dependent parameters and the regrouping matrix K_d).
    Hence
    `R[:, independent]` is the identity.

    Attributes:
        names: Names of the p full parameters.
        independent: Indices of the b independent parameters, ascending.
        regrouping: Matrix R, shape (b, p).
        exact: True if derived from the structure, False if from sampled data.
        tolerance: Relative tolerance of the numerical rank; NaN if exact.
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
        """Return the regressor of the base parameters, (..., p) to (..., b)."""
        return np.asarray(Y, dtype=float)[..., list(self.independent)]

    def base_values(self, pi: ArrayLike) -> Array:
        """Return the values of the base parameters, `pi_b = R @ pi`, (..., p) to (..., b)."""
        return np.asarray(pi, dtype=float) @ self.regrouping.T

    def full_values(self, pi_b: ArrayLike, prior: ArrayLike | None = None) -> Array:
        """Return the full parameters with these base values, (..., b) to (..., p), as close as
        possible to a prior (default: 0).
        """
        prior = np.zeros(len(self.names)) if prior is None else np.asarray(prior, dtype=float)
        step = np.linalg.pinv(self.regrouping) @ (np.asarray(pi_b) - self.regrouping @ prior)
        return prior + step

    def combination(self, i: int) -> dict[str, float]:
        """Return the terms and coefficients of the i-th base parameter."""
        row = self.regrouping[i]
        return {self.names[j]: float(row[j]) for j in np.flatnonzero(np.abs(row) > 1e-9)}

    def is_alone(self, i: int) -> bool:
        """Return True if the i-th base parameter is a single parameter instead of a combination."""
        return len(self.combination(i)) == 1

    @classmethod
    def sampled(
        cls, Y: ArrayLike, names: tuple[str, ...], tolerance: float = 1e-9
    ) -> BaseParameters:
        r"""Return the base parameters of a regressor by rank-revealing QR; parameters of earlier
        columns are preferred.

        Args:
            Y: Stacked regressor, shape (rows, p).
            names: Names of the p columns.
            tolerance: Relative tolerance of the rank, after scaling the columns [-].
        """
        Y = np.asarray(Y, dtype=float)
        scale = _column_scale(Y)
        R_all: Array = np.asarray(np.linalg.qr(Y / scale, mode="r"))
        rank = NumericalRank.of(R_all, tolerance).rank
        # Greedy from the left: a column is independent when it leaves the span of those before it.
        Q = np.empty((R_all.shape[0], 0))
        independent: list[int] = []
        for j in range(Y.shape[1]):
            column = R_all[:, j]
            rest = column - Q @ (Q.T @ column)
            rest -= Q @ (Q.T @ rest)
            norm = np.linalg.norm(rest)
            if norm > max(tolerance, 1e-8) and len(independent) < rank:
                independent.append(j)
                Q = np.column_stack([Q, rest / norm])
        if len(independent) < rank:  # nearly dependent columns: let pivoting decide
            _, _, pivots = scipy.linalg.qr(R_all, mode="economic", pivoting=True)
            independent = sorted(int(j) for j in pivots[:rank])
        regrouping, *_ = np.linalg.lstsq(R_all[:, independent], R_all, rcond=None)
        # Undo the column scaling: Y = Y_b R with R in the parameters' own units.
        with np.errstate(invalid="ignore"):
            finite = np.where(np.isfinite(scale), scale, 0.0)
        regrouping = regrouping * finite[None, :] / finite[independent][:, None]
        regrouping[:, independent] = np.eye(len(independent))
        regrouping[np.abs(regrouping) < 1e-10] = 0.0
        return cls(tuple(names), tuple(independent), regrouping, False, tolerance)


@dataclass(frozen=True, eq=False)
class NumericalRank:
    """Floating-point rank.

    Attributes:
        rank: Number of singular values above the tolerance.
        tolerance: Tolerance relative to the largest singular value [-].
        gap: Ratio of the last kept to the first dropped singular value [-].
        singular_values: Singular values of the matrix with scaled columns, in decreasing order, shape
            (p,).
    """

    rank: int
    tolerance: float
    gap: float
    singular_values: Array

    @classmethod
    def of(cls, Y: ArrayLike, tolerance: float = 1e-9) -> NumericalRank:
        """Return the numerical rank of a regressor (rows, p) after scaling its columns, relative to
        the largest singular value.

        Examples:
            >>> NumericalRank.of(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])).rank
            1
        """
        Y = np.asarray(Y, dtype=float)
        s = np.linalg.svd(np.linalg.qr(Y / _column_scale(Y), mode="r"), compute_uv=False)
        rank = int(np.sum(s > tolerance * s[0])) if s.size and s[0] > 0 else 0
        below = s[rank] if rank < len(s) else 0.0
        gap = float(s[rank - 1] / below) if rank and below > 0 else float("inf")
        return cls(rank, tolerance, gap, s)


def _column_scale(Y: Array) -> Array:
    scale = np.linalg.norm(Y, axis=0)
    return np.where(scale > 1e-12 * max(scale.max(initial=0.0), 1e-300), scale, np.inf)
