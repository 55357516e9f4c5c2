# SPDX-License-Identifier: Apache-2.0
"""Execution of a path goal by goal."""

from __future__ import annotations

import dataclasses

import numpy as np

from sysid_core.execution.play import GoalPlay
from sysid_core.execution.played_motion import Nearest, Outgoing, braking_from, piece_of, whole_of
from sysid_core.execution.states import ExecutorSettings
from sysid_core.planning import Trajectory
from sysid_core.robot import Array

SHORTEST = 0.02  # between two reports whose rate is taken [s]; they come every 0.05 s
STEADY = 0.995  # speed scaling of a robot that plays as fast as it is told
MOVING = 0.1  # [rad/s] of a joint that says where on its path a robot is
PLACE_ERROR = 1e-4  # of a place on the path where quintics follow the slow start [rad]
SPEAKS = 1.0  # within which a controller that says its time begins to [s]
LEAD = 0.25  # before a motion begins on a controller that doesn't [s]
IN_TIME = 0.7  # share of the horizon that a goal may be late; the rest is for the executor's stalls
LATE = 0.03  # that goals may be if a slider may be moved from 100 to 30 % in 0.5 s meanwhile [s]
LEAST = 0.25  # speed scaling below which a robot stands later when nobody sends


class ControllerClock:
    """Estimate of the controller's motion time.

    The rate of this time is measured between two reports on the same goal. Over several goals, any
    rate would appear to be 1, because the controller sets its time to the clock whenever it accepts
    a goal.

    Args:
        rate: Initially assumed speed scaling of the controller, 0 to 1.

    Attributes:
        spoken: True if the controller has already reported its time.
        measured: True if the controller's time is known, from reports or (at full rate) from a
            topic.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.spoken = self.measured = False
        self._first: tuple[float, float] | None = None  # time and stamp of this goal's first report

    def begin_goal(self) -> None:
        """Start a new goal, to which all further reports belong; the speed slider may have been
        moved.
        """
        self._first, self.measured = None, False

    def take(self, u: float, stamp: float, error: float = 0.0) -> None:
        """Use a reported controller time [s] at a stamp on the executor's clock [s], with its
        uncertainty [s].
        """
        self.spoken = True
        if self._first is None:
            self._first = u, stamp
            return
        span = stamp - self._first[1]
        if span < SHORTEST:
            return
        rate, doubt = float(np.clip((u - self._first[0]) / span, 0.0, 1.0)), 2.0 * error / span
        self.rate = 1.0 if rate > STEADY - doubt else rate
        self.measured = self.measured or doubt <= 1.0 - STEADY


class RollingPlay(GoalPlay):
    """Execution by overlapping goals. Each goal ends at rest, soon after the time at which the next
    goal is to replace it.

    If this process ends, the robot is at rest after `horizon` plus its stopping time. Each goal
    repeats the last points of the previous goal at the same times, so that the controller changes
    goals without a step. The motion time is that of the controller, which reports its progress to
    `clock`. If the controller is slower than commanded, no goal replaces a moving one: each comes
    to rest, and the motion continues from there (`piece_of`).

    For a stop, the current goal is played to its end, so that no late message matters. Only if a
    limit is exceeded, a goal that brakes earlier replaces it; it is sent when all earlier goals have
    been accepted, because it cannot overtake them and their lateness is known only then.

    Args:
        path: Path that starts and ends at rest and respects the acceleration limits.
        acceleration: Acceleration limits, shape (n,) [rad/s^2 or m/s^2].
        settings: Settings for playing the path.
        scaling: Speed scaling of the robot, if known.
        begin: Path time at which the execution begins, at rest [s].
        late: True if the last goal was accepted so late that the speed slider may have been moved
            meanwhile.
    """

    def __init__(
        self,
        path: Trajectory,
        acceleration: Array,
        settings: ExecutorSettings,
        scaling: float = 1.0,
        begin: float = 0.0,
        late: bool = False,
    ) -> None:
        speed = settings.speed_scale
        self._whole = scaling > STEADY and not late  # else a piece, which comes to rest on its own
        super().__init__(
            whole_of(path, acceleration, speed, settings.slow_start, begin)
            if self._whole
            else piece_of(path, acceleration, speed, begin, max(scaling, LEAST) * settings.horizon)
        )
        self._settings, self.scaling, self._told = settings, scaling, True
        self._goal: Outgoing | None = None  # what the controller plays
        self._covered = 0.0  # until here it is the motion, then a stop [s]
        self._sent_at: float | None = None
        self._trip = 0.0  # of the last goal to the controller, so far [s]
        self._unsent: Outgoing | None = None  # a stop
        self._stopping = self._finished = False  # no goal follows; the last one was played
        self._hurries = False  # to brake before the end of its goal
        self._untold = self._fresh = False  # no topic says the scaling; a report has just come
        self._clock = ControllerClock(scaling)

    @property
    def place(self) -> float:
        """Path parameter: the time on the path at its planned speed [s]."""
        if self._rests:  # a stop goes half as far as the motion would
            return self._played.place(0.5 * (self._u + self._covered))
        return self._played.place(self._u)

    @property
    def at_end(self) -> bool:
        """True if the controller has played all goals of this play and the robot is at rest."""
        return self._u >= self._end and (self._finished or not self._settings.clocked)

    @property
    def awaits_end(self) -> bool:
        """True if all goals should have been played, and only the confirmation of the controller is
        missing.
        """
        return self._sent_at is not None and self._u >= self._end and not self.at_end

    @property
    def at_rest(self) -> bool:
        """True if the commanded motion is at rest."""
        return self._sent_at is None or (self._u >= self._end if self._stopping else self.at_end)

    @property
    def knows_rest(self) -> bool:
        """True if the end of the goal was reported, or the time of the controller is known."""
        return self._finished or self._clock.measured or not self._settings.clocked

    @property
    def late(self) -> bool:
        """True if the last goal was accepted so late that the speed slider may have been moved
        meanwhile.
        """
        return self._settings.slider and self._trip > LATE

    @property
    def needs_speed(self) -> bool:
        """True if the goals scale with the speed of the robot."""
        return True

    @property
    def _rests(self) -> bool:
        """True if the goal ends at rest before the end of the motion."""
        return self._goal is not None and self._covered < min(self._u, self._played.duration)

    @property
    def _end(self) -> float:
        """Controller time at which the current goal ends at rest [s]."""
        ends = self._goal is not None and (self._rests or self._stopping)
        return self._goal.ends if ends and self._goal else self._played.duration

    def _at(self, u: float) -> tuple[Array, Array, Array]:
        past = self._goal is not None and u > self._covered
        return self._goal.trajectory.at(u) if past and self._goal else self._played.at(u)

    def advance(self, now: float, dt: float, scaling: float | None) -> None:
        """Advance by a time step [s] with the robot's speed scaling, if known."""
        self._clock.measured |= scaling is not None
        self._untold = scaling is None and self._settings.clocked
        if scaling is None and self._settings.clocked:
            scaling = self._clock.rate
        self._hurries &= abs(now - self._now - dt) < 1e-6  # else the clock has jumped
        self._now, self._told = now, scaling is not None
        if self.under_way and self._sent_at is not None:
            self._trip = now - self._sent_at
        if scaling is not None or not self._stopping:
            self.scaling = 1.0 if scaling is None else scaling
        if self._sent_at is not None and not self._waits:
            self._u = min(self._u + dt * self.scaling, self._end)

    def clock(self, u: float | None, q: Array, stamp: float) -> None:
        """Use the controller time [s] reported at a stamp on the clock of the executor; None: that of
        the commanded position q, shape (n,).
        """
        by_place, error = u is None, 0.0  # a place says nothing of a stop
        if u is None:
            found = self._time_at(q, stamp)
            if found is None:
                return
            u, error = found
        # A hurried stop waits for milliseconds, in which the clock may jump unnoticed.
        unused = self._stopping and (by_place or self._hurries)
        if self._sent_at is None or unused:
            return
        self._clock.take(u, stamp, error)
        self._fresh = True
        if not self._stopping:  # a step may be due for long on a busy machine
            u += self.scaling * (self._now - stamp)
        # A stop ends no earlier than reported: after a jump of this clock, the age says nothing. At the
        # last step, the goal may not have begun.
        self._u = min(max(u, -self._settings.horizon), self._end)

    def finish(self) -> None:
        """Record that the controller has finished its last goal."""
        if self._goal is not None:
            self._u, self._finished = self._goal.ends, True

    def _time_at(self, q: Array, stamp: float) -> tuple[float, float] | None:
        """Controller time at a commanded position (n,), and its uncertainty [s]; None if the
        position does not determine it.
        """
        if self._waits:  # has it left the start?
            near = self._played.nearest(q, np.zeros_like(q), 0.0, SPEAKS)
            # Near the start a place says nothing of the time; slow motions step little by it.
            waited = 0.0 if self._sent_at is None else self._now - self._sent_at
            speeds = np.max(np.abs(self._played.at([near.u, near.u + SPEAKS])[1]), axis=1)
            slow = speeds[1] <= MOVING and near.u > 0.02 and waited > LEAD
            tells = near.distance < 1e-3 and (speeds[0] > MOVING or slow)
            return (near.u, PLACE_ERROR / max(float(speeds[0]), MOVING)) if tells else None
        u = self._u - self.scaling * (self._now - stamp)
        speed = float(np.max(np.abs(self._played.at(u)[1])))
        if not self._rests and speed > MOVING:
            near = self._played.nearest(q, self._played.at(u)[1], u - 0.5, u + 0.5)
            if near.distance < 1e-3:
                return near.u, PLACE_ERROR / speed
        return None

    def expected(self, stamp: float, longest: float, q: Array | None) -> Array:
        """Return the commanded posture at the time of a measured state, shape (n,).

        Args:
            stamp: Stamp of the state [s].
            longest: Largest age of a usable state [s].
            q: Measured positions, shape (n,) [rad or m]. Until the controller reports how far it has
                followed the goal, the posture of the goal nearest to q is taken as commanded.
        """
        unheard = self._settings.clocked and not (self._clock.spoken or self._finished)
        if q is not None and unheard and not self._stopping:
            near = self._played.nearest(q, np.zeros_like(q), 0.0, self._covered)
            return self._played.at(near.u)[0]
        age = min(max(self._now - stamp, 0.0), longest) * self.scaling
        return self._at(max(self._u - age, 0.0))[0]

    def outgoing(self, now: float) -> Outgoing | None:
        """Return the goal to be sent now, or None."""
        if self._hurries and not self.under_way:
            self._hurries = False
            if not self._rests and self._comes_in_time(self._lead):
                self._brake()
        if self._unsent is not None:
            out, self._unsent = self._unsent, None
            return out
        due, self._fresh = not self._stopping and self._is_due(now), False
        if not due:
            return None
        first, self._sent_at, self._trip = self._sent_at is None, now, 0.0
        self._finished = False
        self._clock.begin_goal()
        self._goal = self._first_goal(now) if first else self._next_goal(now)
        return self._goal

    @property
    def _waits(self) -> bool:
        """True if the first goal may not have reached the controller yet."""
        waited = 0.0 if self._sent_at is None else self._now - self._sent_at
        return self._settings.clocked and not self._clock.spoken and waited < SPEAKS

    def _comes_in_time(self, margin: float) -> bool:
        """True if a goal sent now would arrive while the previous goal is still moving as planned."""
        knows = not self._settings.clocked or (self._clock.spoken and self._clock.measured)
        steady = self.scaling > STEADY and not self.late
        return knows and steady and self._covered - self._u > max(margin, self.lateness)

    def _is_due(self, now: float) -> bool:
        """True if a goal is to be sent now; if the robot's time is unknown, only at rest. If the
        speed scaling is known only from reports, a goal is sent just after a report, so that a
        change is taken into account early.
        """
        if self._sent_at is None:
            return True
        if self._rests or self._covered >= self._played.duration:
            return False
        in_time = self._comes_in_time(IN_TIME * self._settings.horizon)
        known = self._fresh or not self._untold
        return in_time and known and now - self._sent_at >= self._settings.resend

    def _first_goal(self, now: float) -> Outgoing:
        """First goal, sent while the robot is at rest: it begins on arrival, unless the controller
        starts goals at their stamps.
        """
        if not self._told:  # where it is can't be known: it gets all, and only once
            self._covered = self._played.duration
            return self._played.timed(self._u, self._covered, now)
        if not self._whole:
            self._covered = self._played.duration
            return self._played.at_once(0.0, self._covered)
        if self._settings.clocked:
            self._covered = self._played.brakes_from(self.scaling * self._settings.horizon)
            return self._played.at_once(0.0, self._covered)
        self._u = -LEAD
        return self._next_goal(now)

    def _next_goal(self, now: float) -> Outgoing:
        until = self._u + self.scaling * self._settings.horizon
        self._covered = self._played.brakes_from(until)
        return self._played.timed(self._u, self._covered, now)

    def stop(self, *, soon: bool = False, clocked: bool = True) -> None:
        """Let the current goal end by itself, or brake earlier.

        Args:
            soon: True if a new goal may replace the current one, to brake as early as possible.
            clocked: True if the clock is reliable.
        """
        self._stopping = True
        if not self._told and self._covered >= self._played.duration:
            self._brake(clocked)  # its goal ends only with the motion
        else:
            self._hurries = soon and clocked

    @property
    def _lead(self) -> float:
        """Time after which a goal that is sent now can brake [s]."""
        return max(self._settings.stop_lead, self.lateness)

    def _brake(self, clocked: bool = True) -> None:
        """Send a goal that brakes as early as possible."""
        until, played = self._u + self._lead * self.scaling, self._played
        self._covered = played.brakes_from(until)
        self._goal = self._unsent = (
            played.timed(self._u, until, self._now) if clocked else played.at_once(self._u, until)
        )

    def stop_at(self, where: Nearest, age: float) -> None:
        """Brake along the path by a new goal, which begins at the current position; until it takes
        effect, the robot follows the present goal.
        """
        if not self._told:
            self._u = min(where.u + where.rate * age, self._played.duration)
        self.stop()

    def stop_from(self, q: Array, v: Array) -> None:
        """Brake from a position off the path; q and v of shape (n,)."""
        trajectory = braking_from(self.path, q, v, self._played.acceleration)
        moved = dataclasses.replace(trajectory, time=trajectory.time + self._u)
        self._goal = self._unsent = Outgoing(moved, None, self._u)
        self._covered, self._stopping = float(np.nextafter(self._u, -np.inf)), True
