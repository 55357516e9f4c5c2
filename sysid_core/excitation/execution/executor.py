# SPDX-License-Identifier: Apache-2.0
"""The executor's state machine: pure logic, no clock inside."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable

import numpy as np

from sysid_core.errors import ExcitationError, SysIdError
from sysid_core.excitation.execution.monitor import ExecutionMonitor, Measured, MonitorLimits
from sysid_core.excitation.execution.path_follower import PathFollower
from sysid_core.excitation.execution.states import Command, ExecutorSettings, ExecutorState
from sysid_core.excitation.limits import MotionLimits
from sysid_core.excitation.motion_check import MotionChecker
from sysid_core.excitation.trajectory import Trajectory
from sysid_core.excitation.transfer import plan_transfer
from sysid_core.robot import Array, RobotModel

ROUNDING = 1e-9  # [s]


class Executor:
    """Plays one trajectory: idle, checking, moving to start, executing, settling, done.

    Nothing is commanded before the trajectory, the robot's state and the way to the start have
    passed every check. Any fault stops the robot along the checked path within the acceleration
    limits (aborting), then holds it (aborted).

    Args:
        model: The robot.
        trajectory: To be played.
        limits: That it must keep to.
        monitor: When to abort; default: derived from the limits.
        settings: How to play it.
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
        self.message = "nothing to do"
        self._follower: PathFollower | None = None
        self._held: Array | None = None  # last commanded posture
        self._last_now: float | None = None
        self.worst_error = 0.0  # largest distance from what was commanded [rad or m]
        self.stop_at = 0.0  # when the stop of an aborted run begins
        self._lead = 0.0  # how long the motion goes on until then
        self._begin_at: float | None = None  # the controller's start of a whole trajectory
        # Time, posture and velocity of the last commands.
        self._commanded: deque[tuple[float, Array, Array]] = deque(maxlen=200)
        self._dt = 0.0  # last regular step, used when the clock can't be trusted
        self._cancelled = ""
        self._waiting_since: float | None = None
        self._standing_since: float | None = None
        self._way: Trajectory | None = None  # to the start, once it is checked
        self._checked_stamp = -np.inf  # of the state that it starts from

    @property
    def motion(self) -> Trajectory | None:
        """What is being played: the way to the start, then the trajectory; None before."""
        return None if self._follower is None else self._follower.trajectory

    def whole_command(self, begin: float) -> Trajectory | None:
        """What is to come, for controllers that take whole trajectories instead of a stream.

        To be sent when the state becomes `moving_to_start`, `executing` or `aborting`; None where
        nothing is to be moved. A motion goes on at `begin`, which the controller is told; a stop
        begins at `stop_at`, from the state that the motion under way will have then.

        Args:
            begin: On the executor's clock, now or a little later [s].
        """
        follower, settings = self._follower, self.settings
        if follower is None or self.state.is_final or self.state is ExecutorState.SETTLING:
            return None
        if self.state is ExecutorState.ABORTING:
            lead = max(self.stop_at - (self._last_now or self.stop_at), 0.0)
            return follower.stopping_trajectory(lead, settings.speed_scale, settings.slow_start)
        self._begin_at = begin
        return follower.remaining_trajectory(settings.speed_scale, settings.slow_start)

    def start(self, progress: Callable[[float], None] | None = None) -> None:
        """Check the trajectory and, if it is safe, begin; the next steps check the robot.

        An unsafe one ends in `aborted` with the reason as message. Takes about as long as a
        second per minute of motion; call it where that doesn't matter.

        Args:
            progress: Called with the share of the check that is done.

        Raises:
            ExcitationError: A run is going on.
        """
        if not self.state.is_final:
            raise ExcitationError(
                f"The executor is {self.state.value}.", remedy="Cancel the run or let it end."
            )
        self.monitor.reset()
        self._follower, self._held, self._last_now, self._cancelled = None, None, None, ""
        self._waiting_since = self._standing_since = None
        self._way, self._checked_stamp, self._begin_at = None, -np.inf, None
        self._commanded.clear()
        self.worst_error = 0.0
        self.state, self.message = ExecutorState.CHECKING, "checking"
        try:
            self.checker.check(self.trajectory, progress=progress).raise_if_unsafe()
            self.trajectory = _in_model_order(self.model, self.trajectory)
        except SysIdError as err:
            self.state, self.message = ExecutorState.ABORTED, f"refused: {err}"

    def cancel(self, reason: str = "cancelled by the operator") -> None:
        """Stop at the next step; does nothing when no run is going on."""
        if not self.state.is_final:
            self._cancelled = reason

    def give_up(self, reason: str) -> None:
        """End at once without a stop: who moves the robot has dropped the motion itself."""
        if not self.state.is_final:
            self.state, self.message = ExecutorState.ABORTED, reason

    def step(self, now: float, measured: Measured | None) -> Command:
        """Go on to a time; the one function to be called periodically.

        Args:
            now: Current time, on the clock of the measurements' stamps [s].
            measured: The newest state, or None when none has arrived.

        Returns:
            What to command from now on.
        """
        if self.state.is_final:
            return self._command()
        if self._way is not None and not self._cancelled and not self._is_newer(measured):
            return self._command()  # planning took time; go on with the next measured state
        dt = self._time_step(now)
        if self.state is not ExecutorState.ABORTING:
            expected = self.expected(measured)
            fault = self._cancelled or self.monitor.fault(now, measured, expected)
            if fault:
                self._abort(fault)
            elif expected is not None and measured is not None:
                distance = np.abs(expected - self.monitor.in_order(measured)[0])
                self.worst_error = max(self.worst_error, float(distance.max()))
        if self.state is ExecutorState.CHECKING and measured is not None:
            self._check(measured)
        elif self.state in (ExecutorState.MOVING_TO_START, ExecutorState.EXECUTING):
            self._play(dt, now, measured)
        elif self.state is ExecutorState.SETTLING:
            self._settle(now, measured)
        elif self.state is ExecutorState.ABORTING:
            self._stop(dt)
        if self._held is not None:
            v = np.zeros_like(self._held) if self._follower is None else self._follower.v
            self._commanded.append((now, self._held, v))
        return self._command()

    def _time_step(self, now: float) -> float:
        if self._begin_at is not None:
            if now < self._begin_at:
                return 0.0
            self._last_now, self._begin_at = self._begin_at, None
        dt = 0.0 if self._last_now is None else now - self._last_now
        self._last_now = now
        if not 0.0 <= dt <= self.monitor.limits.max_step:
            return self._dt
        if dt > 0.0:
            self._dt = dt
        return dt

    def expected(self, measured: Measured | None) -> Array | None:
        """The posture that was commanded when a state was measured, shape (n,); None before."""
        if self._held is None or measured is None:
            return None if self._way is None else self._way.q[0]
        while len(self._commanded) > 1 and self._commanded[1][0] <= measured.stamp:
            self._commanded.popleft()
        if not self._commanded:
            return self._held
        time, q, v = self._commanded[0]
        ahead = min(max(measured.stamp - time, 0.0), self.monitor.limits.max_step)
        return q + ahead * v

    def _is_newer(self, measured: Measured | None) -> bool:
        return measured is not None and measured.stamp > self._checked_stamp

    def _check(self, measured: Measured) -> None:
        if self._way is not None:
            self._follow(self._way)
            self._way = None
            self.state, self.message = ExecutorState.MOVING_TO_START, "moving to the start"
            return
        q, v = self.monitor.in_order(measured)
        moving = np.flatnonzero(np.abs(v) > self.settings.rest_velocity)
        if moving.size:
            names = [self.model.joint_names[j] for j in moving]
            self.state, self.message = ExecutorState.ABORTED, f"refused: {names} are moving"
            return
        try:
            share = self.settings.transfer_share
            self._way = plan_transfer(self.checker, q, self.trajectory.q[0], share=share)
        except SysIdError as err:
            self.state, self.message = ExecutorState.ABORTED, f"refused: {err}"
        self._checked_stamp, self._last_now = measured.stamp, None
        self.monitor.reset()

    def _follow(self, motion: Trajectory) -> None:
        self._follower = PathFollower(motion, self.limits.acceleration)
        self._held = self._follower.q
        self._waiting_since = self._standing_since = None

    def _play(self, dt: float, now: float, measured: Measured | None) -> None:
        follower = self._follower
        if follower is None:
            return
        if not follower.at_end:
            self._advance(follower, dt)
            return
        if self.state is ExecutorState.EXECUTING:
            self.state, self.message = ExecutorState.SETTLING, "settling"
            return
        if self._stands(now, measured, self.settings.start_tolerance):
            self._follow(self.trajectory)
            self.state, self.message = ExecutorState.EXECUTING, "executing"

    def _advance(self, follower: PathFollower, dt: float) -> None:
        """Go on along the path, with the rate rising to full."""
        full = self.settings.speed_scale
        follower.advance(dt, min(full, follower.rate + full * dt / self.settings.slow_start))
        self._held = follower.q

    def _settle(self, now: float, measured: Measured | None) -> None:
        if self._stands(now, measured, np.inf):
            self.state, self.message = ExecutorState.DONE, "done"

    def _stands(self, now: float, measured: Measured | None, tolerance: float) -> bool:
        """Whether the robot has stood long enough where it should; aborts when it takes too long."""
        if measured is None or self._held is None:
            return False
        self._waiting_since = now if self._waiting_since is None else self._waiting_since
        q, v = self.monitor.in_order(measured)
        distance = float(np.max(np.abs(q - self._held)))
        if distance > tolerance or np.max(np.abs(v)) > self.settings.rest_velocity:
            self._standing_since = None
        elif self._standing_since is None:
            self._standing_since = now
        if self._standing_since is not None:
            return now - self._standing_since >= self.settings.settle_time
        if now - self._waiting_since > self.settings.settle_timeout:
            self._abort(f"the robot does not come to rest {distance:.3g} rad from its goal")
        return False

    def _abort(self, reason: str) -> None:
        self.message = reason
        moving = self._follower is not None and self._follower.rate > 0.0
        at_rest = self._follower is None or self._follower.at_end or not moving
        self.state = ExecutorState.ABORTED if at_rest else ExecutorState.ABORTING
        self._lead = self.settings.stop_lead
        self.stop_at = (self._last_now or 0.0) + self._lead

    def _stop(self, dt: float) -> None:
        follower = self._follower
        if follower is not None and self._lead > ROUNDING:
            self._lead -= dt  # counted down: the clock may be what is wrong
            self._advance(follower, dt)
            return
        if follower is not None:
            follower.advance(dt, 0.0)
            self._held = follower.q
        if follower is None or follower.rate == 0.0 or follower.at_end:
            self.state = ExecutorState.ABORTED

    def _command(self) -> Command:
        follower, held = self._follower, self._held
        moving = follower is not None and not self.state.is_final
        v = a = None
        if held is not None:
            v = follower.v if follower is not None and moving else np.zeros_like(held)
            a = follower.a if follower is not None and moving else np.zeros_like(held)
        segment = ""
        if follower is not None and self.state is ExecutorState.EXECUTING:
            labels = [s.label for s in self.trajectory.segments if s.start <= follower.s <= s.end]
            segment = labels[0] if labels else ""
        return Command(
            state=self.state,
            joint_names=self.model.joint_names,
            q=held,
            v=v,
            a=a,
            progress=0.0 if follower is None else follower.progress,
            segment=segment,
            message=self.message,
        )


def _in_model_order(model: RobotModel, trajectory: Trajectory) -> Trajectory:
    """The same motion with its columns in the robot's joint order."""
    columns = model.columns_from(trajectory.joint_names)
    return dataclasses.replace(
        trajectory,
        joint_names=model.joint_names,
        q=trajectory.q[:, columns],
        v=trajectory.v[:, columns],
        a=trajectory.a[:, columns],
    )
