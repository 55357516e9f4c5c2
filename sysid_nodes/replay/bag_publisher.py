# SPDX-License-Identifier: Apache-2.0
"""Node that publishes the messages of a bag with the QoS of the recorded topics."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

from sysid_core.signals.bags import OfferedQos, StoredBag
from sysid_nodes.conversions import InterfaceError, interface

_DEPTH = 4000  # a subscriber that stalls for seconds loses nothing
_NEEDED = ("sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped")
_CLOCK_NS = 1_000_000  # between messages on /clock


class BagPublisher(Node):
    """Publisher of the messages of a bag, with services `~/pause` and `~/step`.

    Args:
        bag: Open bag.
        clock: True to publish `/clock`, for nodes with `use_sim_time`.
    """

    def __init__(self, bag: StoredBag, *, clock: bool) -> None:
        super().__init__("bag_replay")
        self.begin_ns = min(topic.first_ns for topic in bag.topics if topic.count)
        self.paused = False
        self.steps = 0
        self.left_out: list[str] = []
        self._topics: dict[str, Any] = {}
        for topic in bag.topics:
            try:
                kind = interface(topic.type)
            except InterfaceError:
                self.left_out.append(f"{topic.name} ({topic.type})")
                continue
            self._topics[topic.name] = self.create_publisher(
                kind, topic.name, _qos(OfferedQos.of(topic))
            )
        named = [(t.type, t.name) for t in bag.topics if t.name in self._topics]
        self._needed = [[name for kind, name in named if kind == needed] for needed in _NEEDED]
        self._clock = self.create_publisher(Clock, "/clock", 10) if clock else None
        self._clock_ns = 0
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Trigger, "~/step", self._on_step)

    def unheard(self) -> list[str]:
        """Return the topics of joint states, or of wrenches, if none of them has a subscriber: a
        driver may publish the same joint states twice.
        """
        heard = {name for name, count in self.matched().items() if count}
        return [name for names in self._needed if heard.isdisjoint(names) for name in names]

    def unmatched(self) -> list[str]:
        """Return the topics with subscribers whose connection is not yet complete."""
        return [
            name
            for name, publisher in self._topics.items()
            if publisher.get_subscription_count() < self.count_subscribers(name)
        ]

    def matched(self) -> dict[str, int]:
        """Return the number of connected subscribers of each topic."""
        return {name: p.get_subscription_count() for name, p in self._topics.items()}

    def deaf(self, nodes: Collection[str]) -> list[str]:
        """Return the given nodes (names with or without namespace) that subscribe to none of the
        topics.
        """
        listening = {
            name
            for topic in self._topics
            for info in self.get_subscriptions_info_by_topic(topic)
            for name in (info.node_name, f"{info.node_namespace.rstrip('/')}/{info.node_name}")
        }
        return [name for name in nodes if name not in listening]

    def acknowledged(self) -> bool:
        """Return True if every reliable subscriber has received all messages sent."""
        return all(p.wait_for_all_acked(Duration()) for p in self._topics.values())

    def send(self, topic: str, data: bytes, now_ns: int) -> None:
        """Publish one message and the time."""
        self.publish_time(now_ns)
        if topic in self._topics:
            self._topics[topic].publish(data)

    def publish_time(self, now_ns: int) -> None:
        """Publish `/clock`, if requested and if a millisecond has passed since the last message."""
        if self._clock is not None and abs(now_ns - self._clock_ns) >= _CLOCK_NS:
            message = Clock()
            message.clock.sec, message.clock.nanosec = divmod(now_ns, 1_000_000_000)
            self._clock.publish(message)
            self._clock_ns = now_ns

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.paused, response.success = request.data, True
        return response

    def _on_step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.paused, response.success = True, True
        self.steps += 1
        return response


def _qos(offered: OfferedQos) -> QoSProfile:
    latched = offered.durability == "transient_local"
    best_effort = offered.reliability == "best_effort"
    return QoSProfile(
        depth=max(offered.depth, 1 if latched else _DEPTH),
        reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )
