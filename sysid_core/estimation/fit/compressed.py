# SPDX-License-Identifier: Apache-2.0
"""Triangular factors: a compressed form of recordings of any length for least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.estimation.fit.regression import Regression
from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class Compressed:
    r"""Triangular factors of the least-squares problem, one per joint: `||R_j pi - r_j||^2 +
    rest_j` is the sum of squares.

    Attributes:
        R: Factors, each of shape (m_j, p).
        r: Right-hand sides, each of shape (m_j,).
        rest: What no parameter explains, shape (n,).
        counts: Equations of every joint, for variances, shape (n,).
    """

    R: tuple[Array, ...]
    r: tuple[Array, ...]
    rest: Array
    counts: Array

    def of(self, columns: Sequence[int], known: Array) -> Compressed:
        """Equations of some columns, with the contribution `R @ known` of the others moved
        to the right-hand side.

        Args:
            columns: Indices of the columns that stay.
            known: Parameters, zero where a column stays, shape (p,).
        """
        index = list(columns)
        r = tuple(r - R @ known for R, r in zip(self.R, self.r, strict=True))
        return Compressed(tuple(R[:, index] for R in self.R), r, self.rest, self.counts)

    def weighted(self, weights: ArrayLike) -> tuple[Array, Array]:
        """Triangular factor of all joints, each with its weight: R (m, p) and r (m,) with m <= p.

        Args:
            weights: Weights of the squared residuals, shape (n,).
        """
        root = np.sqrt(np.asarray(weights, dtype=float))
        pairs = zip(root, self.R, self.r, strict=True)
        stacked = np.vstack([w * np.column_stack([R, r]) for w, R, r in pairs])
        R = scipy.linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0]
        m = min(R.shape[1] - 1, len(R))
        return np.triu(R[:m, :-1]), R[:m, -1]

    def variances(self, pi: ArrayLike) -> Array:
        """Mean squared residual of every joint, shape (n,)."""
        pi = np.asarray(pi, dtype=float)
        squares = [np.sum((R @ pi - r) ** 2) for R, r in zip(self.R, self.r, strict=True)]
        return (np.array(squares) + self.rest) / np.maximum(self.counts, 1.0)


def compress(regression: Regression, weights: Array | None = None) -> Compressed:
    """Triangular factors of the equations of every joint, computed block by block.

    Args:
        regression: K samples of n torques in p parameters.
        weights: Weights of every squared residual, shape (K, n); None: all 1.
    """
    n, p = len(regression.joints), len(regression.names)
    factors: list[Array] = [np.zeros((0, p + 1)) for _ in range(n)]
    for rows, Y in regression.blocks():
        for j in range(n):
            stacked = np.column_stack([Y[:, j], regression.tau[rows, j]])
            if weights is not None:
                stacked *= np.sqrt(weights[rows, j, None])
            factors[j] = _factor(np.vstack([factors[j], stacked]) if len(factors[j]) else stacked)
        del Y
    return Compressed(
        tuple(F[:-1, :-1] for F in factors),
        tuple(F[:-1, -1] for F in factors),
        np.array([F[-1, -1] ** 2 for F in factors]),
        regression.counts,
    )


def _factor(rows: Array) -> Array:
    """Triangular factor of `[Y tau]` from rows (k, p + 1); the last row contains the residual of
    tau alone.
    """
    # Distal joints' rows have few columns that aren't zero.
    used = np.append(np.flatnonzero(np.any(rows[:, :-1] != 0.0, axis=0)), rows.shape[1] - 1)
    R = scipy.linalg.qr(rows[:, used], mode="r", overwrite_a=True, check_finite=False)[0]
    R = np.triu(R[: len(used)])
    out = np.zeros((len(used), rows.shape[1]))
    out[: len(R), used] = R
    return out


def solve_compressed(R: Array, r: Array) -> Array:
    """Least-squares solution after scaling the columns; the minimum-norm solution if they are
    dependent.

    Args:
        R: Shape (m, p).
        r: Shape (m,).

    Returns:
        Shape (p,).
    """
    scale = np.linalg.norm(R, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    return scipy.linalg.lstsq(R / scale, r, cond=1e-11, check_finite=False)[0] / scale
