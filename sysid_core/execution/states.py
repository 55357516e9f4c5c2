# SPDX-License-Identifier: Apache-2.0
"""States, settings and commands of the executor."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.execution.faults import Fault
from sysid_core.robot import Array
from sysid_core.settings import Kind

MAY_BE_ZERO = ("horizon", "stop_lead")
AT_REST = 0.15  # that a robot may lag behind the end of its stop [s]


class ExecutorState(Kind):
    """State of a run; a run can be aborted at any time before its end."""

    IDLE = "idle"
    CHECKING = "checking"
    MOVING_TO_START = "moving_to_start"
    EXECUTING = "executing"
    SETTLING = "settling"
    DONE = "done"
    ABORTING = "aborting"
    ABORTED = "aborted"

    @property
    def is_final(self) -> bool:
        """True if the run has ended or has not begun."""
        return self in (ExecutorState.IDLE, ExecutorState.DONE, ExecutorState.ABORTED)


@dataclass(frozen=True)
class ExecutorSettings:
    """Settings for playing a trajectory.

    Attributes:
        speed_scale: Fraction of the planned speed, 0 to 1.
        slow_start: Time in which the speed increases from zero to full speed [s].
        transfer_share: Share of the motion limits used on the way to the start, 0 to 1.
        start_tolerance: Largest distance of a joint from the start posture [rad or m].
        rest_velocity: Velocity below which a joint counts as at rest [rad/s or m/s].
        settle_time: Time for which all joints must be at rest before the motion counts as finished
            [s].
        settle_timeout: Time after which the run is aborted if the robot does not come to rest [s].
        horizon: Time for which a controller that receives whole trajectories continues without a
            further goal before it brakes [s]; zero: commands are streamed.
        resend: Interval between two goals [s].
        stop_lead: Minimum time until braking begins in a goal that stops the robot because a limit
            was exceeded [s]. If such a goal is accepted later than this, and with a longer delay
            than all earlier goals, the command has a step.
        clocked: True if the controller reports its progress, so that no topic with speed scaling is
            needed.
        slider: True if the robot has a speed slider, which may be moved while a goal is on its way.
        guarded: True if a motion guard receives the whole motion, and brakes along its path by
            itself.
        longest_step: Largest time step of streamed commands [s]. A robot that holds its last
            position during a stall of the executor must not make up for it by a jump.
    """

    speed_scale: float = 1.0
    slow_start: float = 1.0
    transfer_share: float = 0.5
    start_tolerance: float = 0.02
    rest_velocity: float = 0.02
    settle_time: float = 0.5
    settle_timeout: float = 10.0
    horizon: float = 0.0
    resend: float = 0.2
    stop_lead: float = 0.5
    clocked: bool = False
    slider: bool = False
    guarded: bool = False
    longest_step: float = float("inf")

    def __post_init__(self) -> None:
        if not 0.0 < self.speed_scale <= 1.0:
            raise ExcitationError(
                f"speed_scale must be in (0, 1], got {self.speed_scale}.",
                remedy="Give speed_scale = 1 for the planned speed, less for a slower run.",
            )
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if item.type != "bool" and not (
                value > 0.0 or (item.name in MAY_BE_ZERO and value == 0.0)
            ):
                raise ExcitationError(
                    f"{item.name} must be positive, got {value}.",
                    remedy="Omit it to use the default.",
                )
        if 0.0 < self.horizon < 2.0 * self.resend:
            raise ExcitationError(
                f"horizon is {self.horizon} s, shorter than twice the time between goals"
                f" ({self.resend} s).",
                remedy="Send goals more often; otherwise a late goal brakes the robot.",
            )


@dataclass(frozen=True, eq=False)
class Command:
    """Command to send now. `q`, `v` and `a` are None if no command is permitted.

    Attributes:
        state: State of the executor.
        joint_names: Names of the robot's n joints, in the order of the arrays.
        q: Commanded positions, shape (n,) [rad or m].
        v: Commanded velocities, shape (n,) [rad/s or m/s].
        a: Commanded accelerations, shape (n,) [rad/s^2 or m/s^2].
        progress: Completed share of the current motion, 0 to 1.
        segment: Label of the trajectory's segment that is being played; "": none.
        message: State as text, or reason for an abort.
        fault: Reason for a refusal or abort; None: no fault.
    """

    state: ExecutorState
    joint_names: tuple[str, ...]
    q: Array | None
    v: Array | None
    a: Array | None
    progress: float
    segment: str
    message: str
    fault: Fault | None = None


class SegmentMarks:
    """Marks to be recorded when the state or the segment of a run changes."""

    def __init__(self) -> None:
        self._state, self._segment = ExecutorState.IDLE, ""

    def labels(self, command: Command) -> list[str]:
        """Return the labels of the marks at one instant: `motion:start`, `<segment>:start`,
        `<segment>:end`, `motion:end`.
        """
        was, is_ = (s is ExecutorState.EXECUTING for s in (self._state, command.state))
        out = ["motion:start"] if is_ and not was else []
        if command.segment != self._segment:
            out += [f"{self._segment}:end"] if self._segment else []
            out += [f"{command.segment}:start"] if command.segment else []
        out += ["motion:end"] if was and not is_ else []
        self._state, self._segment = command.state, command.segment
        return out


class Standing:
    """Detector of a robot that has been at rest at its goal for a while.

    Args:
        settings: Duration of rest, speed limit, and timeout.
    """

    def __init__(self, settings: ExecutorSettings) -> None:
        self._settings = settings
        self.forget()

    def forget(self) -> None:
        """Restart the waiting time."""
        self._waiting_since: float | None = None
        self._since: float | None = None
        self.distance = 0.0  # from where it should be, at the last look [rad or m]

    def look(self, now: float, q: Array, v: Array, goal: Array, tolerance: float) -> bool:
        """Return True if the robot has been at rest long enough; q, v, goal of shape (n,)."""
        self._waiting_since = now if self._waiting_since is None else self._waiting_since
        self.distance = float(np.max(np.abs(q - goal)))
        if self.distance > tolerance or np.max(np.abs(v)) > self._settings.rest_velocity:
            self._since = None
        elif self._since is None:
            self._since = now
        return self._since is not None and now - self._since >= self._settings.settle_time

    def takes_too_long(self, now: float) -> bool:
        """Return True if the robot has not come to rest within the settling timeout."""
        waited = 0.0 if self._waiting_since is None else now - self._waiting_since
        return self._since is None and waited > self._settings.settle_timeout


class Stopped:
    """Detector of a robot that has come to rest after a stop, wherever it is.

    A robot whose speed slider is unknown may still follow its goal slowly, so that low speed is not
    sufficient: the joints must stay where they are.

    Args:
        settings: Speed limit of a joint at rest.
    """

    def __init__(self, settings: ExecutorSettings) -> None:
        self._slow = settings.rest_velocity
        self.forget()

    def forget(self) -> None:
        """Restart the waiting time."""
        self._rested, self._place = 0.0, np.empty(0)

    def look(self, dt: float, ended: bool, state: tuple[Array, Array] | None, paused: bool) -> bool:
        """Return True if the robot is at rest.

        Args:
            dt: Time step [s].
            ended: True if the commanded stop has ended.
            state: Measured q and v, (n,) each; None if no usable state is known.
            paused: True if the robot is paused, so that its stop does not end.
        """
        moves = False
        if state is not None:
            q, v = state
            moves = bool(np.max(np.abs(v)) > 5.0 * self._slow)
            if not self._place.size or np.max(np.abs(q - self._place)) > self._slow * AT_REST:
                self._place, moves = q, True
        self._rested = self._rested + dt if ended and not moves else 0.0
        return not moves and (self._rested >= AT_REST or (paused and state is not None))
