# SPDX-License-Identifier: Apache-2.0
"""Command interfaces by topics (trajectories, positions, set points), and the choice of an
interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_core.execution import Command, Outgoing
from sysid_nodes.conversions import message_from_trajectory
from sysid_nodes.trajectory_executor.action_drive import ActionDrive, Clock
from sysid_nodes.trajectory_executor.drive import CommandMode, RobotDrive
from sysid_nodes.trajectory_executor.guard_drive import GuardDrive

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode


class _TopicDrive(RobotDrive):
    """Command interface that publishes on a topic; the subscriber moves the robot."""

    message_type: type
    topic: str

    def __init__(self, node: ManagedNode) -> None:
        super().__init__(node)
        self._publisher = node.create_publisher(self.message_type, self.topic, 10)

    @property
    def ready(self) -> bool:
        """True if the topic has a subscriber."""
        return bool(self._publisher.get_subscription_count() > 0)

    @property
    def listener(self) -> str:
        """Name of the required receiver."""
        return f"a subscriber on {self._publisher.topic_name}"


class TrajectoryDrive(_TopicDrive):
    """Publisher of whole trajectories for a joint_trajectory_controller."""

    takes_whole = True
    message_type, topic = JointTrajectory, "joint_trajectory"

    def send(self, out: Outgoing) -> None:
        """Send a trajectory that replaces the current one."""
        begin_ns = 0 if out.begin is None else round(out.begin * 1e9)
        self._publisher.publish(message_from_trajectory(out.trajectory, start_ns=begin_ns))


class PositionDrive(_TopicDrive):
    """Publisher of streamed positions for a forward_command_controller."""

    message_type, topic = Float64MultiArray, "position_commands"

    def stream(self, command: Command) -> None:
        """Publish the current position of the reference."""
        if command.q is not None:
            self._publisher.publish(Float64MultiArray(data=command.q.tolist()))


class SetpointDrive(_TopicDrive):
    """Publisher of streamed position, velocity and acceleration for `computed_torque_controller`."""

    message_type, topic = JointTrajectory, "setpoint"

    def stream(self, command: Command) -> None:
        """Publish the current set point."""
        if command.q is None:
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


_TOPIC_DRIVES = {
    CommandMode.TOPIC: TrajectoryDrive,
    CommandMode.POSITION: PositionDrive,
    CommandMode.SETPOINT: SetpointDrive,
}


def build_drive(
    node: ManagedNode, mode: CommandMode, action_name: str, on_clock: Clock
) -> RobotDrive:
    """Return the command interface of a command mode.

    Args:
        node: Node that owns the topics.
        mode: Command interface of the robot.
        action_name: Name of the controller's action, for the mode follow_joint_trajectory.
        on_clock: Function that is called with the time that the controller reports, see
            ActionDrive.

    Raises:
        SysIdError: The package of the action is not installed.
    """
    if mode is CommandMode.FOLLOW:
        return ActionDrive(node, action_name, on_clock)
    if mode is CommandMode.GUARD:
        return GuardDrive(node, on_clock)
    return _TOPIC_DRIVES[mode](node)
