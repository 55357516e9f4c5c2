# SPDX-License-Identifier: Apache-2.0
"""The trajectory executor: checks a motion, plays it on the robot, stops it smoothly.

Nothing moves on launch, without a token of `~/arm`, and before every check of the core has passed.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.action.server import ServerGoalHandle
from rclpy.task import Future
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.msg import ExecutorState as ExecutorStateMessage
from robot_sysid.msg import Mark
from robot_sysid.srv import Arm
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from sysid_core.errors import SysIdError
from sysid_core.excitation.execution import Executor, ExecutorState, SegmentMarks
from sysid_core.robot import RobotModel
from sysid_core.signals import EffortKind
from sysid_nodes import conversions, execution
from sysid_nodes.lifecycle import DATA, OK, WARN, ManagedNode, run_node

_PATIENCE_NS = 3_000_000_000  # for the first state after the check
_LONGEST_STOP_S = 4.0  # launch kills a node that takes longer to end


class TrajectoryExecutorNode(ManagedNode):
    """Serves `~/execute` and `~/arm`; publishes its state and marks of the trajectory's segments."""

    Config = execution.TrajectoryExecutorConfig

    def __init__(self) -> None:
        super().__init__("trajectory_executor")
        self.core: Executor | None = None
        self._action: execution.ExecuteAction | None = None
        self._finished: Future | None = None
        self._segment_marks = SegmentMarks()
        self._limits: list[str] = []
        self._ticks = self._wait_until_ns = 0

    def configure(self) -> None:
        """Make topics; what is malformed in the parameters is refused here."""
        c: execution.TrajectoryExecutorConfig = self.config
        self._drive = execution.RobotDrive(self, c.command_mode, c.action_name, self._on_clock)
        torques = c.effort_kind in (EffortKind.LINK_TORQUE, EffortKind.ACTUATOR_TORQUE)
        self._robot = execution.RobotState(self.now_ns, torques)
        self._safety = execution.SafetyInputs(c.safety_inputs, c.enable_topic)
        self._scaling = execution.SpeedScaling(c.speed_scaling_topic)
        self._arming = execution.Arming(c.arm_timeout_s)
        self._admission = execution.Admission(self._drive, self._robot, self._safety)
        self._states = self.create_publisher(ExecutorStateMessage, "~/state", 10)
        self._marks = self.create_publisher(Mark, "marks", DATA)
        self.use_robot(c.robot)

    def got_robot(self, model: RobotModel) -> None:
        """Only states of this robot count from now on, and its limits must make sense."""
        self._robot.of(model)
        self._show_limits(model)

    def changed(self, names: set[str]) -> None:
        """Limits take effect at once, also on a motion under way."""
        if self.model is not None:
            self._show_limits(self.model)
            if self.core is not None:
                self.core.monitor.limits = self.config.monitor_limits(self.core.limits)

    def _show_limits(self, model: RobotModel) -> None:
        self._limits = self.config.in_force(self.config.motion_limits(model))
        self.get_logger().info("Limits in force:\n  " + "\n  ".join(self._limits))

    def activate(self) -> None:
        """Listen to the robot, accept goals."""
        self.subscribe_to_data(JointState, "joint_states", self._robot.on_joints, depth=1)
        self.subscribe_to_data(WrenchStamped, "wrench", self._robot.on_wrench, depth=1)
        self._safety.listen(
            lambda kind, topic, take: self.subscribe_to_data(kind, topic, take, depth=1),
            self._now,
            self._watch_safety,
        )
        if self._scaling.topic:
            self.subscribe_to_data(
                Float64,
                self._scaling.topic,
                lambda message: self._scaling.take(message.data, self._now()),
                depth=1,
            )
        self._action = execution.ExecuteAction(self, self._execute, lambda: self._cancel())
        self.create_service(Arm, "~/arm", self._on_arm)
        self._timer = self.create_timer(1.0 / self.config.rate_hz, self._tick)
        self.health.say("motion", OK, "nothing to do")

    def deactivate(self) -> None:
        """Stop a running motion, refuse new ones."""
        self._halt("the executor is deactivated")

    def clean_up(self) -> None:
        """At shutdown: stop the robot, smoothly."""
        self._halt("the executor stops")

    def _halt(self, reason: str) -> None:
        """Play the stop to its end: nobody else will."""
        if self._action is not None:
            self._action.accepting = False
            self._arming.disarm()
        core = self.core
        if core is None or core.state.is_final:
            return
        core.cancel(reason)
        end = time.monotonic() + _LONGEST_STOP_S
        while not core.state.is_final and time.monotonic() < end:
            self._step(core)
            time.sleep(1.0 / self.config.rate_hz)

    def _now(self) -> float:
        return self.now_ns() * 1e-9

    def _cancel(self, reason: str = "cancelled by the operator") -> None:
        if self.core is not None:
            self.core.cancel(reason)

    def _on_arm(self, request: Arm.Request, response: Arm.Response) -> Arm.Response:
        problem = self._safety.problem(self._now())
        if problem:
            response.message = f"{problem}: release the robot first."
            return response
        response.token, response.success = self._arming.arm(), True
        response.valid_for = self._arming.valid_for
        return response

    def _watch_safety(self) -> None:
        problem = self._safety.problem(self._now())
        if problem:
            self._arming.disarm()
            self._cancel(problem)

    def _on_clock(self, u: float | None, q: np.ndarray, stamp: float) -> None:
        now = self._now()
        stamp = stamp if abs(now - stamp) < 0.5 else now
        if self.core is not None and u is not None:
            self.core.clock(u, stamp)
        elif self.core is not None:
            self.core.clock_by(q, stamp)

    async def _execute(self, goal: ServerGoalHandle) -> ExecuteTrajectory.Result:
        request = goal.request
        if not request.check_only:
            self._arming.use(request.token)
        await self.wait_until(lambda: self._admission.ready(self.model, request.check_only), 5.0)
        if self._action is None or not self._action.wanted:
            raise SysIdError("Cancelled before it began.")
        core = self._admission.admit(request, self.model, self.config, self._now())
        if request.check_only:
            return ExecuteTrajectory.Result(success=True, final_state="checked")
        self.core, self._finished = core, Future()
        began_ns = self.now_ns()
        core.start()
        # The check took its time; go on with states that came after it (or fail without them).
        self._wait_until_ns = self.now_ns() + _PATIENCE_NS
        await self._finished
        publishers = self.get_publishers_info_by_topic(self.resolve_topic_name("joint_states"))
        hint = self._robot.publishers_hint(
            [f"{p.node_namespace}/{p.node_name}".replace("//", "/") for p in publishers]
        )
        return execution.result_of(core, (self.now_ns() - began_ns) * 1e-9, hint)

    def _tick(self) -> None:
        now = self.now_ns()
        if self.core is None or self._finished is None or self._finished.done():
            return
        if now < self._wait_until_ns and self._robot.age_ns(now) > self.config.stale_s * 5e8:
            return
        self._wait_until_ns = 0
        self._step(self.core)

    def _step(self, core: Executor) -> None:
        now, before = self._now(), core.state
        if self._drive.dropped:
            core.give_up(self._drive.dropped)
        problem = self._safety.problem(now)
        if problem:
            core.cancel(problem)
        core.scaling = self._scaling.value(now)
        command = core.step(now, self._robot.measured)
        out = core.outgoing(now) if self._drive.takes_whole else None
        if out is not None:
            self._drive.send(out)
        self._drive.stream(command)
        new = command.state is not before
        if new and command.state is ExecutorState.ABORTED:
            self._drive.cancel()  # a robot that has been paused must not finish the stop later
        for label in self._segment_marks.labels(command):
            self._marks.publish(Mark(stamp=conversions.stamp_from_ns(self.now_ns()), label=label))
        self._ticks += 1
        if new or self._ticks % 10 == 0:
            self._report(execution.report_run(core, command, core.scaling), new)
        if command.state.is_final and self._finished is not None and not self._finished.done():
            self._finished.set_result(True)

    def _report(self, state: ExecutorStateMessage, new: bool) -> None:
        state.header.stamp = conversions.stamp_from_ns(self.now_ns())
        state.limits, state.armed = self._limits, self._arming.armed
        state.dead_man = self.config.dead_man_s if self.config.rolls else 0.0
        self._states.publish(state)
        if self._action is not None and self._action.goal is not None:
            self._action.goal.publish_feedback(execution.feedback_of(state))
        if new:
            self.get_logger().info(f"{state.state}: {state.message}")
        bad = state.state in (ExecutorState.ABORTING, ExecutorState.ABORTED)
        self.health.say("motion", WARN if bad else OK, state.message, state=state.state)


def main(args: list[str] | None = None) -> int:
    """Entry point."""
    return run_node(TrajectoryExecutorNode, args)


if __name__ == "__main__":
    sys.exit(main())
