# SPDX-License-Identifier: Apache-2.0
r"""Evidence of one explanation: the marginal likelihood of the torques under rigid bodies with a prior.

`tau_j = Y_j pi + Phi_j phi + e_j`, `pi ~ N(pi_URDF, scale^2 / rho)`, `e_j` of unknown size. Neighbouring
residuals of rigid-body models are alike: n rows count as `n / tau`, with tau their autocorrelation time
(Geyer 1992, sec. 3). What remains is the Gaussian evidence at the most likely sizes of the noise
(MacKay 1992, Bayesian interpolation): it is the product of the predictions of every sample from those
before it, so that what is fitted is never what is judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import log_ndtr

from sysid_core.diagnosis.samples import Samples
from sysid_core.diagnosis.scores import regressor_blocks
from sysid_core.estimation.fit import friction_scale
from sysid_core.robot import Array, inertial_scale

# Standard deviation of a description's inertial parameters, in natural scales: CAD masses lack cables,
# covers and motors, and are seldom off by more than half.
_DESCRIPTION = 0.5
# Share of a joint's torque variance that no rigid body explains (friction, elasticity): 5 % of its size.
_FLOOR = 2.5e-3
_LOAD_MASS, _LOAD_ARM = 5.0, 0.15  # [kg, m] of tools and hands that come and go on arms of any size


@dataclass(frozen=True, eq=False)
class Evidence:
    """What an explanation is worth.

    Attributes:
        log: Logarithm of the evidence [nats].
        inertial: Most likely inertial parameters, shape (10 n_bodies,).
        left: Share of each joint's torque variance that is left, shape (n,); NaN where unused.
        rows: Independent samples of each joint, shape (n,).
    """

    log: float
    inertial: Array
    left: Array
    rows: Array


def evidence(samples: Samples, *, load: bool = False, rows: Array | None = None) -> Evidence:
    """The evidence of one explanation.

    Args:
        samples: Mended as the explanation has it.
        load: Whether the last link's parameters may be off by a tool's or hand's.
        rows: Independent samples of each joint, the same for all explanations that are compared, shape
            (n,); None: by the residuals of this one.
    """
    A = regressor_blocks(samples)
    A[~samples.moving] = 0.0
    n = A.shape[1]
    used = np.flatnonzero(samples.used)
    n_inertial = samples.model.pi.size
    scale = _DESCRIPTION * inertial_scale(samples.model)
    if load:
        own = np.array([1.0, *[_LOAD_ARM] * 3, *[_LOAD_ARM**2] * 6]) * _LOAD_MASS
        scale[-10:] = np.hypot(scale[-10:], own)
    friction = friction_scale(A[:, :, n_inertial:-1], A[:, :, -1])
    scale = np.concatenate([scale, friction])
    prior = np.concatenate([samples.model.pi.ravel(), np.zeros(4 * n)])
    X = A[:, :, :-1] * scale
    y = A[:, :, -1] - A[:, :, :-1] @ prior
    moving = samples.moving
    total = moving.sum(axis=0).astype(float)
    spread = np.array([np.var(samples.tau[moving[:, j], j]) if total[j] else 1.0 for j in range(n)])
    spread = np.maximum(spread, 1e-9 * max(float(spread.max(initial=0.0)), 1e-300))
    products = np.array([X[:, j].T @ X[:, j] for j in used])
    sides = np.array([X[:, j].T @ y[:, j] for j in used])
    squares = np.array([y[:, j] @ y[:, j] for j in used])
    noise = 0.1 * spread[used]
    count = total[used] / 4.0 if rows is None else rows[used]
    z = np.zeros(X.shape[2])
    for step in range(4):
        weight = count / (total[used] * noise)
        H = np.tensordot(weight, products, 1) + np.eye(len(z))
        factor = scipy.linalg.cho_factor(H, lower=True, check_finite=False)
        z = scipy.linalg.cho_solve(factor, weight @ sides, check_finite=False)
        left = squares - 2.0 * sides @ z + np.einsum("i,jik,k->j", z, products, z)
        noise = np.maximum(left / total[used], _FLOOR * spread[used])
        if rows is None and step == 1:  # residuals near their final shape
            times = [_autocorrelation(y[:, j] - X[:, j] @ z, moving[:, j]) for j in used]
            count = total[used] / np.array(times)
    weight = count / (total[used] * noise)
    data = count @ np.log(noise / spread[used]) + weight @ np.maximum(left, 0.0)
    log_det = 2.0 * float(np.sum(np.log(np.diag(factor[0]))))
    share, independent = np.full((2, n), np.nan)
    share[used], independent[used] = left / total[used] / spread[used], count
    # Friction and drive inertia are positive, and so are masses: the share of the posterior that is,
    # over the prior's (parameters one by one).
    inverse = scipy.linalg.cho_solve(factor, np.eye(len(z)), check_finite=False)
    sd = np.sqrt(np.diag(inverse))
    positive = np.zeros(len(z), dtype=bool)
    positive[n_inertial:].reshape(n, 4)[used, :3] = True
    sure = float(np.sum(log_ndtr(z / sd)[positive])) + np.log(2.0) * int(positive.sum())
    pi = (prior + scale * z)[:n_inertial]
    return Evidence(sure - 0.5 * float(data + z @ z + log_det), pi, share, independent)


def _autocorrelation(residual: Array, rows: Array) -> float:
    """Integrated autocorrelation time in samples, one at least."""
    x = residual[rows] - residual[rows].mean()
    size = float(x @ x)
    if size <= 0.0:
        return 1.0
    total = 1.0
    for lag in range(1, len(x) // 4):
        r = float(x[lag:] @ x[:-lag]) / size
        if r < 0.05:  # the first lag without correlation ends the sum
            break
        total += 2.0 * r
    return total
