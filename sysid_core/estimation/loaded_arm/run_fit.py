# SPDX-License-Identifier: Apache-2.0
"""Several gapless recordings, each with equations of its own, solved together with a prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.fit import (
    autocovariance,
    correlation_lag,
    inverse,
    score_covariance,
)
from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class Run:
    """One gapless recording as equations `tau = A @ x + noise`.

    Attributes:
        A: Shape (K, n, p).
        tau: Shape (K, n).
        max_lag: Longest correlation of the noise looked for [samples].
    """

    A: Array
    tau: Array
    max_lag: int

    def residual(self, x: Array) -> Array:
        """Shape (K, n)."""
        return self.tau - self.A @ x


@dataclass(frozen=True, eq=False)
class RunFit:
    """Weighted least squares of all runs with a Gaussian prior.

    Attributes:
        x: Shape (p,).
        gain: Inverse of the normal matrix, shape (p, p).
        precision: Inverse covariance of the prior, shape (p, p).
        weights: Weights of the squared residuals, shape (n,).
        per_joint: Each joint's part of the right-hand side, shape (n, p).
        runs: What was fitted.
    """

    x: Array
    gain: Array
    precision: Array
    weights: Array
    per_joint: Array
    runs: tuple[Run, ...]

    @property
    def scores(self) -> Array:
        """Covariance of the right-hand side with noise that is correlated in time, (p, p)."""
        return self.precision + sum(
            score_covariance(
                [(slice(0, len(run.tau)), run.A)],
                self.weights * run.residual(self.x),
                (0,),
                run.max_lag,
            ).sum(axis=0)
            for run in self.runs
        )


def noise_weights(runs: Sequence[Run], x: Array | None = None) -> Array:
    """Inverse noise variance of each joint, samples that say the same counted once; (n,).

    Args:
        runs: Of one robot.
        x: The solution so far; without one, the torques' own size.
    """
    signal = _mean_square([run.tau for run in runs])
    noise = signal
    if x is not None:
        residuals = [run.residual(x) for run in runs]
        noise = _mean_square(residuals) * _repetition(runs, residuals)
    # No torque is measured to better than 1e-4; beyond, only rounding would be weighted.
    floor = 1e-8 * np.maximum(signal, 1e-6 * signal.max())
    return np.asarray(1.0 / np.maximum(noise, floor))


def solve_runs(runs: Sequence[Run], weights: Array, mean: Array, precision: Array) -> RunFit:
    """Minimise the weighted residuals and the distance from the prior.

    Args:
        runs: With p common parameters.
        weights: Weights of the squared residuals, shape (n,).
        mean: Mean of the prior, shape (p,).
        precision: Inverse covariance of the prior, shape (p, p).
    """
    H = precision + sum(
        np.einsum("kji,j,kjl->il", run.A, weights, run.A, optimize=True) for run in runs
    )
    per_joint = weights[:, None] * sum(np.einsum("kji,kj->ji", run.A, run.tau) for run in runs)
    gain = inverse(H)
    right = precision @ mean + per_joint.sum(axis=0)
    x = gain @ right
    x = x + gain @ (right - H @ x)
    return RunFit(x, gain, precision, weights, per_joint, tuple(runs))


def _mean_square(values: Sequence[Array]) -> Array:
    return np.asarray(np.mean(np.concatenate(values) ** 2, axis=0))


def _repetition(runs: Sequence[Run], residuals: Sequence[Array]) -> Array:
    """How many neighbouring samples say the same, for each joint."""
    factors = []
    for run, residual in zip(runs, residuals, strict=True):
        for column in residual.T:
            gamma = autocovariance(column, (0,), min(run.max_lag, len(column) // 4))
            tail = gamma[1 : correlation_lag(gamma) + 1].sum() / max(gamma[0], 1e-300)
            factors.append(max(1.0, 1.0 + 2.0 * float(tail)))
    lengths = [len(run.tau) for run in runs]
    return np.asarray(np.average(np.reshape(factors, (len(runs), -1)), axis=0, weights=lengths))
