# SPDX-License-Identifier: Apache-2.0
"""Trajectory executor node: checks a motion, plays it, and stops it smoothly.

Nothing moves on launch, without a token of `~/arm`, and before every check of the core has passed.
"""

from __future__ import annotations

import time

from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.msg import ExecutorState as ExecutorStateMessage
from robot_sysid.msg import Mark

from sysid_core.errors import SysIdError
from sysid_core.execution import Command, Executor, ExecutorState, Fault, FaultCode, SegmentMarks
from sysid_core.robot import RobotModel
from sysid_nodes import conversions
from sysid_nodes.lifecycle import Level, ManagedNode, SingleGoalAction, qos
from sysid_nodes.trajectory_executor.admission import Admission
from sysid_nodes.trajectory_executor.arming import Arming
from sysid_nodes.trajectory_executor.config import TrajectoryExecutorConfig
from sysid_nodes.trajectory_executor.inputs import RobotInputs
from sysid_nodes.trajectory_executor.limits import limits_in_force, motion_limits
from sysid_nodes.trajectory_executor.player import MotionPlayer
from sysid_nodes.trajectory_executor.reports import feedback_of, refusal, state_of

_REPORT_S = 0.1  # between two states of a motion under way
_STOPS = Fault(FaultCode.SHUTDOWN)


class TrajectoryExecutorNode(ManagedNode):
    """Server of `~/execute` and `~/arm`, which publishes its state and the marks of the
    trajectory's segments.
    """

    Config = TrajectoryExecutorConfig

    def __init__(self) -> None:
        super().__init__("trajectory_executor")
        self._action: SingleGoalAction | None = None
        self._player: MotionPlayer | None = None
        self._segment_marks = SegmentMarks()
        self._limits: list[str] = []
        self._reported = 0.0  # when, on the steady clock [s]

    def configure(self) -> None:
        """Create the topics; malformed parameters are refused."""
        c: TrajectoryExecutorConfig = self.config
        self._inputs = RobotInputs(self)
        self._player = MotionPlayer(self, self._inputs, self._on_step)
        self._arming = Arming(c.arm_timeout_s)
        self._admission = Admission(self._player.drive, self._inputs.robot, self._inputs.safety)
        self._states = self.create_publisher(ExecutorStateMessage, "~/state", 10)
        self._marks = self.create_publisher(Mark, "marks", qos.DATA)
        self.use_robot()

    def got_robot(self, model: RobotModel) -> None:
        """Use only states of this robot from now on; raise an error if its limits are invalid."""
        self._inputs.robot.of(model)
        self._show_limits(model)

    def changed(self, names: set[str]) -> None:
        """Apply new limits to the next motion."""
        if self.model is not None:
            self._show_limits(self.model)

    @property
    def fixed_because(self) -> str:
        """Reason why parameters cannot change now: a running motion was checked with the present
        limits and clock.
        """
        core = self._player.core if self._player is not None else None
        return "" if core is None or core.state.is_final else "A motion is in progress"

    def _show_limits(self, model: RobotModel) -> None:
        c = self.config
        self._limits = limits_in_force(c, motion_limits(c, model))
        self.get_logger().info("Limits in force:\n  " + "\n  ".join(self._limits))

    def activate(self) -> None:
        """Subscribe to the robot and accept goals."""
        self._inputs.listen(self._on_safety)
        play = (self._execute, refusal, self._player.cancel)
        self._action = SingleGoalAction(self, ExecuteTrajectory, "~/execute", *play).serve()
        self._arming.serve(self, self._why_not, self.config.no_dead_man)
        self._timer = self.create_timer(1.0 / self.config.rate_hz, self._player.tick)
        self.health.say("motion", Level.OK, "nothing to do")

    def deactivate(self) -> None:
        """Stop a running motion and refuse new ones."""
        if self.winding_down() and self._player is not None:
            self._player.halt(_STOPS)

    def winding_down(self) -> bool:
        """Stop the robot smoothly at shutdown, while states and clock still arrive."""
        if self._action is not None:
            self._action.accepting = False
            self._arming.disarm()
        return self._player is not None and self._player.stopping(_STOPS)

    def clean_up(self) -> None:
        """Finish a stop that is in progress."""
        self.deactivate()

    def _why_not(self) -> str:
        """Reason why arming is refused now; empty if it is allowed."""
        self.config.require_dead_man()
        forbidden = self._admission.forbidden(self._inputs.now())
        return "" if forbidden is None else "{}: {}.".format(*forbidden)

    def _on_safety(self, problem: str) -> None:
        self._arming.disarm()
        if self._player is not None:
            self._player.cancel(Fault(FaultCode.SAFETY_INPUT, {"text": problem}))

    async def _execute(self, goal: ServerGoalHandle) -> ExecuteTrajectory.Result:
        request, action, player = goal.request, self._action, self._player
        if not request.check_only:
            self._arming.require(request.token)
        await self.waits.until(
            lambda: not action.wanted or self._admission.ready(self.model, request.check_only), 5.0
        )
        if not action.wanted:
            raise SysIdError(
                "Cancelled before it began.", remedy="Call ~/arm, and send the goal again."
            )
        core = self._admission.admit(request, self.model, self.config, self._inputs.now())
        if request.check_only:
            return ExecuteTrajectory.Result(success=True, final_state="checked")
        self._arming.use(request.token)  # a goal that was refused has left it good
        return await player.play(core)

    def _on_step(self, core: Executor, command: Command, new: bool) -> None:
        for label in self._segment_marks.labels(command):
            self._marks.publish(Mark(stamp=conversions.stamp_from_ns(self.now_ns()), label=label))
        now = time.monotonic()
        if new or now - self._reported >= _REPORT_S:
            self._reported = now
            late = round(core.lateness, 3)
            used = core.monitor.used
            self._report(state_of(core, command), new, command.fault, goal_lateness_s=late, **used)

    def _report(
        self, state: ExecutorStateMessage, new: bool, fault: Fault | None, **used: float
    ) -> None:
        state.header.stamp = conversions.stamp_from_ns(self.now_ns())
        state.limits, state.armed = self._limits, self._arming.armed
        state.dead_man = self.config.dead_man_s if self.config.rolls else 0.0
        self._states.publish(state)
        if self._action is not None and self._action.goal is not None:
            self._action.goal.publish_feedback(feedback_of(state))
        if new:
            self.get_logger().info(f"{state.state}: {state.message}")
        bad = state.state in (ExecutorState.ABORTING, ExecutorState.ABORTED)
        code = {} if fault is None else {"fault": fault.code.value}
        level = Level.WARN if bad else Level.OK
        self.health.say("motion", level, state.message, state=state.state, **code, **used)
