# SPDX-License-Identifier: Apache-2.0
"""Samples of a motion whose kinematics are computed together, and those that were used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live.online import OnlinePayload
from sysid_core.estimation.payload_map import motion_covariance
from sysid_core.robot import Array, FrameMotion, RobotModel, wrench_regressor
from sysid_core.signals.wrench import SensorCalibration, compensate

_COLUMNS = (6, 9, 12, 15, 18)  # of `SampleBlock.rows`: where the vectors after the wrench begin


@dataclass(frozen=True, eq=False)
class SampleBlock:
    """K samples, the kinematics of each as if it came alone.

    Attributes:
        stamps_ns: K stamps.
        net: Wrench of the object, shape (K, 6).
        motion: Motion of the sensor, K samples.
        covariance: Covariance of (a, omega, alpha), shape (K, 9, 9); NaN where the filter gives none.
        regressor: `wrench_regressor` of the motion, shape (K, 6, 10).
    """

    stamps_ns: list[int]
    net: Array
    motion: FrameMotion
    covariance: Array
    regressor: Array

    @classmethod
    def of(
        cls,
        model: RobotModel,
        frame: str,
        calibration: SensorCalibration,
        samples: Sequence[tuple[int, Array, Array]],
    ) -> SampleBlock:
        """From stamps, readings (6,) and joint states (6, n): position to acceleration, and their sds."""
        states = np.array([state for _, _, state in samples])
        q, v, a, sd = states[:, 0], states[:, 1], states[:, 2], states[:, 3:]
        motion = model.frame_motion(frame, q, v, a)
        known = ~np.isnan(sd).any(axis=(1, 2))
        covariance = np.full((len(samples), 9, 9), np.nan)
        if known.any():
            rows = (q[known], v[known], a[known], np.moveaxis(sd[known], 0, 1))
            covariance[known] = motion_covariance(model, frame, *rows)
        return cls(
            [stamp for stamp, _, _ in samples],
            compensate(np.array([wrench for _, wrench, _ in samples]), motion, calibration),
            motion,
            covariance,
            wrench_regressor(motion.a, motion.omega, motion.alpha),
        )

    def feed(self, online: OnlinePayload, k: int, origin_ns: int) -> None:
        """Give sample k to an estimator whose time begins at a stamp.

        Raises:
            EstimationError: It can't be used.
        """
        motion, covariance = self.motion, self.covariance[k]
        online.update(
            (self.stamps_ns[k] - origin_ns) * 1e-9,
            self.net[k],
            motion.omega[k],
            motion.alpha[k],
            motion.a[k],
            motion.gravity[k],
            None if np.isnan(covariance[0, 0]) else covariance,
            motion.R_WF[k],
            regressor=self.regressor[k],
        )

    @property
    def rows(self) -> Array:
        """Wrench, acceleration, angular velocity and acceleration, gravity, orientation, (K, 27)."""
        m = self.motion
        vectors = (self.net, m.a, m.omega, m.alpha, m.gravity)
        return np.hstack([*vectors, m.R_WF.reshape(-1, 9)])


def data_of(used: Sequence[tuple[int, Array]]) -> PayloadData:
    """Used samples, each a stamp and a row of `SampleBlock.rows`, for other estimators."""
    stamps = np.array([stamp for stamp, _ in used])
    rows = np.array([row for _, row in used])
    net, a, omega, alpha, gravity, R_WS = np.split(rows, _COLUMNS, axis=1)
    time = (stamps - stamps[0]) * 1e-9
    return PayloadData(time, net, a, omega, alpha, gravity, R_WS=R_WS.reshape(-1, 3, 3))
