# SPDX-License-Identifier: Apache-2.0
"""State machine of the executor, independent of any clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sysid_core.errors import ExcitationError, SysIdError
from sysid_core.execution.faults import Fault, FaultCode
from sysid_core.execution.monitor import ExecutionMonitor, Measured, MonitorLimits
from sysid_core.execution.play import GuardedPlay, Play
from sysid_core.execution.played_motion import Outgoing
from sysid_core.execution.rolling_play import RollingPlay
from sysid_core.execution.states import Command, ExecutorSettings, ExecutorState, Standing, Stopped
from sysid_core.execution.streamed_play import StreamedPlay
from sysid_core.planning import MotionChecker, MotionLimits, Trajectory, plan_transfer
from sysid_core.robot import Array, RobotModel

FOLLOWS = 0.5  # share of the tracking limit within which a robot follows
ON_PATH = 0.25  # share of it within which a late robot is still on the path
SLOWEST = 0.3  # of the path's speed: below, a robot is held up rather than late
LONGEST_STOP = 4.0  # after a goal's horizon [s]; a robot that still moves then is told to hold
PAUSED = 0.01  # largest speed scaling of a robot that has been paused
PIECES_REST = 0.05  # how long a robot stands between pieces of a motion [s]
CANCELLED = Fault(FaultCode.CANCELLED)
UNHEARD = Fault(
    FaultCode.DROPPED, {"text": "the controller of the robot does not report the end of its goal"}
)
_STATES = {
    **{state: state.value.replace("_", " ") for state in ExecutorState},
    ExecutorState.IDLE: "nothing to do",
    ExecutorState.MOVING_TO_START: "moving to the start",
}


class Executor:
    """State machine that plays one trajectory: idle, checking, moving to start, executing,
    settling, done.

    No command is sent before the trajectory, the state of the robot and the path to the start have
    passed every check. Any fault stops the robot within the acceleration limits (aborting) and then
    holds it (aborted). While stopping, the robot stays on the checked path if it tracks its
    commands. If it does not, the stop starts at the measured state, so that a blocked arm is never
    pushed.

    Args:
        model: Robot model.
        trajectory: Trajectory to be played.
        limits: Motion limits of the robot.
        monitor: Limits that abort the motion; None: derived from the motion limits.
        settings: Settings for playing the trajectory.
    """

    def __init__(
        self,
        model: RobotModel,
        trajectory: Trajectory,
        limits: MotionLimits,
        monitor: MonitorLimits | None = None,
        settings: ExecutorSettings | None = None,
    ) -> None:
        self.model, self.trajectory, self.limits = model, trajectory, limits
        self.settings = settings or ExecutorSettings()
        self.checker = MotionChecker(model, limits)
        self.monitor = ExecutionMonitor(model, monitor or MonitorLimits.from_limits(limits))
        self.state = ExecutorState.IDLE
        self._standing, self._stopped = Standing(self.settings), Stopped(self.settings)
        self._standing_between = Standing(replace(self.settings, settle_time=PIECES_REST))
        self.play: Play | None = None
        self._forget()

    def _forget(self) -> None:
        self.play = None
        self.worst_error = 0.0  # largest distance from what was commanded [rad or m]
        self.scaling: float | None = None  # the robot's own; None: nobody says
        self.lateness = 0.0  # longest time that a goal has taken to the controller [s]
        self.under_way = False  # a goal that the controller has not accepted yet
        self.fault: Fault | None = None  # why it was refused or stopped
        self._cancelled: Fault | None = None
        self._last_now: float | None = None
        self._dt = 0.0  # last regular step, used when the clock can't be trusted
        self._way: Trajectory | None = None  # to the start, once it is checked
        self._checked_stamp = -np.inf  # of the state that it starts from
        self._stopping_for = self._unheard = 0.0  # [s]
        self._ended_at: float | None = None  # a piece of the motion [s]
        self._standing.forget()
        self._stopped.forget()
        self.monitor.reset()

    @property
    def motion(self) -> Trajectory | None:
        """Trajectory being played: first the approach to the start, then the motion; None before
        the run.
        """
        return None if self.play is None else self.play.path

    def start(self, progress: Callable[[float], None] | None = None) -> None:
        """Check a trajectory and start it if it respects the limits; the next steps check the state
        of the robot.

        An unsafe trajectory ends in the state `aborted` with the reason as message. The check takes
        about a second per minute of motion, during which the caller waits.

        Args:
            progress: Function that is called with the completed share of the check.

        Raises:
            ExcitationError: Another run is active.
        """
        if not self.state.is_final:
            raise ExcitationError(
                f"The executor is {self.state.value} and accepts no other motion.",
                remedy="Cancel the current motion, or wait for its end.",
            )
        self._forget()
        self.state = ExecutorState.CHECKING
        try:
            self.checker.check(self.trajectory, progress=progress).raise_if_unsafe()
            self.trajectory = self.trajectory.in_order(self.model).as_played()
        except SysIdError as err:
            self.give_up(Fault(FaultCode.UNSAFE, {"text": str(err)}))

    @property
    def message(self) -> str:
        """State as text, or the reason of a refusal or stop."""
        return _STATES[self.state] if self.fault is None else str(self.fault)

    def cancel(self, fault: Fault = CANCELLED) -> None:
        """Stop at the next step; without a running motion nothing happens."""
        if not self.state.is_final:
            self._cancelled = fault

    def give_up(self, fault: Fault) -> None:
        """End the run without a stop: nothing has moved, or the controller has ended the motion."""
        if not self.state.is_final:
            self.state, self.fault = ExecutorState.ABORTED, fault

    def clock(self, u: float | None, q: Array, stamp: float) -> None:
        """Take a report of the controller at a stamp [s]: its motion time [s], None if it is not
        reported, and the position that the controller commands, shape (n,).
        """
        if self.play is not None:
            self.play.clock(u, q, stamp)

    def finished(self) -> None:
        """Record that the controller has finished the last goal."""
        if self.play is not None:
            self.play.finish()

    def outgoing(self, now: float) -> Outgoing | None:
        """Return the goal to be sent now to a controller that accepts whole trajectories; to be
        called after each step.
        """
        if self.play is None or self.state.is_final or self.state is ExecutorState.SETTLING:
            return None
        return self.play.outgoing(now)

    def step(self, now: float, measured: Measured | None) -> Command:
        """Advance the state machine to a time; to be called periodically.

        Args:
            now: Current time, on the clock of the measurements' stamps [s].
            measured: Newest measured state; None if none has arrived.

        Returns:
            Command to send now.
        """
        if self.state.is_final:
            return self._command()
        newer = measured is not None and measured.stamp > self._checked_stamp
        if self._way is not None and not self._cancelled and not newer:
            return self._command()  # planning took time; go on with the next measured state
        dt = self._time_step(now)
        ended = self.play is not None and self.play.at_end  # its last command has been given
        if self.play is not None:
            self.play.lateness, self.play.under_way = self.lateness, self.under_way
            self.play.advance(now, dt, self.scaling)
        if self.state is not ExecutorState.ABORTING:
            expected = self.expected(measured)
            fault = self._fault(now, measured, expected)
            if fault is None or not fault.without_clock:  # which decides how to stop
                fault = self._cancelled or fault
            if fault:
                self._abort(fault, now, measured, expected)
            elif expected is not None and measured is not None:
                error = expected - self.monitor.in_order(measured)[0]
                self.worst_error = max(self.worst_error, float(np.max(np.abs(error))))
        if self.state is ExecutorState.CHECKING and measured is not None:
            self._check(measured, now)
        elif self.state in (ExecutorState.MOVING_TO_START, ExecutorState.EXECUTING):
            if ended:
                self._go_on(now, measured)
            self._unheard = self._unheard + dt if self.play and self.play.awaits_end else 0.0
            if self._unheard > self.settings.settle_timeout:
                self._abort(UNHEARD, now, None, None)
        elif self.state is ExecutorState.SETTLING and self._stands(
            now, measured, np.inf, self._standing
        ):
            self.state = ExecutorState.DONE
        elif self.state is ExecutorState.ABORTING:
            self._end_stop(dt, measured)
        return self._command()

    def _time_step(self, now: float) -> float:
        dt = 0.0 if self._last_now is None else now - self._last_now
        self._last_now = now
        if not 0.0 <= dt <= self.monitor.limits.max_step:
            return self._dt
        if dt > 0.0:
            self._dt = dt
        return dt

    def expected(self, measured: Measured | None) -> Array | None:
        """Return the commanded posture at the stamp of a measured state, shape (n,); None before
        the start.
        """
        if self.play is None or measured is None:
            return None if self._way is None else self._way.q[0]
        longest = self.monitor.limits.max_step
        state = self.monitor.usable(self._last_now or measured.stamp, measured)
        return self.play.expected(measured.stamp, longest, None if state is None else state[0])

    def _fault(self, now: float, measured: Measured | None, expected: Array | None) -> Fault | None:
        fault = self.monitor.fault(now, measured, expected)
        if fault is not None:
            return fault
        goes_on_later = self.play is not None and self.play.needs_speed
        if goes_on_later and self.scaling is not None and self.scaling <= PAUSED:
            return Fault(FaultCode.PAUSED, {"percent": 100.0 * self.scaling})
        return None

    def _check(self, measured: Measured, now: float) -> None:
        if self._way is not None:
            self._follow(self._way, now)
            self._way = None
            self.state = ExecutorState.MOVING_TO_START
            return
        q, v = self.monitor.in_order(measured)
        moving = np.flatnonzero(np.abs(v) > self.settings.rest_velocity)
        if moving.size:
            names = [self.model.joint_names[j] for j in moving]
            self.give_up(Fault(FaultCode.MOVES, {"joints": names, "speed": np.max(np.abs(v))}))
            return
        try:
            share = self.settings.transfer_share
            self._way = plan_transfer(self.checker, q, self.trajectory.q[0], share=share)
        except SysIdError as err:
            self.give_up(Fault(FaultCode.UNSAFE, {"text": str(err)}))
        self._checked_stamp, self._last_now = measured.stamp, None
        self.monitor.reset()

    def _follow(self, motion: Trajectory, now: float, begin: float = 0.0) -> None:
        """Play a motion, starting at a given time [s]."""
        limits, settings = self.limits.acceleration, self.settings
        if settings.guarded:
            self.play = GuardedPlay(motion, limits, settings)
        elif settings.horizon > 0.0:
            known, late = (self.play.scaling, self.play.late) if self.play else (1.0, False)
            scaling = known if self.scaling is None else self.scaling
            self.play = RollingPlay(motion, limits, settings, scaling, begin, late)
        else:
            self.play = StreamedPlay(motion, limits, settings)
        self.play.lateness = self.lateness
        self.play.advance(now, 0.0, self.scaling)
        self._standing.forget()
        self._standing_between.forget()
        self._ended_at = None

    def _go_on(self, now: float, measured: Measured | None) -> None:
        play = self.play
        if play is not None and play.place < float(play.path.time[-1]) - 1e-6:
            self._ended_at = now if self._ended_at is None else self._ended_at
            since = measured is not None and measured.stamp >= self._ended_at
            tolerance = np.inf if self.settings.clocked else self.settings.start_tolerance
            if since and self._stands(now, measured, tolerance, self._standing_between):
                self._follow(play.path, now, play.place)
        elif self.state is ExecutorState.EXECUTING:
            self.state = ExecutorState.SETTLING
        elif self._stands(now, measured, self.settings.start_tolerance, self._standing):
            self._follow(self.trajectory, now)
            self.state = ExecutorState.EXECUTING

    def _stands(
        self, now: float, measured: Measured | None, tolerance: float, standing: Standing
    ) -> bool:
        """True if the robot has been at rest at the goal for long enough; if it does not come to
        rest in time, the run is aborted.
        """
        if measured is None or self.play is None:
            return False
        q, v = self.monitor.in_order(measured)
        if standing.look(now, q, v, self.play.command()[0], tolerance):
            return True
        if standing.takes_too_long(now):
            speed = float(np.max(np.abs(v)))
            wait = self.settings.settle_timeout
            numbers = {"distance": standing.distance, "seconds": wait, "speed": speed}
            self._abort(Fault(FaultCode.NOT_AT_REST, numbers), now, None, None)
        return False

    def _abort(
        self, fault: Fault, now: float, measured: Measured | None, expected: Array | None
    ) -> None:
        """Choose the kind of stop: along the path from the command, along the path from the
        position of the robot, or from a position off the path.
        """
        self.fault, play = fault, self.play
        at_rest = play is None or play.at_rest
        self.state = ExecutorState.ABORTED if at_rest else ExecutorState.ABORTING
        if play is None or at_rest:
            return
        limit = self.monitor.limits.tracking_error
        trusted = not (fault.without_clock or self.monitor.impossible)
        state = self.monitor.usable(now, measured) if trusted else None
        # A robot that has yet to go the last step is not late; past the limit none follows.
        near = np.minimum(FOLLOWS * limit + play.last_move, limit)
        if state is None or expected is None or np.all(np.abs(expected - state[0]) <= near):
            play.stop(soon=fault.exceeds, clocked=not fault.without_clock)
            return
        where = play.nearest(*state)
        assert measured is not None
        if where.distance <= ON_PATH * float(limit.max()) and where.rate >= SLOWEST:
            play.stop_at(where, now - measured.stamp)
        else:
            play.stop_from(*state)

    def _end_stop(self, dt: float, measured: Measured | None) -> None:
        self._stopping_for += dt * (1.0 if self.scaling is None else max(self.scaling, 0.1))
        late = self._stopping_for > LONGEST_STOP + self.settings.horizon
        state = None if measured is None else self.monitor.usable(self._last_now or 0.0, measured)
        paused = self.scaling is not None and self.scaling <= PAUSED  # its stop would wait for ever
        # A controller that is cancelled holds what it measures: not before the robot is there.
        play = self.play
        at_rest = play is None or (play.at_rest and (state is not None or play.knows_rest))
        if self._stopped.look(dt, at_rest, state, paused) or late:
            self.state = ExecutorState.ABORTED

    def _command(self) -> Command:
        play = self.play
        q = v = a = None
        segment, progress = "", 0.0
        if play is not None:
            q, v, a = play.command()
            if self.state.is_final or play.at_rest:
                v, a = np.zeros_like(q), np.zeros_like(q)
            path, s = play.path, play.place
            progress = min((s - float(path.time[0])) / path.duration, 1.0)
            if self.state is ExecutorState.EXECUTING:
                labels = [x.label for x in self.trajectory.segments if x.start <= s <= x.end]
                segment = labels[0] if labels else ""
        return Command(
            state=self.state,
            joint_names=self.model.joint_names,
            q=q,
            v=v,
            a=a,
            progress=progress,
            segment=segment,
            message=self.message,
            fault=self.fault,
        )
