# SPDX-License-Identifier: Apache-2.0
"""Commands to a robot by the action of its joint_trajectory_controller."""

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
from sysid_nodes.trajectory_executor.drive import ControllerWatch, RobotDrive

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

Clock = Callable[[float | None, np.ndarray, float], None]


def follow_action() -> Any:
    """Return the type of the action `FollowJointTrajectory`.

    Raises:
        SysIdError: control_msgs isn't installed.
    """
    try:
        return importlib.import_module("control_msgs.action").FollowJointTrajectory
    except ImportError as err:
        raise SysIdError(
            "command_mode follow_joint_trajectory needs control_msgs.",
            remedy="sudo apt install ros-$ROS_DISTRO-control-msgs. Without a robot: sysid init --driver"
            " simulated --robot ROBOT.",
        ) from err


class ActionDrive(RobotDrive):
    """Sender of goals to an action. It needs the package control_msgs, which every robot with
    ros2_control has.

    Args:
        node: Node that owns the client.
        action_name: Name of the controller's action.
        on_clock: Function that is called with the time since the start of the motion according to
            the controller [s] (None if it is not reported), the commanded positions, and the stamp
            [s].
    """

    takes_whole = True
    listener = "the controller's action"

    def __init__(self, node: ManagedNode, action_name: str, on_clock: Clock) -> None:
        super().__init__(node)
        self._action: Any = follow_action()
        self._on_clock = on_clock
        self._client = node.actions.client(self._action, action_name)
        self.watch: ControllerWatch = ControllerWatch(node, action_name)
        self._goal: Any = None  # what the controller has accepted last and not ended
        self._sent = self._void = 0  # goals sent; up to this number none is wanted any more
        self._on_their_way: dict[int, int] = {}  # goals without an answer: when they were sent [ns]

    @property
    def ready(self) -> bool:
        """True if the controller serves its action."""
        return bool(self._client.server_is_ready())

    @property
    def lateness(self) -> float:
        """Lateness as in RobotDrive; for an unanswered goal, it is at least the time since the goal
        was sent.
        """
        now_ns = self._node.now_ns()
        return max(
            self._longest, 1e-9 * (now_ns - min(self._on_their_way.values(), default=now_ns))
        )

    @property
    def under_way(self) -> bool:
        """True if the controller has not yet answered a goal of this run."""
        return bool(self._on_their_way)

    def begin(self) -> None:
        """Reset the state of the last run (see RobotDrive)."""
        self._sent += 1
        self._void, self._goal = self._sent, None
        self._on_their_way.clear()
        super().begin()

    def send(self, out: Outgoing) -> None:
        """Send a goal that replaces the current one."""
        begin_ns = 0 if out.begin is None else round(out.begin * 1e9)
        message = message_from_trajectory(out.trajectory, start_ns=begin_ns)
        goal = self._action.Goal(trajectory=message)
        goal.goal_time_tolerance.sec = 5  # zero would wait forever
        self._sent += 1
        self.dropped, self.completed = "", False
        follow = partial(self._on_feedback, self._sent, out.origin, out.trajectory.joint_names)
        self._on_their_way[self._sent] = self._node.now_ns()
        answer = self._client.send_goal_async(goal, feedback_callback=follow)
        answer.add_done_callback(partial(self._on_answer, self._sent))

    def cancel(self) -> None:
        """Cancel all goals, including those not yet accepted, so that the controller holds the
        robot.
        """
        self._sent += 1
        self._void = self._sent
        if self._goal is not None:
            self._goal.cancel_goal_async()

    def _on_feedback(
        self, number: int, origin: float, names: tuple[str, ...], message: Any
    ) -> None:
        """Store the progress that the controller reports, unless a newer goal is not yet accepted."""
        feedback = message.feedback
        if number != self._sent or not feedback.desired.positions:
            return
        own = feedback.desired.time_from_start
        t = own.sec + own.nanosec * 1e-9
        columns = [list(feedback.joint_names).index(name) for name in names]
        q = np.asarray(feedback.desired.positions)[columns]
        stamp = ns_from_stamp(feedback.header.stamp) * 1e-9
        self._on_clock(origin + t if t > 0.0 else None, q, stamp)

    def _on_answer(self, number: int, answer: Future) -> None:
        handle = answer.result()
        accepted = handle is not None and handle.accepted
        if accepted:
            self.watch.ours(handle)
        if number <= self._void:
            if accepted:  # it was on its way when it was given up
                handle.cancel_goal_async()
            return
        now_ns = self._node.now_ns()
        took_ns = now_ns - self._on_their_way.get(number, now_ns)
        self._longest = max(self._longest, 1e-9 * took_ns)
        for sent in [n for n in self._on_their_way if n <= number]:  # answers come in order
            del self._on_their_way[sent]
        if accepted:
            self._goal = handle
            handle.get_result_async().add_done_callback(partial(self._on_result, number))
        elif number == self._sent:
            self._goal, self.dropped = None, "the robot's controller refused the trajectory"

    def _on_result(self, number: int, answer: Future) -> None:
        if number != self._sent:
            return
        self._goal, outcome = None, answer.result()
        self.completed = outcome.status == GoalStatus.STATUS_SUCCEEDED
        if outcome.status != GoalStatus.STATUS_SUCCEEDED:
            cancelled = outcome.status == GoalStatus.STATUS_CANCELED
            code = f"error code {outcome.result.error_code}"
            why = outcome.result.error_string or ("it was cancelled" if cancelled else code)
            self.dropped = f"the controller of the robot ended the trajectory: {why}"
