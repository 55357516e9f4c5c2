# SPDX-License-Identifier: Apache-2.0
"""Accumulation of samples for several sensor models: as declared, or worse.

A tare may be stale, and a hum near a multiple of the sampling rate looks like a bias that wanders.
All sensor models process the same samples, and are weighted by their evidence (MacKay 2003,
Information theory, inference and learning algorithms, ch. 28).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_core.estimation.payload import ShapePrior
from sysid_core.estimation.payload.ball_prior import probabilities
from sysid_core.estimation.payload.shape_prior import PayloadPosterior
from sysid_core.estimation.payload_map.misfit import MISFIT_LIMIT, Misfit, nuisance_misfit
from sysid_core.estimation.payload_map.running_information import RunningInformation
from sysid_core.estimation.payload_map.sensor_model import SensorModel
from sysid_core.robot import Array

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
        found = self._prior.posterior(R, r)
        u = back[:, -1] - back[:, :-1] @ found.pi
        left = one.left(u, found.pi, samples)
        left = left if left >= MISFIT_LIMIT else 1.0
        misfit = Misfit(left, nuisance_misfit(u, one.precision), found.wrong_shape)
        return _Answer(found, misfit, one.log_evidence(r) + found.log_evidence)
