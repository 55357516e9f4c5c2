# SPDX-License-Identifier: Apache-2.0
"""Common interface of all ways of playing a path.

A path may also be played as a whole by a motion guard in the control loop, which brakes along the path, or as
a stream of commands.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from sysid_core.execution.played_motion import (
    Nearest,
    Outgoing,
    PlayedMotion,
    whole_of,
)
from sysid_core.execution.states import ExecutorSettings
from sysid_core.planning import Trajectory
from sysid_core.robot import Array

BEHIND = 3.0  # how far behind its command a robot is looked for [s]


class Play(ABC):
    """Execution of a path, command by command or goal by goal.

    Attributes:
        scaling: Speed scaling of the robot, reported or estimated from its progress (1: full
            speed).
        lateness: Longest time between sending a goal and its acceptance by the controller in this
            run [s].
        under_way: True if the controller has not yet accepted a goal that was sent.
    """

    scaling = 1.0
    lateness = 0.0
    under_way = False

    @property
    @abstractmethod
    def path(self) -> Trajectory:
        """Path being played."""

    @property
    @abstractmethod
    def place(self) -> float:
        """Path parameter: the time on the path at its planned speed [s]."""

    @property
    @abstractmethod
    def at_end(self) -> bool:
        """True if the last command has been sent and the robot is at rest there."""

    @property
    def awaits_end(self) -> bool:
        """True if the whole path should have been played, and only the confirmation of the
        controller is missing.
        """
        return False

    @property
    @abstractmethod
    def at_rest(self) -> bool:
        """True if the commanded motion is at rest."""

    @property
    def knows_rest(self) -> bool:
        """True if `at_rest` is certain without a measured state of the robot."""
        return True

    @property
    def needs_speed(self) -> bool:
        """True if a paused robot would resume by itself."""
        return False

    @property
    def late(self) -> bool:
        """True if the last goal was accepted so late that the speed slider may have been moved
        meanwhile.
        """
        return False

    @property
    def last_move(self) -> Array:
        """Difference between the last two commands, shape (n,), which the robot has not followed
        yet; zero if a controller interpolates the commands.
        """
        return np.zeros(self.path.q.shape[1])

    @abstractmethod
    def command(self) -> tuple[Array, Array, Array]:
        """Return the commands q, v and a of this instant, each (n,)."""

    @abstractmethod
    def advance(self, now: float, dt: float, scaling: float | None) -> None:
        """Advance by a time step [s] with the robot's speed scaling, if known."""

    @abstractmethod
    def expected(self, stamp: float, longest: float, q: Array | None) -> Array:
        """Return the commanded posture at the time of a measured state, shape (n,).

        Args:
            stamp: Stamp of the state [s].
            longest: Largest age of a usable state [s].
            q: Measured positions, shape (n,) [rad or m]; None if they are unusable.
        """

    def outgoing(self, now: float) -> Outgoing | None:
        """Return the goal to be sent now, or None."""
        return None

    def clock(self, u: float | None, q: Array, stamp: float) -> None:
        """Take a report of the controller: its time [s] at `stamp` on the executor's clock; None: only
        the commanded position q, (n,).
        """
        return

    def finish(self) -> None:
        """Record that the controller has finished its last goal."""
        return

    @abstractmethod
    def nearest(self, q: Array, v: Array) -> Nearest:
        """Return the point of the path nearest to a state of the robot, q and v of shape (n,)."""

    @abstractmethod
    def stop(self, *, soon: bool = False, clocked: bool = True) -> None:
        """Brake along the path.

        Args:
            soon: True to brake as soon as possible; False to allow for delays, without a step.
            clocked: True if the clock is reliable.
        """

    def stop_at(self, where: Nearest, age: float) -> None:
        """Brake along the path from the position that was measured `age` seconds ago."""
        self.stop()

    def stop_from(self, q: Array, v: Array) -> None:
        """Brake from the position of the robot, which is off the path; q and v of shape (n,)."""
        self.stop()


