# SPDX-License-Identifier: Apache-2.0
"""What a robot's trajectory controller says about itself, and who drives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.qos import qos_profile_action_status_default

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

_RUNNING = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)


class ControllerWatch:
    """Watches the action of a joint_trajectory_controller.

    Args:
        node: That watches.
        action_name: Name of the controller's action.
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
        """A goal is ours."""
        self._ours.add(bytes(goal.goal_id.uuid))

    @property
    def driven_by_others(self) -> bool:
        """Whether it plays a goal that isn't ours."""
        return bool(self._running - self._ours)

    def _on_status(self, message: GoalStatusArray) -> None:
        self._running = {
            bytes(s.goal_info.goal_id.uuid) for s in message.status_list if s.status in _RUNNING
        }
        self._ours &= {bytes(s.goal_info.goal_id.uuid) for s in message.status_list}
