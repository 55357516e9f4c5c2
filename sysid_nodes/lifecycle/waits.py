# SPDX-License-Identifier: Apache-2.0
"""Coroutines that wait while other callbacks run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rclpy.task import Future
from rclpy.timer import Timer

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.managed_node import ManagedNode

_PERIOD_S = 0.05


class Waits:
    """Waits of a node's coroutines.

    Args:
        node: Whose coroutines wait.

    Attributes:
        timers: Timers of the waits under way; they outlive a deactivation.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self.timers: set[Timer] = set()

    async def until(self, done: Callable[[], bool], timeout_s: float) -> None:
        """Wait until a condition holds or time is up.

        Args:
            done: The condition.
            timeout_s: Longest time, on the steady clock [s]: simulated time may stand still, and begins with a jump.
        """
        node = self._node
        finished: Future = Future()
        end = time.monotonic() + timeout_s

        def poll() -> None:
            if not finished.done() and (done() or time.monotonic() > end):
                finished.set_result(None)

        timer = node.create_timer(_PERIOD_S, poll, clock=node.health.clock)
        self.timers.add(timer)
        await finished
        self.timers.discard(timer)
        node.destroy_timer(timer)
