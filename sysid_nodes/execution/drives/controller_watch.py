# SPDX-License-Identifier: Apache-2.0
"""What a robot's trajectory controller says about itself, and who drives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.qos import qos_profile_action_status_default

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

# Goals then go on from what the controller commands, so they may begin a little ahead.
_BLENDS = ("allow_trajectory_replacement", "interpolate_from_desired_state", "open_loop_control")
_RUNNING = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)


class ControllerWatch:
    """Watches the action of a joint_trajectory_controller.

    Args:
        node: That watches.
        action_name: Name of the controller's action.
    """

    def __init__(self, node: ManagedNode, action_name: str) -> None:
        self.blends = False
        self._running: set[bytes] = set()
        self._ours: set[bytes] = set()
        node.create_subscription(
            GoalStatusArray,
            f"{action_name}/_action/status",
            self._on_status,
            qos_profile_action_status_default,
        )
        self._client = node.create_client(
            GetParameters, f"{action_name.rpartition('/')[0]}/get_parameters"
        )
        self._asked: Any = None

    def ask(self) -> None:
        """Ask the controller how it replaces goals; the answer comes when it comes."""
        if self._asked is None and self._client.service_is_ready():
            self._asked = self._client.call_async(GetParameters.Request(names=list(_BLENDS)))
            self._asked.add_done_callback(self._on_answer)

    @property
    def asked(self) -> bool:
        """Whether it has answered, or can't be asked."""
        return self._asked.done() if self._asked is not None else True

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

    def _on_answer(self, future: Any) -> None:
        values = getattr(future.result(), "values", [])
        self.blends = any(v.type == ParameterType.PARAMETER_BOOL and v.bool_value for v in values)
