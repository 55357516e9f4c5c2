# SPDX-License-Identifier: Apache-2.0
"""Belief of the running estimator: information of the samples, and the mixture over its priors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_core.estimation.payload.ball_prior import probabilities
from sysid_core.estimation.payload.shape_prior import PayloadPosterior, ShapePrior
from sysid_core.estimation.payload_map.estimator import eliminate_nuisances, left_evidence
from sysid_core.estimation.payload_map.misfit import MISFIT_LIMIT, Misfit, nuisance_misfit
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
        """Inverse prior variances of the sensor's errors, with the drift of the bias included,
        shape (u,).
        """
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

        This is the prediction step of a Kalman filter in information form (Maybeck 1979, sec. 5.7);
        it is done once per `_DRIFT_S`.
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


_LITTLE = 0.01  # probability below which a belief isn't followed up


@dataclass(frozen=True, eq=False)
class _Answer:
    """Payload, residual and log-evidence for one sensor model."""

    found: PayloadPosterior
    misfit: Misfit
    log_evidence: float


class RunningBelief:
    """Sums over whitened samples for each sensor model.

    Args:
        sensor: Declared error magnitudes of the sensor.
        prior: Prior of the payload.
    """

    def __init__(self, sensor: SensorModel, prior: ShapePrior) -> None:
        self._prior = prior
        beliefs, shares = zip(*sensor.hypotheses, strict=True)
        self._sums, self._logs = [RunningInformation(x) for x in beliefs], np.log(shares)

    def add(self, gram: Array, attenuation: Array | None = None) -> None:
        """Add one sample, in the form of `RunningInformation.add`."""
        for one in self._sums:
            one.add(gram, attenuation)

    def drift(self, seconds: float) -> None:
        """Increase the uncertainty of the bias by its drift."""
        for one in self._sums:
            one.drift(seconds)

    def compressed(self) -> tuple[Array, Array, Array]:
        """Return the compressed data (R, r) for the sensor as declared, and the map back to the
        eliminated parameters (`eliminate_nuisances`).
        """
        return self._sums[0].compressed()

    def posterior(self, samples: int) -> tuple[PayloadPosterior, Misfit]:
        """Return the posterior, averaged over the sensor models.

        Args:
            samples: Number of samples so far.

        Raises:
            EstimationError: The data imply a negative mass.
        """
        declared = self._answer(self._sums[0], samples)
        if len(self._sums) == 1:
            return declared.found, declared.misfit
        data = [one.compressed()[:2] for one in self._sums[1:]]
        quick = self._prior.log_evidences(data, declared.found.pi)
        evidence = [declared.log_evidence]
        for one, (_, r), payload in zip(self._sums[1:], data, quick, strict=True):
            evidence.append(one.log_evidence(r) + payload)
        weights = probabilities(self._logs + evidence)
        believed = [k for k, weight in enumerate(weights) if weight > _LITTLE]
        answers = [self._answer(self._sums[k], samples) if k else declared for k in believed]
        worse = float(weights[1:].sum())
        weights = weights[believed] / weights[believed].sum()
        found = [answer.found for answer in answers]
        best = answers[int(np.argmax(weights))].misfit
        mixture = PayloadPosterior.mixture(found, weights)
        return mixture, replace(best, wrong_shape=mixture.wrong_shape, worse_sensor=worse)

    def _answer(self, one: RunningInformation, samples: int) -> _Answer:
        R, r, back = one.compressed()
        found = self._prior.posterior(R, r, doubted=True)
        u = back[:, -1] - back[:, :-1] @ found.pi
        left = one.left(u, found.pi, samples)
        left = left if left >= MISFIT_LIMIT else 1.0
        misfit = Misfit(left, nuisance_misfit(u, one.precision), found.wrong_shape)
        return _Answer(found, misfit, one.log_evidence(r) + found.log_evidence)
