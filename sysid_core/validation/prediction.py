# SPDX-License-Identifier: Apache-2.0
"""Prediction errors of an identified robot for efforts that were not used in the fit."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation.arm import Identification, Processing
from sysid_core.robot import Array, RobotModel
from sysid_core.signals import EffortKind, Recording
from sysid_core.signals.filters import ZeroPhaseFilter

BANDS_HZ = (60.0, 20.0, 8.0)  # motors and gears; controllers and elasticity; rigid bodies


@dataclass(frozen=True, eq=False)
class Prediction:
    """Measured and predicted efforts of one recording, unfiltered and in the unit of the recording.

    Attributes:
        source: Name of the recording.
        joint_names: Names of the n joints.
        unit: Unit of the efforts.
        time: Times, shape (K,) [s].
        measured: Measured efforts, unfiltered, shape (K, n).
        predicted: Predicted efforts, shape (K, n).
        velocity: Joint velocities, for the detection of standstill, shape (K, n) [rad/s].
        band_hz: Highest frequency used by the fit [Hz].
        motion: Mask of the samples between start and end of the motion, without filter transients
            and impacts, shape (K,).
        nominal: Efforts predicted with the URDF's inertial parameters and the identified friction,
            shape (K, n); None: not computed.
        reaction: Efforts caused by the controllers' response to velocity noise, shape (K, n), not
            included in `predicted`; None: no such response is known.
    """

    source: str
    joint_names: tuple[str, ...]
    unit: str
    time: Array
    measured: Array
    predicted: Array
    velocity: Array
    motion: NDArray[np.bool_]
    band_hz: float = float("inf")
    nominal: Array | None = None
    reaction: Array | None = None

    def in_loop(self) -> Prediction:
        """Return the prediction by the robot model together with the reaction of the controllers to
        the noise of velocities.

        Raises:
            EstimationError: No reaction is known.
        """
        if self.reaction is None:
            raise EstimationError(
                f"The efforts of '{self.source}' show no reaction to the noise of velocities.",
                remedy="Use the prediction by the robot model alone.",
            )
        return replace(self, predicted=self.predicted + self.reaction, nominal=None, reaction=None)

    def beside(self) -> Prediction:
        """Return the prediction of the same recording by the nominal model.

        Raises:
            EstimationError: There is no prediction by the nominal model.
        """
        if self.nominal is None:
            raise EstimationError(
                f"'{self.source}' was not predicted by the nominal model.",
                remedy="Create the prediction with `Prediction.of`, which also stores the prediction of the nominal model.",
            )
        return replace(self, predicted=self.nominal, nominal=None, reaction=None)

    def relative_error(self, *, whole: bool = False) -> float:
        r"""Return the relative error `||measured - predicted|| / ||measured||`, during motion or
        over all samples.

        Joints with efforts of zero throughout are excluded, because they are not measured.
        """
        rows = self._rows(whole)
        joints = np.flatnonzero(np.any(self.measured != 0.0, axis=0))
        measured, predicted = (x[rows][:, joints] for x in (self.measured, self.predicted))
        return float(np.linalg.norm(measured - predicted) / np.linalg.norm(measured))

    def joints(self, *, whole: bool = False) -> dict[str, dict[str, float]]:
        """Return the RMS and R^2 of every joint."""
        rows = self._rows(whole)
        return _statistics(self.joint_names, self.measured[rows], self.predicted[rows])

    def joints_below(self, cutoff_hz: float) -> dict[str, dict[str, float]]:
        """Return the RMS and R^2 during motion below a frequency; measured and predicted efforts
        are filtered alike.
        """
        known = np.isfinite(self.predicted).all(axis=1)
        rate = (len(self.time) - 1) / float(self.time[-1] - self.time[0])
        low_pass = ZeroPhaseFilter(cutoff_hz)
        measured, predicted = (
            low_pass.apply(x[known], rate) for x in (self.measured, self.predicted)
        )
        inside = self._rows(False)[known]
        return _statistics(self.joint_names, measured[inside], predicted[inside])

    def bands(self) -> dict[float, dict[str, dict[str, float]]]:
        """Return the errors below the cut-off frequency of the fit, and below the lower frequencies
        of `BANDS_HZ`.
        """
        lower = [hz for hz in BANDS_HZ if hz < 0.9 * self.band_hz]
        return {hz: self.joints_below(hz) for hz in (self.band_hz, *lower)}

    def columns(self, joint: str, *, whole: bool = False) -> tuple[Array, Array]:
        """Return the measured and predicted efforts of one joint, each of shape (samples,)."""
        j, rows = self.joint_names.index(joint), self._rows(whole)
        return self.measured[rows, j], self.predicted[rows, j]

    def _rows(self, whole: bool) -> NDArray[np.bool_]:
        rows = np.asarray(np.isfinite(self.predicted).all(axis=1))
        if not whole and np.any(self.motion):
            rows &= self.motion
        return rows

    def to_dict(self) -> dict[str, object]:
        """Return the prediction errors as plain data for JSON."""
        return {
            "source": self.source,
            "unit": self.unit,
            "relative_error": self.relative_error(),
            "joints": self.joints(),
            "nominal": None
            if self.nominal is None
            else {
                "relative_error": self.beside().relative_error(),
                "joints": self.beside().joints(),
            },
            "in_loop": None
            if self.reaction is None
            else {
                "relative_error": self.in_loop().relative_error(),
                "joints": self.in_loop().joints(),
            },
            "band_hz": self.band_hz,
            "joints_below_hz": {f"{hz:g}": joints for hz, joints in self.bands().items()},
            "whole_run": {
                "relative_error": self.relative_error(whole=True),
                "joints": self.joints(whole=True),
            },
            "samples": len(self.time),
            "samples_in_motion": int(np.sum(self.motion)),
        }

    @classmethod
    def of(cls, identification: EffortModel, recording: Recording) -> Prediction:
        """Compare the predicted efforts with the unfiltered efforts of a recording.

        Args:
            identification: The identified robot.
            recording: Another run of the same robot.
        """
        stream = Processing.driven_joints(identification.model, recording.joints)
        predicted, nominal = identification.predict_beside_nominal(recording)
        v = stream.v
        if v is None:
            rate = (len(stream) - 1) / stream.time[-1]
            smooth = ZeroPhaseFilter(identification.processing.motion_cutoff_hz).apply(
                stream.q, rate
            )
            v = np.gradient(smooth, stream.time, axis=0)
        moving = np.flatnonzero(np.any(np.abs(v) > identification.processing.moving, axis=1))
        time = stream.time
        motion = np.zeros(len(time), dtype=bool)
        if len(moving):
            trim = identification.processing.end_trim
            motion = (time >= time[moving[0]] + trim) & (time <= time[moving[-1]] - trim)
        measured = stream.effort if stream.effort is not None else np.full_like(predicted, np.nan)
        return cls(
            source=recording.source,
            joint_names=stream.names,
            unit=stream.effort_kind.unit,
            time=time,
            measured=np.asarray(measured),
            predicted=predicted,
            velocity=v,
            motion=motion,
            band_hz=identification.processing.torque_cutoff_hz,
            nominal=nominal,
            reaction=identification.reaction(recording),
        )

    @staticmethod
    def unexplained(predictions: Sequence[Prediction]) -> float:
        """Return the unexplained share of the variance of the efforts during motion, over all
        recordings and joints.

        Only frequencies below the cut-off of the fit are used; joints are weighted by their
        efforts.
        """
        left = spread = 0.0
        for p in predictions:
            for stats in p.joints_below(p.band_hz).values() if p.motion.any() else ():
                if np.isfinite(stats["r2"]):
                    variance = stats["rms"] ** 2 / max(1.0 - stats["r2"], 1e-12)
                    left, spread = left + stats["rms"] ** 2, spread + variance
        return left / spread if spread > 0.0 else float("nan")

    @staticmethod
    def pooled(predictions: Sequence[Prediction], joint: str) -> dict[str, float]:
        """Return RMS and R² of a joint over several recordings, in motion."""
        pairs = [p.columns(joint) for p in predictions]
        measured, predicted = (np.concatenate(x)[:, None] for x in zip(*pairs, strict=True))
        return _statistics((joint,), measured, predicted)[joint]


class EffortModel(Protocol):
    """Interface of a model that predicts efforts: an `Identification`, or the model of another
    tool.
    """

    @property
    def model(self) -> RobotModel:
        """Robot model."""

    @property
    def processing(self) -> Processing:
        """Settings of the preprocessing: cut-off frequencies, and the definition of motion."""

    def predict_beside_nominal(self, recording: Recording) -> tuple[Array, Array | None]:
        """Return the efforts predicted by the identified and by the nominal model at the stamps of
        the recording, each of shape (K, n).
        """

    def reaction(self, recording: Recording) -> Array | None:
        """Return the efforts with which the controllers react to the noise of velocities, at the
        stamps of the recording, shape (K, n); None: no reaction is known.
        """


_SPAN = 100  # samples


class ResidualTorques:
    """Live residual efforts of a running motion: measured minus predicted.

    Args:
        model: The robot, whose URDF predicts efforts without friction if no model is identified.
        identification: Identified model that predicts the efforts; None: the URDF.
    """

    def __init__(self, model: RobotModel, identification: Identification | None = None) -> None:
        self.model, self.identification = model, identification
        self._samples: deque[tuple[Array, Array, Array]] = deque(maxlen=_SPAN)

    def add(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> None:
        """Add a sample: position, velocity and acceleration, each of shape (n,)."""
        self._samples.append((np.asarray(q), np.asarray(v), np.asarray(a)))

    def residual(self, effort: ArrayLike, kind: EffortKind) -> Array | None:
        """Return the residual efforts of the newest sample, shape (n,), in the unit of the measured
        efforts.

        The result is None if no model predicts efforts of this kind, such as currents before an
        identification.

        Raises:
            SignalError: There is no sample yet.
        """
        if not self._samples:
            raise SignalError("No sample has been added.", remedy="Call `add` first.")
        q, v, a = (np.array(x) for x in zip(*self._samples, strict=True))
        measured = np.asarray(effort, dtype=float)
        found = self.identification
        if found is not None:
            return measured - found.friction.drives.efforts(found.torques(q, v, a), q)[-1]
        if kind.is_torque:
            return measured - self.model.inverse_dynamics(q[-1:], v[-1:], a[-1:])[-1]
        return None


def _statistics(
    names: tuple[str, ...], measured: NDArray, predicted: NDArray
) -> dict[str, dict[str, float]]:
    """Return the RMS and R^2 of the residuals of each column.

    Args:
        names: Names of the n columns.
        measured: Measured values, shape (K, n).
        predicted: Predicted values, shape (K, n).
    """
    error = measured - predicted
    spread = np.sum((measured - measured.mean(axis=0)) ** 2, axis=0)
    return {
        name: {
            "rms": float(np.sqrt(np.mean(error[:, j] ** 2))),
            "r2": float(1.0 - np.sum(error[:, j] ** 2) / spread[j])
            if spread[j] > 0
            else float("nan"),
        }
        for j, name in enumerate(names)
    }
