# SPDX-License-Identifier: Apache-2.0
"""A robot driven by the action of its joint_trajectory_controller."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from action_msgs.msg import GoalStatus
from rclpy.task import Future

from sysid_core.errors import SysIdError
from sysid_core.execution import Outgoing
from sysid_nodes.conversions import message_from_trajectory, ns_from_stamp
from sysid_nodes.execution.drives.drive import ControllerWatch, RobotDrive

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

Clock = Callable[[float | None, np.ndarray, float], None]


def follow_action() -> Any:
    """The type of the action.

    Raises:
        SysIdError: control_msgs isn't installed.
    """
    try:
        return importlib.import_module("control_msgs.action").FollowJointTrajectory
    except ImportError as err:
        raise SysIdError(
            "command_mode follow_joint_trajectory needs control_msgs.",
            remedy="sudo apt install ros-$ROS_DISTRO-control-msgs, or command_mode joint_trajectory.",
        ) from err


class ActionDrive(RobotDrive):
    """Sends goals; needs control_msgs, which every robot with ros2_control has.

    Args:
        node: Whose client this is.
        action_name: Name of the controller's action.
        on_clock: Called with the controller's own time of the motion [s] (None where it doesn't say
            it), what it commands, and the stamp [s].
    """

    takes_whole = True
    listener = "the controller's action"

    def __init__(self, node: ManagedNode, action_name: str, on_clock: Clock) -> None:
        super().__init__(node)
        self._action: Any = follow_action()
        self._on_clock = on_clock
        self._client = node.actions.client(self._action, action_name)
        self.watch: ControllerWatch = ControllerWatch(node, action_name)
        self._goal: Any = None  # what the controller has accepted last
        self._sent = 0

    @property
    def ready(self) -> bool:
        """True if the controller serves its action."""
        return bool(self._client.server_is_ready())

    def begin(self) -> None:
        """Forget the run before; see RobotDrive."""
        self._sent += 1
        self._goal = None
        super().begin()

    def send(self, out: Outgoing) -> None:
        """Send a goal that replaces what is being played."""
        begin_ns = 0 if out.begin is None else round(out.begin * 1e9)
        message = message_from_trajectory(out.trajectory, start_ns=begin_ns)
        goal = self._action.Goal(trajectory=message)
        goal.goal_time_tolerance.sec = 5  # zero would wait forever
        self._sent += 1
        self._goal, self.dropped, self.completed = None, "", False
        follow = partial(self._on_feedback, self._sent, out.origin, out.trajectory.joint_names)
        answer = self._client.send_goal_async(goal, feedback_callback=follow)
        answer.add_done_callback(partial(self._on_answer, self._sent, self._node.now_ns()))

    def cancel(self) -> None:
        """Have the controller hold the robot, where it still plays a goal."""
        self._sent += 1  # nothing that is still to come of it matters
        if self._goal is not None:
            self._goal.cancel_goal_async()

    def _on_feedback(
        self, number: int, origin: float, names: tuple[str, ...], message: Any
    ) -> None:
        """Update the progress of the controller in a goal."""
        feedback = message.feedback
        if number != self._sent or not feedback.desired.positions:
            return
        own = feedback.desired.time_from_start
        t = own.sec + own.nanosec * 1e-9
        columns = [list(feedback.joint_names).index(name) for name in names]
        q = np.asarray(feedback.desired.positions)[columns]
        stamp = ns_from_stamp(feedback.header.stamp) * 1e-9
        self._on_clock(origin + t if t > 0.0 else None, q, stamp)

    def _on_answer(self, number: int, sent_ns: int, answer: Future) -> None:
        handle = answer.result()
        if handle is not None and handle.accepted:
            self.watch.ours(handle)
        if number != self._sent:
            return
        self._goal = handle
        if handle is None or not handle.accepted:
            self._goal, self.dropped = None, "the robot's controller refused the trajectory"
            return
        self.lateness = max(self.lateness, (self._node.now_ns() - sent_ns) * 1e-9)
        handle.get_result_async().add_done_callback(partial(self._on_result, number))

    def _on_result(self, number: int, answer: Future) -> None:
        if number != self._sent:
            return
        self._goal, outcome = None, answer.result()
        self.completed = outcome.status == GoalStatus.STATUS_SUCCEEDED
        if outcome.status != GoalStatus.STATUS_SUCCEEDED:
            cancelled = outcome.status == GoalStatus.STATUS_CANCELED
            code = f"error code {outcome.result.error_code}"
            why = outcome.result.error_string or ("it was cancelled" if cancelled else code)
            self.dropped = f"the robot's controller ended the trajectory: {why}"
