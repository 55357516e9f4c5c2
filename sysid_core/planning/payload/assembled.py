# SPDX-License-Identifier: Apache-2.0
"""Composition of a payload motion: tare postures, standstill, oscillation, and moves between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.planning.compose import MotionBuilder
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.payload.information import (
    log_determinant,
    payload_information,
)
from sysid_core.planning.payload.motion import (
    AMPLITUDE,
    FREQUENCY_RATIO,
    frequencies_for_speed,
    oscillation,
    wrist_columns,
)
from sysid_core.planning.trajectory import Trajectory
from sysid_core.robot import Array

MOVE_SHARE = 0.6  # of the limits, on the way from one posture to the next


def build_payload_motion(
    checker: MotionChecker,
    posture: ArrayLike,
    tare_postures: ArrayLike,
    frequencies_hz: tuple[float, float, float],
    *,
    duration: float,
    amplitude: float = AMPLITUDE,
    still: float = 1.0,
    rate_hz: float = 100.0,
    seed: int | None = None,
) -> Trajectory:
    """Payload motion: static postures, a rest, the oscillation and a rest, connected by moves.

    Args:
        checker: Checker of the robot and its limits.
        posture: Centre of the oscillation, shape (n,).
        tare_postures: Shape (N, n); N may be 0.
        frequencies_hz: Frequencies of the three wrist joints.
        duration: Duration of the oscillation with its ramps [s].
        amplitude: [rad].
        still: Duration of every still phase [s].
        rate_hz: Rate of the samples.
        seed: That the postures were drawn with.

    Returns:
        The trajectory, not checked yet.
    """
    posture = np.asarray(posture, dtype=float)
    stations = np.asarray(tare_postures, dtype=float).reshape(-1, len(posture))
    builder = MotionBuilder(
        checker, stations[0] if len(stations) else posture, rate_hz=rate_hz, share=MOVE_SHARE
    )
    for i, station in enumerate(stations):
        builder.move_to(station)
        builder.rest(still, f"tare_{i + 1}")
    builder.move_to(posture)
    builder.rest(still, "still")
    columns = wrist_columns(checker.model, checker.limits.tcp_frame)
    motion = oscillation(
        posture, columns, frequencies_hz, duration, amplitude=amplitude, rate_hz=rate_hz
    )
    builder.play(*motion, "oscillation")
    builder.rest(still, "settle")
    return builder.build(seed=seed)


@dataclass(frozen=True, eq=False)
class PayloadMotion:
    """Construction of the payload motion about a given posture; fields as in `plan_payload_motion`."""

    checker: MotionChecker
    columns: NDArray[np.intp]
    mean_angular_speed: float
    duration: float
    amplitude: float
    still: float
    rate_hz: float
    ratio: tuple[float, ...] = FREQUENCY_RATIO

    def frequencies(self, q: Array) -> tuple[float, float, float]:
        """Frequencies of the wrist joints for the given mean speed [Hz]."""
        model, frame = self.checker.model, self.checker.limits.tcp_frame
        a, b, c = self.ratio
        return frequencies_for_speed(
            model, frame, q, self.mean_angular_speed, ratio=(a, b, c), amplitude=self.amplitude
        )

    def information(self, q: Array) -> float:
        """Log-determinant of the information matrix of the oscillation about the payload."""
        _, *motion = oscillation(
            q,
            self.columns,
            self.frequencies(q),
            self.duration,
            amplitude=self.amplitude,
            rate_hz=5.0,
        )
        model, frame = self.checker.model, self.checker.limits.tcp_frame
        return log_determinant(payload_information(model, frame, *motion))

    def trajectory(self, q: Array, tare: ArrayLike, seed: int | None = None) -> Trajectory:
        """Tare postures, standstill and oscillation about a posture."""
        return build_payload_motion(
            self.checker,
            q,
            tare,
            self.frequencies(q),
            duration=self.duration,
            amplitude=self.amplitude,
            still=self.still,
            rate_hz=self.rate_hz,
            seed=seed,
        )
