# SPDX-License-Identifier: Apache-2.0
"""Tare of a sensor from the lightest part of a recording in which the load changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live.online import NOTICED_S, SETTLED, ChangeDetector
from sysid_core.estimation.payload_map import SensorModel
from sysid_core.estimation.payload_map.misfit import white_noise_sd
from sysid_core.reasons import Reason
from sysid_core.robot import Array
from sysid_core.signals.wrench import SensorCalibration, WrenchConvention, learned_noise

_LIKELY = 3.0  # standard deviations
_MASS, _LENGTH = WrenchConvention.LARGE_LOAD  # before any data
_LOAD = _MASS * np.array([1.0, *[_LENGTH] * 3, *[_LENGTH**2] * 6])


@dataclass(frozen=True, eq=False)
class PartTare:
    """Bias and load of the lightest part of a recording, to which the other parts are compared.

    Attributes:
        calibration: Bias, and the load of this part as a tool to subtract. Its covariance is that of
            this part's wrench, predicted for the motion of the whole recording.
        span_s: First and last time of this part [s].
        age_s: Time from this part to the farther end of the recording [s].
        masses: Masses of the parts, with an unknown bias in common, shape (P,) [kg].
        tells_sign: True if with the opposite sign of the wrench a mass would be negative.
    """

    calibration: SensorCalibration
    span_s: tuple[float, float]
    age_s: float
    masses: Array
    tells_sign: bool

    @property
    def note(self) -> str:
        """Sentence on the tare."""
        first, last = self.span_s
        return f"The load changes: the sensor was tared with the lightest part, from {first:.1f} to {last:.1f} s."

    @property
    def ambiguous(self) -> Reason:
        """Failure because sign or axes of the wrench are unknown."""
        spread = float(np.ptp(self.masses))
        return Reason.failure("wrench-ambiguous", masses=f"{spread:.2g}, {-spread:.2g}")

    @classmethod
    def of(cls, data: PayloadData, frame: str) -> PartTare | None:
        """Return the tare of a recording; None if the load does not change.

        Args:
            data: Wrenches with an unknown bias, in the axes of the sensor.
            frame: Name of the sensor's frame.
        """
        changes = load_changes(data)
        ends = np.searchsorted(data.time, data.time[changes] - NOTICED_S)
        parts = [slice(a, b) for a, b in zip([0, *changes], [*ends, len(data)], strict=True)]
        values, C = _linear(data, parts)
        mass, sd = values[6::10], np.sqrt(np.diag(C)[6::10])
        real = mass > -_LIKELY * sd  # less than nothing is a contact, or another sign
        if not real.any():
            return None
        k, heaviest = int(np.argmin(np.where(real, mass, np.inf))), int(np.argmax(mass))
        between = np.zeros(len(values))
        between[[6 + 10 * heaviest, 6 + 10 * k]] += [1.0, -1.0]
        if not mass[heaviest] - mass[k] > _LIKELY * np.sqrt(between @ C @ between):
            return None
        tells_sign = bool(np.any(mass > _LIKELY * sd))
        values, C = _linear(data, [parts[k]])
        X = _columns(data)
        covariance = np.zeros((10, 10))
        covariance[4:, 4:] = np.mean(X @ C @ X.transpose(0, 2, 1), axis=0)
        calibration = SensorCalibration(
            frame, values[:6], np.zeros(4), covariance, tool_pi=values[6:]
        )
        first, last = data.time[parts[k]][[0, -1]].tolist()
        age_s = max(first - float(data.time[0]), float(data.time[-1]) - last)
        return cls(calibration, (first, last), age_s, mass, tells_sign)


def load_changes(data: PayloadData) -> list[int]:
    """Return the indices of the samples at which a change of the load was detected.

    Load and bias are estimated by recursive least squares that start anew after each change. The
    sign of the wrench does not matter.

    Args:
        data: Wrenches with an unknown bias.
    """
    X, noise, found, first = _columns(data), white_noise_sd(data.wrench), [], 0
    prior = np.diag(_prior_sd(1) ** -2.0)
    H, g, detector = prior, np.zeros(16), ChangeDetector(noise)
    for k, (A, b) in enumerate(zip(X, data.wrench, strict=True)):
        if k - first >= SETTLED:
            C = np.linalg.inv(H)
            predicted, sd = A @ C @ g, np.sqrt(np.einsum("ij,jk,ik->i", A, C, A))
            if detector.update(float(data.time[k]), b - predicted, predicted, sd):
                found.append(k)
                H, g, detector, first = prior, np.zeros(16), ChangeDetector(noise), k
        W = A / noise[:, None]
        H, g = H + W.T @ W, g + W.T @ (b / noise)
    return found


def _linear(data: PayloadData, parts: Sequence[slice]) -> tuple[Array, Array]:
    """Least squares of the bias, and of a load (10,) for each part; and the covariance, for the
    noise that the residual shows.
    """
    X, size = _columns(data), 6 + 10 * len(parts)
    floor = white_noise_sd(data.wrench)
    noise = floor
    for _ in range(2):  # the noise is that of the first fit's residual
        H, g = np.diag(_prior_sd(len(parts)) ** -2.0), np.zeros(size)
        at = [np.r_[:6, 6 + 10 * k : 16 + 10 * k] for k in range(len(parts))]
        for columns, rows in zip(at, parts, strict=True):
            W = (X[rows] / noise[:, None]).reshape(-1, 16)
            H[np.ix_(columns, columns)] += W.T @ W
            g[columns] += W.T @ (data.wrench[rows] / noise).ravel()
        C = np.linalg.inv(H)
        values = C @ g
        left = [data.wrench[r] - X[r] @ values[c] for c, r in zip(at, parts, strict=True)]
        noise = learned_noise(np.concatenate(left), floor)
    return values, C


def _columns(data: PayloadData) -> Array:
    return np.concatenate([np.tile(np.eye(6), (len(data), 1, 1)), data.regressor], axis=2)


def _prior_sd(loads: int) -> Array:
    return np.concatenate([np.repeat(SensorModel().untared.bias, 3), np.tile(_LOAD, loads)])
