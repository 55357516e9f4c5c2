# SPDX-License-Identifier: Apache-2.0
"""How commands reach a robot: goal by goal, or as a stream."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_core.errors import SysIdError
from sysid_core.excitation.execution import Command, Outgoing
from sysid_nodes.conversions import message_from_trajectory, ns_from_stamp
from sysid_nodes.execution.config import FOLLOW, POSITION, TOPIC
from sysid_nodes.execution.controller import ControllerWatch

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

Clock = Callable[[float | None, np.ndarray, float], None]
_LATENCY_S = 0.005  # of the first goal; then as measured


class RobotDrive:
    """Sends what the executor's core says.

    Modes: the action of a joint_trajectory_controller (needs control_msgs, which every robot with
    ros2_control has), its topic, a stream of positions (forward_command_controller), or a stream of
    position, velocity and acceleration set points (`computed_torque_controller`).

    Args:
        node: Whose topics these are.
        mode: One of `MODES`.
        action_name: Name of the controller's action.
        on_clock: Called with the controller's own time of the motion [s] (None where it doesn't say
            it), what it commands, and the stamp [s].
    """

    def __init__(self, node: ManagedNode, mode: str, action_name: str, on_clock: Clock) -> None:
        self.mode = mode
        self._node, self._on_clock = node, on_clock
        self._client: ActionClient | None = None
        self._publisher: Any = None
        self._goal: Any = None  # what the controller has accepted last
        self._sent = 0
        self.watch: ControllerWatch | None = None
        self.latency = _LATENCY_S  # of a goal [s]
        self.dropped = ""  # why the controller doesn't play what was sent last
        if mode == FOLLOW:
            try:
                self._action: Any = importlib.import_module(
                    "control_msgs.action"
                ).FollowJointTrajectory
            except ImportError as err:
                raise SysIdError(
                    "command_mode follow_joint_trajectory needs control_msgs.",
                    remedy="sudo apt install ros-$ROS_DISTRO-control-msgs, or command_mode joint_trajectory.",
                ) from err
            self._client = ActionClient(node, self._action, action_name)
            self.watch = ControllerWatch(node, action_name)
        elif mode == TOPIC:
            self._publisher = node.create_publisher(JointTrajectory, "joint_trajectory", 10)
        elif mode == POSITION:
            self._publisher = node.create_publisher(Float64MultiArray, "position_commands", 10)
        else:
            self._publisher = node.create_publisher(JointTrajectory, "setpoint", 10)

    @property
    def ready(self) -> bool:
        """Whether somebody is there to move the robot."""
        if self.watch is not None:
            self.watch.ask()
        if self._client is not None:
            return bool(self._client.server_is_ready())
        return bool(self._publisher.get_subscription_count() > 0)

    def begin(self) -> None:
        """Forget the run before; somebody must be there to move the robot, and nobody else do it.

        Raises:
            SysIdError: Nobody listens, or another one drives the robot.
        """
        self._sent += 1
        self._goal, self.dropped = None, ""
        if not self.ready:
            what = (
                "the controller's action"
                if self._client is not None
                else f"a subscriber on {self._publisher.topic_name}"
            )
            raise SysIdError(
                f"There isn't {what}: the robot would not move.",
                remedy="Activate the robot's controller, or remap the topic to it.",
            )
        if self.watch is not None and self.watch.driven_by_others:
            raise SysIdError(
                "The robot's controller plays a goal of somebody else.",
                remedy="End it there (another executor, MoveIt, a teach pendant), then try again.",
            )

    @property
    def takes_whole(self) -> bool:
        """Whether the controller takes whole trajectories instead of a stream."""
        return self.mode in (FOLLOW, TOPIC)

    def send(self, out: Outgoing) -> None:
        """A goal that replaces what is being played."""
        begin_ns = 0 if out.begin is None else round(out.begin * 1e9)
        message = message_from_trajectory(out.trajectory, start_ns=begin_ns)
        if self._client is None:
            self._publisher.publish(message)
            return
        goal = self._action.Goal(trajectory=message)
        goal.goal_time_tolerance.sec = 5  # zero would wait forever
        self._sent += 1
        self._goal, self.dropped = None, ""
        follow = partial(self._on_feedback, self._sent, out.origin, out.trajectory.joint_names)
        answer = self._client.send_goal_async(goal, feedback_callback=follow)
        answer.add_done_callback(partial(self._on_answer, self._sent, time.monotonic()))

    def cancel(self) -> None:
        """The controller shall hold the robot, where it takes goals and still plays one."""
        self._sent += 1  # nothing that is still to come of it matters
        if self._goal is not None:
            self._goal.cancel_goal_async()

    def _on_feedback(
        self, number: int, origin: float, names: tuple[str, ...], message: Any
    ) -> None:
        """Where the controller is in a goal."""
        feedback = message.feedback
        if number != self._sent or not feedback.desired.positions:
            return
        own = feedback.desired.time_from_start
        t = own.sec + own.nanosec * 1e-9
        columns = [list(feedback.joint_names).index(name) for name in names]
        q = np.asarray(feedback.desired.positions)[columns]
        stamp = ns_from_stamp(feedback.header.stamp) * 1e-9
        self._on_clock(origin + t if t > 0.0 else None, q, stamp)

    def _on_answer(self, number: int, sent_at: float, answer: Future) -> None:
        handle = answer.result()
        if handle is not None and handle.accepted and self.watch is not None:
            self.watch.ours(handle)
        if number != self._sent:
            return
        self._goal = handle
        if handle is None or not handle.accepted:
            self._goal, self.dropped = None, "the robot's controller refused the trajectory"
            return
        half = min(0.5 * (time.monotonic() - sent_at), 0.05)
        self.latency += 0.3 * (half - self.latency)
        handle.get_result_async().add_done_callback(partial(self._on_result, number))

    def _on_result(self, number: int, answer: Future) -> None:
        if number != self._sent:
            return
        self._goal, outcome = None, answer.result()
        if outcome.status != GoalStatus.STATUS_SUCCEEDED:
            result = outcome.result
            self.dropped = (
                "the robot's controller ended the trajectory:"
                f" {result.error_string or f'error code {result.error_code}'}"
            )

    def stream(self, command: Command) -> None:
        """The set point of this instant, for the modes that take a stream."""
        if command.q is None or self.takes_whole:
            return
        if self.mode == POSITION:
            self._publisher.publish(Float64MultiArray(data=command.q.tolist()))
            return
        assert command.v is not None and command.a is not None
        point = JointTrajectoryPoint(
            positions=command.q.tolist(),
            velocities=command.v.tolist(),
            accelerations=command.a.tolist(),
        )
        message = JointTrajectory(joint_names=list(command.joint_names), points=[point])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
