# SPDX-License-Identifier: Apache-2.0
"""Error magnitudes of a force-torque sensor, and their effect on the wrench."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.robot import Array, skew
from sysid_core.settings import Kind
from sysid_core.signals.wrench import SensorCalibration

BIAS_DRIFT = (0.05, 0.0025)  # [N], [N m] since the tare: half a reading's noise
_UNTARED = (
    30.0,
    1.5,
)  # [N], [N m]: what wrist sensors read without load, at most (LARA8, Panda: 17)
_UNCHECKED_GAIN = (
    0.05  # of an axis; the best interval score of real sensors, on either half of them
)
_SHARED = np.sqrt(0.5)  # of a gain's deviation: half of its variance is that of all axes
_STALE, _WANDERING = 6.0, 10.0  # times the bias, and the drift, that are declared
_BELIEFS = (0.9, 0.05, 0.05)  # prior probabilities: as declared, a stale tare, a wandering bias
_RAMP_S = 5.0  # [s] over which a drift may change
_MAX_RAMPS = 6


class SensorQuality(Kind):
    """Quality class of a force-torque sensor: knowledge of gains, axes and delay."""

    ORDINARY = "ordinary"
    CALIBRATED = "calibrated"


@dataclass(frozen=True)
class SensorModel:
    """Standard deviations of the errors of a force-torque sensor.

    Attributes:
        noise: Lower bound of the noise of force and torque per sample [N, N m]; None: estimated.
        bias: Standard deviation of the bias of force and torque [N, N m].
        drift: Random-walk density of the bias of force and torque [N/sqrt(s), N m/sqrt(s)].
        delay: Standard deviation of the delay between wrench and motion [s].
        gain: Standard deviation of the gain of each axis, half of whose variance is common to all
            axes [-].
        crosstalk: Standard deviation of each off-diagonal entry of the 6x6 gain matrix [-].
        mounting: Standard deviation of the sensor's mounting angle about each axis [rad].
        gravity: Standard deviation of the tilt of gravity about each horizontal axis [rad].
        crosstalk_length: Length that makes forces and torques comparable in the gain matrix [m]:
            the ratio of torque to force noise (0.005 N m / 0.1 N in Nadeau et al. 2022, table II).
        force_gain: Standard deviations, after a calibration, of the common gain of the forces and
            of each entry of their 3x3 gain matrix [-]; None: from `gain` and `crosstalk`.
        bias_scales: Factors on `bias`, equally probable a priori and weighted by the evidence of
            the data [-]; if there is only one factor, the alternatives are a bias that has changed
            since the tare and a bias that drifts fast (`hypotheses`).
    """

    noise: tuple[float, float] | None = None
    bias: tuple[float, float] = (0.3, 0.015)
    drift: tuple[float, float] = (0.03, 0.0015)
    delay: float = 0.01
    gain: float = 0.018
    crosstalk: float = 0.01
    mounting: float = 0.0175
    gravity: float = 0.0175
    crosstalk_length: float = 0.05
    force_gain: tuple[float, float] | None = None
    bias_scales: tuple[float, ...] = (1.0,)

    @classmethod
    def named(cls, quality: str) -> SensorModel:
        """Return the sensor model for a quality class (`SensorQuality`).

        Raises:
            EstimationError: The quality class is unknown.
        """
        found = SensorQuality.named(quality, "The sensor's quality", EstimationError)
        return _OF_QUALITY[found]

    def tared(self, calibration: SensorCalibration, age_s: float = 0.0) -> SensorModel:
        """Return the sensor model after a tare: the uncertainty of the bias is that of the tare
        plus the drift since then.

        A full calibration states the remaining errors of the forces' gains, of mounting and of
        gravity. A calibration does not determine the gains of torques, for which those of an
        ordinary sensor are assumed.

        Args:
            calibration: Calibration from the tare.
            age_s: Time since the tare [s], infinite if unknown and then not considered; the
                uncertainty of the bias never exceeds that before the tare.
        """
        if np.isfinite(calibration.mounting_left):
            shared, entry = calibration.gain_left
            ordinary = SensorModel(
                noise=self.noise,
                mounting=calibration.mounting_left,
                gravity=calibration.tilt_left,
                force_gain=(shared if np.isfinite(shared) else _SHARED * SensorModel.gain, entry),
            )
            return ordinary.tared(replace(calibration, mounting_left=float("nan")), age_s)
        delay = calibration.delay[1]
        own = np.array([calibration.bias_sd[:3].max(), calibration.bias_sd[3:].max()])
        floor = np.minimum(BIAS_DRIFT, self.bias)  # of a calibrated sensor, no more than that
        since = age_s if np.isfinite(age_s) else 0.0
        drift = np.minimum(np.multiply(self.drift, np.sqrt(since)), self.bias)
        bias = np.hypot(np.maximum(own, floor), drift)
        return replace(
            self,
            bias=(float(bias[0]), float(bias[1])),
            bias_scales=(1.0,),
            delay=min(delay, self.delay) if np.isfinite(delay) else self.delay,
        )

    def in_a_moment(self, calibration: SensorCalibration, age_s: float = 0.0) -> SensorModel:
        """Return the sensor model after a tare, for a single posture or a short motion.

        The errors that cause the residual of the tare occur in every other posture as well, where
        they can't be distinguished from a bias.

        Args:
            calibration: Calibration from the tare.
            age_s: Time since the tare [s].
        """
        tared, K = self.tared(calibration, age_s), calibration.n_postures
        # A posture has six readings, of which about two postures' determine load and bias.
        spread = np.sqrt(K / (K - 2)) if K > 2 else 1.0
        left = spread * np.sqrt(np.mean(np.square(calibration.residual_rms).reshape(2, 3), axis=1))
        return replace(tared, bias=(*np.hypot(tared.bias, left).tolist(),))

    @property
    def untared(self) -> SensorModel:
        """Sensor model without a tare: the bias is unknown and the gains are unchecked."""
        gain = max(self.gain, _UNCHECKED_GAIN)
        return replace(self, bias=_UNTARED, bias_scales=(0.01, 0.1, 1.0), gain=gain)

    def ramps(self, duration: float) -> int:
        """Return the number of linear segments that model the drift over `duration` seconds."""
        if max(self.drift) <= 0 or duration <= 0:
            return 0
        return int(np.clip(np.ceil(duration / _RAMP_S), 1, _MAX_RAMPS))

    def prior_sd(self, duration: float = 0.0) -> Array:
        """Return the standard deviations of the errors, in the order of `columns`, shape (u,)."""
        sd: list[float] = []
        if max(self.bias) > 0:
            sd += np.repeat(np.maximum(self.bias, 1e-9), 3).tolist()
        if ramps := self.ramps(duration):
            step = np.sqrt(duration / ramps) * np.repeat(np.maximum(self.drift, 1e-9), 3)
            sd += np.tile(step, ramps).tolist()
        if self.delay > 0:
            sd.append(self.delay)
        if max(self.gain, self.crosstalk) > 0:
            each = max(_SHARED * self.gain, 1e-9)
            matrix = np.full((6, 6), max(self.crosstalk, 1e-9))
            np.fill_diagonal(matrix, each)
            shared = each
            if self.force_gain is not None:
                shared, entry = np.maximum(self.force_gain, 1e-9)
                matrix[:3, :3] = entry
                matrix[3:, 3:][np.eye(3, dtype=bool)] = max(self.gain, 1e-9)
            sd += [shared, *matrix.ravel().tolist()]
        sd += [self.mounting] * 3 if self.mounting > 0 else []
        sd += [self.gravity] * 2 if self.gravity > 0 else []
        return np.array(sd)

    @property
    def hypotheses(self) -> tuple[tuple[SensorModel, float], ...]:
        """Sensor models with different sizes of the bias and its drift, the largest last, and their
        prior probabilities.
        """
        if not self.biases:
            return ((self, 1.0),)
        force, torque = self.bias
        if len(self.bias_scales) == 1:  # a large, varying bias: an aliased hum, or a cable's pull
            stale = replace(self, bias=(_STALE * force, _STALE * torque))
            drift = (_WANDERING * self.drift[0], _WANDERING * self.drift[1])
            return tuple(zip((self, stale, replace(stale, drift=drift)), _BELIEFS, strict=True))
        return tuple(
            (replace(self, bias=(scale * force, scale * torque)), 1.0 / len(self.bias_scales))
            for scale in sorted(self.bias_scales)
        )

    @property
    def biases(self) -> int:
        """Number of bias errors, which precede the other errors."""
        return 6 if max(self.bias) > 0 else 0

    def columns(
        self,
        wrench: Array,
        rate: Array,
        *,
        mass_columns: Array,
        R_WS: Array | None,
        gravity: Array,
        time: Array | None = None,
        duration: float = 0.0,
    ) -> Array:
        """Return the regressor columns of the assumed sensor errors in the wrench.

        Args:
            wrench: Wrench of the object, shape (K, 6) [N, N m].
            rate: Time derivative of the wrench, shape (K, 6) [N/s, N m/s].
            mass_columns: Derivative of the wrench with respect to the proper acceleration, shape
                (K, 6, 3).
            R_WS: Orientation of the sensor, shape (K, 3, 3); None: no columns for gravity.
            gravity: Gravity in the sensor's axes, shape (K, 3) [m/s^2].
            time: Time since the start, shape (K,) [s], for the drift; None: no drift.
            duration: Duration of the whole recording [s]; 0 for no drift.

        Returns:
            Columns, shape (K, 6, u): bias, ramps of its drift, delay, common gain, gain matrix row
            by row, mounting, gravity.
        """
        K = len(wrench)
        columns = [np.zeros((K, 6, 0))]
        if max(self.bias) > 0:
            columns.append(np.tile(np.eye(6), (K, 1, 1)))
        if (ramps := self.ramps(duration)) and time is not None:
            piece = duration / ramps
            for k in range(ramps):
                rise = np.clip((time - k * piece) / piece, 0.0, 1.0)
                columns.append(rise[:, None, None] * np.eye(6))
        if self.delay > 0:
            columns.append(-rate[:, :, None])
        if max(self.gain, self.crosstalk) > 0:
            unit = np.repeat([1.0, self.crosstalk_length], 3)
            cross = np.zeros((K, 6, 36))
            for i in range(6):
                cross[:, i, 6 * i : 6 * i + 6] = unit[i] * wrench / unit
            columns += [wrench[:, :, None], cross]
        if self.mounting > 0:
            columns.append(-np.concatenate([skew(wrench[:, :3]), skew(wrench[:, 3:])], axis=1))
        if self.gravity > 0:
            columns.append(_gravity_columns(mass_columns, R_WS, gravity))
        return np.concatenate(columns, axis=2)


def _gravity_columns(mass_columns: Array, R_WS: Array | None, gravity: Array) -> Array:
    """Tilts of gravity about two horizontal axes, shape (K, 6, 2)."""
    if R_WS is None:
        return np.zeros((len(gravity), 6, 2))
    g_W = (R_WS @ gravity[:, :, None])[:, :, 0]
    size = np.linalg.norm(g_W, axis=1)[:, None]
    across = _across(g_W / np.maximum(size, 1e-9))
    # Of the proper acceleration, in S.
    moved = -size[:, :, None] * (R_WS.transpose(0, 2, 1) @ across)
    return np.asarray(mass_columns @ moved)


def _across(up: Array) -> Array:
    """Two directions perpendicular to each of the unit vectors (K, 3), which differ by rounding
    errors, shape (K, 3, 2).

    The directions do not depend on these rounding errors, so that the mounting error has the same
    components for samples that arrive one by one.
    """
    axis = np.eye(3)[np.argmin(np.round(np.abs(up[0]), 3))]
    first = np.cross(up, axis)
    first /= np.maximum(np.linalg.norm(first, axis=1), 1e-9)[:, None]
    return np.stack([first, np.cross(up, first)], axis=2)


CALIBRATED_SENSOR = SensorModel(
    bias=(0.0, 0.0),
    drift=(0.0, 0.0),
    delay=0.0,
    gain=0.0,
    crosstalk=0.0,
    mounting=0.0,
    gravity=0.0,
)
_OF_QUALITY = {
    SensorQuality.ORDINARY: SensorModel(),
    SensorQuality.CALIBRATED: CALIBRATED_SENSOR,
}
