# SPDX-License-Identifier: Apache-2.0
"""Check whether a topic is still published."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.subscription import Subscription

from sysid_nodes.lifecycle import ManagedNode, qos


class Pulse:
    """Check whether a topic is still published while a reliable subscription receives nothing.

    The check uses a best-effort subscription, whose messages are not held back.

    Args:
        node: Subscribing node.
        message_type: Type of the topic.
        topic: Name of the topic.
        counts: Function that returns True for the bytes of a message that counts.

    Attributes:
        beats: True if such a message has arrived since `listen`.
    """

    def __init__(
        self, node: ManagedNode, message_type: type, topic: str, counts: Callable[[bytes], bool]
    ) -> None:
        self._node, self._type, self._topic, self._counts = node, message_type, topic, counts
        self._subscription: Subscription | None = None
        self.beats = False

    def listen(self) -> None:
        """Subscribe, unless this has been done already."""
        if self._subscription is None:
            self._subscription = self._node.create_subscription(
                self._type, self._topic, self._on_message, qos.NEWEST, raw=True
            )

    def stop(self) -> None:
        """Destroy the subscription."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
        self._subscription, self.beats = None, False

    def _on_message(self, data: bytes) -> None:
        self.beats = self.beats or self._counts(data)
