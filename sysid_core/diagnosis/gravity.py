# SPDX-License-Identifier: Apache-2.0
r"""Direction of gravity in the base frame, estimated as three further parameters of the torque
equations.

With the base mounted in any direction, `tau = (Y_0 + sum_k g_k Y_k) pi + Phi phi`: Y_0 is the
regressor without gravity, Y_k its gravity part for 1 m/s^2 along axis k. The first estimate of g is
a linear least-squares fit with the masses of the URDF. Gauss-Newton steps over (g, pi, phi) with
`|g| = 9.81 m/s^2` follow, in which the URDF is a weak prior of pi.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from sysid_core.diagnosis.evidence import left_out
from sysid_core.diagnosis.samples import Samples
from sysid_core.estimation.fit import Regression
from sysid_core.robot import Array, RobotModel

_SIZE = float(np.linalg.norm(RobotModel.STANDARD_GRAVITY))
_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class GravityEstimate:
    """Direction of gravity, estimated from joint torques.

    Attributes:
        gravity: Gravity in the base frame, scaled to standard magnitude, shape (3,) [m/s^2].
        angle_sd: Standard deviation of the direction of gravity about its less certain axis [rad].
        size_sd: Relative standard deviation of `size` [-].
        size: Magnitude of gravity according to the masses of the URDF [m/s^2]; far from 9.81 if
            masses or gains are wrong, near 0 if the weight has been subtracted from the efforts.
        unexplained: Unexplained share of the torque variance on held-out blocks of time, with this
            direction.
        unexplained_before: Unexplained share with the direction of gravity in the model.
        angle: Angle between the estimated direction and that in the model [rad].
    """

    gravity: Array
    angle_sd: float
    size: float
    size_sd: float
    unexplained: float
    unexplained_before: float
    angle: float


def estimate_gravity(samples: Samples) -> GravityEstimate:
    """Estimate the direction of gravity from motion and torques.

    Args:
        samples: Samples, with the model whose direction of gravity is tested.
    """
    equations = _Equations(samples)
    nominal, nominal_sd = equations.nominal()
    size = float(np.linalg.norm(nominal))
    gravity, _ = equations.refine(equations.likeliest(nominal), _ROUNDS)
    # Free masses can't tell a direction from its opposite: the URDF's can.
    gravity = min((gravity, -gravity), key=lambda g: _by_urdf(samples, g))
    before = left_out(samples)[1]
    after = left_out(samples.with_model(samples.model.with_gravity(gravity)))[1]
    old = samples.model.gravity
    cosine = float(gravity @ old) / max(_SIZE * float(np.linalg.norm(old)), 1e-300)
    return GravityEstimate(
        gravity,
        equations.angle_sd(gravity),
        size,
        float(np.linalg.norm(nominal_sd)) / max(size, 1e-300),
        after,
        before,
        float(np.arccos(np.clip(cosine, -1.0, 1.0))),
    )


def gravity_directions(samples: Samples) -> tuple[Array, ...]:
    """Return the direction of gravity that explains the torques best, and the opposite direction,
    each of shape (3,) in the base frame.
    """
    equations = _Equations(samples)
    best = equations.likeliest(equations.nominal()[0])
    return best, -best


def _by_urdf(samples: Samples, gravity: Array) -> float:
    turned = samples.with_model(samples.model.with_gravity(gravity))
    return left_out(turned)[0]


class _Equations:
    """Weighted torque equations with separate columns for the three components of gravity."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        model = samples.model
        self.used = np.flatnonzero(samples.used)
        K, n = samples.q.shape
        moving = samples.moving[:, self.used]
        still = np.zeros_like(samples.v)

        def regressor(robot: RobotModel, v: Array, a: Array) -> Array:
            Y = robot.torque_regressor(samples.q, v, a)[:, self.used]
            Y[~moving] = 0.0  # friction at rest is anywhere between its limits
            return Y

        weightless = model.with_gravity(np.zeros(3))
        self.Y_0 = regressor(weightless, samples.v, samples.a)
        self.Y_g = np.array(
            [regressor(model.with_gravity(_SIZE * e), still, still) / _SIZE for e in np.eye(3)]
        )
        Phi = np.zeros((K, n, 4 * n))
        for j in range(n):
            Phi[:, j, 4 * j : 4 * j + 4] = samples.friction(j)
        self.Phi = np.where(moving[:, :, None], Phi[:, self.used], 0.0)
        self.tau = np.where(moving, samples.tau[:, self.used], 0.0)
        self.pi = model.pi.ravel()
        self.scale = np.concatenate(
            [model.inertial_scale, Regression.friction_scale(self.Phi, self.tau)]
        )
        self.weights = 1.0 / np.maximum(self.tau.var(axis=0), 1e-300)
        self.block = np.repeat(samples.block, len(self.used))

    def nominal(self) -> tuple[Array, Array]:
        """Gravity vector with the URDF's inertial parameters, (3,), and its standard deviation,
        (3,).
        """
        rest = self.tau - self.Y_0 @ self.pi
        columns = np.concatenate([np.moveaxis(self.Y_g @ self.pi, 0, 2), self.Phi], axis=2)
        for _ in range(4):
            X, y = self._weighted(columns), self._weighted(rest)
            x, size = _scaled_lstsq(X, y)
            left = (y - X @ x).reshape(self.tau.shape) / np.sqrt(self.weights)
            self.weights = 1.0 / np.maximum(left.var(axis=0), 1e-6 * self.tau.var(axis=0) + 1e-300)
        covariance = _block_covariance(X / size, y - X @ x, self.block)
        return x[:3], np.sqrt(np.maximum(np.diag(covariance)[:3], 0.0)) / size[:3]

    def likeliest(self, nominal: Array) -> Array:
        """Direction with the lowest cost after a few iterations. The cost has further local minima
        at directions whose error other masses could compensate, so that several initial directions
        are tried.
        """
        starts = [self.samples.model.gravity, *np.vstack([np.eye(3), -np.eye(3)])]
        starts = [nominal, *starts] if np.any(nominal) else starts
        found = (self.refine(start, _ROUNDS // 3) for start in starts)
        return min(found, key=lambda direction: direction[1])[0]

    def refine(self, start: Array, rounds: int) -> tuple[Array, float]:
        """Gauss-Newton iterations from an initial direction, with gravity of standard magnitude;
        also returns the cost.
        """
        g = _SIZE * start / np.linalg.norm(start)
        cost = np.inf
        for _ in range(rounds):
            angles, A, factor, z, left = self._linearised(g)
            cost = float(left @ left + z @ z)
            # z is already optimal: what remains of the step concerns the two angles.
            across = A.T @ angles
            S = angles.T @ angles - across.T @ scipy.linalg.cho_solve(factor, across)
            step = np.linalg.lstsq(S, angles.T @ left, rcond=1e-12)[0]
            step *= min(1.0, 0.7 / max(float(np.linalg.norm(step)), 1e-300))
            g = _turned(g, step)
            if np.linalg.norm(step) < 1e-5:
                break
        return g, cost

    def angle_sd(self, g: Array) -> float:
        """Standard deviation of the direction, the worse of two axes [rad]."""
        angles, A, _, z, left = self._linearised(g)
        prior = np.hstack([np.zeros((len(z), 2)), np.eye(len(z))])
        J, left = np.vstack([np.hstack([angles, A]), prior]), np.append(left, -z)
        size = np.linalg.norm(J, axis=0)
        size[size == 0.0] = 1.0
        block = np.append(self.block, np.full(len(left) - len(self.block), -1))
        covariance = _block_covariance(J / size, left, block)[:2, :2] / np.outer(size[:2], size[:2])
        return float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))

    def _linearised(self, g: Array) -> tuple[Array, Array, tuple[Array, bool], Array, Array]:
        """Jacobians with respect to two angles and to the scaled (pi, phi), the Cholesky factor of
        the normal equations of the scaled (pi, phi), their best values, and the residual.
        """
        Y = self.Y_0 + np.tensordot(g, self.Y_g, 1)
        A = self._weighted(np.concatenate([Y, self.Phi], axis=2)) * self.scale
        zero = np.concatenate([self.pi, np.zeros(A.shape[1] - len(self.pi))])
        y = self._weighted(self.tau - Y @ self.pi)
        H = A.T @ A + np.eye(A.shape[1])
        factor = scipy.linalg.cho_factor(H, check_finite=False)
        z = scipy.linalg.cho_solve(factor, A.T @ y, check_finite=False)
        pi = (zero + self.scale * z)[: len(self.pi)]
        left = y - A @ z
        angles = np.stack(
            [self._weighted(np.tensordot(axis, self.Y_g, 1) @ pi) for axis in _SIZE * _across(g)], 1
        )
        return angles, A, factor, z, left

    def _weighted(self, values: Array) -> Array:
        """Rows `(sample, joint)` divided by the standard deviation of the joint's residual, shape
        (K n, ...).
        """
        root = np.sqrt(self.weights)
        root = root[:, None] if values.ndim == 3 else root
        return np.asarray(values * root).reshape(-1, *values.shape[2:])


def _across(g: Array) -> Array:
    """Two orthogonal unit vectors perpendicular to g, shape (2, 3)."""
    return np.asarray(np.linalg.svd(g[None])[2][1:])


def _turned(g: Array, angles: Array) -> Array:
    """Vector g after small rotations towards two perpendicular directions, with unchanged length."""
    turned = g + _SIZE * (angles @ _across(g))
    return np.asarray(_SIZE * turned / np.linalg.norm(turned))


def _scaled_lstsq(X: Array, y: Array) -> tuple[Array, Array]:
    size = np.linalg.norm(X, axis=0)
    size[size < 1e-12 * size.max()] = np.inf
    x = scipy.linalg.lstsq(X / size, y, cond=1e-10, check_finite=False)[0] / size
    return x, size


def _block_covariance(X: Array, left: Array, block: Array) -> Array:
    """Cluster-robust covariance of least squares with blocks of time as clusters, (p, p)."""
    bread = np.linalg.pinv(X.T @ X, rcond=1e-10)
    scores = np.array([X[block == b].T @ left[block == b] for b in np.unique(block) if b >= 0])
    return np.asarray(bread @ (scores.T @ scores) @ bread)
