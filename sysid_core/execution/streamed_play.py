# SPDX-License-Identifier: Apache-2.0
"""Execution of a path by a stream of commands."""

from __future__ import annotations

from collections import deque

import numpy as np

from sysid_core.execution.path_follower import PathFollower
from sysid_core.execution.play import BEHIND, Play
from sysid_core.execution.played_motion import Nearest, braking_from, nearest
from sysid_core.execution.states import ExecutorSettings
from sysid_core.planning import Trajectory
from sysid_core.robot import Array


class StreamedPlay(Play):
    """Execution by one command per time step along the path.

    Args:
        path: Path that starts and ends at rest and respects the acceleration limits.
        acceleration: Acceleration limits, shape (n,) [rad/s^2 or m/s^2].
        settings: Settings for playing the path.
    """

    def __init__(self, path: Trajectory, acceleration: Array, settings: ExecutorSettings) -> None:
        self._follower = PathFollower(path, acceleration)
        self._settings = settings
        self._stop: Trajectory | None = None  # off the path
        self._stop_time = 0.0
        self._stopping = False
        self._step = 0.0  # between the last two commands [s]
        self._last_move = np.zeros_like(self._follower.q)
        # Time, posture and velocity of the last commands.
        self._commanded: deque[tuple[float, Array, Array]] = deque(maxlen=200)

    @property
    def path(self) -> Trajectory:
        """Path being played."""
        return self._follower.trajectory

    @property
    def place(self) -> float:
        """Path parameter: the time on the path at its planned speed [s]."""
        return self._follower.s

    @property
    def at_end(self) -> bool:
        """True if all samples have been commanded."""
        return self._follower.at_end

    @property
    def at_rest(self) -> bool:
        """True if the commanded motion is at rest."""
        if self._stop is not None:
            return self._stop_time >= self._stop.duration
        return self._follower.at_end or self._follower.rate == 0.0

    @property
    def last_move(self) -> Array:
        """Difference between the last two commands, shape (n,), which the robot has not
        followed yet.
        """
        return self._last_move

    def command(self) -> tuple[Array, Array, Array]:
        """Return the commands q, v and a of this instant, each (n,)."""
        if self._stop is not None:
            return self._stop.at(self._stop_time)
        return self._follower.q, self._follower.v, self._follower.a

    def advance(self, now: float, dt: float, scaling: float | None) -> None:
        """Advance by a time step [s]; the speed scaling of the robot does not apply to a stream."""
        dt = min(dt, self._settings.longest_step)
        self._step, before = dt, self.command()[0]
        if self._stop is not None:
            self._stop_time += dt
        elif self._stopping:
            self._follower.advance(dt, 0.0)
        else:
            full, rate = self._settings.speed_scale, self._follower.rate
            self._follower.advance(dt, min(full, rate + full * dt / self._settings.slow_start))
        q, v, _ = self.command()
        self._last_move = np.abs(q - before)
        self._commanded.append((now, q, v))

    def expected(self, stamp: float, longest: float, q: Array | None) -> Array:
        """Return the commanded posture at the time of a measured state, shape (n,)."""
        while len(self._commanded) > 1 and self._commanded[1][0] <= stamp:
            self._commanded.popleft()
        if not self._commanded:
            return self._follower.q
        time, q, v = self._commanded[0]
        return np.asarray(q + min(max(stamp - time, 0.0), longest) * v)

    def nearest(self, q: Array, v: Array) -> Nearest:
        """Return the point of the path nearest to a state of the robot, q and v of shape (n,)."""
        return nearest(self.path, q, v, self.place - BEHIND, self.place)

    def stop(self, *, soon: bool = False, clocked: bool = True) -> None:
        """Brake from the present command on."""
        self._stopping = True

    def stop_at(self, where: Nearest, age: float) -> None:
        """Brake along the path from the position measured `age` seconds ago.

        The first command of the stop is the position that the robot is expected to reach within one
        time step, because a command of the measured position would cause a jerk.
        """
        self._follower.move_to(where.u, where.rate)
        self._follower.advance(age, self._follower.rate)
        self._follower.advance(self._step, 0.0)
        self._stopping = True

    def stop_from(self, q: Array, v: Array) -> None:
        """Brake from a position off the path; q and v of shape (n,)."""
        self._stop = braking_from(self.path, q, v, self._follower.acceleration)
