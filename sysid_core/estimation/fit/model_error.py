# SPDX-License-Identifier: Apache-2.0
r"""Deviations widened by measured model error: what residuals repeat over blocks of time.

What a model lacks (hysteresis, elasticity, temperature) leaves residuals that are functions of the
motion. They look uncorrelated after a second and come back with the next similar motion, which no
correlation in time shows. Sums of scores over long blocks do: were the model right, they would
scatter as the sandwich covariance says. Friction also differs from recording to recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.fit.regression import Regression
from sysid_core.robot import Array

BLOCKS = 6
_NOTABLE = 1.2


@dataclass(frozen=True, eq=False)
class ModelError:
    """By how much scores scatter more over blocks of time than their covariance says.

    Attributes:
        inertial: Factor of the deviations of inertial parameters, 1 or more.
        friction: The same of friction and drives.
        recordings: How many recordings the friction was compared between.
    """

    inertial: float
    friction: float
    recordings: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the result."""
        out = []
        if max(self.inertial, self.friction) > _NOTABLE:
            out.append(
                "Blocks of time disagree by more than noise: deviations are widened by measured"
                f" model error, inertial parameters {self.inertial:.1f} times, friction and drives"
                f" {self.friction:.1f} times."
            )
        if self.recordings == 1:
            out.append(
                "One recording: by how much friction differs from day to day isn't in its"
                " deviations."
            )
        return tuple(out)


def model_error(
    regression: Regression, columns: Sequence[int], scores: Array, R: Array, M: Array
) -> ModelError:
    r"""Compare sums of scores over blocks with their covariance.

    With the influence `u_b = H^{-1} sum_{k in b} Y_k^T psi_k` of block b of B on the estimate, the
    factor of parameter i is `s_i^2 = B/(B-1) sum_b u_bi^2 / (H^{-1} M H^{-1})_ii` (cluster-robust
    variance, Liang and Zeger 1986, over the sandwich's), pooled over inertial parameters and over
    those of friction.

    Args:
        regression: K samples of n torques.
        columns: The b columns that were estimated.
        scores: Weighted residuals, shape (K, n).
        R: Factor of the normal matrix H, shape (m, b).
        M: Covariance of the right side, shape (b, b).
    """
    chosen, K = list(columns), len(regression.tau)
    norms = np.linalg.norm(R, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    # Directions that the data hardly show say nothing of the model.
    P = np.linalg.pinv(R / norms, rcond=1e-6) / norms[:, None]
    inverse = P @ P.T
    variance = np.diag(inverse @ M @ inverse)
    inertial = np.array(chosen) < regression.n_inertial

    def pooled(edges: Array, group: Array) -> float:
        """Root of the mean factor of a group of columns over blocks between rows `edges`."""
        total = np.zeros((len(edges) - 1, len(chosen)))
        for rows, Y in regression.blocks():
            block = np.searchsorted(edges, np.arange(rows.start, rows.stop), side="right") - 1
            for b in np.unique(block):
                own = block == b
                total[b] += np.einsum("kji,kj->i", Y[own][:, :, chosen], scores[rows][own])
        influence = total @ inverse
        known = group & (variance > 0.0) & (variance < regression.prior_sd[chosen] ** 2)
        if not np.any(known) or len(edges) < 3:
            return 1.0
        factor = len(total) / (len(total) - 1.0)
        ratio = factor * np.sum(influence**2, axis=0)[known] / variance[known]
        return float(np.sqrt(max(1.0, np.mean(ratio))))

    time = np.linspace(0, K, BLOCKS + 1).astype(int)
    friction = pooled(time, ~inertial)
    if len(regression.recordings) > 1:
        friction = max(friction, pooled(np.append(regression.recordings, K), ~inertial))
    return ModelError(pooled(time, inertial), friction, len(regression.recordings))


def widened(regression: Regression, columns: Sequence[int], M: Array, error: ModelError) -> Array:
    """Covariance of the right side with the factors of model error, shape (b, b)."""
    inertial = np.asarray(columns) < regression.n_inertial
    factor = np.where(inertial, error.inertial, error.friction)
    return M * np.outer(factor, factor)
