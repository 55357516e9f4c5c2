"""The trajectory executor: checks a motion, plays it on the robot, stops it smoothly.

Nothing moves on launch, and nothing before every check of the core has passed.
"""

from __future__ import annotations

import sys

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.task import Future
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.msg import ExecutorState as ExecutorStateMessage
from robot_sysid.msg import Mark
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from sysid_core.errors import SysIdError
from sysid_core.excitation import (
    Command,
    Executor,
    ExecutorState,
    Measured,
    Trajectory,
    check_motion,
)
from sysid_core.signals import EffortKind
from sysid_nodes import conversions
from sysid_nodes.executor_config import TrajectoryExecutorConfig
from sysid_nodes.managed_node import DATA, ManagedNode, run_node
from sysid_nodes.robot_drive import RobotDrive

_LEAD_S = 0.1  # between sending a whole trajectory and its start
_PATIENCE_NS = 3_000_000_000  # for the first state after the check


class TrajectoryExecutorNode(ManagedNode):
    """Serves `~/execute`; publishes its state and marks of the trajectory's segments."""

    Config = TrajectoryExecutorConfig

    def __init__(self) -> None:
        super().__init__("trajectory_executor")
        self.executor_core: Executor | None = None
        self._measured: Measured | None = None
        self._wrench: np.ndarray | None = None
        self._enabled = True
        self._goal: ServerGoalHandle | None = None
        self._finished: Future | None = None
        self._state, self._segment = ExecutorState.IDLE, ""
        self._began_ns, self._worst_error, self._ticks = 0, 0.0, 0
        self._wait_until_ns = 0

    def configure(self) -> None:
        """Make topics and the action; listen to the robot."""
        c: TrajectoryExecutorConfig = self.config
        self._drive = RobotDrive(self, c.command_mode, c.action_name)
        self._states = self.create_publisher(ExecutorStateMessage, "~/state", 10)
        self._marks = self.create_publisher(Mark, "marks", DATA)
        self.subscribe_to_data(JointState, "joint_states", self._on_joints, depth=1)
        self.subscribe_to_data(WrenchStamped, "wrench", self._on_wrench, depth=1)
        if c.enable_topic:
            self._enabled = False
            self.subscribe_to_data(Bool, c.enable_topic, self._on_enable, depth=1)
        self.use_robot(c.robot)

    def activate(self) -> None:
        """Accept goals."""
        self._action = ActionServer(
            self,
            ExecuteTrajectory,
            "~/execute",
            execute_callback=self._on_execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel,
        )
        self._timer = self.create_timer(1.0 / self.config.rate_hz, self._tick)

    def deactivate(self) -> None:
        """Stop a running motion, refuse new ones."""
        self._halt("the executor is deactivated")
        self._action.destroy()

    def clean_up(self) -> None:
        """At shutdown: stop the robot where it is, smoothly."""
        self._halt("the executor stops")

    def _halt(self, reason: str) -> None:
        core = self.executor_core
        if core is None or core.state.is_final:
            return
        core.cancel(reason)
        self._step()

    # ---- what is measured

    def _on_joints(self, message: JointState) -> None:
        torque = self.config.effort_kind in (EffortKind.LINK_TORQUE, EffortKind.ACTUATOR_TORQUE)
        n = len(message.name)
        velocity = np.array(message.velocity) if message.velocity else np.zeros(n)
        stamp = conversions.ns_from_stamp(message.header.stamp) or self.now_ns()
        self._measured = Measured(
            stamp=stamp * 1e-9,
            joint_names=tuple(message.name),
            q=np.array(message.position),
            v=velocity,
            effort=np.array(message.effort) if torque and len(message.effort) == n else None,
            wrench=self._wrench,
        )

    def _on_wrench(self, message: WrenchStamped) -> None:
        self._wrench = conversions.wrench_from_message(message.wrench)

    def _on_enable(self, message: Bool) -> None:
        self._enabled = bool(message.data)
        if not self._enabled and self.executor_core is not None:
            self.executor_core.cancel(f"{self.config.enable_topic} is false")

    # ---- the action

    def _on_goal(self, goal: ExecuteTrajectory.Goal) -> GoalResponse:
        busy = self.executor_core is not None and not self.executor_core.state.is_final
        return GoalResponse.REJECT if busy or self._finished is not None else GoalResponse.ACCEPT

    def _on_cancel(self, goal: ServerGoalHandle) -> CancelResponse:
        if self.executor_core is not None:
            self.executor_core.cancel("cancelled by the operator")
        return CancelResponse.ACCEPT

    async def _on_execute(self, goal: ServerGoalHandle) -> ExecuteTrajectory.Result:
        result = ExecuteTrajectory.Result(final_state="aborted")
        await self.wait_until(
            lambda: self.model is not None and self._measured is not None and self._drive.ready, 5.0
        )
        try:
            core = self._prepare(goal.request)
            if goal.request.check_only:
                result.success, result.final_state = True, "checked"
                goal.succeed()
                return result
        except SysIdError as err:
            result.message = str(err)
            self.get_logger().error(f"Refused: {err}")
            goal.abort()
            return result
        self.executor_core, self._goal, self._finished = core, goal, Future()
        self._began_ns, self._worst_error = self.now_ns(), 0.0
        core.start()
        # The check took its time; go on with states that came after it (or fail without them).
        self._wait_until_ns = self.now_ns() + _PATIENCE_NS
        await self._finished
        self._goal = self._finished = None
        result.success = core.state is ExecutorState.DONE
        result.final_state, result.message = core.state.value, core.message
        result.duration = (self.now_ns() - self._began_ns) * 1e-9
        result.max_tracking_error = self._worst_error
        if result.success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return result

    def _prepare(self, request: ExecuteTrajectory.Goal) -> Executor:
        """Everything that can be refused before anything moves."""
        c: TrajectoryExecutorConfig = self.config
        if self.model is None:
            raise SysIdError(
                "No robot_description has arrived.",
                remedy="Start robot_state_publisher, remap robot_description, or set `robot`.",
            )
        if not self._enabled:
            raise SysIdError(f"{c.enable_topic} is not true.", remedy="Release the robot first.")
        self._drive.require_ready()
        trajectory = Trajectory.load(request.trajectory_file)
        trajectory.belongs_to(self.model)
        limits = c.motion_limits(self.model)
        if request.check_only:
            check_motion(self.model, trajectory, limits).raise_if_unsafe()
        settings = c.settings(request.speed_scale or 1.0, self._drive.takes_whole)
        return Executor(self.model, trajectory, limits, c.monitor_limits(limits), settings)

    # ---- the clockwork

    def _tick(self) -> None:
        if self.executor_core is None or self._finished is None:
            return
        now = self.now_ns()
        if now < self._wait_until_ns and self._age_ns(now) > self.config.stale_s * 5e8:
            return
        self._wait_until_ns = 0
        self._step()

    def _age_ns(self, now_ns: int) -> float:
        return float("inf") if self._measured is None else now_ns - self._measured.stamp * 1e9

    def _step(self) -> None:
        core = self.executor_core
        assert core is not None
        now_ns = self.now_ns()
        before = core.state
        command = core.step(now_ns * 1e-9, self._measured)
        if command.state is not before:
            self.get_logger().info(f"{command.state.value}: {command.message}")
            self._send_whole(core)
        self._drive.stream(command)
        self._mark(command, now_ns)
        expected = core.expected(self._measured)
        if expected is not None and self._measured is not None:
            q, _ = core.monitor.in_order(self._measured)
            self._worst_error = max(self._worst_error, float(np.max(np.abs(expected - q))))
        self._ticks += 1
        if command.state is not before or self._ticks % 10 == 0:
            self._tell(command, now_ns)
        if command.state.is_final and self._finished is not None and not self._finished.done():
            self._finished.set_result(True)

    def _send_whole(self, core: Executor) -> None:
        """For controllers that take whole trajectories: what is to come, and when it begins."""
        if not self._drive.takes_whole:
            return
        begin = self.now_ns() * 1e-9 + _LEAD_S
        trajectory = core.whole_command(begin)
        stopping = core.state is ExecutorState.ABORTING
        if trajectory is not None:
            self._drive.send_whole(trajectory, round((core.stop_at if stopping else begin) * 1e9))

    def _mark(self, command: Command, now_ns: int) -> None:
        """Publish where one segment ends and the next begins."""
        labels = []
        if command.state is ExecutorState.EXECUTING and self._state is not ExecutorState.EXECUTING:
            labels.append("motion:start")
        if command.segment != self._segment:
            labels += [f"{self._segment}:end"] if self._segment else []
            labels += [f"{command.segment}:start"] if command.segment else []
        if self._state is ExecutorState.EXECUTING and command.state is not ExecutorState.EXECUTING:
            labels.append("motion:end")
        for label in labels:
            self._marks.publish(Mark(stamp=conversions.stamp_from_ns(now_ns), label=label))
        self._state, self._segment = command.state, command.segment

    def _tell(self, command: Command, now_ns: int) -> None:
        core = self.executor_core
        assert core is not None
        left = 0.0 if core.motion is None else (1.0 - command.progress) * core.motion.duration
        message = ExecutorStateMessage(
            state=command.state.value,
            segment=command.segment,
            progress=command.progress,
            time_left=left,
            tracking_error=self._worst_error,
            message=command.message,
        )
        message.header.stamp = conversions.stamp_from_ns(now_ns)
        self._states.publish(message)
        if self._goal is not None:
            self._goal.publish_feedback(
                ExecuteTrajectory.Feedback(
                    state=message.state,
                    segment=message.segment,
                    progress=message.progress,
                    time_left=left,
                )
            )
        bad = command.state in (ExecutorState.ABORTING, ExecutorState.ABORTED)
        self.diagnose(
            DiagnosticStatus.WARN if bad else DiagnosticStatus.OK,
            command.message,
            state=message.state,
        )


def main(args: list[str] | None = None) -> int:
    """Entry point."""
    return run_node(TrajectoryExecutorNode, args)


if __name__ == "__main__":
    sys.exit(main())
