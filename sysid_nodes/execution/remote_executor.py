# SPDX-License-Identifier: Apache-2.0
"""Has the trajectory executor check or play a motion."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.srv import Arm

from sysid_core.execution import ExecutorState
from sysid_nodes.execution.remote import Remote
from sysid_nodes.lifecycle import ManagedNode

_LONGEST_S = 7200.0
_BEFORE = (ExecutorState.CHECKING.value, ExecutorState.MOVING_TO_START.value)


class RemoteExecutor:
    """Client of `trajectory_executor`, which it arms for each motion.

    Args:
        node: That has it play.
        remote: The node's calls.
    """

    def __init__(self, node: ManagedNode, remote: Remote) -> None:
        self._remote = remote
        self._arm = node.create_client(Arm, "trajectory_executor/arm")

    async def play(
        self,
        file: str,
        goal: ServerGoalHandle,
        report: Callable[[float], None],
        *,
        speed_scale: float = 1.0,
        check_only: bool = False,
    ) -> ExecuteTrajectory.Result:
        """Play a file.

        Args:
            file: The trajectory, by a path that the executor accepts.
            goal: For which it is played; its cancel ends the motion.
            report: Takes the progress of the motion, 0 to 1; 0 on the way to its start.
            speed_scale: Share of the planned speed.
            check_only: Move nothing.

        Raises:
            SysIdError: There is no executor, or it refuses.
        """
        token = ""
        if not check_only:
            token = (await self._remote.call(self._arm, Arm.Request())).token
        return await self._remote.act(
            ExecuteTrajectory,
            "trajectory_executor/execute",
            ExecuteTrajectory.Goal(
                trajectory_file=file, speed_scale=speed_scale, token=token, check_only=check_only
            ),
            lambda feedback: report(0.0 if feedback.state in _BEFORE else feedback.progress),
            lambda: not goal.is_cancel_requested,
            _LONGEST_S,
        )
