r"""Kalman filtering of many scalar signals at once, with irregular stamps.

Each signal is a chain of integrators driven by white noise: order 2 is the constant-acceleration
model \(x = (q, \dot q, \ddot q)\) driven by white jerk, order 1 the constant-rate model
(Bar-Shalom, Li, Kirubarajan, *Estimation with Applications to Tracking and Navigation*, 6.2).
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from filterpy.common import Q_continuous_white_noise, kinematic_state_transition
from numpy.typing import ArrayLike

from sysid_core.signals.recording import Array


@cache
def _unit_step_matrices(order: int) -> tuple[Array, Array, Array, Array]:
    """F and Q for a step of one second, and the powers of the step that they carry."""
    k = np.arange(order + 1)
    F = kinematic_state_transition(order, 1.0)
    Q = Q_continuous_white_noise(order + 1, dt=1.0, spectral_density=1.0)
    power_F = np.maximum(k[None, :] - k[:, None], 0)
    power_Q = 2 * order + 1 - k[None, :] - k[:, None]
    return F, power_F, Q, power_Q


@lru_cache(maxsize=16)
def transition(order: int, dt: float) -> tuple[Array, Array]:
    r"""\(F(\Delta t)\) and \(Q(\Delta t)\) of a chain of integrators driven by white noise.

    Args:
        order: Derivatives kept: 1 for (x, ẋ), 2 for (x, ẋ, ẍ).
        dt: Step [s].

    Returns:
        F and Q for a unit spectral density, shape (order + 1, order + 1) each.
    """
    F, power_F, Q, power_Q = _unit_step_matrices(order)
    return F * dt**power_F, Q * dt**power_Q


class KinematicBank:
    """n independent Kalman filters of one structure, stepped together.

    Args:
        density: Spectral density of the driving noise, shape (n,) [unit²/s^(2·order + 1)].
        order: Derivatives kept besides the value.

    Attributes:
        x: States, shape (n, order + 1).
        P: Covariances, shape (n, order + 1, order + 1). NaN before the start, as the states.
        density: As given; may be changed between steps.
        F: Transition of the last step.
    """

    def __init__(self, density: ArrayLike, order: int = 2) -> None:
        self.order = order
        self.density: Array = np.array(density, dtype=float)
        n = len(self.density)
        self.x: Array = np.full((n, order + 1), np.nan)
        self.P: Array = np.full((n, order + 1, order + 1), np.nan)
        self.F: Array = np.eye(order + 1)

    def start(self, x: ArrayLike, sd: ArrayLike) -> None:
        """Begin at the states `x` with standard deviations `sd`, both (n, order + 1)."""
        self.x = np.array(x, dtype=float)
        self.P = np.zeros((*self.x.shape, self.order + 1))
        k = np.arange(self.order + 1)
        self.P[:, k, k] = np.square(sd)

    def predict(self, dt: float) -> None:
        """Advance all filters by `dt` seconds."""
        self.F, Q = transition(self.order, dt)
        self.x = self.x @ self.F.T
        self.P = self.F @ self.P @ self.F.T + self.density[:, None, None] * Q

    def observe(self, component: int, z: Array, variance: Array | float) -> tuple[Array, Array]:
        """Take in a measurement of one component of every state, or of the first k.

        Args:
            component: 0 for the value, 1 for its rate…
            z: Measured, shape (k,).
            variance: Of the measurement, shape (k,) or one for all.

        Returns:
            Innovations and their variances, shape (k,) each.
        """
        k = len(z)
        x, P = self.x[:k], self.P[:k]
        column = P[:, :, component]
        S = column[:, component] + variance
        innovation = z - x[:, component]
        K = column / S[:, None]
        rest = column * np.reshape(variance / S, (-1, 1))  # (1 - K) P without cancellation
        P = P - K[:, :, None] * column[:, None, :]
        P[:, :, component] = rest
        P[:, component, :] = rest
        x = x + K * innovation[:, None]
        self.x = x if k == len(self.x) else np.concatenate([x, self.x[k:]])
        self.P = P if k == len(self.P) else np.concatenate([P, self.P[k:]])
        return innovation, S

    @property
    def sd(self) -> Array:
        """Standard deviations of the states, shape (n, order + 1)."""
        k = np.arange(self.order + 1)
        return np.sqrt(np.maximum(self.P[:, k, k], 0.0))
