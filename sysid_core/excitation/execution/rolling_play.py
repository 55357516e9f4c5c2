# SPDX-License-Identifier: Apache-2.0
"""Having a robot play a path goal by goal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.excitation.execution.lateness import Lateness
from sysid_core.excitation.execution.played_motion import (
    Nearest,
    PlayedMotion,
    braking_from,
)
from sysid_core.excitation.execution.states import ExecutorSettings
from sysid_core.excitation.trajectory import Trajectory
from sysid_core.robot import Array

OVERLAP = 0.1  # that a goal reaches into the past [s]
MOVING = 0.1  # [rad/s] of a joint that says where on its path a robot is
STEADY = 0.98  # speed scaling of a robot that plays as fast as it is told
BEHIND = 3.0  # how far behind its command a robot is looked for [s]


@dataclass(frozen=True, eq=False)
class Outgoing:
    """A goal for a controller that takes whole trajectories.

    Attributes:
        trajectory: It ends at rest.
        begin: When its first sample is due, on the executor's clock [s]; None: at once.
        origin: The motion's time of its first sample [s].
    """

    trajectory: Trajectory
    begin: float | None
    origin: float


class RollingPlay:
    """Goals that replace each other, each of which ends at rest soon after the next one is due.

    Whoever loses this process has a robot that stands after `horizon` and its stopping time. A goal
    repeats the last points of the one before at the same times, so that a controller goes over
    without a step, wherever it is in between. The time runs as the robot's does: `clock` says how
    far the controller is.

    Args:
        path: At rest at both ends, inside the acceleration limits.
        acceleration: Limits, shape (n,).
        settings: How to play it.
    """

    def __init__(self, path: Trajectory, acceleration: Array, settings: ExecutorSettings) -> None:
        self._played = PlayedMotion(path, acceleration, settings.speed_scale, settings.slow_start)
        self._settings = settings
        self._u = self._planned = 0.0  # the controller's time; what it would be at full speed
        self._scaling, self._told = 1.0, True
        self._sent_at: float | None = None
        self._now = 0.0
        self._covered = 0.0  # until here the last goal is the motion
        self._stop: tuple[Trajectory, float] | None = None  # and how long it takes from now on
        self._last: Outgoing | None = None
        self._stop_unsent: Outgoing | None = None
        self._stop_time = 0.0
        self._lateness = Lateness()
        self._clock: tuple[float, float] | None = None  # the controller's last word, and its stamp
        self._clock_rate = 1.0

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
        return self._played.place(self._u)

    @property
    def at_end(self) -> bool:
        """Whether the controller has played all."""
        return self._u >= self._played.duration

    @property
    def at_rest(self) -> bool:
        """Whether nothing moves by command."""
        if self._stop is not None:
            return self._stop_time >= self._stop[1]
        return self.at_end or self._sent_at is None

    @property
    def ran_out(self) -> bool:
        """Whether the controller has begun to brake since no goal came in time."""
        return (
            self._stop is None
            and self._sent_at is not None
            and self._covered < self._played.duration
            and self._u > self._covered
        )

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
        return self._played.at(self._u)

    def advance(self, now: float, dt: float, scaling: float | None) -> None:
        """Go on by a time step [s] with the robot's speed scaling, where it says one."""
        if scaling is None and self._settings.clocked:
            scaling = self._clock_rate
        self._now, self._told = now, scaling is not None
        if scaling is not None or self._stop is None:
            self._scaling = 1.0 if scaling is None else scaling
        if self._stop is not None:
            self._stop_time += dt * self._scaling
        elif self._sent_at is not None:
            self._u = min(self._u + dt * self._scaling, self._played.duration)
            self._planned = self._u if self._told else self._planned + dt

    def clock(self, u: float, stamp: float) -> None:
        """Take over the controller's own time [s], as it was at a stamp on the executor's clock."""
        if self._stop is not None or self._sent_at is None:
            return
        before, self._clock = self._clock, (u, stamp)
        if before is not None and 0.02 < stamp - before[1] < 0.5:
            rate = float(np.clip((u - before[0]) / (stamp - before[1]), 0.0, 1.0))
            rate = 0.5 * (rate + self._clock_rate)
            self._clock_rate = 1.0 if rate > STEADY else rate
        u += self._scaling * min(max(self._now - stamp, -0.2), 0.2)
        self._u = self._planned = min(max(u, 0.0), self._played.duration)

    def clock_by(self, q: Array, stamp: float) -> None:
        """The same from what the controller commanded then, (n,), where it doesn't say its time."""
        u = self._u - self._scaling * (self._now - stamp)
        if np.max(np.abs(self._played.at(u)[1])) > MOVING:
            near = self._played.nearest(q, self._played.at(u)[1], u - 0.5, u + 0.5)
            if near.distance < 1e-3:
                self.clock(near.u, stamp)

    def expected(self, stamp: float, longest: float) -> Array:
        """Posture that was commanded when a state was measured, shape (n,)."""
        age = min(max(self._now - stamp, 0.0), longest) * self._scaling
        if self._stop is not None:
            return self.command()[0]
        return self._played.at(max(self._planned - age, 0.0))[0]

    def outgoing(self, now: float) -> Outgoing | None:
        """The goal that is due, or None."""
        if self._stop_unsent is not None:
            out, self._stop_unsent = self._stop_unsent, None
            return out
        settings, end = self._settings, self._played.duration
        if self._stop is not None or not self._is_due(now):
            return None
        if self._told:
            self._covered = min(self._u + max(self._scaling, 0.05) * settings.horizon, end)
        else:  # where the controller is can't be known: it gets all at once, and only once
            self._covered = end
        self._last = self._goal(now, self._covered)
        self._sent_at = now
        return self._last

    def _is_due(self, now: float) -> bool:
        """Whether to send a goal now.

        A controller that plays slower takes over a goal with a step of as much as the time is
        uncertain: then it is sent where the motion is slowest.
        """
        resend = self._settings.resend
        if self._sent_at is None:
            return True
        age = now - self._sent_at
        if self._covered >= self._played.duration or age < resend:
            return False
        left = 0.7 * self._settings.horizon - age
        if self._scaling > STEADY or left <= 0.0:
            return True
        times = self._u + np.linspace(0.0, 1.0, 9) * left * self._scaling
        speeds = np.max(np.abs(self._played.at(times)[1]), axis=1)
        return bool(speeds[0] <= speeds.min() * 1.05)

    def _goal(self, now: float, until: float, *, timed: bool = True) -> Outgoing:
        """The motion until some time, then a stop; timed so that it goes on where it is."""
        settings, u = self._settings, self._u
        # Until the goal arrives the old one goes on at the robot's speed, then the new one's time
        # is the clock's.
        arrival = settings.latency * (1.0 - self._scaling)
        if not timed or self._scaling < 0.5:  # then it is surer to begin at once
            trajectory = self._played.goal(u + settings.latency * self._scaling, until, exact=True)
            return Outgoing(trajectory, None, float(trajectory.time[0]))
        trajectory = self._played.goal(u - OVERLAP, until)
        origin = float(trajectory.time[0])
        return Outgoing(trajectory, now + (origin - u) + arrival, origin)

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

    def stop(self, *, timed: bool = True) -> None:
        """Brake along the path as soon as a goal can be there.

        Args:
            timed: Whether the clock can be trusted to say when that is.
        """
        lead = self._settings.stop_lead * self._scaling
        goal = self._goal(self._now, self._u + lead, timed=timed)
        self._brake(goal, float(goal.trajectory.time[-1]) - self._u)

    def stop_without_clock(self) -> None:
        """Let the last goal come to its own end, or brake at once where that is the motion's."""
        if self._last is None or self._covered >= self._played.duration:
            self.stop(timed=False)
            return
        self._stop = (self._last.trajectory, float(self._last.trajectory.time[-1]) - self._u)
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
