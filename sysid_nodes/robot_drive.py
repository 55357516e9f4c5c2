"""How commands reach a robot: whole trajectories, or a stream."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rclpy.action import ActionClient
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_core.errors import SysIdError
from sysid_core.excitation import Command, Trajectory
from sysid_nodes.conversions import message_from_trajectory

if TYPE_CHECKING:
    from sysid_nodes.managed_node import ManagedNode

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

    def require_ready(self) -> None:
        """Somebody must be there to move the robot.

        Raises:
            SysIdError: Nobody listens.
        """
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
            self._client.send_goal_async(goal)

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
