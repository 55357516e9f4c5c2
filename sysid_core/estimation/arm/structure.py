# SPDX-License-Identifier: Apache-2.0
"""Structural identifiability of an open or closed chain with its friction terms."""

from __future__ import annotations

import numpy as np

from sysid_core.identifiability import random_states
from sysid_core.identifiability.rpna import with_exact_angles
from sysid_core.robot import (
    Array,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    inertial_scale,
    joint_torque_regressor,
)

_TURNING_OVER = {FrictionTerm.PLAY, FrictionTerm.BREAKAWAY}  # within some motion after a reversal


def arm_structural_rows(model: RobotModel, friction: FrictionModel, seed: int = 7) -> Array:
    """Triangular factor of the rigid-body and friction regressor at random states, shape (p, p).

    Rounded angles of the URDF count as the exact ones: a tilt of 1e-6 rad shows nothing in practice.
    """
    model = with_exact_angles(model)[0].with_pi(model.pi)
    rng = np.random.default_rng(seed)
    n_samples = max(12 * model.n_bodies, len(friction.names)) + 30
    q, v, a = random_states(model, n_samples, rng)
    angles = rng.uniform(-np.pi, np.pi, (n_samples, model.nv))
    if q.shape[1] == model.nv:
        angles = q
    Y = joint_torque_regressor(model, q, v, a)
    # Loads as the robot's own masses cause them, or masses of natural size where it has none.
    load = Y @ (model.pi.ravel() + 0.1 * inertial_scale(model))
    # Slow and fast samples, so that the terms near standstill differ from Coulomb friction.
    slow = v * np.where(rng.random(v.shape) < 0.5, 2e-3, 1.0)
    Phi = friction.regressor(angles, slow, a, load * rng.choice([-1.0, 1.0], v.shape))
    # Viscous and inertial columns belong to the same states as the rigid body's.
    same = friction.regressor(angles, v, a, load)
    rows = np.concatenate([np.concatenate([Y, same], 2), np.concatenate([Y, Phi], 2)])
    if _TURNING_OVER & set(friction.all_terms):
        turned = same.copy()
        columns, walked = _turning_over(friction, v, a, rng)
        turned[:, :, columns] = walked[:, :, columns]
        rows = np.concatenate([rows, np.concatenate([Y, turned], 2)])
    flat = rows.reshape(-1, rows.shape[2])
    return np.asarray(np.linalg.qr(flat, mode="r"))


def _turning_over(
    friction: FrictionModel, v: Array, a: Array, rng: np.random.Generator
) -> tuple[list[int], Array]:
    """Columns of terms that turn over, and the regressor of a walk by small and large steps.

    Random states are so far apart that all such terms have turned over between them: they would be
    one and the same.
    """
    widths = friction.play_width, friction.breakaway_width
    sizes = np.exp(rng.uniform(np.log(0.1 * min(widths)), np.log(10.0 * max(widths)), v.shape))
    angles = np.cumsum(sizes * rng.choice([-1.0, 1.0], v.shape), axis=0)
    names = {
        name
        for axis in friction.drives.axis_names
        for term in _TURNING_OVER & set(friction.terms_of(axis))
        for name in friction.parameters_of(axis, term)
    }
    columns = [k for k, name in enumerate(friction.names) if name in names]
    return columns, friction.regressor(angles, v, a, np.zeros_like(v))
