# SPDX-License-Identifier: Apache-2.0
"""Payload identification during the arrival of the samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.payload import (
    CompressedWrenches,
    PayloadData,
    PayloadSummary,
    WrenchEstimator,
    summarise_payload,
)
from sysid_core.estimation.payload_live.change import (
    ChangeDetector,
    PayloadChange,
    kind_of_change,
)
from sysid_core.estimation.payload_live.parts import KnownLoad, part_probabilities
from sysid_core.estimation.payload_map import RunningMAP, SensorModel
from sysid_core.kinds import Kind
from sysid_core.reasons import Reason, advice_of
from sysid_core.robot import Array
from sysid_core.robot.shapes import Shape
from sysid_core.signals.wrench import SensorCalibration

_SETTLED = 50  # samples before a change can be told from the estimate's own settling


class PayloadState(Kind):
    """State of a running payload identification."""

    COLLECTING = "collecting"
    MASS_KNOWN = "mass known"
    COM_KNOWN = "COM known"
    INERTIA_KNOWN = "inertia known"
    PRIOR_DOMINATED = "prior-dominated: keep moving"


class OnlinePayload:
    """Running payload estimator, which processes samples one by one.

    The same samples in the same order give the same answer, live or from a file.

    Args:
        shape: Shape of the object, in the sensor frame; None where it isn't known.
        estimator: What answers from the compressed data, such as `PointMassDiscretization`; None:
            `RunningMAP`, the default estimator in running form.
        sensor: What the sensor's errors may be before a tare, for the default estimator; None: an
            ordinary sensor's.
        mass_tolerance: Mass counts as known below this relative standard deviation. An unchecked gain
            alone leaves 3.5 % (`SensorModel.gain`, shared by all axes).
        com_tolerance: COM counts as known below this part of the object's largest length.
        inertia_tolerance: Inertia counts as known below this part of `m (a_j^2 + a_k^2) / 12`.

    Attributes:
        change: The last change of the load, after which it started anew; None before one.
    """

    def __init__(
        self,
        shape: Shape | None = None,
        estimator: WrenchEstimator | None = None,
        *,
        sensor: SensorModel | None = None,
        mass_tolerance: float = 0.05,
        com_tolerance: float = 0.02,
        inertia_tolerance: float = 0.15,
    ) -> None:
        self.shape = shape
        self.estimator = estimator
        self._running = RunningMAP(shape, sensor=sensor)
        self._sensor = sensor or SensorModel()
        self.tolerances = (mass_tolerance, com_tolerance, inertia_tolerance)
        self.reset()

    def reset(self, calibration: SensorCalibration | None = None, age_s: float = 0.0) -> None:
        """Delete all samples.

        Args:
            calibration: Calibration of the sensor, if it has been tared: what may be left of its errors is
                believed from now on.
            age_s: Time since that tare [s].
        """
        self._running.reset(
            self._sensor if calibration is None else self._sensor.tared(calibration, age_s)
        )
        scale = None if self.estimator is None else self.estimator.dynamism_scale
        self._own_wrenches = CompressedWrenches(scale)
        self._last_stamp: float | None = None
        self._estimate: Estimate | None = None
        self._detector: ChangeDetector | None = None
        self.change: PayloadChange | None = None

    @property
    def information(self) -> CompressedWrenches:
        """All samples so far in compressed form, which every payload estimator accepts."""
        return self._running.information if self.estimator is None else self._own_wrenches

    @property
    def n_samples(self) -> int:
        """Number of samples so far."""
        own = self._own_wrenches.n_samples
        return self._running.n_samples if self.estimator is None else own

    def update(self, data: PayloadData) -> tuple[PayloadChange, ...]:
        """Add samples, given in the axes of the sensor.

        Args:
            data: One or more, newer than those before.

        Returns:
            Changes of the load that were noticed among them.

        Raises:
            EstimationError: Time doesn't increase; none was used.
        """
        if self._last_stamp is not None and data.time[0] <= self._last_stamp:
            raise EstimationError(
                f"The sample at {data.time[0]:.6f} s is not newer than the last"
                f" ({self._last_stamp:.6f} s).",
                remedy="Omit it; it was not used.",
            )
        changes = []
        if self.estimator is not None:
            self._own_wrenches.add(data)
        else:
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
                raise EstimationError("No samples yet.", remedy="Call `update` first.")
            self._estimate = (
                self._running.estimate()
                if self.estimator is None
                else self.estimator.solve(self.information)
            )
        return self._estimate

    def which(self, parts: Mapping[str, KnownLoad]) -> dict[str, float]:
        """Probabilities of the known loads since the last payload change (see
        `part_probabilities`).

        Raises:
            EstimationError: There are no samples.
        """
        return part_probabilities(*self._running.likelihood(), parts)

    @property
    def state(self) -> PayloadState:
        """Current state of the identification, such as collecting or mass known."""
        if self.n_samples < 3:
            return PayloadState.COLLECTING
        try:
            estimate = self.estimate()
        except EstimationError:  # nothing that weighs is held, so far
            return PayloadState.COLLECTING
        if estimate["payload.m"] <= 0:
            return PayloadState.COLLECTING
        mass, com, inertia = self.uncertainty(summarise_payload(estimate))
        if mass > self.tolerances[0]:
            return PayloadState.COLLECTING
        if np.max(com) > self.tolerances[1]:
            return PayloadState.MASS_KNOWN
        diagonal = [estimate.verdicts[i] for i in (4, 6, 9)]
        if ParameterVerdict.PRIOR_DOMINATED in diagonal:
            return PayloadState.PRIOR_DOMINATED
        known = np.max(inertia) <= self.tolerances[2] and not self.warnings
        return PayloadState.INERTIA_KNOWN if known else PayloadState.COM_KNOWN

    @property
    def warnings(self) -> tuple[Reason, ...]:
        """Warnings about the estimate: a residual that is too large, or a shape that
        contradicts the data.
        """
        return self.estimate().warnings if self.n_samples else ()

    def uncertainty(self, summary: PayloadSummary) -> tuple[float, Array, Array]:
        """Relative standard deviations of the mass, of the centre of mass (3,) and of the inertia's
        diagonal.
        """
        known = self.shape is not None and self.shape.fingers is None
        size = self.shape.size if known and self.shape is not None else object_size(summary)
        scale = summary.mass / 12.0 * (size @ size - size**2)
        return (
            summary.mass_sd / summary.mass,
            summary.com_sd / size.max(),
            np.diag(summary.inertia_sd) / scale,
        )

    @property
    def advice(self) -> str:
        """Recommended next motion, as one sentence."""
        state = self.state
        if state is PayloadState.COLLECTING:
            try:
                self.estimate()
            except EstimationError as err:
                return str(err)
            return "Hold the object free of contact and keep recording."
        _, com, inertia = self.uncertainty(summarise_payload(self.estimate()))
        if state is PayloadState.MASS_KNOWN:
            axis = "xyz"[int(np.argmax(com))]
            return f"Tilt the sensor so that its {axis} axis becomes horizontal: the centre of mass along {axis} is the least accurate."
        if self.warnings:
            return advice_of(self.warnings[0])
        axis = "xyz"[int(np.argmax(inertia))]
        if state is PayloadState.INERTIA_KNOWN:
            return "The accuracy is sufficient; more motion improves it further."
        return f"Turn faster, back and forth, about the sensor's {axis} axis: the inertia about this axis is the least accurate."


def object_size(summary: PayloadSummary) -> Array:
    """Edge lengths of the solid box with the estimated inertia, shape (3,) [m]."""
    moments = np.diag(summary.inertia)
    squares = 6.0 * (moments.sum() - 2.0 * moments) / summary.mass
    return np.sqrt(np.maximum(squares, 0.02**2))
