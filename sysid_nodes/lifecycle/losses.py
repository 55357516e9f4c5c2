# SPDX-License-Identifier: Apache-2.0
"""Messages that DDS lost on the way to a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rclpy.event_handler import QoSSubscriptionEventType, UnsupportedEventTypeError
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.subscription import Subscription

from sysid_nodes.lifecycle.health import WARN

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.guarded_node import GuardedNode

_PERIOD_S, _SHOWN_S = 1.0, 30.0


class LossWatch:
    """Asks DDS once a second how many messages of a subscription were lost, and reports them.

    The `message_lost` event is asked for, not waited for: as a waitable it would end the process
    (see `Actions`).

    Args:
        node: Whose subscriptions these are.
    """

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._events: dict[Subscription, Any] = {}
        self._timer = node.create_timer(_PERIOD_S, self.look, clock=node.health.clock)

    def watch(self, subscription: Subscription) -> None:
        """Report what this subscription loses from now on."""
        kind = QoSSubscriptionEventType.RCL_SUBSCRIPTION_MESSAGE_LOST
        try:
            with subscription.handle:
                self._events[subscription] = rclpy_implementation.EventHandle(
                    subscription.handle, kind
                )
        except UnsupportedEventTypeError:  # a DDS that doesn't count
            return

    def forget(self, subscription: Subscription) -> None:
        """The subscription goes away."""
        event = self._events.pop(subscription, None)
        if event is not None:
            event.destroy_when_not_in_use()

    def look(self) -> None:
        """Ask now."""
        for subscription, event in self._events.items():
            with event:
                lost = event.take_event()
            if lost is None or lost.total_count_change <= 0:
                continue
            topic = subscription.topic_name
            words = (
                f"{lost.total_count_change} messages of {topic} were lost on the way here"
                f" ({lost.total_count} in all): is the network or this machine too busy? A wired"
                " connection, a reliable publisher or a larger net.core.rmem_max helps."
            )
            self._node.log_error(words, key=f"lost{topic}")
            self._node.health.say(
                f"lost {topic}", WARN, words, for_s=_SHOWN_S, lost=lost.total_count
            )
