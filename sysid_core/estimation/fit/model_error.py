# SPDX-License-Identifier: Apache-2.0
r"""Deviations widened by measured model error: how far fits without one block of motion differ.

What a model lacks (hysteresis, elasticity, temperature) leaves residuals that are functions of the
motion. They look uncorrelated after a second and come back with the next similar motion, which no
correlation in time shows. Fits that leave out one block of the motion each do: were the model right,
they would scatter as the sandwich covariance says. Friction also differs from recording to recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.estimation.fit.regression import Regression
from sysid_core.estimation.fit.weighting import Weights
from sysid_core.robot import Array

BLOCKS = 6  # of the delete-a-block jackknife, as in `BlockScores`
_NOTABLE = 1.2  # factor of deviations from which a model error is mentioned
_ENOUGH = 0.5  # of the parameters must be left to compare
_OPEN = 0.1  # of a natural deviation: a prior that weak keeps what a block alone shows finite


@dataclass(frozen=True, eq=False)
class ModelError:
    """By how much estimates scatter more over blocks of motion than their covariance says.

    Attributes:
        inertial: Factor of the deviations of inertial parameters, 1 or more.
        friction: The same of friction and drives, which recordings of different days show, too.
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
                "Fits without one block of the motion each differ by more than noise: deviations are"
                f" widened by measured model error, inertial parameters {self.inertial:.1f} times,"
                f" friction and drives {self.friction:.1f} times."
            )
        if self.recordings == 1:
            out.append(
                "One recording: by how much friction differs from day to day isn't in its"
                " deviations."
            )
        return tuple(out)


def model_error(
    regression: Regression,
    columns: Sequence[int],
    residual: Array,
    weights: Weights,
    M: Array,
    natural: Array,
) -> ModelError:
    r"""Compare fits that leave out one block of motion each with their covariance.

    Without block b of B the estimate moves by `d_b = -(H - H_b + w N^{-1})^{-1} Y_b^T psi_b`, N the
    natural covariance and w small; the delete-a-block jackknife's variance (Kuensch 1989) is
    `(B - 1) / B sum_b (d_b - mean(d))^2`. The factor is the root of its mean ratio to the sandwich's
    variance, over the parameters that the data show without any one block, too. Recordings aren't
    left out: one may show what the others don't (a load, a joint); their influences
    `H^{-1} Y_b^T psi_b` are compared instead (Liang and Zeger 1986). Blocks hold equally many samples,
    and no motion is in two of them: a model error that comes back in every period would be in all.

    Args:
        regression: K samples of n torques.
        columns: The b columns that were estimated: base parameters.
        residual: Shape (K, n).
        weights: Those of the fit.
        M: Covariance of the right side, shape (b, b).
        natural: Natural covariance of the parameters, shape (b, b).
    """
    sd = np.sqrt(np.diag(natural))
    prior = scipy.linalg.pinvh(natural / np.outer(sd, sd)) * _OPEN**2
    M = M * np.outer(sd, sd)

    def factor(block: NDArray[np.intp], group: NDArray[np.bool_], leave_out: bool) -> float:
        """Root of the mean ratio of a group of parameters over numbered blocks of samples."""
        H, right = _block_sums(regression, columns, residual, weights, block)
        H, right = H * np.outer(sd, sd), right * sd
        total = H.sum(axis=0)
        inverse = scipy.linalg.pinvh(total + 1e-4 * prior)
        variance = np.diag(inverse @ M @ inverse)
        known = group & (variance > 0.0) & (variance < 1.0)
        if not np.any(known) or len(H) < 2:
            return 1.0
        if leave_out:
            others, share = _without_blocks(H, prior), (len(H) - 1) / len(H)
            known = _still_known(known, others, M)
        else:
            others, share = [inverse] * len(H), len(H) / (len(H) - 1)
        moved = np.array([other @ side for other, side in zip(others, right, strict=True)])
        scatter = share * np.sum((moved - moved.mean(axis=0)) ** 2, axis=0)
        return float(np.sqrt(max(1.0, np.mean(scatter[known] / variance[known]))))

    everything = np.ones(len(sd), dtype=bool)
    inertial = factor(regression.motion_blocks(BLOCKS), everything, True)
    friction = inertial
    if len(regression.recordings) > 1:
        of_recording = np.searchsorted(
            regression.recordings, np.arange(len(regression.tau)), side="right"
        )
        mechanical = np.asarray(columns) < regression.n_inertial
        friction = max(friction, factor(of_recording - 1, ~mechanical, False))
    return ModelError(inertial, friction, len(regression.recordings))


def _without_blocks(H: Array, prior: Array) -> list[Array]:
    """Inverses of the normal matrix without each block, finite by a weak prior, each (b, b)."""
    total = H.sum(axis=0)
    return [scipy.linalg.pinvh(total - own + prior) for own in H]


def _still_known(known: NDArray[np.bool_], others: Sequence[Array], M: Array) -> NDArray[np.bool_]:
    """Those of the known parameters that the data show without any one block as well.

    What one block alone shows (a joint that moves only there) falls to the prior without it, which
    compares nothing. Where that is most of them, the recording is too short to choose.
    """
    shown = known.copy()
    for other in others:
        shown &= np.diag(other @ M @ other) < 1.0
    return shown if np.sum(shown) > _ENOUGH * np.sum(known) else known


def _block_sums(
    regression: Regression,
    columns: Sequence[int],
    residual: Array,
    weights: Weights,
    block: NDArray[np.intp],
) -> tuple[Array, Array]:
    """Normal matrix and right side `Y^T psi` of every block, (B, b, b) and (B, b)."""
    chosen, count = list(columns), int(block.max()) + 1
    roots = np.sqrt(weights.of_equations(regression))
    scores = weights.scores(residual)
    H = np.zeros((count, len(chosen), len(chosen)))
    right = np.zeros((count, len(chosen)))
    for rows, Y in regression.blocks():
        for b in np.unique(block[rows]):
            own = block[rows] == b
            kept = Y[own][:, :, chosen]
            right[b] += np.einsum("kji,kj->i", kept, scores[rows][own])
            weighted = (kept * roots[rows][own][:, :, None]).reshape(-1, len(chosen))
            H[b] += weighted.T @ weighted
            del kept, weighted
        del Y  # the next block is made without this one in memory
    return H, right


def widened(regression: Regression, columns: Sequence[int], M: Array, error: ModelError) -> Array:
    """Covariance of the right side with the factors of model error, shape (b, b)."""
    inertial = np.asarray(columns) < regression.n_inertial
    factor = np.where(inertial, error.inertial, error.friction)
    return M * np.outer(factor, factor)
