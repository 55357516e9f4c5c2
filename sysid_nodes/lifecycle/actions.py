# SPDX-License-Identifier: Apache-2.0
"""Action servers and clients of a node, and actions with one goal at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any

from rclpy.action import ActionClient, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future

from sysid_core.errors import SysIdError
from sysid_nodes.lifecycle.coroutines import CoroutineActionServer

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.managed_node import ManagedNode


def take_back(sent: Future) -> Future:
    """Cancel a goal as soon as its server has accepted it.

    Args:
        sent: Future of the client's `send_goal_async`.

    Returns:
        Future that is done when the goal has ended, or was rejected.
    """
    over = Future()

    def on_answer(answer: Future) -> None:
        handle = answer.result()
        if handle is None or not handle.accepted:
            over.set_result(None)
            return
        handle.cancel_goal_async()
        handle.get_result_async().add_done_callback(over.set_result)

    sent.add_done_callback(on_answer)
    return over


def _reject(_: Any) -> GoalResponse:
    return GoalResponse.REJECT


class Actions:
    """Action servers and clients of a node by name; they exist as long as the node.

    No action is ever destroyed. The queue of rclpy's events executor holds what belongs to a
    waitable, and frees it without Python's lock. A request to a server that has just been destroyed
    would therefore end the process (segmentation fault, rclpy 9.1.2; see also ros2/rclpy#1644). A
    closed server rejects new goals; the current goal still gets its result.

    Args:
        node: Node that owns the servers and clients.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._servers: dict[str, CoroutineActionServer] = {}
        self._clients: dict[tuple[type, str], ActionClient] = {}
        self.open: set[str] = set()  # names of those that are served now

    def serve(
        self,
        kind: type,
        name: str,
        *,
        execute: Callable[[ServerGoalHandle], Coroutine[Any, None, Any]],
        goal: Callable[[Any], GoalResponse],
        cancel: Callable[[Any], CancelResponse],
    ) -> None:
        """Serve an action from now on.

        Args:
            kind: Type of the action.
            name: Name of the action.
            execute: Coroutine function that executes a goal, and awaits nothing but `Ended`.
            goal: Function that decides whether a goal is accepted.
            cancel: Function that decides whether a goal may be cancelled.
        """
        if name not in self._servers:
            self._servers[name] = CoroutineActionServer(self._node, kind, name, execute)
        server = self._servers[name]
        server.play = execute
        server.register_cancel_callback(cancel)
        server.register_goal_callback(goal)
        self.open.add(name)

    def client(self, kind: type, name: str) -> ActionClient:
        """Return the client of an action; created on the first call."""
        if (kind, name) not in self._clients:
            self._clients[kind, name] = ActionClient(self._node, kind, name)
        return self._clients[kind, name]

    def close(self, keep: Collection[str]) -> None:
        """Close all servers except the named ones; closed servers reject goals."""
        for name in self.open.difference(keep):
            self._servers[name].register_goal_callback(_reject)
        self.open &= set(keep)


class SingleGoalAction:
    """Action with one goal at a time; a failure aborts the goal, and its reason is in the result.

    Args:
        node: Node that serves the action.
        kind: Type of the action, whose result has a field `success`.
        name: Name of the action.
        run: Function that executes a goal and returns its result; an error that it raises counts as
            a refusal or a failure.
        failed: Function that creates the result from the raised error.
        cancel: Function that is called when a client requests to cancel the goal.

    Attributes:
        accepting: True if goals are accepted.
        goal: Current goal, or None.
    """

    def __init__(
        self,
        node: ManagedNode,
        kind: type,
        name: str,
        run: Callable[[ServerGoalHandle], Awaitable[Any]],
        failed: Callable[[SysIdError], Any],
        cancel: Callable[[], None],
    ) -> None:
        self._node, self._kind, self._name = node, kind, name
        self._run, self._failed, self._cancel = run, failed, cancel
        self.accepting, self._busy, self._stopped = True, False, False
        self.goal: ServerGoalHandle | None = None

    def serve(self) -> SingleGoalAction:
        """Accept goals from now on, one at a time."""
        self.accepting = True
        self._node.actions.serve(
            self._kind,
            self._name,
            execute=self._on_execute,
            goal=self._on_goal,
            cancel=self._on_cancel,
        )
        return self

    def stop(self) -> None:
        """Accept no more goals, and end the current one: it is not wanted any more."""
        self.accepting, self._stopped = False, True
        self._cancel()

    @property
    def wanted(self) -> bool:
        """True if the node is active and the current goal has been neither stopped nor cancelled."""
        ends = self._stopped or self.goal is None or self.goal.is_cancel_requested
        return self.accepting and not ends

    def _on_goal(self, _: Any) -> GoalResponse:
        if self._busy or not self.accepting:
            return GoalResponse.REJECT
        self._busy = True
        return GoalResponse.ACCEPT

    def _on_cancel(self, _: ServerGoalHandle) -> CancelResponse:
        self._cancel()
        return CancelResponse.ACCEPT

    async def _on_execute(self, goal: ServerGoalHandle) -> Any:
        self.goal, self._stopped = goal, False
        try:
            result = await self._run(goal)
        except Exception as err:  # whatever it is, the goal ends and its sender gets the reason
            if not isinstance(err, SysIdError):
                err = SysIdError(f"{type(err).__name__}: {err}")
            self._node.log_error(f"{self._name}: {err}", key=str(err))
            result = self._failed(err)
        finally:
            self.goal, self._busy = None, False
        if result.success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return result
