# SPDX-License-Identifier: Apache-2.0
"""Coroutines that wait without taking processor time.

Up to ROS 2 Kilted, an executor of rclpy resumes each waiting coroutine again and again, so that a
node uses a whole processor core for the duration of a goal (ros2/rclpy#1405).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any

from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle
from rclpy.exceptions import InvalidHandle
from rclpy.service import Service
from rclpy.task import Future


class Ended:
    """Awaitable that waits until a future is done, and gives its result.

    Args:
        future: Future of an executor, which resumes the coroutine when the future is done.
    """

    def __init__(self, future: Future) -> None:
        self._future = future

    def __await__(self) -> Generator[Future, None, Any]:
        while not self._future.done():  # a coroutine that rclpy runs is resumed without a reason
            yield self._future
        return self._future.result()


def answer_later(service: Service) -> None:
    """Answer a service call when its coroutine ends, without polling by rclpy.

    Args:
        service: Service whose callback is a coroutine function that awaits nothing but `Ended`,
            and raises nothing.
    """
    play, send = service.callback, service.send_response

    def begin(*arguments: Any) -> Future:
        response = Future()
        advance(play(*arguments), response.set_result)
        return response

    def send_later(response: Future, header: Any) -> None:
        def answer(_: Future) -> None:
            with suppress(InvalidHandle):  # the node was deactivated meanwhile
                send(response.result(), header)

        response.add_done_callback(answer)

    service.callback, service.send_response = begin, send_later


def advance(coroutine: Coroutine[Future, None, Any], then: Callable[[Any], None]) -> None:
    """Run a coroutine to its next `Ended`, and continue when that future is done.

    Args:
        coroutine: Coroutine that awaits nothing but `Ended`, and raises nothing.
        then: Function that is called with the result.
    """
    try:
        future = coroutine.send(None)
    except StopIteration as end:
        then(end.value)
    else:
        future.add_done_callback(lambda _: advance(coroutine, then))


class CoroutineActionServer(ActionServer):
    """Action server whose goals wait without using processor time.

    Args:
        node: Node that serves the action.
        kind: Type of the action.
        name: Name of the action.
        play: Function that executes a goal, sets its final state, and returns the result.
        more: Further arguments of the action server of rclpy.

    Attributes:
        play: Function that executes a goal.
    """

    def __init__(
        self,
        node: Any,
        kind: type,
        name: str,
        play: Callable[[ServerGoalHandle], Coroutine[Future, None, Any]],
        **more: Any,
    ) -> None:
        self.play = play
        super().__init__(node, kind, name, self._never, **more)

    @staticmethod
    def _never(_: ServerGoalHandle) -> None:
        raise AssertionError("rclpy must not execute waiting tasks")

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        """Execute a goal; rclpy is notified when the result is available."""
        give = super().notify_execute
        advance(self.play(goal_handle), lambda result: give(goal_handle, lambda _: result))
