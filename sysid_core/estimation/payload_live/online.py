# SPDX-License-Identifier: Apache-2.0
"""Payload identification during the arrival of the samples."""

from __future__ import annotations

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live.change import (
    ChangeDetector,
    PayloadChange,
    kind_of_change,
)
from sysid_core.estimation.payload_live.knowledge import PayloadKnowledge, PayloadState
from sysid_core.estimation.payload_map import RunningMAP, SensorModel
from sysid_core.robot.shapes import Shape
from sysid_core.signals.wrench import SensorCalibration

_FEWEST = 3  # samples: before, nothing is known
_SETTLED = 50  # samples before a change can be told from the estimate's own settling


class OnlinePayload:
    """Running payload estimator, which processes samples one by one.

    The same samples in the same order give the same answer, live or from a file.

    Args:
        shape: Shape of the object, in the sensor frame; None: unknown.
        sensor: Error magnitudes of the sensor before a tare; None: those of an ordinary sensor.

    Attributes:
        sensor: Error magnitudes of the sensor before a tare.
        change: Last change of the load, at which the estimator restarted; None: no change yet.
    """

    def __init__(self, shape: Shape | None = None, *, sensor: SensorModel | None = None) -> None:
        self.shape = shape
        self._running = RunningMAP(shape, sensor=sensor)
        self.sensor = sensor or SensorModel()
        self.reset()

    def reset(self, calibration: SensorCalibration | None = None, age_s: float = 0.0) -> None:
        """Delete all samples.

        Args:
            calibration: Calibration of the sensor, whose remaining errors are assumed from now on;
                None: errors before a tare.
            age_s: Time since the tare [s].
        """
        self._running.reset(
            self.sensor if calibration is None else self.sensor.tared(calibration, age_s)
        )
        self._last_stamp: float | None = None
        self._estimate: Estimate | None = None
        self._detector: ChangeDetector | None = None
        self.change: PayloadChange | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples so far."""
        return self._running.n_samples

    def update(self, data: PayloadData) -> tuple[PayloadChange, ...]:
        """Add samples, given in the axes of the sensor.

        Args:
            data: One or more samples, newer than all earlier ones.

        Returns:
            Changes of the load that were detected in the new samples.

        Raises:
            EstimationError: The times do not increase; none of the samples was used.
        """
        if self._last_stamp is not None and data.time[0] <= self._last_stamp:
            raise EstimationError(
                f"The sample at {data.time[0]:.6f} s is not newer than the last"
                f" ({self._last_stamp:.6f} s).",
                remedy="Omit this sample; it was not used.",
            )
        changes = []
        for k in range(len(data)):
            if self._has_changed(data, k):
                assert self.change is not None
                changes.append(self.change)
            self._running.take(data, k)
        self._last_stamp = float(data.time[-1])
        self._estimate = None
        return tuple(changes)

    def _has_changed(self, data: PayloadData, k: int) -> bool:
        """True if the payload has changed; the estimation is then restarted."""
        known = self._running.prediction(data.regressor[k])
        if known is None or self.n_samples < _SETTLED:
            return False
        wrench, left_open, noise = known
        if self._detector is None:
            self._detector = ChangeDetector(noise)
        self._detector.noise_sd = noise
        stamp_s, a = float(data.time[k]), data.a[k]
        if not self._detector.update(stamp_s, data.wrench[k] - wrench, wrench, left_open):
            return False
        up = a / max(float(np.linalg.norm(a)), 1e-9)
        mass = float(self._detector.mean[:3] @ up / np.linalg.norm(a))
        sd = float(np.linalg.norm(noise[:3]) / np.linalg.norm(a)) / 2.0 + 0.02 * abs(
            float(wrench[:3] @ up) / float(np.linalg.norm(a))
        )
        self.change = PayloadChange(stamp_s, kind_of_change(mass, sd / 3.0), mass)
        self._running.reset()
        self._detector = None
        return True

    def estimate(self) -> Estimate:
        """Estimate from all samples so far; it is recomputed only after new samples.

        Raises:
            EstimationError: There are no samples.
        """
        if self._estimate is None:
            if self.n_samples == 0:
                raise EstimationError(
                    "The payload cannot be estimated without samples.",
                    remedy="Call `update` first.",
                )
            self._estimate = self._running.estimate()
        return self._estimate

    @property
    def state(self) -> PayloadState:
        """Progress of the identification so far."""
        if self.n_samples < _FEWEST:
            return PayloadState.COLLECTING
        try:
            return self.knowledge.state
        except EstimationError:  # nothing that weighs is held, so far
            return PayloadState.COLLECTING

    @property
    def knowledge(self) -> PayloadKnowledge:
        """Current estimate, and which of its parameters are known accurately enough.

        Raises:
            EstimationError: There are no samples, or no load is held.
        """
        return PayloadKnowledge(self.estimate(), self.shape)

    @property
    def advice(self) -> str:
        """Most useful next motion, in one sentence."""
        try:
            return self.knowledge.advice()
        except EstimationError as err:
            return str(err)
