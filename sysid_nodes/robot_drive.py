# SPDX-License-Identifier: Apache-2.0
"""How commands reach a robot: whole trajectories, or a stream."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_core.errors import SysIdError
from sysid_core.excitation import Trajectory
from sysid_core.excitation.execution import Command
from sysid_nodes.conversions import message_from_trajectory

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

FOLLOW, TOPIC, POSITION, SETPOINT = (
    "follow_joint_trajectory",
    "joint_trajectory",
    "position_stream",
    "setpoint_stream",
)
MODES = (FOLLOW, TOPIC, POSITION, SETPOINT)


class RobotDrive:
    """Sends what the executor's core says.

    Modes: the action of a joint_trajectory_controller (needs control_msgs, which every robot with
    ros2_control has), its topic, a stream of positions (forward_command_controller), or a stream of
    position, velocity and acceleration set points (`computed_torque_controller`).

    Args:
        node: Whose topics these are.
        mode: One of `MODES`.
        action_name: Of the controller's action.
    """

    def __init__(self, node: ManagedNode, mode: str, action_name: str) -> None:
        self.mode = mode
        self._node = node
        self._client: ActionClient | None = None
        self._publisher: Any = None
        self._goal: Any = None  # what the controller has accepted last
        self._sent = 0
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
        elif mode == TOPIC:
            self._publisher = node.create_publisher(JointTrajectory, "joint_trajectory", 10)
        elif mode == POSITION:
            self._publisher = node.create_publisher(Float64MultiArray, "position_commands", 10)
        else:
            self._publisher = node.create_publisher(JointTrajectory, "setpoint", 10)

    @property
    def ready(self) -> bool:
        """Whether somebody is there to move the robot."""
        if self._client is not None:
            return bool(self._client.server_is_ready())
        return bool(self._publisher.get_subscription_count() > 0)

    def begin(self) -> None:
        """Forget the run before; somebody must be there to move the robot.

        Raises:
            SysIdError: Nobody listens.
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

    @property
    def takes_whole(self) -> bool:
        """Whether the controller takes whole trajectories instead of a stream."""
        return self.mode in (FOLLOW, TOPIC)

    def send_whole(self, trajectory: Trajectory, begin_ns: int) -> None:
        """A new motion or stop that begins at a time, replacing what is being played."""
        # Quintics between knots 50 ms apart; a stop is short and takes all samples.
        stride = 5 if trajectory.duration > 2.0 else 1
        message = message_from_trajectory(trajectory, start_ns=begin_ns, stride=stride)
        if self._client is None:
            self._publisher.publish(message)
        else:
            goal = self._action.Goal(trajectory=message)
            goal.goal_time_tolerance.sec = 5  # zero would wait forever
            self._sent += 1
            self._goal, self.dropped = None, ""
            answer = self._client.send_goal_async(goal)
            answer.add_done_callback(partial(self._on_answer, self._sent))

    def cancel(self) -> None:
        """The controller shall hold the robot, where it takes goals and still plays one."""
        self._sent += 1  # nothing that is still to come of it matters
        if self._goal is not None:
            self._goal.cancel_goal_async()

    def _on_answer(self, number: int, answer: Future) -> None:
        if number != self._sent:
            return
        self._goal = answer.result()
        if self._goal is None or not self._goal.accepted:
            self._goal, self.dropped = None, "the robot's controller refused the trajectory"
            return
        self._goal.get_result_async().add_done_callback(partial(self._on_result, number))

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
