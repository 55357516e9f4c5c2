# SPDX-License-Identifier: Apache-2.0
"""Torque equations of a motion: rigid bodies, friction, and what is a little off on every arm."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sysid_core.diagnosis.samples import Samples
from sysid_core.estimation.fit import Regression
from sysid_core.robot import Array, FrictionModel

COUNT = 40.0  # independent samples that a joint counts as: model errors are alike in like states
# Standard deviation of a description's inertial parameters, in natural scales: CAD masses lack cables,
# covers and motors, and are seldom off by more than half; all together, for the density, by a third.
DESCRIPTION, DENSITY = 0.5, 0.3
# What is a little off on every arm, standard deviations. Of a joint's zero, and of the mounting.
ANGLE = np.radians(1.5)
# Of a drive's gain; and of what nobody described, as a share of the torque's size: springs and cables, friction
# and inertia of a drive that turns two joints.
OFF = 0.1
_SHAPE = 0.3  # of friction near standstill (breakaway, presliding), share of the torque's size
_SLOW = 0.2  # of a joint's usual speed, within which friction is of another shape


class Motion:
    """Torque equations of a motion, sorted by groups: the samples in which one joint moves, and those
    in which friction holds it. They are the same for all hypotheses that concern only the efforts.

    Attributes:
        samples: Samples of the motion; their efforts are not used.
        order: Index `sample * n + joint` of each of the R = K n equations, shape (R,).
        groups: Range of equations of each group.
        joint: Joint of each group, shape (groups,).
        counts: Number of independent samples that each group counts as, shape (groups,).
        columns: Regressor of rigid bodies with friction, shape (R, p).
        described: Inertial parameters of the description, shape (10 n_bodies,).
        scale: Their standard deviations, shape (10 n_bodies,).
        rubbing: Standard deviations of the friction parameters per torque of the joint, (4 n,).
        torques: Torques of the rigid bodies as described, shape (K, n).
    """

    def __init__(self, samples: Samples) -> None:
        self.samples, (K, n) = samples, samples.q.shape
        at, moving = np.arange(K * n).reshape(K, n), samples.moving
        some = ((j, at[rows, j]) for j in range(n) for rows in (moving[:, j], ~moving[:, j]))
        parts = [(j, rows) for j, rows in some if len(rows)]
        self.joint = np.array([j for j, _ in parts])
        self.order = np.concatenate([rows for _, rows in parts])
        ends = np.cumsum([len(rows) for _, rows in parts])
        self.groups = [slice(e - len(rows), e) for e, (_, rows) in zip(ends, parts, strict=True)]
        self.counts = COUNT / K * np.diff(ends, prepend=0)
        columns = regressor(samples)
        self.columns = self.sorted(columns)
        self.described = samples.model.pi.ravel()
        self.scale = DESCRIPTION * samples.model.inertial_scale
        self.rubbing = Regression.friction_scale(columns[:, :, len(self.scale) :], np.ones((1, n)))
        self.torques = columns[:, :, : len(self.scale)] @ self.described

    def sorted(self, values: Array) -> Array:
        """Return values of shape (K, n, ...) in the order of the equations, shape (R, ...)."""
        return np.asarray(values.reshape(-1, *values.shape[2:])[self.order])

    def sums(self, columns: Array, others: Array) -> Array:
        """Return the mean products of columns (R, p) and (R, m) in each group, (groups, p, m)."""
        parts = ((columns[rows], others[rows]) for rows in self.groups)
        return np.array([A.T @ B / len(A) for A, B in parts])

    @cached_property
    def products(self) -> Array:
        """Mean products of `columns` in each group, shape (groups, p, p)."""
        return self.sums(self.columns, self.columns)

    @cached_property
    def all_columns(self) -> Array:
        """`columns`, followed by those of the small errors that every arm has, shape (R, p + m)."""
        errors = np.concatenate([_little_off(self), _undescribed(self.samples)], axis=2)
        return np.hstack([self.columns, self.sorted(errors)])

    @cached_property
    def all_products(self) -> Array:
        """Mean products of `all_columns` in each group, shape (groups, p + m, p + m)."""
        return self.sums(self.all_columns, self.all_columns)


def regressor(samples: Samples) -> Array:
    """Return the regressor of rigid bodies with friction, shape (K, n, p)."""
    Y = samples.model.torque_regressor(samples.q, samples.v, samples.a)
    K, n, p = Y.shape
    out = np.zeros((K, n, p + 4 * n))
    out[:, :, :p] = Y
    for j in range(n):
        out[:, j, p + 4 * j : p + 4 * j + 4] = samples.friction(j)
    return out


def _little_off(motion: Motion) -> Array:
    """Regressor columns of the small errors that every arm has, each times its standard deviation,
    shape (K, n, 4 n + 4): gains, density, zero positions, mounting, and, as shares of the size of
    the torques, breakaway and hysteresis.
    """
    here, model = motion.torques, motion.samples.model
    q, v, a = motion.samples.q, motion.samples.v, motion.samples.a
    n, step, gravity = q.shape[1], 1e-4, model.gravity
    each = np.arange(n)
    out = np.zeros((*q.shape, 4 * n + 4))
    out[:, each, each] = OFF * here
    out[:, :, n] = DENSITY * here
    moved = (model.inverse_dynamics(q + step * row, v, a) for row in np.eye(n))
    turns = (gravity + step * np.cross(axis, gravity) for axis in np.eye(3))
    turned = (model.with_gravity(other).inverse_dynamics(q, v, a) for other in turns)
    for k, other in enumerate((*moved, *turned)):
        out[:, :, n + 1 + k] = ANGLE / step * (other - here)
    near = _SHAPE * np.exp(-np.abs(v) / np.maximum(_SLOW * v.std(axis=0), 1e-9))
    out[:, each, 2 * n + 4 + each] = near * np.sign(v)  # breakaway
    out[:, each, 3 * n + 4 + each] = near * np.sign(a)  # hysteresis at reversals
    return out


def _undescribed(samples: Samples) -> Array:
    """Regressor columns of springs and of drives that move both a joint and the joint before it, as
    shares of the size of the torques, shape (K, n, n + 6 (n - 1)).

    If a joint is driven by a belt along the previous link, the drive's angle is the sum or
    difference of the angles of both joints.
    """
    K, n = samples.q.shape
    springs, shared = np.zeros((K, n, n)), np.zeros((K, n, n - 1, 2, 3))
    each = np.arange(n)
    angle = samples.q - samples.q.mean(axis=0)
    springs[:, each, each] = OFF * angle / np.maximum(angle.std(axis=0), 1e-9)
    for which, sign in enumerate((1, -1)):
        v, a = (x[:, 1:] + sign * x[:, :-1] for x in (samples.v, samples.a))
        columns = np.stack([FrictionModel.smooth_sign(v, samples.slow), v, a], axis=2)
        columns *= OFF / np.maximum(np.sqrt(np.mean(columns**2, axis=0)), 1e-9)
        shared[:, each[1:], each[:-1], which] = columns
        shared[:, each[:-1], each[:-1], which] = sign * columns
    return np.concatenate([springs, shared.reshape(K, n, -1)], axis=2)
