# SPDX-License-Identifier: Apache-2.0
"""QoS of the topics of this package, and subscriptions that adopt the QoS of the publisher and
count lost messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.event_handler import QoSSubscriptionEventType, UnsupportedEventTypeError
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from sysid_nodes.lifecycle.health import WARN

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.guarded_node import GuardedNode

# To controllers and late joiners: the last message stays available.
LATCHED = QoSProfile(
    depth=1,
    history=HistoryPolicy.KEEP_LAST,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# A reliable reader that has lost one message holds back all later ones until the writer's next
# heartbeat, 3 s by default (measured with Fast DDS: after a stall of 1-1.5 s, 2 of 18 reliable readers
# got nothing for 3-4 s more, none of 18 best-effort ones). What is under way arrives within:
HELD_BACK_S = 5.0
HEARTBEAT_S = 1.0  # after which a latched result is published again, changed or not
# Identification data: nothing may be lost in between, even when a process stalls for seconds
# (measured: depth 1-10 loses at 1 kHz; 200 loses when a busy machine stalls a node for a second).
DATA = QoSProfile(depth=4000, reliability=ReliabilityPolicy.RELIABLE)
# Streams of which only the newest message counts; nothing holds back a best-effort reader.
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# Inputs that may be published on change only: the last message must arrive.
LAST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)


_PERIOD_S, _SHOWN_S = 1.0, 30.0  # between two looks at losses; how long they are shown


def offered_qos(publishers: list[Any], wanted: QoSProfile) -> QoSProfile:
    """Return the QoS of a subscription: the requested reliability, or the best one that all
    publishers offer, and the durability of the publishers.

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
        self, node: GuardedNode, message_type: type, topic: str, counts: Callable[[bytes], bool]
    ) -> None:
        self._node, self._type, self._topic, self._counts = node, message_type, topic, counts
        self._subscription: Subscription | None = None
        self.beats = False

    def listen(self) -> None:
        """Subscribe, unless this has been done already."""
        if self._subscription is None:
            self._subscription = self._node.create_subscription(
                self._type, self._topic, self._on_message, NEWEST, raw=True
            )

    def stop(self) -> None:
        """Destroy the subscription."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
        self._subscription, self.beats = None, False

    def _on_message(self, data: bytes) -> None:
        self.beats = self.beats or self._counts(data)


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
                f"lost {topic}", WARN, words, for_s=_SHOWN_S, lost=lost.total_count
            )
