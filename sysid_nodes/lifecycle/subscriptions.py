# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that adopt the QoS of the publisher and count lost messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.event_handler import QoSSubscriptionEventType, UnsupportedEventTypeError
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from sysid_nodes.lifecycle.health import Level
from sysid_nodes.lifecycle.qos import DATA

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.guarded_node import GuardedNode

_PERIOD_S, _SHOWN_S = 1.0, 30.0  # between two looks at losses; how long they are shown


def offered_qos(publishers: list[Any], wanted: QoSProfile) -> QoSProfile:
    """Return the QoS of a subscription. It is reliable if this is requested and all publishers
    offer it, and has the durability that all publishers offer.

    The subscription to a latched topic is reliable, because such a topic is published only on
    change, and its last message must arrive.
    """
    profiles = [publisher.qos_profile for publisher in publishers]
    latched = all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
    reliable = all(p.reliability != ReliabilityPolicy.BEST_EFFORT for p in profiles) and (
        latched or wanted.reliability == ReliabilityPolicy.RELIABLE
    )
    return QoSProfile(
        depth=wanted.depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


class AdaptiveSubscription:
    """Subscription that is created with the first publisher and adopts its QoS.

    Args:
        node: Subscribing node, which reports lost messages if the queue is deeper than 1.
        message_type: Type of the topic.
        topic: Name of the topic.
        callback: Function that is called with each message, or with its bytes.
        raw: True to pass serialised messages (bytes) to the callback.
        qos: QoS with the depth and the requested reliability.
    """

    def __init__(
        self,
        node: GuardedNode,
        message_type: type,
        topic: str,
        callback: Callable[..., None],
        *,
        raw: bool = False,
        qos: QoSProfile = DATA,
    ) -> None:
        self._node, self._subscription = node, None
        self._topic = node.resolve_topic_name(topic)

        def attempt() -> None:
            publishers = node.get_publishers_info_by_topic(self._topic)
            if publishers:
                self._timer.cancel()
                self._subscription = node.create_subscription(
                    message_type, topic, callback, offered_qos(publishers, qos), raw=raw
                )
                if qos.depth > 1:
                    node.losses.watch(self._subscription)

        self._timer = node.create_timer(0.05, attempt)

    def stop(self) -> None:
        """Destroy the subscription."""
        self._timer.cancel()
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)


class LossWatch:
    """Counter of lost messages, which asks DDS once a second and reports losses.

    The number of lost messages is polled, because an event callback for `message_lost` could end
    the process (see `Actions`).

    Args:
        node: Node that owns the subscriptions.
    """

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._events: dict[Subscription, Any] = {}
        self._timer = node.create_timer(_PERIOD_S, self.look, clock=node.health.clock)

    def watch(self, subscription: Subscription) -> None:
        """Report the losses of this subscription from now on."""
        kind = QoSSubscriptionEventType.RCL_SUBSCRIPTION_MESSAGE_LOST
        try:
            with subscription.handle:
                self._events[subscription] = rclpy_implementation.EventHandle(
                    subscription.handle, kind
                )
        except UnsupportedEventTypeError:  # a DDS that doesn't count
            return

    def forget(self, subscription: Subscription) -> None:
        """Stop reporting the losses of a subscription."""
        event = self._events.pop(subscription, None)
        if event is not None:
            event.destroy_when_not_in_use()

    def look(self) -> None:
        """Ask DDS for losses now."""
        for subscription, event in self._events.items():
            with event:
                lost = event.take_event()
            if lost is None or lost.total_count_change <= 0:
                continue
            topic = subscription.topic_name
            words = (
                f"{lost.total_count_change} messages of {topic} were lost in transport ("
                f"{lost.total_count} in total): the network or this machine may be overloaded. A wired"
                " connection, a reliable publisher or a larger net.core.rmem_max helps."
            )
            self._node.log_error(words, key=f"lost{topic}")
            self._node.health.say(
                f"lost {topic}", Level.WARN, words, for_s=_SHOWN_S, lost=lost.total_count
            )
