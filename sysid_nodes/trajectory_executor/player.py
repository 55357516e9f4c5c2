# SPDX-License-Identifier: Apache-2.0
"""Player of motions, which passes measurements to the core and commands to the robot."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from rclpy.task import Future
from robot_sysid.action import ExecuteTrajectory

from sysid_core.clock_gate import ClockGate, StampError
from sysid_core.execution import Command, Executor, ExecutorState, Fault, FaultCode
from sysid_nodes.lifecycle import Ended
from sysid_nodes.trajectory_executor.config import TrajectoryExecutorConfig
from sysid_nodes.trajectory_executor.drives import build_drive
from sysid_nodes.trajectory_executor.inputs import RobotInputs
from sysid_nodes.trajectory_executor.reports import result_of

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

_CANCELLED = Fault(FaultCode.CANCELLED)
_PATIENCE_S = 3.0  # of the steady clock, for the first messages after a check that took none in
_REASON_S = 0.2  # in which a safety input may say why the controller has ended a trajectory
_LONGEST_STOP_S = 4.0  # launch kills a node that takes longer to end
_OWN_CLOCK_S = 0.5  # a controller whose stamps differ by more has another clock


class MotionPlayer:
    """Player of one motion at a time, with one step per timer tick.

    Args:
        node: Configured node whose topics are used.
        inputs: Inputs received from the robot.
        stepped: Function that is called after each step with the core, its command, and True if the
            state has changed.
    """

    def __init__(
        self,
        node: ManagedNode,
        inputs: RobotInputs,
        stepped: Callable[[Executor, Command, bool], None],
    ) -> None:
        self._node, self._inputs, self._stepped = node, inputs, stepped
        config: TrajectoryExecutorConfig = node.config
        self.drive = build_drive(node, config.command_mode, config.action_name, self._on_clock)
        self._feedback = ClockGate("feedback", oldest=_OWN_CLOCK_S, ahead=_OWN_CLOCK_S)
        self.core: Executor | None = None
        self._finished: Future | None = None
        self._wait_until, self._dropped_at = 0.0, math.inf
        self._stop_by = math.inf  # on the steady clock
        self._failed = False  # a step of this motion

    async def play(self, core: Executor) -> ExecuteTrajectory.Result:
        """Check a motion, play it, and wait for its end.

        Args:
            core: Executor with the accepted motion.

        Raises:
            SysIdError: A check failed; nothing has moved.
        """
        self.core, self._dropped_at, self._failed = core, math.inf, False
        self._finished = Future(executor=self._node.executor)
        began = self._inputs.now()
        core.start()
        # The check took its time; go on with what came after it (or fail without). Simulated time
        # stood still meanwhile, and jumps with the next message.
        self._wait_until = time.monotonic() + _PATIENCE_S
        await Ended(self._finished)
        return result_of(core, self._inputs.now() - began, self._inputs.publishers_hint)

    def cancel(self, fault: Fault = _CANCELLED) -> None:
        """Stop the current motion smoothly."""
        if self.core is not None:
            self.core.cancel(fault)

    def stopping(self, fault: Fault) -> bool:
        """Stop the current motion; True while the stop is in progress, which needs further
        ticks.
        """
        if self.core is None or self.core.state.is_final:
            return False
        self.core.cancel(fault)
        self._stop_by = min(self._stop_by, time.monotonic() + _LONGEST_STOP_S)
        return time.monotonic() < self._stop_by

    def halt(self, fault: Fault) -> None:
        """Stop the current motion and play the stop to its end.

        No callback runs meanwhile, so that simulated time does not advance; the stop is timed by
        the steady clock instead.
        """
        core, now, began = self.core, self._inputs.now(), time.monotonic()
        while core is not None and self.stopping(fault):
            with suppress(Exception):  # which the fault of the motion states; the stop goes on
                self._try_step(core, now + time.monotonic() - began)
            time.sleep(1.0 / self._node.config.rate_hz)
        self._stop_by = math.inf
        self._finish()  # whatever came of the stop, nothing steps it any more

    def tick(self) -> None:
        """Advance the current motion by one step."""
        if self.core is None or self._finished is None or self._finished.done():
            return
        core, now = self.core, self._inputs.now()
        if core.state is ExecutorState.CHECKING:
            # Half the age, so that the state is still recent after the way to it is planned.
            state = self._inputs.robot.measured
            words = self._inputs.problem
            missing = _forbidden(words) or core.monitor.stale(now, state, share=0.5)
            late = missing or self._inputs.scaling.is_late(now)  # which may stay unknown
            if late and time.monotonic() < self._wait_until:
                return
            if missing:
                core.cancel(missing)
        self._try_step(core, now)
        if core.state is ExecutorState.CHECKING:  # the way to the start took its time, too
            self._wait_until = time.monotonic() + _PATIENCE_S

    def _try_step(self, core: Executor, now: float) -> None:
        """Advance by one step; the first error brakes, the second one ends the motion."""
        try:
            self._step(core, now)
        except Exception as err:
            fault = Fault(FaultCode.DROPPED, {"text": f"{type(err).__name__}: {err}"})
            if not self._failed and core.play is not None and not core.state.is_final:
                self._failed = True
                core.cancel(fault)
            else:
                core.give_up(fault)
                self.drive.cancel()
                self._finish()
                self._stepped(core, core.step(now, None), True)
            raise

    def _on_clock(self, u: float | None, q: np.ndarray, stamp: float) -> None:
        try:
            self._feedback.take(round(stamp * 1e9) or 1, round(self._inputs.now() * 1e9))
        except StampError:
            return  # of another clock, or very late: its time isn't known then
        if self.core is not None:
            self.core.clock(u, q, stamp)

    def _step(self, core: Executor, now: float) -> None:
        before = core.state
        problem = _forbidden(self._inputs.safety.problem(now))
        if self.drive.dropped:
            self._dropped_at = min(self._dropped_at, now)
            if not problem and now - self._dropped_at < _REASON_S:
                return
            words = "; ".join(filter(None, (str(problem or ""), self.drive.dropped)))
            core.give_up(Fault(FaultCode.DROPPED, {"text": words}))
        if problem:
            core.cancel(problem)
        if self.drive.completed:
            core.finished()
        core.scaling, core.lateness = self._inputs.scaling.value(now), self.drive.lateness
        core.under_way = self.drive.under_way
        command = core.step(now, self._inputs.robot.measured)
        out = core.outgoing(now) if self.drive.takes_whole else None
        if out is not None:
            self.drive.send(out)
        self.drive.stream(command)
        new = command.state is not before
        if new and command.state is ExecutorState.ABORTING:
            self.drive.stop()
        if new and command.state is ExecutorState.ABORTED:
            self.drive.cancel()  # a robot that has been paused must not finish the stop later
        self._stepped(core, command, new)
        if command.state.is_final:
            self._finish()

    def _finish(self) -> None:
        if self._finished is not None and not self._finished.done():
            self._finished.set_result(True)


def _forbidden(words: str) -> Fault | None:
    """Fault of an input that forbids motions, in its words; None if they are empty."""
    return Fault(FaultCode.SAFETY_INPUT, {"text": words}) if words else None
