# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that take what a robot's driver offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.guarded_node import GuardedNode


def offered_qos(publishers: list[Any], depth: int) -> QoSProfile:
    """The reliability and durability that all publishers of a topic offer."""
    profiles = [publisher.qos_profile for publisher in publishers]
    best_effort = any(p.reliability == ReliabilityPolicy.BEST_EFFORT for p in profiles)
    latched = all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


class AdaptiveSubscription:
    """A subscription that begins as soon as somebody publishes, with what is offered.

    Args:
        node: That subscribes; where the queue is deeper than 1, it reports what is lost.
        message_type: Type of the topic.
        topic: Its name.
        callback: Called with each message, or with its bytes.
        raw: Give bytes.
        depth: Depth of the queue; 1 where only the newest counts.
    """

    def __init__(
        self,
        node: GuardedNode,
        message_type: type,
        topic: str,
        callback: Callable[..., None],
        *,
        raw: bool = False,
        depth: int = 10,
    ) -> None:
        self._node, self._subscription = node, None
        self._topic = node.resolve_topic_name(topic)

        def attempt() -> None:
            publishers = node.get_publishers_info_by_topic(self._topic)
            if publishers:
                self._timer.cancel()
                qos = offered_qos(publishers, depth)
                self._subscription = node.create_subscription(
                    message_type, topic, callback, qos, raw=raw
                )
                if depth > 1:
                    node.losses.watch(self._subscription)

        self._timer = node.create_timer(0.05, attempt)

    def stop(self) -> None:
        """Subscribe no longer."""
        self._timer.cancel()
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
