# SPDX-License-Identifier: Apache-2.0
"""Has the trajectory executor play a piece of motion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.srv import Arm

from sysid_core.errors import SysIdError
from sysid_nodes.lifecycle import ManagedNode

_ANSWER_S = 20.0  # for the executor to take a goal
_LONGEST_S = 600.0


class PiecePlayer:
    """Client of `trajectory_executor`, which it arms for each piece.

    Args:
        node: The explorer.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self._execute = node.actions.client(ExecuteTrajectory, "trajectory_executor/execute")
        self._arm = node.create_client(Arm, "trajectory_executor/arm")
        self._playing: Any = None  # goal handle

    def stop(self) -> None:
        """Have the executor stop, if it plays."""
        if self._playing is not None:
            self._playing.cancel_goal_async()

    async def play(
        self, file: Path, goal: ServerGoalHandle, report: Callable[[float], None]
    ) -> ExecuteTrajectory.Result:
        """Play a file.

        Args:
            file: The trajectory, checked.
            goal: Whose piece it is; its cancel ends the motion.
            report: Takes the progress, 0 to 1.

        Raises:
            SysIdError: There is no executor, or it refuses.
        """
        request = ExecuteTrajectory.Goal(
            trajectory_file=str(file),
            speed_scale=goal.request.speed_scale,
            token=await self._armed(),
        )
        if not self._execute.server_is_ready():
            raise SysIdError("There is no trajectory_executor.", remedy="Start it.")
        sent = self._execute.send_goal_async(
            request, feedback_callback=lambda message: report(message.feedback.progress)
        )
        await self._node.waits.until(sent.done, _ANSWER_S)
        handle = sent.result() if sent.done() else None
        if handle is None or not handle.accepted:
            raise SysIdError("The executor refused the piece.", remedy="Is another motion running?")
        self._playing = handle
        if goal.is_cancel_requested:  # it came while the goal was on its way
            handle.cancel_goal_async()
        ended = handle.get_result_async()
        await self._node.waits.until(ended.done, _LONGEST_S)
        self._playing = None
        if not ended.done():
            handle.cancel_goal_async()
            raise SysIdError("The executor doesn't end the piece.", remedy="Look at its log.")
        return ended.result().result

    async def _armed(self) -> str:
        future = self._arm.call_async(Arm.Request())
        await self._node.waits.until(future.done, _ANSWER_S)
        if not future.done() or not future.result().success:
            words = future.result().message if future.done() else "it doesn't answer"
            raise SysIdError(f"The executor can't be armed: {words}.", remedy="Is it running?")
        return str(future.result().token)
