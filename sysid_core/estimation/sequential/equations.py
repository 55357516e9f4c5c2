# SPDX-License-Identifier: Apache-2.0
"""Equations of the sequential estimation for minimal constants and friction, joint by joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.fit import (
    BLOCKS,
    Regression,
    scatter_factors,
    score_covariance,
    span_slices,
)
from sysid_core.identifiability import sampled_base_parameters
from sysid_core.identifiability.composite_bodies import MinimalConstants, StepRows
from sysid_core.robot import Array

ROUNDED = 1e-5  # relative: a dependence broken by no more than a URDF's 1.5708 is one


@dataclass(frozen=True, eq=False)
class SolvableEquations:
    """Equations for minimal constants and friction after regrouping of dependent columns.

    Attributes:
        Y: Regressor of the q unknowns, shape (K, n, q).
        names: Names of the unknowns.
        units: Units of each.
        joints: The joint (or coupled axis) that each belongs to.
        prior: Shape (q,).
        prior_covariance: Natural scale, shape (q, q).
        to_base: To the base parameters of the regression, shape (b, q).
    """

    Y: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    joints: tuple[str, ...]
    prior: Array
    prior_covariance: Array
    to_base: Array


def solvable_equations(minimal: MinimalConstants, regression: Regression) -> SolvableEquations:
    """Change from link parameters to minimal constants; friction columns stay."""
    n_inertial = regression.n_inertial
    if minimal.parameter_names != regression.names[:n_inertial]:
        raise EstimationError(
            "The minimal constants belong to another robot than the regression.",
            remedy="Compute them by minimal_constants(model) for the same model.",
        )
    n_friction = len(regression.names) - n_inertial
    lift = scipy.linalg.block_diag(minimal.right_inverse, np.eye(n_friction))
    names = minimal.names + regression.names[n_inertial:]
    units = minimal.units + regression.units[n_inertial:]
    bodies = tuple(regression.joints[body] for body in minimal.bodies)
    joints = bodies + tuple(name.rsplit(".", 1)[0] for name in regression.names[n_inertial:])
    # Drive inertia of a joint that nothing before it accelerates can't be told from the link's.
    groups = sampled_base_parameters(regression.structure @ lift, names, ROUNDED)
    chosen = list(groups.independent)
    from_full = groups.regrouping @ scipy.linalg.block_diag(minimal.matrix, np.eye(n_friction))
    Y = np.concatenate(
        [
            regression.matrix[:, :, :n_inertial] @ minimal.right_inverse,
            regression.matrix[:, :, n_inertial:],
        ],
        axis=2,
    )[:, :, chosen]
    return SolvableEquations(
        Y=Y,
        names=tuple(names[i] for i in chosen),
        units=tuple(units[i] for i in chosen),
        joints=tuple(joints[i] for i in chosen),
        prior=from_full @ regression.prior,
        prior_covariance=(from_full * regression.prior_sd**2) @ from_full.T,
        to_base=regression.base.regrouping @ lift[:, chosen],
    )


def compress_joint(
    name: str, Y: Array, tau: Array, starts: tuple[int, ...], natural: Array
) -> StepRows:
    """Rows (K, p) and torques (K,) of one joint, compressed to a few equations with their noise.

    The noise has the residuals' correlation in time and the model error that fits without one
    block of the motion each show; natural is the natural covariance of the unknowns, (p, p).
    """
    K, p = Y.shape
    scale = np.linalg.norm(Y, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    Q_tall, R = np.linalg.qr(Y / scale)
    Q_small, s, Vt = np.linalg.svd(R, full_matrices=False)
    m = int(np.sum(s > 1e-11 * s[0])) if s.size and s[0] > 0 else 0
    if m == 0:
        return StepRows(name, np.zeros((0, p)), np.zeros(0), np.zeros((0, 0)))
    if m >= K:
        raise EstimationError(
            f"Joint '{name}' has {K} torque samples for {m} unknowns.",
            remedy="Record longer, or lower the speed above which a joint counts as moving.",
        )
    Q, s, Vt = Q_tall @ Q_small[:, :m], s[:m], Vt[:m]
    values = Q.T @ tau
    residual = tau - Q @ values
    variance = max(float(residual @ residual) / (K - m), 1e-24, 1e-22 * float(np.mean(tau**2)))
    scores = residual[:, None] * np.sqrt(K / (K - m))
    noise = score_covariance([(slice(0, K), Q[:, None, :])], scores, starts)[0]
    # The fit itself makes residuals look anticorrelated: noise never counts less than white.
    lam, U = np.linalg.eigh(noise)
    noise = (U * np.maximum(lam, variance)) @ U.T
    rows = (s[:, None] * Vt) * scale
    parts = np.array_split(np.arange(K), BLOCKS)
    H = np.array([Q[part].T @ Q[part] for part in parts])
    right = np.array([Q[part].T @ residual[part] for part in parts])
    natural = rows @ natural @ rows.T
    # Influences: without one of its few postures a joint would show less, not something else.
    factors = scatter_factors(H, right, noise, natural, leave_out=False)
    return StepRows(name, rows, values, noise * np.outer(factors, factors))


def starts_of(rows: NDArray[np.bool_], starts: tuple[int, ...]) -> tuple[int, ...]:
    """First sample of each gapless span among the chosen rows."""
    out, count = [], 0
    for part in span_slices(starts, len(rows)):
        chosen = np.flatnonzero(rows[part])
        breaks = np.flatnonzero(np.diff(chosen) > 1) + 1
        if len(chosen):
            out += [count, *(count + breaks).tolist()]
            count += len(chosen)
    return tuple(out) or (0,)


def at_once_sd(blocks: list[StepRows], prior_covariance: Array) -> Array:
    """Standard deviations of generalised least squares on all rows together, shape (q,), for
    comparison.
    """
    root = np.linalg.cholesky(prior_covariance)
    H = np.eye(len(root))
    for block in blocks:
        if len(block.rows):
            white = np.linalg.solve(np.linalg.cholesky(block.noise), block.rows @ root)
            H = H + white.T @ white
    return np.sqrt(np.diag(root @ np.linalg.inv(H) @ root.T))
