# SPDX-License-Identifier: Apache-2.0
"""A piece of a path that begins and ends at rest, for a controller whose speed slider is down."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.execution.played_motion import (
    STOP_TIMES,
    PlayedMotion,
    brake,
)
from sysid_core.planning import Trajectory
from sysid_core.robot import Array

PERIOD = 0.01  # between its samples [s]
RATES = np.linspace(1.0, 0.02, 50)  # shares of the full rate that are tried, fastest first


class PlayedPiece(PlayedMotion):
    r"""The path from some place on: its rate rises, and falls again after some time.

    A controller sets its own time to the clock when it takes over a goal, and runs it at the speed
    scaling `r` afterwards. A goal that comes `dt` late so begins with a step of `(1 - r) dt |v|`,
    or `r dt |v|` where it is begun at once: nothing only for a robot that stands. So goals follow
    each other at rest, however late they come.

    Args:
        path: At rest at both ends, inside the acceleration limits.
        acceleration: Limits, shape (n,) in the path's joint order.
        speed_scale: Largest share of its speed.
        begin: Time on the path where the piece begins [s].
        lasts: The rate falls after this time, in the time of who plays it [s].
    """

    def __init__(
        self,
        path: Trajectory,
        acceleration: ArrayLike,
        speed_scale: float,
        begin: float,
        lasts: float,
    ) -> None:
        self.path = path
        self.acceleration = np.array(acceleration, dtype=float)
        self._begin, self._lasts = begin, lasts
        rise, rate = self._rise(speed_scale)
        for T in STOP_TIMES:
            rows, places, time = self._rows(rise, rate, T)
            if self._ratio(rows[2]) <= 1.0:
                break
        end = float(path.time[-1])
        last = int(np.searchsorted(places, end)) if places[-1] >= end else len(places) - 1
        rows, self._places = rows[:, : last + 1], np.minimum(places[: last + 1], end)
        rows[1:, 0] = rows[1:, -1] = 0.0
        self.motion = dataclasses.replace(
            path, time=time[: last + 1], q=rows[0], v=rows[1], a=rows[2], segments=()
        )

    def _rise(self, speed_scale: float) -> tuple[float, float]:
        """Time of the rise [s], and the rate it leads to, that keep the limits."""
        for T in STOP_TIMES[self._lasts >= STOP_TIMES]:
            if self._ratio(self._rows(T, speed_scale, 0.0)[0][2]) <= 1.0:
                return float(T), speed_scale
        for rate in speed_scale * RATES:
            if self._ratio(self._rows(self._lasts, rate, 0.0)[0][2]) <= 1.0:
                break
        return self._lasts, float(rate)

    def _rows(self, rise: float, rate: float, fall: float) -> tuple[Array, Array, Array]:
        """q, v and a (3, K, n), the places on the path and the times (K,); no fall where it is 0."""
        end = self._lasts + fall
        time = np.linspace(0.0, end, int(np.ceil(end / PERIOD)) + 1)
        x = np.clip(time / rise, 0.0, 1.0)
        way = rise * (x**3 - 0.5 * x**4) + np.clip(time - rise, 0.0, self._lasts - rise)
        share, slope = 3.0 * x**2 - 2.0 * x**3, (6.0 * x - 6.0 * x**2) / rise
        if fall > 0.0:
            y = np.clip((time - self._lasts) / fall, 0.0, 1.0)
            falling, down, steep = brake(y)
            way = way + fall * falling
            share, slope = share * down, slope + steep / fall
        places = self._begin + rate * way
        q, v, a = self.path.at(np.minimum(places, float(self.path.time[-1])))
        share, slope = rate * share[:, None], rate * slope[:, None]
        return np.stack([q, v * share, a * share**2 + v * slope]), places, time

    def _ratio(self, a: Array) -> float:
        return float(np.max(np.abs(a) / self.acceleration))
