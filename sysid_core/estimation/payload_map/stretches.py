# SPDX-License-Identifier: Apache-2.0
"""Consecutive parts of a recording, and their disagreement about the parameters of a linear model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class Stretches:
    """Normal equations of a linear model for each of several consecutive parts (stretches) of a
    recording, in units of noise.

    Attributes:
        H: Matrices `W^T W` of the regressors W of the B stretches, shape (B, p, p).
        g: Vectors `W^T r` of the regressors and residuals r, shape (B, p).
        square: Sums of squares `r^T r` of the stretches, shape (B,).
    """

    H: Array
    g: Array
    square: Array

    @classmethod
    def of(cls, rows: Array, residual: Array, count: int = 4) -> Stretches:
        """Return the normal equations from rows (K, 6, p) and residuals (K, 6), in units of noise
        and in time order.
        """
        p = rows.shape[2]
        H, g, square = np.zeros((count, p, p)), np.zeros((count, p)), np.zeros(count)
        for b, part in enumerate(np.array_split(np.arange(len(rows)), count)):
            W, r = rows[part].reshape(-1, p), residual[part].ravel()
            H[b], g[b], square[b] = W.T @ W, W.T @ r, r @ r
        return cls(H, g, square)

    def disagreement(self, columns: NDArray[np.intp], at: Array) -> float:
        r"""Return the disagreement between the stretches about some parameters, relative to the
        noise.

        Birge's ratio \(\sqrt{Q / \nu}\) with Cochran's \(Q = \sum_b g_b^T H_b^{-1} g_b - g^T H^{-1}
        g\): 1 if the noise is as assumed. Birge, The calculation of errors by the method of least
        squares, Phys. Rev. 40, 1932.

        Args:
            columns: Indices of the unknowns whose values are compared, shape (m,).
            at: Values of all unknowns, shape (p,).
        """
        H, g = self.H[:, columns][:, :, columns], (self.g - self.H @ at)[:, columns]
        scale = np.maximum(np.diagonal(H.sum(axis=0)), np.finfo(float).tiny) ** -0.5
        Q, freedom = 0.0, 0
        for sign, A, x in (
            (-1, H.sum(axis=0), g.sum(axis=0)),
            *((1, *both) for both in zip(H, g, strict=True)),
        ):
            values, vectors = np.linalg.eigh(A * np.outer(scale, scale))
            keep = values > 1e-9 * max(values[-1], 1e-9)
            Q += sign * float(np.sum((vectors[:, keep].T @ (scale * x)) ** 2 / values[keep]))
            freedom += sign * int(keep.sum())
        return float(np.sqrt(max(Q, 0.0) / freedom)) if freedom > 0 else 1.0

    def left_out(self, precision: Array) -> Array:
        """Return the squared prediction error of each stretch by a fit to the other stretches, in
        units of noise, shape (B,).

        Args:
            precision: Precision of the unknowns before any data, shape (p, p).
        """
        H, g = self.H.sum(axis=0), self.g.sum(axis=0)
        y = np.linalg.solve(H - self.H + precision, (g - self.g)[:, :, None])[:, :, 0]
        return np.asarray(
            self.square
            - 2.0 * np.einsum("bp,bp->b", y, self.g)
            + np.einsum("bp,bpq,bq->b", y, self.H, y)
        )
