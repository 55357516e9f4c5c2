# SPDX-License-Identifier: Apache-2.0
"""Cross-validation with normal equations of blocks of time: any choice of columns and prior is
judged on held-out blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.fit import Regression
from sysid_core.robot import Array

N_BLOCKS = 6  # of time, each held out once: fits keep five sixths of the data
LEAST_GAIN = 0.005  # relative drop of the held-out error that anything else than usual must bring
ENOUGH = 20_000  # samples that choices are judged on, evenly spread: more change no choice
_EXACT = 1e-12  # squares of torques: a millionth of them is no measurement


@dataclass(frozen=True, eq=False)
class BlockScores:
    r"""Normal equations of blocks of time, with which any choice of columns can be cross-validated.

    Every block is predicted, raw, from a weighted fit to all other blocks, filtered; the prior
    regularises as in `ConsistentLeastSquares`, without its constraints.

    Attributes:
        regression: The filtered equations (names, structure, prior).
        filtered: `[Y tau]^T [Y tau]` per block and joint, shape (blocks, n, p+1, p+1).
        raw: The same before filtering.
        gains: Gains of the drives, shape (n,): errors are weighed in the efforts' own unit.
    """

    regression: Regression
    filtered: Array
    raw: Array
    gains: Array

    @classmethod
    def build(cls, equations: ArmEquations, pi: Array, n_blocks: int = N_BLOCKS) -> BlockScores:
        """Normal equations of blocks of equal time in motion.

        Blocks are cut by time: recordings of different rates are decimated differently.

        Args:
            equations: The data.
            pi: Inertial parameters that loads are taken from, shape (10 N,).
            n_blocks: How many blocks.
        """
        filtered = equations.regression(pi)
        raw = equations.regression(pi, raw=True)
        edges = _edges(raw, n_blocks)
        return cls(
            filtered,
            _block_products(filtered, edges),
            _block_products(raw, edges),
            equations.friction.drives.gains,
        )

    def relative_error(
        self, keep: Sequence[bool] | None = None, prior_weight: float = 1.0
    ) -> float:
        r"""Relative error `||e|| / ||effort||` over all held-out blocks and joints.

        Args:
            keep: Columns in use, shape (p,); None: all.
            prior_weight: rho of the prior.
        """
        return float(np.sqrt(self.block_errors(keep, prior_weight).sum()))

    def block_errors(self, keep: Sequence[bool] | None = None, prior_weight: float = 1.0) -> Array:
        """Contribution of each block to the squared relative error, shape (blocks,)."""
        error, signal = self._squares(keep, prior_weight)
        return np.asarray(np.sum(error / self.gains**2, axis=1) / np.sum(signal / self.gains**2))

    def joint_errors(self, keep: Sequence[bool] | None = None, prior_weight: float = 1.0) -> Array:
        """Relative error of each joint, shape (n,)."""
        error, signal = self._squares(keep, prior_weight)
        return np.sqrt(error.sum(axis=0) / np.maximum(signal, _least(signal)))

    def fits_without_blocks(
        self, prior_weight: float, parameters: Array, fixed: Sequence[str] = ()
    ) -> Array:
        """Parameters of the fits that each omit one block, shape (blocks, p).

        Args:
            prior_weight: rho of the prior.
            parameters: All parameters of the fit to everything, shape (p,).
            fixed: What the fit held, as in an estimator's `fixed`.
        """
        free = self.regression.free_columns(fixed)
        prior, sd = self.regression.prior[free], self.regression.prior_sd[free]
        # The held object is taken out of the torques: [Y tau] -> [Y_free, tau - Y_held x_held].
        kept = np.zeros((len(free) + 1, len(prior) + 1))
        kept[:-1, :-1] = np.eye(len(free))[:, free]
        kept[:-1, -1], kept[-1, -1] = np.where(free, 0.0, -parameters), 1.0
        blocks = kept.T @ self.filtered @ kept
        total = blocks.sum(axis=0)
        weights = self._weights(total, prior, sd, prior_weight)
        out = np.tile(parameters, (len(blocks), 1))
        for row, block in zip(out, blocks, strict=True):
            row[free] = _solve(total - block, weights, prior, sd, prior_weight)
        return out

    def residual(self, parameters: Array) -> Array:
        """RMS residual of every joint for given parameters, shape (n,) [N m]."""
        squares = _quadratic(np.append(-parameters, 1.0), self.filtered.sum(axis=0))
        return np.sqrt(np.maximum(squares, 0.0) / np.maximum(self.regression.counts, 1.0))

    def _squares(self, keep: Sequence[bool] | None, prior_weight: float) -> tuple[Array, Array]:
        """Squared held-out errors of blocks and joints, (blocks, n), and squared torques, (n,)."""
        p = len(self.regression.names)
        used = np.arange(p) if keep is None else np.flatnonzero(np.asarray(keep))
        prior, sd = self.regression.prior[used], self.regression.prior_sd[used]
        index = np.append(used, p)
        filtered = self.filtered[:, :, index[:, None], index[None, :]]
        raw = self.raw[:, :, index[:, None], index[None, :]]
        total = filtered.sum(axis=0)
        weights = self._weights(total, prior, sd, prior_weight)
        error = []
        for block in range(len(filtered)):
            pi = _solve(total - filtered[block], weights, prior, sd, prior_weight)
            error.append(_quadratic(np.append(-pi, 1.0), raw[block]))
        return np.maximum(error, 0.0), raw[:, :, -1, -1].sum(axis=0)

    def _weights(self, total: Array, prior: Array, sd: Array, rho: float) -> Array:
        """Inverse residual variance of each joint, from a fit to all blocks."""
        weights = np.ones(len(total))
        count = self.regression.counts
        for _ in range(3):
            pi = _solve(total, weights, prior, sd, rho)
            theta = np.append(-pi, 1.0)
            squares = _quadratic(theta, total)
            weights = count / np.maximum(squares, _least(total[:, -1, -1]))
        return weights


def is_better(new: Array, old: Array, least_gain: float) -> bool:
    """True if one choice predicts better than another by more than chance.

    The mean gain over blocks must exceed its standard error (as Breiman's rule of one standard
    error, Hastie et al. 2009, section 7.10): what some blocks gain and others lose says little of
    other motions.

    Args:
        new: Squared held-out errors of blocks, shape (blocks,).
        old: The same of what is to be replaced.
        least_gain: Relative drop of the error that is wanted beside.
    """
    gains = old - new
    clear = np.sum(gains) > np.sqrt(len(gains)) * np.std(gains, ddof=1)
    return bool(clear and np.sum(new) < (1.0 - least_gain) ** 2 * np.sum(old))


def _least(signal: Array) -> Array:
    """Lower bound of the sums of squares, (n,): the efforts of a joint may be zero or noise-free."""
    return _EXACT * np.maximum(signal, _EXACT * max(float(np.max(signal)), 1e-200))


def _quadratic(theta: Array, products: Array) -> Array:
    """`theta^T P_j theta` of every joint, (p,), (n, p, p) to (n,)."""
    return np.asarray((products @ theta) @ theta)


def _edges(regression: Regression, n_blocks: int) -> Array:
    """Times that divide the motion into blocks of equal duration, shape (n_blocks - 1,) [s].

    Motion that comes back belongs to the block in which it first occurred: held out, it is unseen.
    """
    time = np.sort(_motion_time(regression))
    passed = np.cumsum(np.clip(np.diff(time, prepend=time[0]), 0.0, 0.1))  # holes don't count
    return np.interp(np.arange(1, n_blocks) / n_blocks * passed[-1], passed, time)


def _motion_time(regression: Regression) -> Array:
    return np.asarray(regression.time if regression.motion_time is None else regression.motion_time)


def _block_products(regression: Regression, edges: Array) -> Array:
    """`[Y tau]^T [Y tau]` of every block and joint, shape (blocks, n, p + 1, p + 1)."""
    of_block = np.searchsorted(edges, _motion_time(regression), side="right")
    n, p = len(regression.joints), len(regression.names)
    out = np.zeros((len(edges) + 1, n, p + 1, p + 1))
    for rows, Y in regression.blocks():
        for block in np.unique(of_block[rows]):
            own = of_block[rows] == block
            for j in range(n):  # joint by joint: no second copy of the whole
                A = np.column_stack([Y[own, j], regression.tau[rows][own, j]])
                out[block, j] += A.T @ A
    return out


def _solve(products: Array, weights: Array, prior: Array, sd: Array, rho: float) -> Array:
    """Regularised normal equations in natural scales: well conditioned, whatever the data."""
    H = np.einsum("j,jik->ik", weights, products)
    A = H[:-1, :-1] * np.outer(sd, sd) + rho * np.eye(len(sd))
    b = sd * (H[:-1, -1] - H[:-1, :-1] @ prior)
    try:
        step = scipy.linalg.cho_solve(scipy.linalg.cho_factor(A), b)
    except np.linalg.LinAlgError:  # products so large that rho is lost beside them
        step = scipy.linalg.lstsq(A, b)[0]
    return prior + sd * step
