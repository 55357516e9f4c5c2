# SPDX-License-Identifier: Apache-2.0
"""Action servers and clients of a node."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node


def _reject(_: Any) -> GoalResponse:
    return GoalResponse.REJECT


class Actions:
    """Servers and clients by name; they live as long as their node.

    None is ever destroyed: the queue of rclpy's events executor holds what belongs to a waitable
    and frees it without Python's lock, so that a request to a server that has just been destroyed
    ends the process (segmentation fault, rclpy 9.1.2; see also ros2/rclpy#1644). A closed server
    rejects goals; a goal under way still gets its result.

    Args:
        node: Whose actions these are.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._servers: dict[str, ActionServer] = {}
        self._clients: dict[tuple[type, str], ActionClient] = {}
        self.open: set[str] = set()  # names of those that are served now

    def serve(
        self,
        kind: type,
        name: str,
        *,
        execute: Callable[..., Any],
        goal: Callable[[Any], GoalResponse],
        cancel: Callable[[Any], CancelResponse],
    ) -> None:
        """Serve an action from now on.

        Args:
            kind: Type of the action.
            name: Name of the action.
            execute: Plays a goal; a coroutine function.
            goal: Says whether a goal is accepted.
            cancel: Says whether a goal may be cancelled.
        """
        if name not in self._servers:
            self._servers[name] = ActionServer(self._node, kind, name, execute)
        server = self._servers[name]
        server.register_execute_callback(execute)
        server.register_cancel_callback(cancel)
        server.register_goal_callback(goal)
        self.open.add(name)

    def client(self, kind: type, name: str) -> ActionClient:
        """The client of an action."""
        if (kind, name) not in self._clients:
            self._clients[kind, name] = ActionClient(self._node, kind, name)
        return self._clients[kind, name]

    def close(self, keep: Collection[str]) -> None:
        """Reject goals of all servers but some."""
        for name in self.open.difference(keep):
            self._servers[name].register_goal_callback(_reject)
        self.open &= set(keep)
