# SPDX-License-Identifier: Apache-2.0
"""Joint information about sensor errors and payload from whitened samples, with a drifting bias."""

from __future__ import annotations

import numpy as np

from sysid_core.estimation.payload_map.estimator import eliminate_nuisances, left_evidence
from sysid_core.estimation.payload_map.sensor_model import SensorModel
from sysid_core.robot import Array

_DRIFT_S = 0.1  # [s] between steps of the bias: a hum that aliases moves within half a second


class RunningInformation:
    """Accumulated information about sensor errors, payload and wrench: the sum of `X^T Sigma^-1
    X` over samples.

    The likelihood is integrated over the sensor's errors. The logarithm of the normalisation
    factors of these integrals is kept too, so that sensor models with different uncertainty and drift of
    the bias can be weighted by their evidence.

    Args:
        sensor: Error magnitudes of the sensor.
    """

    def __init__(self, sensor: SensorModel) -> None:
        self._sensor = sensor
        self._precision = sensor.prior_sd() ** -2.0
        size = len(self._precision) + 11
        self._gram = np.zeros((size, size))
        self._drifts = max(sensor.drift) > 0 and max(sensor.bias) > 0
        self._drifting, self._wandered = 0.0, np.zeros(6)
        self._log_factor = 0.5 * float(np.log(self._precision).sum())
        if self._drifts:  # the prior of a bias that wanders is used up once
            self._gram[:6, :6] = np.diag(self._precision[:6])
            self._precision[:6] = 0.0
        self._attenuation = np.zeros((10, 10))

    @property
    def precision(self) -> Array:
        """Inverse variances of the sensor's errors before the samples, wandering included, shape (u,)."""
        precision = self._precision.copy()
        if self._drifts:
            precision[:6] = 1.0 / (self._sensor.prior_sd()[:6] ** 2 + self._wandered)
        return precision

    def add(self, gram: Array, attenuation: Array | None = None) -> None:
        """Add one sample.

        Args:
            gram: Product `X^T Sigma^-1 X` of the sample, shape (u + 11, u + 11).
            attenuation: Increase of `A^T Sigma^-1 A` by errors of a measured motion, shape (10,
                10); None: 0.
        """
        self._gram += gram
        if attenuation is not None:
            self._attenuation += attenuation

    def left(self, u: Array, pi: Array, samples: int) -> float:
        """Return the RMS of the whitened residual for sensor errors u, shape (u,), and payload pi."""
        y = np.concatenate([u, pi, [-1.0]])
        return float(np.sqrt(max(y @ self._gram @ y, 0.0) / (6 * samples)))

    def compressed(self) -> tuple[Array, Array, Array]:
        """Eliminate the sensor errors (see `eliminate_nuisances`), without attenuation by errors of
        a measured motion.
        """
        R, r, back = eliminate_nuisances(self._gram, self._precision)
        if self._attenuation.any():
            scale = np.linalg.norm(R, axis=0)
            scale = np.where(scale > 0, scale, 1.0)
            R = R - np.linalg.pinv(R / scale).T @ (self._attenuation / scale[:, None])
        return R, r, back

    def log_evidence(self, r: Array) -> float:
        """Return the log-likelihood of the samples given a payload with `R pi = r`, up to a
        constant common to all sensor models.

        Args:
            r: Right-hand side from `compressed`.
        """
        return self._log_factor + left_evidence(self._gram, self._precision, r)

    def drift(self, seconds: float) -> None:
        """Let the bias drift: the old bias is eliminated, and a new one near it is added.

        The prediction of a Kalman filter in information form (Maybeck 1979, sec. 5.7), once per
        `_DRIFT_S`.
        """
        self._drifting += seconds
        if self._drifting < _DRIFT_S or not self._drifts:
            return
        variance = np.repeat(np.square(self._sensor.drift), 3) * self._drifting
        self._wandered = self._wandered + variance
        self._drifting = 0.0
        G = self._gram
        # min over b of y^T G y + |b' - b|^2 / variance
        N = G[:6, :6] + np.diag(1.0 / variance)
        M = np.linalg.inv(N)
        self._log_factor -= 0.5 * float(np.linalg.slogdet(N)[1] + np.log(variance).sum())
        cross = M @ G[:6, 6:]
        G[6:, 6:] -= G[6:, :6] @ cross
        G[:6, 6:] = cross / variance[:, None]
        G[6:, :6] = G[:6, 6:].T
        G[:6, :6] = np.diag(1.0 / variance) - M / np.outer(variance, variance)
