# SPDX-License-Identifier: Apache-2.0
"""Execution of a whole path by a motion guard in the control loop, which also brakes along the
path.
"""

from __future__ import annotations

import numpy as np

from sysid_core.execution.goals import Outgoing, at_once
from sysid_core.execution.play import BEHIND, Play
from sysid_core.execution.played_motion import Nearest, whole_of
from sysid_core.execution.states import ExecutorSettings
from sysid_core.planning import Trajectory
from sysid_core.robot import Array


class GuardedPlay(Play):
    """Execution of the whole path as one goal for a motion guard, which reports its progress and
    brakes along the path.

    A stop, also of a robot that doesn't follow, is the guard's: it is asked for by whoever sends the
    goals, and ends when the guard says so.

    Args:
        path: At rest at both ends, inside the acceleration limits.
        acceleration: Limits, shape (n,).
        settings: How to play it.
    """

    def __init__(self, path: Trajectory, acceleration: Array, settings: ExecutorSettings) -> None:
        self._played = whole_of(path, acceleration, settings.speed_scale, settings.slow_start)
        self._u = self._now = 0.0  # the guard's time of the motion; the executor's clock [s]
        self._sent = self._begun = self._stopping = self._ended = False

    @property
    def path(self) -> Trajectory:
        """Path being played."""
        return self._played.path

    @property
    def place(self) -> float:
        """Time on the path [s]."""
        return self._played.place(self._u)

    @property
    def at_end(self) -> bool:
        """True if the guard has played the path to its end."""
        return self._ended and not self._stopping

    @property
    def at_rest(self) -> bool:
        """True if the guard holds the robot."""
        return self._ended or not self._sent

    @property
    def last_move(self) -> Array:
        """Zero, shape (n,): the commands of the guard have no steps."""
        return np.zeros_like(self._played.acceleration)

    def command(self) -> tuple[Array, Array, Array]:
        """Commands q, v and a of the guard now, each (n,); while it brakes, v and a are those of
        the path.
        """
        return self._played.at(self._u)

    def advance(self, now: float, dt: float, scaling: float | None) -> None:
        """Advance by a time step [s]."""
        self._now = now
        if self._begun and not (self._stopping or self._ended):
            self._u = min(self._u + dt, self._played.duration)

    def expected(self, stamp: float, longest: float, q: Array | None) -> Array:
        """Commanded posture at the time of a measured state, shape (n,)."""
        age = float(np.clip(self._now - stamp, 0.0, longest))
        return self._played.at(max(self._u - age, 0.0) if self._begun else 0.0)[0]

    def outgoing(self, now: float) -> Outgoing | None:
        """Goal with the whole path, which is sent once."""
        if self._sent:
            return None
        self._sent = True
        return at_once(self._played, 0.0, self._played.duration)

    def clock(self, u: float, stamp: float) -> None:
        """Use the progress on the path [s] that the guard reported at a stamp."""
        if not self._sent or self._ended:
            return
        self._begun = True
        ahead = 0.0 if self._stopping else self._now - stamp
        self._u = float(np.clip(u + ahead, 0.0, self._played.duration))

    def finish(self) -> None:
        """Record that the guard holds the robot again."""
        self._ended = True
        if not self._stopping:
            self._u = self._played.duration

    def nearest(self, q: Array, v: Array) -> Nearest:
        """Point of the motion nearest to a state of the robot, q and v of shape (n,)."""
        return self._played.nearest(q, v, self._u - BEHIND, self._u + 0.02)

    def stop(self, *, soon: bool = False, clocked: bool = True) -> None:
        """Request a stop from the guard, which brakes immediately within the limits."""
        self._stopping = True

    def stop_at(self, where: Nearest, age: float) -> None:
        """Request a stop from the guard."""
        self._stopping = True

    def stop_from(self, q: Array, v: Array) -> None:
        """Request a stop from the guard."""
        self._stopping = True
