"""The trajectory executor: checks a motion, plays it on the robot, stops it smoothly.

Nothing moves on launch, and nothing before every check of the core has passed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

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
    ExecutorSettings,
    ExecutorState,
    Measured,
    MonitorLimits,
    MotionLimits,
    Trajectory,
    check_motion,
)
from sysid_core.signals import EffortKind
from sysid_nodes import conversions
from sysid_nodes.managed_node import DATA, ManagedNode, run_node
from sysid_nodes.parameters import parameter
from sysid_nodes.robot_drive import MODES, RobotDrive

_LEAD_S = 0.1  # between sending a whole trajectory and its start
_PATIENCE_NS = 3_000_000_000  # for the first state after the check


@dataclass(frozen=True)
class TrajectoryExecutorConfig:
    """Parameters of `trajectory_executor`."""

    robot: str = parameter("", "URDF file or name; empty: wait for robot_description.")
    command_mode: str = parameter("joint_trajectory", "How the robot is driven.", choices=MODES)
    action_name: str = parameter(
        "joint_trajectory_controller/follow_joint_trajectory",
        "Action of the robot's controller, for command_mode follow_joint_trajectory.",
    )
    rate_hz: float = parameter(
        100.0, "Of monitoring and streamed commands [Hz].", minimum=20.0, maximum=1000.0
    )
    tcp_frame: str = parameter("", "Link whose speed is limited; empty: the last.")
    tcp_speed: float = parameter(0.25, "Limit of the TCP's speed [m/s].", minimum=0.01, maximum=5.0)
    acceleration: float = parameter(
        5.0, "Limit of every joint's acceleration [rad/s^2].", minimum=0.1, maximum=100.0
    )
    velocity_share: float = parameter(
        1.0, "Share of the URDF's velocity limits.", minimum=0.01, maximum=1.0
    )
    effort_share: float = parameter(
        1.0, "Share of the URDF's effort limits.", minimum=0.01, maximum=1.0
    )
    ground_height: float = parameter(
        -1000.0, "Nothing moves below it [m]; -1000 for no ground.", minimum=-1000.0, maximum=1000.0
    )
    workspace: tuple[float, ...] = parameter(
        (), "Box that holds the robot: x y z of two corners; list of numbers, 6 or none [m]."
    )
    self_collision: bool = parameter(True, "Whether contact of the robot with itself is checked.")
    effort_kind: str = parameter(
        "unknown",
        "What `effort` of joint_states means; torques are monitored, anything else isn't.",
        choices=tuple(kind.value for kind in EffortKind),
    )
    tracking_error: float = parameter(
        0.1, "Abort beyond it [rad or m].", minimum=0.001, maximum=1.0
    )
    start_tolerance: float = parameter(
        0.02,
        "Begin the motion within this distance from its start [rad or m]; controllers that hold"
        " badly need more.",
        minimum=0.001,
        maximum=0.5,
    )
    max_force: float = parameter(200.0, "Abort beyond this measured force [N].", minimum=1.0)
    max_torque: float = parameter(30.0, "Abort beyond this measured torque [N m].", minimum=0.1)
    stale_s: float = parameter(
        0.2, "Abort when joint_states are older [s].", minimum=0.01, maximum=2.0
    )
    max_step_s: float = parameter(
        0.25,
        "Abort when the clock (or this process) stalls for longer [s].",
        minimum=0.05,
        maximum=2.0,
    )
    slow_start_s: float = parameter(
        1.0, "Time in which the speed rises to full [s].", minimum=0.05, maximum=20.0
    )
    stop_lead_s: float = parameter(
        0.05,
        "Time that a stop needs to reach a whole-trajectory controller [s].",
        minimum=0.0,
        maximum=1.0,
    )
    enable_topic: str = parameter(
        "",
        "Bool topic that must be true while moving, such as UR's robot_program_running; empty: none.",
    )


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
        corners = tuple(c.workspace)
        limits = MotionLimits.from_model(
            self.model,
            acceleration=c.acceleration,
            velocity_share=c.velocity_share,
            effort_share=c.effort_share,
            tcp_frame=c.tcp_frame or None,
            tcp_speed=c.tcp_speed,
            ground_height=c.ground_height if c.ground_height > -1000.0 else None,
            workspace=(corners[:3], corners[3:]) if len(corners) == 6 else None,  # type: ignore[arg-type]
            self_collision=c.self_collision,
        )
        if request.check_only:
            check_motion(self.model, trajectory, limits).raise_if_unsafe()
        monitor = MonitorLimits.from_limits(
            limits,
            tracking_error=c.tracking_error,
            force=c.max_force,
            torque=c.max_torque,
            stale_after=c.stale_s,
            max_step=c.max_step_s,
        )
        settings = ExecutorSettings(
            speed_scale=request.speed_scale or 1.0,
            slow_start=c.slow_start_s,
            start_tolerance=c.start_tolerance,
            stop_lead=c.stop_lead_s if self._drive.takes_whole else 0.0,
        )
        return Executor(self.model, trajectory, limits, monitor, settings)

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
