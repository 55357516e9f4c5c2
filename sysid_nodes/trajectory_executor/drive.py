# SPDX-License-Identifier: Apache-2.0
"""Common base class of all command interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.qos import qos_profile_action_status_default

from sysid_core.errors import SysIdError
from sysid_core.execution import Command, Outgoing
from sysid_core.settings import Kind

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode


class CommandMode(Kind):
    """Values of the parameter `command_mode`."""

    FOLLOW = "follow_joint_trajectory"  # the action of a joint_trajectory_controller
    TOPIC = "joint_trajectory"  # its topic
    POSITION = "position_stream"  # set points for a forward_command_controller
    GUARD = "motion_guard"  # the motion guard under ros2_control
    SETPOINT = "setpoint_stream"  # set points with velocity and acceleration

    @property
    def takes_whole(self) -> bool:
        """True if the controller takes whole trajectories instead of a stream."""
        return self in (CommandMode.FOLLOW, CommandMode.TOPIC, CommandMode.GUARD)


_RUNNING = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)


class ControllerWatch:
    """Monitor of the goals that a joint_trajectory_controller plays.

    Args:
        node: Node that observes the controller.
        action_name: Name of the action of the controller.
    """

    def __init__(self, node: ManagedNode, action_name: str) -> None:
        self._running: set[bytes] = set()
        self._ours: set[bytes] = set()
        node.create_subscription(
            GoalStatusArray,
            f"{action_name}/_action/status",
            self._on_status,
            qos_profile_action_status_default,
        )

    def ours(self, goal: Any) -> None:
        """Record that a goal was sent by this node."""
        self._ours.add(bytes(goal.goal_id.uuid))

    @property
    def driven_by_others(self) -> bool:
        """True if the controller plays a goal of another client."""
        return bool(self._running - self._ours)

    def _on_status(self, message: GoalStatusArray) -> None:
        self._running = {
            bytes(s.goal_info.goal_id.uuid) for s in message.status_list if s.status in _RUNNING
        }
        self._ours &= {bytes(s.goal_info.goal_id.uuid) for s in message.status_list}


class RobotDrive:
    """Base class of command interfaces, which send goals or a stream of set points.

    Args:
        node: Node that owns the topics.

    Attributes:
        watch: Monitor of the controller's action; None: no action.
        dropped: Reason why the controller does not play the last commands; empty if it does.
        completed: True if the controller has reported the end of the last goal.
        takes_whole: True if the controller takes whole trajectories instead of a stream.
    """

    takes_whole = False

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self.watch: ControllerWatch | None = None
        self._longest = 0.0  # time that a goal of this run has taken [s]
        self.dropped, self.completed = "", False

    @property
    def ready(self) -> bool:
        """True if a receiver of commands is available."""
        raise NotImplementedError

    @property
    def listener(self) -> str:
        """Description of the missing receiver, for messages."""
        raise NotImplementedError

    @property
    def lateness(self) -> float:
        """Longest time between sending a goal of this run and its acceptance by the controller [s]."""
        return self._longest

    @property
    def under_way(self) -> bool:
        """True if the controller has not yet answered a goal of this run."""
        return False

    def begin(self) -> None:
        """Reset the state of the last run; require an active controller that no other client uses.

        Raises:
            SysIdError: No controller receives the commands, or another client moves the robot.
        """
        self.dropped, self.completed, self._longest = "", False, 0.0
        if not self.ready:
            raise SysIdError(
                f"There isn't {self.listener}: the robot would not move.",
                remedy="Activate the robot's controller, or remap the topic to it.",
            )
        if self.watch is not None and self.watch.driven_by_others:
            raise SysIdError(
                "The controller of the robot is executing a goal of another client.",
                remedy="End the goal of the other client (another executor, MoveIt, a teach pendant), then try again.",
            )

    def send(self, out: Outgoing) -> None:
        """Send a goal that replaces the current one, if the controller accepts goals."""

    def stream(self, command: Command) -> None:
        """Send the current set point, if the controller accepts a stream."""

    def stop(self) -> None:
        """Request a stop from a controller that brakes by itself; others get a braking goal
        instead.
        """

    def cancel(self) -> None:
        """Cancel a goal that is still being played, so that the controller holds the robot."""
