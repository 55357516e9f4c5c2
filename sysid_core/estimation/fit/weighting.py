# SPDX-License-Identifier: Apache-2.0
"""Weighting schemes of residuals, and the resulting weights of a fit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sysid_core.estimation.fit.regression import Compressed, Regression, compress, solve_compressed
from sysid_core.robot import Array
from sysid_core.settings import Kind

ROUNDS = 50  # of reweighting at most: a note says where they didn't settle
SETTLED = 1e-3  # standard deviations by which a round may still change the robust estimate


class Weighting(Kind):
    """Weighting scheme of residuals."""

    NONE = "none"  # every torque alike (OLS)
    JOINT = "joint"  # each joint by its inverse residual variance (WLS)
    ROBUST = "robust"  # as JOINT, and single samples by Tukey's loss (IRLS)


_TUKEY = 4.685  # standard deviations beyond which a residual counts nothing: 95 % efficiency


def tukey_weights(u: Array) -> Array:
    """Return the weights w(u) of squared scaled residuals u = e / sigma, in [0, 1] (Holland and
    Welsch 1977).
    """
    return np.asarray((1.0 - np.minimum(np.abs(u) / _TUKEY, 1.0) ** 2) ** 2)


def tukey_slope(u: Array) -> Array:
    """Return the derivative of the score `psi(u) = w(u) u`."""
    x = np.minimum(np.abs(u) / _TUKEY, 1.0) ** 2
    return np.asarray((1.0 - x) * (1.0 - 5.0 * x))


@dataclass(frozen=True, eq=False)
class Weights:
    r"""Converged weights of a fit, with the data for its covariance.

    Attributes:
        of_joints: Inverse residual variance of each joint, shape (n,).
        of_samples: Weight of each squared residual, shape (K, n); None: `of_joints` for all.
        slopes: Mean slope of the score of each joint, `mean psi'(u) / sigma^2`, shape (n,): weights
            of the normal matrix in the covariance (Huber 1981, section 7.6).
        R: Weighted triangular factor of the q estimated columns, shape (m, q).
        r: Weighted right-hand side, shape (m,).
        settled: True if the reweighting converged.
        changes: RMS change of the values in each iteration, in standard deviations for independent
            noise.
    """

    of_joints: Array
    of_samples: Array | None
    slopes: Array
    R: Array
    r: Array
    settled: bool = True
    changes: tuple[float, ...] = ()

    def scores(self, residual: Array) -> Array:
        """Return the weighted residuals `psi_k`; argument and result have shape (K, n)."""
        return residual * (self.of_joints if self.of_samples is None else self.of_samples)

    def normal(
        self, regression: Regression, compressed: Compressed, columns: list[int], known: Array
    ) -> Array:
        r"""Return the triangular factor of the normal matrix in the covariance, shape (m, q).

        With robust weights it is the factor of `sum_k w_k y_k y_k^T`, times each joint's ratio of
        the mean slope of the score to the mean weight. The weights of the samples are kept, because
        they are small where large residuals coincide with a large regressor.
        """
        if self.of_samples is None:
            return compressed.of(columns, known).weighted(self.slopes)[0]
        ones = np.ones(len(self.slopes))
        weights = self.of_equations(regression)
        return compress(regression, weights).of(columns, known).weighted(ones)[0]

    def of_equations(self, regression: Regression) -> Array:
        """Return the weights of the squared residuals in the normal matrix, shape (K, n)."""
        if self.of_samples is None:
            return np.broadcast_to(self.slopes, regression.tau.shape)
        mean = np.sum(self.of_samples, axis=0) / np.maximum(regression.counts, 1.0)
        return np.asarray(self.of_samples * (self.slopes / np.maximum(mean, 1e-300)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Note if the iterations did not converge; otherwise empty."""
        if self.settled:
            return ()
        return (
            f"The weights of the residuals did not converge in {ROUNDS} rounds: values may still"
            " change by more than 0.001 of their standard deviations.",
        )


def variance_floor(tau: Array) -> Array:
    """Lower bounds of the variances, below which only rounding errors remain, shape (n,)."""
    return np.maximum(1e-24, 1e-20 * np.mean(tau**2, axis=0))


