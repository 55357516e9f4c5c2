# SPDX-License-Identifier: Apache-2.0
"""Payload identification during the arrival of the samples."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live.knowledge import PayloadKnowledge, PayloadState
from sysid_core.estimation.payload_map import RunningMAP, SensorModel
from sysid_core.robot import Array
from sysid_core.robot.shapes import Shape
from sysid_core.settings import Kind
from sysid_core.signals.wrench import SensorCalibration

_TIME_CONSTANT_S = 0.1  # time constant of the mean [s]
_HOLD_S = 0.1  # for how long it must stay beyond the limit [s]
NOTICED_S = 0.5  # [s] within which a change of the load is noticed, with samples of both loads
# Squared scatter of the mean, relative to what is expected: assumed in the first second [s].
_SCATTER, _SCATTER_S = 4.0, 1.0


class ChangeKind(Kind):
    """Kind of change of the payload."""

    ATTACHED = "attached"
    DETACHED = "detached"
    SLIPPED = "slipped"


_CROSSTALK = 0.025  # [m] of a force in the torques, of which a share is an error


@dataclass(frozen=True)
class PayloadChange:
    """Detected change of the payload.

    Attributes:
        stamp_s: Time of the detection [s].
        kind: Kind of change: heavier, lighter, or same mass with another centre of mass.
        mass: Increase of the mass [kg]; negative for a decrease.
    """

    stamp_s: float
    kind: ChangeKind
    mass: float


class ChangeDetector:
    """Detector of payload changes from the residual of the wrench or of the joint torques.

    An exponentially weighted mean of the residual (Roberts 1959) is compared with its standard
    deviation, which includes noise, the uncertainty of the estimate, and a share of the signal for
    errors of gain and delay. If earlier means scatter more than this, such as those of noise that is
    correlated in time, the scatter counts. A change is reported if the mean stays beyond the limit
    for several samples, so that spikes and impacts do not count.

    Args:
        noise_sd: Noise standard deviation of one sample of each signal, shape (n,); six signals are
            the force and torque of a wrench, whose three axes are judged together.
        share: Model error relative to the usual size of the signal [-].
        limit: Limit of the mean residual, in standard deviations; by default the one that three axes
            exceed as rarely as one axis exceeds five.
    """

    def __init__(
        self,
        noise_sd: ArrayLike,
        *,
        share: float = 0.025,
        limit: float = 5.6,
    ) -> None:
        self.noise_sd = np.asarray(noise_sd, dtype=float)
        self.share = share
        self.limit = limit
        self._mean = np.zeros(len(self.noise_sd))
        self._signal = np.zeros(len(self.noise_sd))
        self._last: float | None = None
        self._beyond: list[tuple[float, Array]] = []
        self._recent: deque[tuple[float, float, Array]] = deque()
        self._scatter, self._seconds = np.array([_SCATTER]), _SCATTER_S

    @property
    def jump(self) -> Array:
        """Mean residual since the limit has been exceeded, shape (n,)."""
        return np.asarray(np.mean([residual for _, residual in self._beyond], axis=0))

    def update(
        self, stamp_s: float, residual: ArrayLike, predicted: ArrayLike, open_sd: ArrayLike
    ) -> bool:
        """Add one sample; returns True if the payload has changed.

        Args:
            stamp_s: Time of the sample [s], increasing.
            residual: Measured minus predicted signals, shape (n,).
            predicted: Predicted signals, shape (n,).
            open_sd: Standard deviation of the prediction due to the uncertainty of the estimate,
                shape (n,).
        """
        residual, predicted = np.asarray(residual), np.asarray(predicted)
        dt = 0.0 if self._last is None else stamp_s - self._last
        self._last = stamp_s
        a = 1.0 - np.exp(-dt / _TIME_CONSTANT_S)
        self._mean = self._mean + a * (residual - self._mean)
        slow = 1.0 - np.exp(-dt / (20.0 * _TIME_CONSTANT_S))
        self._signal = np.maximum(self._signal + slow * (np.abs(predicted) - self._signal), 0.0)
        size = np.maximum(np.abs(predicted), self._signal)
        white = self.noise_sd**2 * a / max(2.0 - a, 1e-9)
        axes = 3 if len(size) == 6 else 1
        if axes == 3:  # crosstalk within forces, within torques, and into these
            force, torque = np.linalg.norm(size[:3]), np.linalg.norm(size[3:])
            size = np.repeat([force, np.hypot(torque, _CROSSTALK * force)], 3)
        variance = white + np.square(open_sd) + (self.share * size) ** 2 + 1e-12
        square = (self._mean**2 / variance).reshape(-1, axes).sum(axis=1)
        self._learn(stamp_s, dt, square / axes)
        if np.max(square / np.maximum(self._scatter, 1.0)) < self.limit**2:
            self._beyond = []
            return False
        self._beyond.append((stamp_s, residual))
        return stamp_s - self._beyond[0][0] >= _HOLD_S

    def _learn(self, stamp_s: float, dt: float, square: Array) -> None:
        """Add a squared mean to the scatter as soon as a change can no longer be its cause."""
        self._recent.append((stamp_s, dt, square))
        while stamp_s - self._recent[0][0] > NOTICED_S:
            _, dt, square = self._recent.popleft()
            self._seconds += dt
            self._scatter = self._scatter + dt / self._seconds * (square - self._scatter)


def kind_of_change(mass: float, sd: float) -> ChangeKind:
    """Return the kind of a payload change: heavier, lighter, or neither, if |change| is below three
    standard deviations [kg].
    """
    if abs(mass) < 3.0 * sd:
        return ChangeKind.SLIPPED
    return ChangeKind.ATTACHED if mass > 0 else ChangeKind.DETACHED


_FEWEST = 3  # samples: before, nothing is known
SETTLED = 50  # samples before a change can be told from the estimate's own settling


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
        if known is None or self.n_samples < SETTLED:
            return False
        wrench, left_open, noise = known
        self._detector = self._detector or ChangeDetector(noise)
        self._detector.noise_sd = noise
        stamp_s, a = float(data.time[k]), data.a[k]
        if not self._detector.update(stamp_s, data.wrench[k] - wrench, wrench, left_open):
            return False
        per_kg = a / max(float(a @ a), 1e-9)
        mass = float(self._detector.jump[:3] @ per_kg)
        sd = 0.5 * float(np.linalg.norm(noise[:3]) * np.linalg.norm(per_kg))
        sd += 0.02 * abs(float(wrench[:3] @ per_kg))
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
