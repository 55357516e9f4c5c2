# SPDX-License-Identifier: Apache-2.0
"""A recorded bag as a live robot: its messages again, in their order, with their qualities."""

from __future__ import annotations

import contextlib
import importlib
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

from sysid_core.signals.bags import OfferedQos, StoredBag, offered_qos, open_bag

_DEPTH = 4000  # a subscriber that stalls for seconds loses nothing
_NEEDED = ("sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped")
_CLOCK_NS = 1_000_000  # between messages on /clock
_STEADY_S = 0.3  # without anybody new who wants to listen
_ARRIVAL_S = 2.0  # after the last message


class BagReplay(Node):
    """Publishes a bag's messages; `~/pause` and `~/step` by service.

    Args:
        bag: Opened.
        clock: Whether to publish `/clock`, for nodes with `use_sim_time`.
    """

    def __init__(self, bag: StoredBag, *, clock: bool) -> None:
        super().__init__("bag_replay")
        self.paused = False
        self.steps = 0
        self.left_out: list[str] = []
        self._topics: dict[str, Any] = {}
        for topic in bag.topics:
            kind = _message_class(topic.type)
            if kind is None:
                self.left_out.append(f"{topic.name} ({topic.type})")
                continue
            self._topics[topic.name] = self.create_publisher(
                kind, topic.name, _qos(offered_qos(topic))
            )
        self._needed = [t.name for t in bag.topics if t.type in _NEEDED and t.name in self._topics]
        self._clock = self.create_publisher(Clock, "/clock", 10) if clock else None
        self._clock_ns = 0
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Trigger, "~/step", self._on_step)

    def unheard(self) -> list[str]:
        """Topics of joint states and wrenches that nobody listens to."""
        return [t for t in self._needed if self._topics[t].get_subscription_count() == 0]

    def unmatched(self) -> list[str]:
        """Topics that somebody wants to hear and isn't connected to yet."""
        return [
            name
            for name, publisher in self._topics.items()
            if publisher.get_subscription_count() < self.count_subscribers(name)
        ]

    def send(self, topic: str, data: bytes, now_ns: int) -> None:
        """Publish one message, and the time."""
        self.tell_time(now_ns)
        if topic in self._topics:
            self._topics[topic].publish(data)

    def tell_time(self, now_ns: int) -> None:
        """Publish `/clock`, if that is wanted and a millisecond has passed."""
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


def replay(
    path: Path,
    *,
    rate: float = 1.0,
    start_s: float = 0.0,
    loop: bool = False,
    clock: bool = False,
    wait_s: float = 10.0,
    say: Any = print,
) -> int:
    """Replay a bag until its end.

    Args:
        path: Path of the bag.
        rate: Times real time.
        start_s: Leave out so much at the beginning [s].
        loop: Begin again at the end.
        clock: Publish `/clock`.
        wait_s: How long to wait for subscribers of joint states and wrenches [s].
        say: Takes a sentence.

    Returns:
        Messages sent.

    Raises:
        SignalError: The bag can't be read.
    """
    bag = open_bag(path)
    begin_ns = min(topic.first_ns for topic in bag.topics if topic.count)
    rclpy.init()
    node = BagReplay(bag, clock=clock)
    sent = 0
    try:
        for topic in node.left_out:
            say(f"{topic} is left out: its type isn't installed here.")
        _wait_for_listeners(node, begin_ns, wait_s)
        if node.unheard():
            say(f"Nobody listens to {node.unheard()} after {wait_s:g} s.")
        with _keys() as key:
            while True:
                sent += _play(node, bag, begin_ns, rate, start_s, key)
                if not loop:
                    break
        _let_arrive(node, max(topic.last_ns for topic in bag.topics), rate)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return sent


def _play(
    node: BagReplay, bag: StoredBag, begin_ns: int, rate: float, start_s: float, key: Any
) -> int:
    sent = 0
    origin, offset_s = time.monotonic(), start_s
    for message in bag.messages():
        at_s = (message.log_ns - begin_ns) * 1e-9
        if at_s < start_s and message.log_ns > begin_ns:
            continue
        while True:
            wait = origin + (at_s - offset_s) / rate - time.monotonic()
            if node.paused or wait > 0.0:
                rclpy.spin_once(node, timeout_sec=0.05 if node.paused else min(wait, 0.05))
            elif sent % 100 == 0:
                rclpy.spin_once(node, timeout_sec=0.0)
            pressed = key() if node.paused or sent % 20 == 0 else ""
            if pressed == " ":
                node.paused = not node.paused
            node.steps += pressed == "s"
            if node.paused:
                origin, offset_s = time.monotonic(), at_s  # time stands still
                if node.steps:
                    node.steps -= 1
                    break
            elif wait <= 0.0:
                break
        node.send(message.topic, message.data, message.log_ns)
        sent += 1
    return sent


def _wait_for_listeners(node: BagReplay, begin_ns: int, wait_s: float) -> None:
    """Until joint states and wrenches are heard, and everybody who asked for a topic has it."""
    end, ready = time.monotonic() + wait_s, 0.0
    while (now := time.monotonic()) < end:
        if node.unheard() or node.unmatched():
            ready = now
        elif now - ready > _STEADY_S:
            return
        # On simulated time, nodes look for publishers only while it runs.
        node.tell_time(begin_ns - round((end - now) * 1e9))
        rclpy.spin_once(node, timeout_sec=0.02)


def _let_arrive(node: BagReplay, last_ns: int, rate: float) -> None:
    """Reliable messages are on their way until they are acknowledged; simulated time goes on."""
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < _ARRIVAL_S:
        node.tell_time(last_ns + round(max(rate, 1.0) * passed * 1e9))
        rclpy.spin_once(node, timeout_sec=0.02)


def _message_class(type_name: str) -> Any:
    """The message's Python class, or None where it isn't installed."""
    package, _, name = type_name.partition("/msg/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name, None)
    except (ImportError, ValueError):
        return None


def _qos(offered: OfferedQos) -> QoSProfile:
    latched = offered.durability == "transient_local"
    best_effort = offered.reliability == "best_effort"
    return QoSProfile(
        depth=max(offered.depth, 1 if latched else _DEPTH),
        reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


@contextlib.contextmanager
def _keys() -> Iterator[Any]:
    """A function that gives the key pressed since it was called last: space pauses, s steps."""
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)

    def pressed() -> str:
        return sys.stdin.read(1) if select.select([sys.stdin], [], [], 0.0)[0] else ""

    try:
        yield pressed
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
