r"""Kalman filtering of many scalar signals at once, with irregular stamps.

Each signal is a chain of integrators driven by white noise: order 2 is the constant-acceleration
model \(x = (q, \dot q, \ddot q)\) driven by white jerk, order 1 the constant-rate model
(Bar-Shalom, Li, Kirubarajan, *Estimation with Applications to Tracking and Navigation*, 6.2).
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from filterpy.common import Q_continuous_white_noise, kinematic_state_transition
from numpy.typing import ArrayLike, NDArray

from sysid_core.signals.recording import Array


@cache
def _unit_step_matrices(order: int) -> tuple[Array, NDArray[np.intp], Array, NDArray[np.intp]]:
    """F and Q for a step of one second, and the powers of the step that they carry."""
    k = np.arange(order + 1)
    F = kinematic_state_transition(order, 1.0)
    Q = Q_continuous_white_noise(order + 1, dt=1.0, spectral_density=1.0)
    power_F = np.maximum(k[None, :] - k[:, None], 0)
    power_Q = 2 * order + 1 - k[None, :] - k[:, None]
    return F, power_F, Q, power_Q


@cache
def _covariance_step(order: int) -> tuple[Array, NDArray[np.intp]]:
    r"""\(F \otimes F\) for a step of one second, and the powers of the step that it carries."""
    F, power, _, _ = _unit_step_matrices(order)
    ones = np.ones_like(power)
    return np.kron(F, F), np.kron(power, ones) + np.kron(ones, power)


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
    powers = dt ** np.arange(2 * order + 2)
    return F * powers[power_F], Q * powers[power_Q]


@lru_cache(maxsize=16)
def _covariance_transition(order: int, dt: float) -> tuple[Array, Array]:
    r"""What \(P \to F P F^T + Q\) does to the d² entries of P: a matrix, and Q's entries."""
    FF, power = _covariance_step(order)
    powers = dt ** np.arange(2 * order + 2)
    return FF * powers[power], transition(order, dt)[1].reshape(-1, 1)


class KinematicBank:
    """n independent Kalman filters of one structure, stepped together.

    Args:
        density: Spectral density of the driving noise, shape (n,) [unit²/s^(2·order + 1)].
        order: Derivatives kept besides the value.

    Attributes:
        density: As given; may be changed between steps.
        F: Transition of the last step.
    """

    def __init__(self, density: ArrayLike, order: int = 2) -> None:
        self.order = order
        self.density: Array = np.array(density, dtype=float)
        n, d = len(self.density), order + 1
        # Signals last: every operation then runs along them.
        self._x: Array = np.full((d, n), np.nan)
        self._P: Array = np.full((d, d, n), np.nan)
        self.F: Array = np.eye(d)

    @property
    def x(self) -> Array:
        """States, shape (n, order + 1), to be read or changed; NaN before the start."""
        return self._x.T

    @property
    def P(self) -> Array:
        """Covariances, shape (n, order + 1, order + 1), likewise."""
        return self._P.transpose(2, 0, 1)

    @property
    def sd(self) -> Array:
        """Standard deviations of the states, shape (n, order + 1)."""
        d, n = self._x.shape
        return np.sqrt(np.maximum(self._P.reshape(d * d, n)[:: d + 1], 0.0)).T

    def start(self, x: ArrayLike, sd: ArrayLike) -> None:
        """Begin at the states `x` with standard deviations `sd`, both (n, order + 1)."""
        self._x = np.array(x, dtype=float).T.copy()
        self._P = np.eye(self.order + 1)[:, :, None] * np.square(sd).T

    def predict(self, dt: float) -> None:
        """Advance all filters by `dt` seconds."""
        d, n = self._x.shape
        self.F, _ = transition(self.order, dt)
        FF, Q = _covariance_transition(self.order, dt)
        self._x = self.F @ self._x
        self._P = (FF @ self._P.reshape(d * d, n) + Q * self.density).reshape(d, d, n)

    def observe(self, component: int, z: Array, variance: Array | float) -> tuple[Array, Array]:
        """Take in a measurement of one component of every state, or of the first k.

        Args:
            component: 0 for the value, 1 for its rate…
            z: Measured, shape (k,).
            variance: Of the measurement, shape (k,) or one for all.

        Returns:
            Innovations and their variances, shape (k,) each.
        """
        x = self._x[:, : len(z)]
        innovation = z - x[component]
        K, S = self.gain(component, len(z), variance)
        x += K * innovation
        return innovation, S

    def gain(self, component: int, k: int, variance: Array | float) -> tuple[Array, Array]:
        """What measuring one component of the first k states does to their covariances.

        Returns:
            Kalman gains, shape (order + 1, k), and variances of the innovations, shape (k,).
        """
        P = self._P[:, :, :k]
        column = P[component].copy()
        S = column[component] + variance
        K = column / S
        P -= K[:, None] * column
        P[component] = P[:, component] = (variance / S) * column  # (1 - K) P without cancellation
        return K, S
