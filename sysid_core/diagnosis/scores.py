# SPDX-License-Identifier: Apache-2.0
r"""How well rigid-body models explain measured torques, from fits that take milliseconds.

Two models: the URDF's own (`NominalFit`, four or five unknowns a joint), which sees signs, gains and
units; and any rigid bodies on the URDF's joints (`free_unexplained`), which needs no masses and sees
wrong axes, zero angles and orders of joints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from sysid_core.diagnosis.samples import LEAST_ROWS, Samples
from sysid_core.estimation.fit import friction_scale
from sysid_core.robot import Array, inertial_scale, joint_torque_regressor

_DEAD = 1e-6  # of the largest sum of squared efforts: a joint counts as if it had so much
_LEAST = 1e-6  # share of variance that counts as nothing


@dataclass(frozen=True, eq=False)
class NominalFit:
    r"""Every joint's `tau = s tau_URDF + F_c sign(v) + F_v v + I_a a + beta`, alone.

    Attributes:
        slope: s, 1 where URDF, signs and gains are right, shape (n,).
        slope_sd: Its standard deviation, from blocks of time, shape (n,).
        unexplained: Share of the torque's variance that is left, shape (n,).
        unexplained_signed: The same with s and friction not negative, shape (n,).
    """

    slope: Array
    slope_sd: Array
    unexplained: Array
    unexplained_signed: Array


def nominal_fit(samples: Samples, rigid: Array | None = None) -> NominalFit:
    """Compare measured with the URDF's torques, joint by joint.

    Args:
        samples: Motion and torques.
        rigid: The URDF's torques, shape (K, n), where they are at hand.
    """
    if rigid is None:
        rigid = samples.model.inverse_dynamics(samples.q, samples.v, samples.a)
    n = rigid.shape[1]
    out = np.full((4, n), np.nan)
    for j in np.flatnonzero(samples.used).tolist():
        out[:, j] = _joint_fit(samples, j, rigid[:, j])
    return NominalFit(*out)


def _joint_fit(samples: Samples, j: int, rigid: Array) -> Array:
    rows = samples.moving[:, j]  # friction at rest is anywhere between its limits
    if np.sum(rows) < LEAST_ROWS:
        return np.array([np.nan, np.nan, 1.0, 1.0])
    tau, block = samples.tau[rows, j], samples.block[rows]
    X = np.column_stack([rigid[rows], samples.friction(j)[rows]])
    size = np.linalg.norm(X, axis=0)
    size[size < 1e-9 * size.max()] = np.inf  # a joint that carries nothing has no slope
    X = X / size
    x = _solve(X, tau)
    left = tau - X @ x
    total = max(float(np.sum((tau - tau.mean()) ** 2)), 1e-300)
    centred = X[:, :4] - X[:, :4].mean(axis=0)
    signed = scipy.optimize.nnls(centred, tau - tau.mean())[1]
    # Blocks of time are what is independent (Cameron et al. 2008, cluster-robust covariance).
    bread = np.linalg.pinv(X.T @ X, rcond=1e-8)
    scores = np.array([X[block == b].T @ left[block == b] for b in np.unique(block)])
    covariance = bread @ (scores.T @ scores) @ bread
    return np.array(
        [
            x[0] / size[0],
            np.sqrt(max(covariance[0, 0], 0.0)) / size[0],
            np.sum(left**2) / total,
            signed**2 / total,
        ]
    )


def regressor_blocks(samples: Samples) -> Array:
    """Regressor of free rigid bodies with friction, and the torque; shape (K, n, p + 1)."""
    Y = joint_torque_regressor(samples.model, samples.q, samples.v, samples.a)
    K, n, _ = Y.shape
    Phi = np.zeros((K, n, 4 * n))
    for j in range(n):
        Phi[:, j, 4 * j : 4 * j + 4] = samples.friction(j)
    return np.concatenate([Y, Phi, samples.tau[:, :, None]], axis=2)


def free_unexplained(samples: Samples, *, folds: int = 4, rho: float = 1.0) -> Array:
    r"""Share of every joint's variance that free rigid bodies leave on held-out blocks, (n,).

    Ridge regression towards the URDF, in natural scales, weighted by each joint's residual.

    Args:
        samples: Motion and torques.
        folds: Every fold is predicted from the others.
        rho: Weight of the prior.

    Returns:
        NaN at joints that aren't used.
    """
    A = regressor_blocks(samples)
    A[~samples.moving] = 0.0
    n = A.shape[1]
    used = np.flatnonzero(samples.used)
    n_inertial = 10 * samples.model.n_bodies
    prior = np.concatenate([samples.model.pi.ravel(), np.zeros(4 * n)])
    scale = np.concatenate(
        [
            inertial_scale(samples.model),
            friction_scale(A[:, :, n_inertial:-1], A[:, :, -1]),
        ]
    )
    fold = samples.block % folds
    products = np.array([[A[fold == f, j].T @ A[fold == f, j] for j in used] for f in range(folds)])
    total = products.sum(axis=0)
    squares = total[:, -1, -1]
    size = np.maximum(squares, _DEAD * squares.max(initial=1e-300))  # exchanged joints may be dead
    weights = len(A) / size
    for _ in range(2):
        x = np.append(-ridge(np.tensordot(weights, total, 1), prior, scale, rho), 1.0)
        weights = len(A) / np.maximum((total @ x) @ x, _LEAST * size)
    left = np.zeros(len(used))
    for f in range(folds):
        rest = np.tensordot(weights, total - products[f], 1)
        x = np.append(-ridge(rest, prior, scale, rho), 1.0)
        left += np.maximum((products[f] @ x) @ x, 0.0)
    spread = [
        np.sum((samples.tau[rows, j] - samples.tau[rows, j].mean()) ** 2)
        for j in used
        for rows in (samples.moving[:, j],)
    ]
    out = np.full(n, np.nan)
    out[used] = left / np.maximum(spread, 1e-300)
    return out


def ridge(normal: Array, prior: Array, scale: Array, rho: float) -> Array:
    """Regularised normal equations `[Y tau]^T [Y tau]` (p+1, p+1), solved in natural scales."""
    H = normal[:-1, :-1] * np.outer(scale, scale)
    b = scale * (normal[:-1, -1] - normal[:-1, :-1] @ prior)
    step = scipy.linalg.solve(H + rho * np.eye(len(H)), b, assume_a="pos", check_finite=False)
    return np.asarray(prior + scale * step)


def joined(unexplained: Array) -> float:
    """Geometric mean over the joints that are used: every joint counts alike."""
    known = unexplained[np.isfinite(unexplained)]
    return float(np.exp(np.mean(np.log(np.maximum(known, _LEAST))))) if len(known) else np.nan


def _solve(X: Array, y: Array) -> Array:
    return np.asarray(scipy.linalg.lstsq(X, y, cond=1e-10, check_finite=False)[0])
