# SPDX-License-Identifier: Apache-2.0
"""The action that plays motions: one goal at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import ExecuteTrajectory

from sysid_core.errors import SysIdError

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

Run = Callable[[ServerGoalHandle], Awaitable[ExecuteTrajectory.Result]]


class ExecuteAction:
    """Serves `~/execute`.

    Args:
        node: That serves it.
        run: Plays a goal; a SysIdError is a refusal.
        cancel: Called when the goal is cancelled.
    """

    def __init__(self, node: ManagedNode, run: Run, cancel: Callable[[], None]) -> None:
        self._node, self._run, self._cancel = node, run, cancel
        self.accepting, self._busy = True, False
        self.goal: ServerGoalHandle | None = None
        node.actions.serve(
            ExecuteTrajectory,
            "~/execute",
            execute=self._on_execute,
            goal=self._on_goal,
            cancel=self._on_cancel,
        )

    @property
    def wanted(self) -> bool:
        """Whether the goal is still to be played."""
        return self.accepting and self.goal is not None and not self.goal.is_cancel_requested

    def _on_goal(self, goal: ExecuteTrajectory.Goal) -> GoalResponse:
        if self._busy or not self.accepting:
            return GoalResponse.REJECT
        self._busy = True
        return GoalResponse.ACCEPT

    def _on_cancel(self, goal: ServerGoalHandle) -> CancelResponse:
        self._cancel()
        return CancelResponse.ACCEPT

    async def _on_execute(self, goal: ServerGoalHandle) -> ExecuteTrajectory.Result:
        self.goal = goal
        try:
            result = await self._run(goal)
        except Exception as err:  # whatever it is, the goal ends and its sender gets the reason
            text = str(err) if isinstance(err, SysIdError) else f"{type(err).__name__}: {err}"
            self._node.get_logger().error(f"Refused: {text}")
            result = ExecuteTrajectory.Result(final_state="aborted", message=text)
        finally:
            self.goal, self._busy = None, False
        if result.success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return result
