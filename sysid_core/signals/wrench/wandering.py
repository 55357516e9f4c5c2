# SPDX-License-Identifier: Apache-2.0
r"""Linear regression for a force or torque with a drifting bias, each axis separately.

    y_i(s) = Y_i(s) x + w_i(s) + e_i,   w_i a Wiener process of variance q_i^2 s,   e_i white, sd_i

over the share s from 0 to 1 of the recording. A sensor's axis that warms up wanders ten times farther than
the others, and not along a line: counted as noise of all axes alike it would spoil the good ones.
`sd_i` and `q_i` maximise the evidence (Rasmussen and Williams 2006, Gaussian processes for machine
learning, section 2.7 with explicit basis functions, and section 5.4.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from sysid_core.robot import Array

_WIDTH = 2.0  # of the logarithms of noise and walk, about what sensors usually have
_RANGE = 16.0  # of the same, at most


@dataclass(frozen=True, eq=False)
class WanderingFit:
    """Parameters x and the course of the drifting bias, with their residual.

    Attributes:
        values: Shape (n,).
        covariance: Shape (n, n).
        noise, walk: Standard deviations sd_i and q_i of each axis, shape (3,).
        residual: What neither explains, shape (K, 3).
    """

    values: Array
    covariance: Array
    noise: Array
    walk: Array
    residual: Array
    _share: Array
    _weighed: Array  # V_i^-1 (y_i - Y_i x), shape (3, K)
    _whitened: Array  # V_i^-1/2 Y_i, shape (3, K, n)
    _root: Array  # V_i^-1/2, shape (3, K, K)

    def course(self, share: float, columns: Array) -> tuple[Array, Array]:
        """Mean and covariance of `columns @ x + w(share)`.

        Args:
            share: From 0 at the first posture to 1 at the last.
            columns: Shape (3, n).

        Returns:
            Mean (3,) and covariance (3, 3).
        """
        near = np.minimum(np.clip(share, 0.0, None), self._share)
        k = self.walk[:, None] ** 2 * near  # (3, K)
        seen = np.einsum("ikl,il->ik", self._root, k)
        J = columns - np.einsum("ik,ikn->in", seen, self._whitened)
        open_walk = self.walk**2 * max(share, 0.0) - np.sum(seen**2, axis=1)
        mean = columns @ self.values + np.sum(k * self._weighed, axis=1)
        return mean, J @ self.covariance @ J.T + np.diag(np.maximum(open_walk, 0.0))


def fit_wandering(
    Y: Array, readings: Array, share: Array, mean: Array, C: Array, usual: tuple[float, float]
) -> WanderingFit:
    """Fit with a Gaussian prior of the parameters.

    Args:
        Y: Columns of every posture and axis, shape (K, 3, n).
        readings: Shape (K, 3).
        share: When, from 0 to 1, shape (K,).
        mean, C: Prior mean and covariance of the unknowns, shapes (n,) and (n, n).
        usual: Noise, and walk over the recording, that sensors usually have.
    """
    values, U = np.linalg.eigh(np.minimum(share[:, None], share[None]))
    values = np.maximum(values, 0.0)
    Y_U = np.einsum("kl,kin->iln", U, Y)  # (3, K, n), rows of an axis independent but for x
    r_U = np.einsum("kl,ki->il", U, readings - Y @ mean)
    prior = np.linalg.inv(np.linalg.cholesky(C))
    n, centre = len(mean), np.log(np.repeat(usual, 3))

    def solved(logs: Array) -> tuple[Array, Array, Array, Array]:
        """Root of the precision, right-hand side, standard deviations of the rows, residual."""
        sd = np.sqrt(np.exp(2 * logs[:3, None]) + np.exp(2 * logs[3:, None]) * values)
        A = np.concatenate([(Y_U / sd[..., None]).reshape(-1, n), prior])
        b = np.concatenate([(r_U / sd).ravel(), np.zeros(n)])
        Q, R = np.linalg.qr(A)
        c = Q.T @ b
        return R, c, sd, b - Q @ c

    def cost(logs: Array) -> float:
        R, _, sd, left = solved(logs)
        evidence = 0.5 * left @ left + np.log(sd).sum() + np.log(np.abs(np.diag(R))).sum()
        return float(evidence + 0.5 * np.sum(((logs - centre) / _WIDTH) ** 2))

    bounds = [(x - _RANGE, x + _RANGE) for x in centre]
    logs = scipy.optimize.minimize(cost, centre, method="L-BFGS-B", bounds=bounds).x
    R, c, sd, _ = solved(logs)
    P = np.linalg.inv(R)
    x = mean + P @ c
    noise, walk = np.exp(logs[:3]), np.exp(logs[3:])
    left = r_U - (Y_U @ (x - mean))
    weighed = (left / sd**2) @ U.T
    residual = (left * (noise[:, None] / sd) ** 2) @ U.T  # noise^2 V^-1 (y - Y x)
    root = U.T[None] / sd[..., None]
    return WanderingFit(
        x, P @ P.T, noise, walk, residual.T, share, weighed, Y_U / sd[..., None], root
    )
