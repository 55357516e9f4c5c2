# SPDX-License-Identifier: Apache-2.0
"""The trajectory executor: checks a motion, plays it on the robot, stops it smoothly.

Nothing moves on launch, and nothing before every check of the core has passed.
"""

from __future__ import annotations

import sys
import time

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
from sysid_core.excitation import Trajectory, check_motion
from sysid_core.excitation.execution import Command, Executor, ExecutorState, SegmentMarks
from sysid_core.robot import RobotModel
from sysid_core.signals import EffortKind
from sysid_nodes import conversions
from sysid_nodes.executor_config import TrajectoryExecutorConfig
from sysid_nodes.lifecycle import DATA, ManagedNode, run_node
from sysid_nodes.robot_drive import RobotDrive
from sysid_nodes.robot_state import RobotState

_LEAD_S = 0.1  # between sending a whole trajectory and its start
_PATIENCE_NS = 3_000_000_000  # for the first state after the check
_LONGEST_STOP_S = 4.0  # launch kills a node that takes longer to end


class TrajectoryExecutorNode(ManagedNode):
    """Serves `~/execute`; publishes its state and marks of the trajectory's segments."""

    Config = TrajectoryExecutorConfig

    def __init__(self) -> None:
        super().__init__("trajectory_executor")
        self.executor_core: Executor | None = None
        self._enabled = True
        self._accepting = self._busy = False
        self._goal: ServerGoalHandle | None = None
        self._finished: Future | None = None
        self._segment_marks = SegmentMarks()
        self._began_ns = self._ticks = self._wait_until_ns = 0

    def configure(self) -> None:
        """Make topics."""
        c: TrajectoryExecutorConfig = self.config
        self._drive = RobotDrive(self, c.command_mode, c.action_name)
        torques = c.effort_kind in (EffortKind.LINK_TORQUE, EffortKind.ACTUATOR_TORQUE)
        self._robot = RobotState(self.now_ns, torques)
        self._states = self.create_publisher(ExecutorStateMessage, "~/state", 10)
        self._marks = self.create_publisher(Mark, "marks", DATA)
        self.use_robot(c.robot)

    def got_robot(self, model: RobotModel) -> None:
        """Only states of this robot count from now on."""
        self._robot.of(model)

    def activate(self) -> None:
        """Listen to the robot, accept goals."""
        self.subscribe_to_data(JointState, "joint_states", self._robot.on_joints, depth=1)
        self.subscribe_to_data(WrenchStamped, "wrench", self._robot.on_wrench, depth=1)
        topic = self.config.enable_topic
        self._enabled = not topic
        if topic:
            self.subscribe_to_data(Bool, topic, self._on_enable, depth=1)
        self._action = ActionServer(
            self,
            ExecuteTrajectory,
            "~/execute",
            execute_callback=self._on_execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel,
        )
        self._timer = self.create_timer(1.0 / self.config.rate_hz, self._tick)
        self._accepting = True

    def deactivate(self) -> None:
        """Stop a running motion, refuse new ones."""
        self._halt("the executor is deactivated")

    def clean_up(self) -> None:
        """At shutdown: stop the robot, smoothly."""
        self._halt("the executor stops")

    def _halt(self, reason: str) -> None:
        """Play the stop to its end: nobody else will."""
        self._accepting = False
        core = self.executor_core
        if core is None or core.state.is_final:
            return
        core.cancel(reason)
        end = time.monotonic() + _LONGEST_STOP_S
        while not core.state.is_final and time.monotonic() < end:
            self._step()
            time.sleep(1.0 / self.config.rate_hz)

    def _on_enable(self, message: Bool) -> None:
        self._enabled = bool(message.data)
        if not self._enabled and self.executor_core is not None:
            self.executor_core.cancel(f"{self.config.enable_topic} is false")

    # ---- the action

    def _on_goal(self, goal: ExecuteTrajectory.Goal) -> GoalResponse:
        if self._busy or not self._accepting:
            return GoalResponse.REJECT
        self._busy = True
        return GoalResponse.ACCEPT

    def _on_cancel(self, goal: ServerGoalHandle) -> CancelResponse:
        if self.executor_core is not None:
            self.executor_core.cancel("cancelled by the operator")
        return CancelResponse.ACCEPT

    async def _on_execute(self, goal: ServerGoalHandle) -> ExecuteTrajectory.Result:
        try:
            result = await self._execute(goal)
        except SysIdError as err:
            self.get_logger().error(f"Refused: {err}")
            result = ExecuteTrajectory.Result(final_state="aborted", message=str(err))
        finally:
            self._goal = self._finished = None
            self._busy = False
        if result.success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return result

    async def _execute(self, goal: ServerGoalHandle) -> ExecuteTrajectory.Result:
        check_only = goal.request.check_only

        def ready() -> bool:
            robot = self._robot.measured is not None and self._drive.ready
            return self.model is not None and (check_only or robot)

        await self.wait_until(ready, 5.0)
        core = self._prepare(goal.request)
        if check_only:
            return ExecuteTrajectory.Result(success=True, final_state="checked")
        if goal.is_cancel_requested or not self._accepting:
            raise SysIdError("Cancelled before it began.")
        self.executor_core, self._goal, self._finished = core, goal, Future()
        self._began_ns = self.now_ns()
        core.start()
        # The check took its time; go on with states that came after it (or fail without them).
        self._wait_until_ns = self.now_ns() + _PATIENCE_NS
        await self._finished
        return ExecuteTrajectory.Result(
            success=core.state is ExecutorState.DONE,
            final_state=core.state.value,
            message=core.message,
            duration=(self.now_ns() - self._began_ns) * 1e-9,
            max_tracking_error=core.worst_error,
        )

    def _prepare(self, request: ExecuteTrajectory.Goal) -> Executor:
        """Everything that can be refused before anything moves."""
        c: TrajectoryExecutorConfig = self.config
        if self.model is None:
            raise SysIdError(
                "No robot_description has arrived.",
                remedy="Start robot_state_publisher, remap robot_description, or set `robot`.",
            )
        if not request.check_only:
            self._require_robot(self.model)
        trajectory = Trajectory.load(request.trajectory_file)
        trajectory.belongs_to(self.model)
        limits = c.motion_limits(self.model)
        if request.check_only:
            check_motion(self.model, trajectory, limits).raise_if_unsafe()
        settings = c.settings(request.speed_scale or 1.0, self._drive.takes_whole)
        return Executor(self.model, trajectory, limits, c.monitor_limits(limits), settings)

    def _require_robot(self, model: RobotModel) -> None:
        """The robot must be there, released and listening."""
        if not self._enabled:
            raise SysIdError(
                f"{self.config.enable_topic} is not true.", remedy="Release the robot first."
            )
        if self._robot.measured is None:
            others = f", only of {list(self._robot.others)}" if self._robot.others else ""
            raise SysIdError(
                f"No joint state of {model.name} has arrived{others}.",
                remedy="Is the driver running, is joint_states remapped to its topic, and is"
                " robot_description of the same robot (joint names, prefix)?",
            )
        self._drive.begin()

    # ---- the clockwork

    def _tick(self) -> None:
        if self.executor_core is None or self._finished is None:
            return
        now = self.now_ns()
        if now < self._wait_until_ns and self._robot.age_ns(now) > self.config.stale_s * 5e8:
            return
        self._wait_until_ns = 0
        self._step()

    def _step(self) -> None:
        core = self.executor_core
        assert core is not None
        now_ns = self.now_ns()
        before = core.state
        if self._drive.dropped:
            core.give_up(self._drive.dropped)
        command = core.step(now_ns * 1e-9, self._robot.measured)
        if command.state is not before:
            self.get_logger().info(f"{command.state.value}: {command.message}")
            self._send_whole(core)
        self._drive.stream(command)
        for label in self._segment_marks.labels(command):
            self._marks.publish(Mark(stamp=conversions.stamp_from_ns(now_ns), label=label))
        self._ticks += 1
        if command.state is not before or self._ticks % 10 == 0:
            self._tell(command, now_ns)
        if command.state.is_final and self._finished is not None and not self._finished.done():
            self._finished.set_result(True)

    def _send_whole(self, core: Executor) -> None:
        """For controllers that take whole trajectories: what is to come, and when it begins."""
        if not self._drive.takes_whole:
            return
        if core.state is ExecutorState.ABORTED:
            self._drive.cancel()  # a robot that has been paused must not finish the stop later
            return
        begin = self.now_ns() * 1e-9 + _LEAD_S
        trajectory = core.whole_command(begin)
        stopping = core.state is ExecutorState.ABORTING
        if trajectory is not None:
            self._drive.send_whole(trajectory, round((core.stop_at if stopping else begin) * 1e9))

    def _tell(self, command: Command, now_ns: int) -> None:
        core = self.executor_core
        assert core is not None
        left = 0.0 if core.motion is None else (1.0 - command.progress) * core.motion.duration
        message = ExecutorStateMessage(
            state=command.state.value,
            segment=command.segment,
            progress=command.progress,
            time_left=left,
            tracking_error=core.worst_error,
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
