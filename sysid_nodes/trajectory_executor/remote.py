# SPDX-License-Identifier: Apache-2.0
"""Nodes whose action moves the robot through the executor: calls of services and actions of other
nodes with a timeout, and execution of motions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action.server import ServerGoalHandle
from rclpy.client import Client
from rclpy.task import Future
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.srv import Arm

from sysid_core.errors import SysIdError
from sysid_core.execution import ExecutorState
from sysid_nodes.lifecycle import ManagedNode, SingleGoalAction, take_back
from sysid_nodes.trajectory_executor.arming import Arming

_ANSWER_S = 20.0
_LONGEST_S = 7200.0  # of one motion
_BEFORE = (ExecutorState.CHECKING.value, ExecutorState.MOVING_TO_START.value)


class Remote:
    """Calls to other nodes from coroutines, one at a time. The executor is armed before each
    motion.

    Args:
        node: Node that calls the services.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self._under_way: Any = None  # goal handle
        self._arm = node.create_client(Arm, "trajectory_executor/arm")
        # Found before the first goal, and in the graph that a security policy is made from.
        node.actions.client(ExecuteTrajectory, "trajectory_executor/execute")

    def stop(self) -> None:
        """Cancel the current goal."""
        if self._under_way is not None:
            self._under_way.cancel_goal_async()

    async def call(self, client: Client, request: Any, timeout_s: float = _ANSWER_S) -> Any:
        """Call a service and return its answer.

        Raises:
            SysIdError: The service does not answer, or answers with `success` false; the message is
                that of the service.
        """
        answer = await self._awaited(client.call_async(request), client.srv_name, timeout_s)
        if not answer.success:
            raise SysIdError(
                f"{client.srv_name}: {answer.message}", remedy="See the log of the node."
            )
        return answer

    async def act(
        self,
        kind: type,
        name: str,
        goal: Any,
        report: Callable[[Any], None],
        wanted: Callable[[], bool],
        timeout_s: float,
    ) -> Any:
        """Execute an action and return its result with any status.

        Args:
            kind: Type of the action.
            name: Name of the action.
            goal: Goal of the action.
            report: Function called with each feedback.
            wanted: Function that returns False if the goal was cancelled before the server accepted
                it.
            timeout_s: Longest time until the end of the goal [s].

        Raises:
            SysIdError: There is no server, the server rejects the goal, or the goal does not end.
        """
        client = self._node.actions.client(kind, name)
        await self._node.waits.until(client.server_is_ready, _ANSWER_S)
        if not client.server_is_ready():
            raise SysIdError(f"There is no {name}.", remedy="Start its node.")
        sent = client.send_goal_async(goal, feedback_callback=lambda m: report(m.feedback))
        try:
            handle = await self._awaited(sent, name)
            if not handle.accepted:
                raise SysIdError(
                    f"{name} rejects the goal.", remedy="Check if another goal is running."
                )
            self._under_way = handle
            if not wanted():
                handle.cancel_goal_async()
            return (await self._awaited(handle.get_result_async(), name, timeout_s)).result
        except SysIdError:
            take_back(sent)  # also one that is accepted later
            raise
        finally:
            self._under_way = None

    async def play(
        self,
        file: str,
        wanted: Callable[[], bool],
        report: Callable[[float], None],
        *,
        speed_scale: float = 1.0,
        check_only: bool = False,
    ) -> ExecuteTrajectory.Result:
        """Play the trajectory of a file.

        Args:
            file: Path of the trajectory, as the executor accepts it.
            wanted: Function that returns False if the motion must not begin any more.
            report: Function called with the progress of the motion, 0 to 1; 0 on the way to its
                start.
            speed_scale: Fraction of the planned speed.
            check_only: Only check the motion, without moving.

        Raises:
            SysIdError: There is no executor, or it refuses the motion.
        """
        token = ""
        if not check_only:
            token = (await self.call(self._arm, Arm.Request())).token
        return await self.act(
            ExecuteTrajectory,
            "trajectory_executor/execute",
            ExecuteTrajectory.Goal(
                trajectory_file=file, speed_scale=speed_scale, token=token, check_only=check_only
            ),
            lambda feedback: report(0.0 if feedback.state in _BEFORE else feedback.progress),
            wanted,
            _LONGEST_S,
        )

    async def _awaited(self, future: Future, what: str, timeout_s: float = _ANSWER_S) -> Any:
        await self._node.waits.until(future.done, timeout_s)
        if not future.done():
            raise SysIdError(
                f"{what} doesn't answer.", remedy="Check that the node is running. See its log."
            )
        return future.result()


class RemoteAction:
    """Action that moves the robot through the executor, and the service `~/arm`, whose token each
    goal needs.

    Args:
        node: Node that serves both.
        kind: Type of the action.
        name: Name of the action.
    """

    def __init__(self, node: ManagedNode, kind: type, name: str) -> None:
        self._node, self._config = node, node.config
        self._arming = Arming(node.config.arm_timeout_s)
        self._remote = Remote(node)
        self._action = SingleGoalAction(
            node, kind, name, run=self._run, failed=self._failed, cancel=self._remote.stop
        )

    def serve(self) -> None:
        """Accept goals from now on."""
        self._arming.serve(self._node)
        self._action.serve()

    def stop(self) -> None:
        """Stop the running action."""
        self._action.stop()

    def _require_wanted(self) -> None:
        if not self._action.wanted:
            raise SysIdError("Cancelled.")

    async def _run(self, goal: ServerGoalHandle) -> Any:
        """Execute a goal and return its result."""
        raise NotImplementedError

    def _failed(self, err: SysIdError) -> Any:
        """Result of a goal that failed."""
        raise NotImplementedError


class RemoteNode(ManagedNode):
    """Node whose action is served only while it is active.

    Attributes:
        action: Action of the node, created by `configure`.
    """

    action: RemoteAction | None = None

    def activate(self) -> None:
        """Accept goals."""
        assert self.action is not None
        self.action.serve()

    def deactivate(self) -> None:
        """Stop the running action."""
        if self.action is not None:
            self.action.stop()

    clean_up = deactivate
