# SPDX-License-Identifier: Apache-2.0
"""What a node has other nodes do: services and actions, awaited with a timeout."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.client import Client
from rclpy.task import Future

from sysid_core.errors import SysIdError

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

_ANSWER_S = 20.0


class Remote:
    """Calls of one node's coroutine, one after the other.

    Args:
        node: That calls.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self._under_way: Any = None  # goal handle

    def stop(self) -> None:
        """Cancel the goal under way."""
        if self._under_way is not None:
            self._under_way.cancel_goal_async()

    async def call(self, client: Client, request: Any, timeout_s: float = _ANSWER_S) -> Any:
        """The answer of a service.

        Raises:
            SysIdError: It doesn't answer, or with `success` false; the words are its own.
        """
        answer = await self._awaited(client.call_async(request), client.srv_name, timeout_s)
        if not answer.success:
            raise SysIdError(f"{client.srv_name}: {answer.message}", remedy="See its node's log.")
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
        """The result of an action, whatever it is.

        Args:
            kind: Type of the action.
            name: Name of the action.
            goal: What is to be done.
            report: Takes each feedback.
            wanted: False when a cancel came while the goal was on its way.
            timeout_s: Longest time to its end [s].

        Raises:
            SysIdError: There is no server, it rejects the goal, or it doesn't end it.
        """
        client = self._node.actions.client(kind, name)
        await self._node.waits.until(client.server_is_ready, _ANSWER_S)
        if not client.server_is_ready():
            raise SysIdError(f"There is no {name}.", remedy="Start its node.")
        handle = await self._awaited(
            client.send_goal_async(goal, feedback_callback=lambda m: report(m.feedback)), name
        )
        if not handle.accepted:
            raise SysIdError(f"{name} rejects the goal.", remedy="Is another one running?")
        self._under_way = handle
        if not wanted():
            handle.cancel_goal_async()
        try:
            return (await self._awaited(handle.get_result_async(), name, timeout_s)).result
        except SysIdError:
            handle.cancel_goal_async()
            raise
        finally:
            self._under_way = None

    async def _awaited(self, future: Future, what: str, timeout_s: float = _ANSWER_S) -> Any:
        await self._node.waits.until(future.done, timeout_s)
        if not future.done():
            raise SysIdError(f"{what} doesn't answer.", remedy="Is its node running? See its log.")
        return future.result()
