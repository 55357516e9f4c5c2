# SPDX-License-Identifier: Apache-2.0
r"""How late the torques of a closed chain were reported, from the torques themselves.

To first order `e(t) = u(t - d) = u - d u̇` for reported torques e, so d is one more parameter of the
linear fit. The rate u̇ is that of the fitted torques: measured ones bring their noise into it, and
a noisy regressor makes d too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline

from sysid_core.estimation.fit import score_covariance
from sysid_core.robot import Array

_LAG = 400  # longest correlation of the residuals that is looked for, in samples


@dataclass(frozen=True, eq=False)
class DelayedPart:
    """Filtered equations of a gapless span, K samples.

    Attributes:
        time: Even, shape (K,) [s].
        W: Regressor, shape (K, n_a, p).
        known: Torques that aren't estimated, shape (K, n_a).
        left_out: Equations spoilt by stiction, shape (K, n_a).
    """

    time: Array
    W: Array
    known: Array
    left_out: Array


def delay_step(parts: Sequence[DelayedPart], torques: Sequence[Array]) -> tuple[float, float]:
    """By how much torques are (still) late, and the standard deviation of that [s].

    Args:
        parts: Equations of the recordings.
        torques: Filtered, of every part, shape (K, n_a).
    """
    used = np.concatenate([~part.left_out for part in parts])
    W = np.concatenate([part.W for part in parts]) * used[:, :, None]
    u = np.concatenate([e - p.known for e, p in zip(torques, parts, strict=True)]) * used
    starts = np.cumsum([0] + [len(part.time) for part in parts[:-1]]).tolist()
    values, *_ = _fit(W, u)
    rate = np.concatenate([_rate(part.time, part.known + part.W @ values) for part in parts])
    Y = np.concatenate([W, -(rate * used)[:, :, None]], axis=2)
    values, weights, scale, H = _fit(Y, u)
    # Sandwich H^-1 M H^-1, of which the last entry is wanted: residuals are correlated in time.
    x = np.linalg.lstsq(H, np.eye(len(H))[-1], rcond=1e-14)[0] / scale / scale[-1]
    scores = weights * (u - Y @ values)
    M = score_covariance([(slice(0, len(u)), Y)], scores, starts, _LAG, used.sum(axis=0))
    M = M.sum(axis=0)
    return float(values[-1]), float(np.sqrt(max(x @ M @ x, 0.0)))


def _rate(time: Array, u: Array) -> Array:
    if len(time) < 6:  # a piece that hardly outlasts the filter says nothing of the delay
        return np.zeros_like(u)
    return np.asarray(make_interp_spline(time, u, k=5).derivative()(time))


def _fit(Y: Array, u: Array) -> tuple[Array, Array, Array, Array]:
    """Joint-weighted least squares: values, weights, scale of the columns, scaled normal matrix."""
    n, p = Y.shape[1:]
    weights = np.ones(n)
    for _ in range(4):
        rows = (Y * np.sqrt(weights)[:, None]).reshape(-1, p)
        scale = np.linalg.norm(rows, axis=0)
        scale[scale == 0.0] = 1.0  # parameters that no torque depends on
        rows /= scale
        values = np.linalg.lstsq(rows, (u * np.sqrt(weights)).ravel(), rcond=1e-10)[0] / scale
        weights = 1.0 / np.maximum(np.mean((u - Y @ values) ** 2, axis=0), 1e-20)
    return values, weights, scale, rows.T @ rows
