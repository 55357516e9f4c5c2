# SPDX-License-Identifier: Apache-2.0
r"""Least squares joint by joint, from the last to the first, with propagation of the errors.

Torques of joint j depend on bodies j ... n only. Each step estimates those constants that its rows
determine and that are still unknown, and uses the constants of earlier steps as known (Lin 1992,
algorithm 2). Constants that a step determines only badly are postponed: their rows are passed on to
the next steps.

Every estimate stays a linear function of the noise of all steps, so its covariance is exact, and is
the sum of the contributions of each joint's noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import scipy

from sysid_core.robot import Array

RANK_TOLERANCE = 1e-7  # of a step's largest singular value, in natural units


@dataclass(frozen=True, eq=False)
class StepRows:
    """Compressed equations of one joint's torque, `values = rows @ x + noise`.

    Attributes:
        name: Name of the joint.
        rows: Regressor, shape (m, p).
        values: Torques, transformed in the same way as the rows, shape (m,).
        noise: Covariance of the noise in `values`, shape (m, m), nonsingular.
    """

    name: str
    rows: Array
    values: Array
    noise: Array


@dataclass(frozen=True, eq=False)
class RecursionStep:
    """Result of one step of the sequential estimation.

    Attributes:
        name: Name of the joint whose torques were used.
        n_settled: Number of parameter directions determined in this step.
        n_postponed: Number of directions that are excited too weakly to be determined in this step.
        condition: Condition number of the determined part, with parameters scaled by their natural
            sizes; 1 if there is none.
        directions: Directions determined in this step, shape (p, n_settled).
        CLEAR: Standard deviation, in natural units, below which a direction is determined in the
            present step; other directions are postponed.
    """

    CLEAR: ClassVar[float] = 0.1

    name: str
    n_settled: int
    n_postponed: int
    condition: float
    directions: Array


@dataclass(frozen=True, eq=False)
class BackwardSolution:
    """Result of the sequential estimation of all joints.

    Attributes:
        x: Estimated parameters, shape (p,).
        shares: Covariance due to the noise of each step, shape (n_steps, p, p).
        prior_share: Covariance due to the prior, in directions that the data hardly determine,
            shape (p, p).
        steps: Steps in the order of the recursion.
        open_directions: Directions in which the prior is more accurate than the data, shape (p, k).
    """

    x: Array
    shares: Array
    prior_share: Array
    steps: tuple[RecursionStep, ...]
    open_directions: Array

    @property
    def covariance(self) -> Array:
        """Covariance of all parameters, shape (p, p)."""
        return self.shares.sum(axis=0) + self.prior_share

    @classmethod
    def of(
        cls, blocks: Sequence[StepRows], prior: Array, prior_covariance: Array
    ) -> BackwardSolution:
        """Estimate the parameters step by step, from the last joint to the first.

        Args:
            blocks: Equations of each joint, in the order of the recursion: last joint first.
            prior: Prior values, kept by parameters that no step determines, shape (p,).
            prior_covariance: Prior covariance of the parameters, shape (p, p), positive definite.
        """
        p = len(prior)
        sizes = [len(block.rows) for block in blocks]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        x = np.array(prior, dtype=float)
        # x = truth + W @ (unit noise of all steps) + what the open directions miss.
        W = np.zeros((p, starts[-1]))
        N = np.linalg.cholesky(prior_covariance)  # basis of what is unknown, in natural units
        A, y, E = np.zeros((0, p)), np.zeros(0), np.zeros((0, starts[-1]))  # postponed rows
        steps = []
        for block, start, stop in zip(blocks, starts[:-1], starts[1:], strict=True):
            white, own_noise = _whitened(block)
            A = np.vstack([white[:, :-1], A])
            y = np.concatenate([white[:, -1], y])
            own = np.zeros((len(white), starts[-1]))
            own[:, start:stop] = own_noise
            E = np.vstack([own, E])
            U, s, Vt = np.linalg.svd(A @ N, full_matrices=False)
            shown = s > RANK_TOLERANCE * s[0] if s.size and s[0] > 0 else np.zeros(len(s), bool)
            clear = shown & (s * RecursionStep.CLEAR > 1.0)
            gain = N @ Vt[clear].T / s[clear] @ U[:, clear].T
            x = x + gain @ (y - A @ x)
            W = W + gain @ (E - A @ W)
            steps.append(
                RecursionStep(
                    name=block.name,
                    n_settled=int(clear.sum()),
                    n_postponed=int((shown & ~clear).sum()),
                    condition=float(s[clear][0] / s[clear][-1]) if clear.any() else 1.0,
                    directions=N @ Vt[clear].T,
                )
            )
            N = N @ scipy.linalg.null_space(Vt[clear]) if clear.any() else N
            later = U[:, shown & ~clear].T
            A, y, E = later @ A, later @ y, later @ E
        return _settle_the_rest(x, W, N, (A, y, E), starts, tuple(steps))


def _whitened(block: StepRows) -> tuple[Array, Array]:
    """Rows and values divided by their mean noise, and the noise as a map from unit noise."""
    m = len(block.rows)
    if m == 0:
        return np.zeros((0, block.rows.shape[1] + 1)), np.zeros((0, 0))
    size = np.sqrt(np.trace(block.noise) / m)
    factor = np.linalg.cholesky(block.noise) / size
    return np.column_stack([block.rows, block.values]) / size, factor


def _settle_the_rest(
    x: Array,
    W: Array,
    N: Array,
    postponed: tuple[Array, Array, Array],
    starts: Array,
    steps: tuple[RecursionStep, ...],
) -> BackwardSolution:
    """Combine the equations that were postponed to the end with the prior, and sum up the error
    contributions.
    """
    A, y, E = postponed
    k = N.shape[1]
    U, s, Vt = np.linalg.svd(A @ N, full_matrices=True)
    full = np.zeros(k)
    full[: len(s)] = s
    weight = 1.0 / (full**2 + 1.0)
    gain = N @ (Vt.T * weight)[:, : len(s)] * s @ U[:, : len(s)].T
    x = x + gain @ (y - A @ x)
    W = W + gain @ (E - A @ W)
    rest = N @ Vt.T
    shares = np.array([W[:, a:b] @ W[:, a:b].T for a, b in pairwise(starts)])
    return BackwardSolution(
        x=x,
        shares=shares,
        prior_share=(rest * weight**2) @ rest.T,
        steps=steps,
        open_directions=rest[:, full < 1.0],
    )