def settled_weights(
    regression: Regression,
    compressed: Compressed,
    weighting: Weighting,
    columns: Array,
    known: Array,
    prior: tuple[Array, Array] | None = None,
) -> tuple[Array, Weights]:
    """Iterate reweighted least squares without constraints until the parameters converge.

    Args:
        regression: Measurement equations.
        compressed: Triangular factors of the equations, with all columns.
        weighting: Weighting of the residuals.
        columns: Indices of the q columns to solve for.
        known: Values of the other parameters, 0 for these columns, shape (p,).
        prior: Additional rows and right-hand side, (q, q) and (q,); None: no prior.

    Returns:
        Values of the columns, shape (q,), and the weights of the last fit.
    """
    index, data = columns.tolist(), compressed.of(columns.tolist(), known)
    floor = variance_floor(regression.tau)
    rows, right = prior if prior is not None else (np.zeros((0, len(index))), np.zeros(0))

    def solve(R: Array, r: Array) -> Array:
        return solve_compressed(np.vstack([R, rows]), np.concatenate([r, right]))

    def settle(x: Array, reweight: Callable[[Array], Weights]) -> tuple[Array, Weights]:
        changes: list[float] = []
        robust, past = weighting is Weighting.ROBUST, Extrapolation()
        for _ in range(ROUNDS):
            found = reweight(x)
            previous, x = x, solve(found.R, found.r)
            step = found.R @ (x - previous)
            changes.append(float(np.linalg.norm(step) / np.sqrt(max(1, len(index)))))
            if changes[-1] <= (SETTLED if robust else 1e-9):
                return x, replace(found, changes=tuple(changes))
            if not robust:
                further = past.next(x, step)
                x = further if misfit(further) < misfit(x) else x
        return x, replace(found, changes=tuple(changes), settled=False)

    def misfit(x: Array) -> float:
        """Twice the negative logarithm of the likelihood with the best variances, up to a constant."""
        fit = data.counts @ np.log(np.maximum(data.variances(x), floor))
        return float(fit + np.sum((rows @ x - right) ** 2))

    def by_joint(x: Array) -> Weights:
        variances = np.maximum(data.variances(x), floor)
        if weighting is Weighting.NONE:
            # One variance for all torques; its value only matters for the covariance.
            total = data.variances(x) @ data.counts / np.sum(data.counts)
            variances[:] = max(float(total), float(np.min(floor)))
        return Weights(1.0 / variances, None, 1.0 / variances, *data.weighted(1.0 / variances))

    def by_sample(x: Array) -> Weights:
        return _weights_by_sample(regression, index, known, x)

    x = solve(*data.weighted(np.ones(len(floor))))
    if weighting is Weighting.NONE and prior is None:
        return x, by_joint(x)
    return settle(x, by_sample if weighting is Weighting.ROBUST else by_joint)


class Extrapolation:
    """Anderson's acceleration of a fixed-point iteration x -> g(x) (Walker and Ni, SIAM J. Numer.
    Anal. 49, 2011): the next x is the affine combination of the last iterates with the smallest
    combined step.
    """

    def __init__(self, memory: int = 5) -> None:
        self._values: deque[Array] = deque(maxlen=memory + 1)
        self._steps: deque[Array] = deque(maxlen=memory + 1)

    def next(self, value: Array, step: Array) -> Array:
        """Return the next x, shape (q,), from `g(x)`, shape (q,), and the step `g(x) - x` in any
        metric, shape (m,).
        """
        self._values.append(value)
        self._steps.append(step)
        if len(self._steps) == 1:
            return value
        steps, values = (np.diff(np.array(past), axis=0).T for past in (self._steps, self._values))
        shares = np.linalg.lstsq(steps, step, rcond=None)[0]
        return np.asarray(value - values @ shares)


def robust_scales(residual: Array, used: Array | None, floor: Array) -> Array:
    """Return the standard deviation of every joint from the median of its absolute residuals, shape
    (n,); (K, n) residuals.
    """
    size = np.abs(residual if used is None else np.where(used, residual, np.nan))
    empty = np.isnan(size).all(axis=0)
    size[0, empty] = 0.0
    return np.asarray(np.maximum(1.4826 * np.nanmedian(size, axis=0), np.sqrt(floor)))


def _weights_by_sample(regression: Regression, index: list[int], known: Array, x: Array) -> Weights:
    """Robust weights of every equation with the columns' values x, shape (q,)."""
    values = known.copy()
    values[index] = x
    residual = regression.tau - regression.predict(values)
    sigma = robust_scales(residual, regression.used, variance_floor(regression.tau))
    u = residual / sigma
    used = np.ones(u.shape, dtype=bool) if regression.used is None else regression.used
    slopes = np.sum(tukey_slope(u) * used, axis=0) / np.maximum(regression.counts, 1.0)
    weights = tukey_weights(u) / sigma**2
    now = compress(regression, weights).of(index, known).weighted(np.ones(len(sigma)))
    return Weights(1.0 / sigma**2, weights, np.maximum(slopes, 1e-3) / sigma**2, *now)