class GoalPlay(Play):
    """Execution by a controller that receives whole trajectories and has its own motion time.

    Args:
        played: Played motion along the path.
    """

    def __init__(self, played: PlayedMotion) -> None:
        self._played = played
        self._u = self._now = 0.0  # the controller's time of the motion; the executor's clock [s]

    @property
    def path(self) -> Trajectory:
        """Path being played."""
        return self._played.path

    @property
    def place(self) -> float:
        """Path parameter: the time on the path at its planned speed [s]."""
        return self._played.place(self._u)

    def _at(self, u: float) -> tuple[Array, Array, Array]:
        """Return the commands q, v and a at a time of the controller [s], each (n,)."""
        return self._played.at(u)

    def command(self) -> tuple[Array, Array, Array]:
        """Return the commands q, v and a of the controller now, each (n,)."""
        return self._at(self._u)

    def nearest(self, q: Array, v: Array) -> Nearest:
        """Return the point of the motion nearest to a state of the robot, q and v of shape (n,)."""
        return self._played.nearest(q, v, self._u - BEHIND, self._u + 0.02)


class GuardedPlay(GoalPlay):
    """Execution of the whole path as one goal for a motion guard, which reports its progress and
    brakes along the path.

    The guard performs every stop, even if the robot does not follow its commands; a stop is
    requested by the sender of the goals and ends when the guard reports it. While it brakes, the
    velocity and acceleration commanded are those of the path.

    Args:
        path: Path that starts and ends at rest and respects the acceleration limits.
        acceleration: Acceleration limits, shape (n,) [rad/s^2 or m/s^2].
        settings: Settings for playing the path.
    """

    def __init__(self, path: Trajectory, acceleration: Array, settings: ExecutorSettings) -> None:
        super().__init__(whole_of(path, acceleration, settings.speed_scale, settings.slow_start))
        self._sent = self._begun = self._stopping = self._ended = False
        self._reported = 0.0  # progress of the last report [s]

    @property
    def at_end(self) -> bool:
        """True if the guard has played the path to its end."""
        return self._ended and not self._stopping

    @property
    def awaits_end(self) -> bool:
        """True if the guard has not yet reported the beginning of the motion, or its end although
        it is due.
        """
        begun = self._begun and self._u < self._played.duration
        return self._sent and not (begun or self._ended)

    @property
    def at_rest(self) -> bool:
        """True if the guard holds the robot."""
        return self._ended or not self._sent

    def advance(self, now: float, dt: float, scaling: float | None) -> None:
        """Advance by a time step [s]."""
        self._now = now
        if self._begun and not (self._stopping or self._ended):
            self._u = min(self._u + dt, self._played.duration)

    def expected(self, stamp: float, longest: float, q: Array | None) -> Array:
        """Return the commanded posture at the time of a measured state, shape (n,).

        A guard whose control loop was stalled is behind until its next report, at most by the time
        since the last one: the posture in this interval that is nearest to q is taken.
        """
        age = float(np.clip(self._now - stamp, 0.0, longest))
        u = max(self._u - age, 0.0) if self._begun else 0.0
        if q is not None and self._reported < u:
            u = min(self._played.nearest(q, np.zeros_like(q), self._reported, u).u, u)
        return self._played.at(u)[0]

    def outgoing(self, now: float) -> Outgoing | None:
        """Return the goal with the whole path, which is sent once."""
        if self._sent:
            return None
        self._sent = True
        return self._played.at_once(0.0, self._played.duration)

    def clock(self, u: float | None, q: Array, stamp: float) -> None:
        """Use the progress on the path [s] that the guard reported at a stamp."""
        if u is None or not self._sent or self._ended:
            return
        self._begun, self._reported = True, u
        ahead = 0.0 if self._stopping else self._now - stamp
        self._u = float(np.clip(u + ahead, 0.0, self._played.duration))

    def finish(self) -> None:
        """Record that the guard holds the robot again."""
        self._ended = True
        if not self._stopping:
            self._u = self._reported = self._played.duration

    def stop(self, *, soon: bool = False, clocked: bool = True) -> None:
        """Request a stop from the guard, which brakes immediately within the limits."""
        self._stopping = True
