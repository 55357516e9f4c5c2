# SPDX-License-Identifier: Apache-2.0
"""Calls of services and actions from buttons, without blocking the window."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionClient
from rclpy.node import Node

Say = Callable[[str, bool], None]  # text, whether it is good
_DISCOVERY_S = 3.0  # a client that was just made finds its server within


class Caller:
    """Client of services and of the executor's action; answers are collected by `poll`, called from
    the timer of the GUI.

    Args:
        node: Node of the panel, which is spun by another thread.
        say: Function that shows a sentence; its second argument is True for a success.
    """

    def __init__(self, node: Node, say: Say) -> None:
        self._node, self._say = node, say
        self._clients: dict[str, Any] = {}
        self._unsent: list[tuple[float, Callable[[], bool], Callable[[], None], str]] = []
        self._waiting: list[tuple[Any, Callable[[Any], None]]] = []
        self._wanted: object = None  # the goal that is to be sent, unless it is cancelled before
        self._goal: Any = None

    def find(self, kind: type, name: str) -> Any:
        """Return the client of a service, created early so that its server is found before the
        first call.
        """
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
        return self._clients[name]

    def call(
        self, kind: type, name: str, request: Any, then: Callable[[Any], None] | None = None
    ) -> None:
        """Call a service; `success` and `message` of its answer are shown if it has these fields.

        Args:
            kind: Type of the service.
            name: Name of the service.
            request: Request message.
            then: Function that is called with the answer if the call succeeds.
        """
        client = self.find(kind, name)

        def answered(response: Any) -> None:
            good = bool(getattr(response, "success", True))
            if hasattr(response, "message"):
                self._say(response.message or ("done" if good else "failed"), good)
            if good and then is not None:
                then(response)

        self._send(
            client.service_is_ready,
            lambda: self._waiting.append((client.call_async(request), answered)),
            f"{name} is not available: check that the node is running",
        )

    def send_goal(self, kind: type, name: str, goal: Any) -> None:
        """Send the goal of an action; `cancel` stops it at any time, or prevents it from being sent."""
        client = self._clients.setdefault(name, None) or ActionClient(self._node, kind, name)
        self._clients[name] = client
        wanted = self._wanted = object()

        def send() -> None:
            if self._wanted is wanted:
                self._waiting.append((client.send_goal_async(goal), answered))

        def answered(handle: Any) -> None:
            if not handle.accepted:
                self._say(f"{name} refused the goal: see its diagnostics.", False)
                return
            self._goal = handle
            if self._wanted is not wanted:  # cancelled while it was on its way
                handle.cancel_goal_async()
            self._say("accepted: all checks are made before the robot moves", True)
            self._waiting.append((handle.get_result_async(), finished))

        def finished(answer: Any) -> None:
            self._goal = None
            self._say(answer.result.message or answer.result.final_state, answer.result.success)

        self._send(
            client.server_is_ready,
            send,
            f"{name} is not available: check that the executor is active",
        )

    def cancel(self) -> None:
        """Cancel the goal of this panel, or prevent it from being sent."""
        self._wanted = None
        if self._goal is not None:
            self._goal.cancel_goal_async()

    def poll(self) -> None:
        """Deliver the answers that have arrived."""
        self._send_what_is_ready()
        done = [item for item in self._waiting if item[0].done()]
        self._waiting = [item for item in self._waiting if not item[0].done()]
        while done:
            future, take = done.pop(0)
            error = future.exception()
            if error is not None:
                self._say(str(error), False)
                continue
            try:
                take(future.result())
            except Exception:
                self._waiting += done  # the others aren't lost with it
                raise

    def _send(self, ready: Callable[[], bool], send: Callable[[], None], missing: str) -> None:
        """Send a goal as soon as the server has been found; report a missing server."""
        self._unsent.append((time.monotonic() + _DISCOVERY_S, ready, send, missing))
        self._send_what_is_ready()

    def _send_what_is_ready(self) -> None:
        unsent, self._unsent = self._unsent, []
        for item in unsent:
            until, ready, send, missing = item
            if ready():
                send()
            elif time.monotonic() < until:
                self._unsent.append(item)
            else:
                self._say(missing, False)
