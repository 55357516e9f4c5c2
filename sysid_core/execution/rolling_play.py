# SPDX-License-Identifier: Apache-2.0
"""Having a robot play a path goal by goal."""

from __future__ import annotations

import numpy as np

from sysid_core.execution.goals import ControllerClock, Outgoing, at_once, timed
from sysid_core.execution.lateness import Lateness
from sysid_core.execution.played_motion import (
    Nearest,
    PlayedMotion,
    braking_from,
)
from sysid_core.execution.played_piece import PlayedPiece
from sysid_core.execution.states import ExecutorSettings
from sysid_core.planning import Trajectory
from sysid_core.robot import Array

MOVING = 0.1  # [rad/s] of a joint that says where on its path a robot is
STEADY = 0.995  # speed scaling of a robot that plays as fast as it is told
SPEAKS = 1.0  # within which a controller that says its time begins to [s]
LEAD = 0.25  # before a motion begins on a controller that doesn't [s]
IN_TIME = 0.25  # share of the horizon that a goal may be late
LEAST = 0.25  # speed scaling below which a robot stands later when nobody sends
BEHIND = 3.0  # how far behind its command a robot is looked for [s]


class RollingPlay:
    """Goals that replace each other, each of which ends at rest soon after the next one is due.

    Whoever loses this process has a robot that stands after `horizon` and its stopping time. A goal
    repeats the last points of the one before at the same times, so that a controller goes over
    without a step, wherever it is in between. The time runs as the robot's does: `clock` says how
    far the controller is. Where it runs slower than commanded, no goal replaces one that moves:
    each comes to its own rest, and the motion goes on from there (`PlayedPiece`).

    Args:
        path: At rest at both ends, inside the acceleration limits.
        acceleration: Limits, shape (n,).
        settings: How to play it.
        scaling: Speed scaling of the robot, as far as it is known.
        begin: Time on the path where it begins, at rest [s].
    """

    def __init__(
        self,
        path: Trajectory,
        acceleration: Array,
        settings: ExecutorSettings,
        scaling: float = 1.0,
        begin: float = 0.0,
    ) -> None:
        speed = settings.speed_scale
        self._played: PlayedMotion = (
            PlayedMotion(path, acceleration, speed, settings.slow_start, begin)
            if scaling > STEADY
            else PlayedPiece(
                path, acceleration, speed, begin, max(scaling, LEAST) * settings.horizon
            )
        )
        self._settings = settings
        self._u = self._planned = 0.0  # the controller's time; what it would be at full speed
        self._scaling, self._told = scaling, True
        self._finished = False  # whether the controller has said that it is at the last goal's end
        self._rests = False  # whether the last goal comes to its end, short of the motion's
        self._sent_at: float | None = None
        self._now = 0.0
        self._covered = 0.0  # until here the last goal is the motion
        self._stop: tuple[Trajectory, float] | None = None  # and how long it takes from now on
        self._last: Outgoing | None = None
        self._stop_unsent: Outgoing | None = None
        self._stop_time = 0.0
        self._lateness = Lateness()
        self._clock = ControllerClock(scaling)

    @property
    def path(self) -> Trajectory:
        """What is played."""
        return self._played.path

    @property
    def scaling(self) -> float:
        """Speed scaling of the robot, as it says itself or as it plays."""
        return self._scaling

    @property
    def place(self) -> float:
        """Time on the path [s]."""
        if self._rests:  # a stop goes half as far as the motion would
            return self._played.place(0.5 * (self._u + self._covered))
        return self._played.place(self._u)

    @property
    def at_end(self) -> bool:
        """Whether the controller has played all that it gets from this play, and stands."""
        return self._u >= self._end and (self._finished or not self._settings.clocked)

    @property
    def at_rest(self) -> bool:
        """Whether nothing moves by command."""
        if self._stop is not None:
            return self._stop_time >= self._stop[1]
        return self.at_end or self._sent_at is None

    @property
    def _end(self) -> float:
        """The controller's time at which it stands [s]."""
        last = self._last if self._rests else None
        return self._played.duration if last is None else last.ends

    @property
    def may_replace(self) -> bool:
        """Whether a goal may replace one that moves, without a step however late it comes."""
        return not self._told or self._scaling > STEADY

    @property
    def last_move(self) -> Array:
        """Nothing, shape (n,): the controller's commands have no steps."""
        return np.zeros_like(self._played.acceleration)

    def command(self) -> tuple[Array, Array, Array]:
        """q, v and a that the controller commands now, each (n,)."""
        if self._stop is not None:
            trajectory, left = self._stop
            first = float(trajectory.time[-1]) - left
            return trajectory.at(first + self._stop_time)
        return self._at(self._u)

    def _at(self, u: float) -> tuple[Array, Array, Array]:
        if self._rests and self._last is not None and u > self._covered:
            return self._last.trajectory.at(u)
        return self._played.at(u)

    def advance(self, now: float, dt: float, scaling: float | None) -> None:
        """Go on by a time step [s] with the robot's speed scaling, where it says one."""
        if scaling is None and self._settings.clocked:
            scaling = self._clock.rate
        self._now, self._told = now, scaling is not None
        if scaling is not None or self._stop is None:
            self._scaling = 1.0 if scaling is None else scaling
        if self._stop is not None:
            self._stop_time += dt * self._scaling
        elif self._sent_at is not None and not self._waits:
            self._u = min(self._u + dt * self._scaling, self._end)
            over = self._covered < min(self._u, self._played.duration)
            self._rests |= over and self._told
            self._planned = self._u if self._told else self._planned + dt

    def clock(self, u: float, stamp: float) -> None:
        """Take over the controller's own time [s], as it was at a stamp on the executor's clock."""
        if self._stop is not None or self._sent_at is None:
            return
        self._clock.take(u, stamp)
        u += self._scaling * (self._now - stamp)  # a step may be due for long on a busy machine
        self._rests = self._rests and u > self._covered
        self._u = self._planned = min(max(u, 0.0), self._end)

    def finish(self) -> None:
        """The controller has played its last goal to the end."""
        if self._stop is None and self._sent_at is not None:
            self._rests = self._covered < self._played.duration
            self._u = self._planned = self._end
            self._finished = True

    def clock_by(self, q: Array, stamp: float) -> None:
        """The same from what the controller commanded then, (n,), where it doesn't say its time."""
        if self._waits:  # has it left the start?
            near = self._played.nearest(q, np.zeros_like(q), 0.0, SPEAKS)
            if near.distance < 1e-3 and near.u > 0.02:
                self.clock(near.u, stamp)
            return
        u = self._u - self._scaling * (self._now - stamp)
        if not self._rests and np.max(np.abs(self._played.at(u)[1])) > MOVING:
            near = self._played.nearest(q, self._played.at(u)[1], u - 0.5, u + 0.5)
            if near.distance < 1e-3:
                self.clock(near.u, stamp)

    def expected(self, stamp: float, longest: float, q: Array | None = None) -> Array:
        """Posture that was commanded when a state was measured, shape (n,).

        Args:
            stamp: Stamp of the state [s].
            longest: Largest age of a state that counts [s].
            q: The state, shape (n,); as long as the controller hasn't said its time, the nearest
                posture of its goal is taken for the one commanded.
        """
        unheard = self._settings.clocked and not (self._clock.spoken or self._finished)
        if q is not None and unheard and self._stop is None:
            near = self._played.nearest(q, np.zeros_like(q), 0.0, self._covered)
            return self._played.at(near.u)[0]
        age = min(max(self._now - stamp, 0.0), longest) * self._scaling
        if self._stop is not None:
            return self.command()[0]
        return self._at(max(self._planned - age, 0.0))[0]

    def outgoing(self, now: float) -> Outgoing | None:
        """The goal that is due, or None."""
        if self._stop_unsent is not None:
            out, self._stop_unsent = self._stop_unsent, None
            return out
        if self._stop is not None or not self._is_due(now):
            return None
        first, self._sent_at, self._finished = self._sent_at is None, now, False
        self._last = self._first_goal(now) if first else self._next_goal(now)
        return self._last

    @property
    def _waits(self) -> bool:
        """Whether the first goal may be on its way yet: who plays it will say that it plays."""
        waited = 0.0 if self._sent_at is None else self._now - self._sent_at
        return self._settings.clocked and not self._clock.spoken and waited < SPEAKS

    @property
    def _knows(self) -> bool:
        """Whether the time of who plays is known, whenever a goal comes there."""
        spoken = self._clock.spoken or not self._settings.clocked
        return spoken and self._scaling > STEADY

    def _is_due(self, now: float) -> bool:
        """Whether to send a goal now; a robot whose time isn't known gets one only where it stands."""
        if self._sent_at is None:
            return True
        if self._rests or self._covered >= self._played.duration or not self._knows:
            return False
        # One that is sent as the last one ends could find a robot that brakes already.
        in_time = self._covered - self._u > IN_TIME * self._settings.horizon
        return in_time and now - self._sent_at >= self._settings.resend

    def _first_goal(self, now: float) -> Outgoing:
        """The robot stands: the goal begins when it comes, unless only its stamp says its time."""
        if not self._told:  # where it is can't be known: it gets all, and only once
            self._covered = self._played.duration
            return self._goal(now, self._covered)
        if isinstance(self._played, PlayedPiece):
            self._covered = self._played.duration
            return at_once(self._played, 0.0, self._covered)
        if self._settings.clocked:
            self._covered = self._played.brakes_from(self._scaling * self._settings.horizon)
            return at_once(self._played, 0.0, self._covered)
        self._u = -LEAD
        return self._next_goal(now)

    def _next_goal(self, now: float) -> Outgoing:
        until = self._u + self._scaling * self._settings.horizon
        self._covered = self._played.brakes_from(until)
        return self._goal(now, self._covered)

    def _goal(self, now: float, until: float, *, on_time: bool = True) -> Outgoing:
        """The motion until some time, then a stop; timed so that it goes on where it is."""
        latency, scaling, u = self._settings.latency, self._scaling, self._u
        if not on_time or scaling < 0.5:  # then it is surer to begin at once
            return at_once(self._played, u + latency * scaling, until)
        # Until the goal arrives the old one goes on at the robot's speed, then the new one's time
        # is the clock's.
        return timed(self._played, u, until, now + latency * (1.0 - scaling))

    def nearest(self, q: Array, v: Array) -> Nearest:
        """Where on the motion a robot in some state is, q and v of shape (n,)."""
        return self._played.nearest(q, v, self._u - BEHIND, self._u + 0.02)

    def see(self, q: Array, v: Array, stamp: float) -> None:
        """Learn from a state (n,) measured at a stamp by how much the robot follows late."""
        speed = float(np.max(np.abs(self._played.at(self._planned)[1])))
        if speed > MOVING and self._stop is None:
            where = self.nearest(q, v)
            planned = self._planned - self._scaling * (self._now - stamp)
            self._lateness.add(self._planned, planned - where.u)

    def stop(self, *, on_time: bool = True) -> None:
        """Brake along the path as soon as a goal can be there.

        Args:
            on_time: Whether the clock can be trusted to say when that is.
        """
        if self._rests:
            self.stop_without_clock()
            return
        lead = self._settings.stop_lead * self._scaling
        goal = self._goal(self._now, self._u + lead, on_time=on_time)
        self._brake(goal, goal.ends - self._u)

    def stop_without_clock(self) -> None:
        """Let the last goal come to its own end, or brake at once where that may be far off."""
        if self._last is None or not self._told:
            self.stop(on_time=False)
            return
        self._stop = (self._last.trajectory, self._last.ends - self._u)
        self._stop_time = 0.0

    def stop_at(self, where: Nearest, age: float) -> None:
        """Brake along the path from where the robot is, as measured some time ago [s]."""
        lag = max(self._lateness.at_start, 0.0)
        self._u = min(where.u + lag + where.rate * age, self._played.duration)
        self._scaling = min(where.rate, 1.0)
        self.stop()

    def stop_from(self, q: Array, v: Array) -> None:
        """Brake from where the robot is, off the path; q and v of shape (n,)."""
        trajectory = braking_from(self.path, q, v, self._played.acceleration)
        self._brake(Outgoing(trajectory, None, 0.0), trajectory.duration)

    def _brake(self, goal: Outgoing, left: float) -> None:
        self._stop, self._stop_unsent, self._stop_time = (goal.trajectory, left), goal, 0.0
