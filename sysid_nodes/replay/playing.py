# SPDX-License-Identifier: Apache-2.0
"""Replay of a bag: messages are published in the recorded order and at the recorded times."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions

from sysid_core.signals.bags import StoredBag
from sysid_nodes.lifecycle import stop_flag
from sysid_nodes.replay.bag_publisher import BagPublisher


@contextlib.contextmanager
def pressed_keys() -> Iterator[Callable[[], str]]:
    """Provide a function that returns the keys pressed since its last call: space pauses, s
    publishes a single message.
    """
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)

    def pressed() -> str:  # one byte: what a buffer took along, select wouldn't see
        ready = select.select([sys.stdin], [], [], 0.0)[0]
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") if ready else ""

    try:
        yield pressed
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


_STEADY_S = 1.0  # without anybody new who wants to listen
# Fast DDS announces a process when it starts and every 3 s: whoever missed the first is found then,
# also by another listener, such as the estimator by the logger, which can't be seen from here.
_ANNOUNCED_S = 3.5
_ARRIVAL_S = 2.0  # at least, after the last message: simulated time goes on until all is worked off
_DEAF_S = (
    30.0  # at most: whoever hasn't acknowledged by then is gone (Fast DDS gives it up after 20 s)
)


def replay(
    path: Path,
    *,
    rate: float = 1.0,
    start_s: float = 0.0,
    loop: bool = False,
    clock: bool = False,
    wait_s: float = 10.0,
    listeners: Sequence[str] = (),
    say: Any = print,
) -> int:
    """Publish the messages of a bag until its end.

    Args:
        path: Path of the bag.
        rate: Speed of the replay; 1 is real time.
        start_s: Time in the bag at which the replay begins [s].
        loop: Begin again at the end.
        clock: True to publish `/clock`.
        wait_s: Longest time to wait for subscribers of joint states and wrenches [s].
        listeners: Nodes whose subscriptions are awaited; if given, other subscribers are not
            awaited.
        say: Function called with each message for the user, one sentence.

    Returns:
        Number of published messages.

    Raises:
        SignalError: The bag can't be read.
    """
    bag = StoredBag.open(path)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = BagPublisher(bag, clock=clock)
    sent = 0
    try:
        with stop_flag() as stopped, pressed_keys() as key:
            for topic in node.left_out:
                say(f"{topic} is omitted, because its type is not installed.")
            _wait_for_listeners(node, wait_s, listeners, stopped)
            if node.unheard() and not stopped():
                say(f"No node has subscribed to {node.unheard()} after {wait_s:g} s.")
            if node.deaf(listeners) and not stopped():
                say(
                    f"Nodes without subscriptions after {wait_s:g} s: {', '.join(node.deaf(listeners))}."
                )
            heard = node.matched()
            while not stopped():
                pace = _Pace(node, rate, start_s, key, stopped)
                sent += _play(node, bag, start_s, pace)
                if not loop:
                    break
            late = [topic for topic, n in node.matched().items() if n > heard[topic]]
            if late and not loop and not stopped():
                say(
                    f"A subscriber to {late} started after the replay and has missed messages: replay again, with --for NODE to wait for that node."
                )
            _let_arrive(node, max(topic.last_ns for topic in bag.topics), rate, stopped)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return sent


def _wait_for_listeners(
    node: BagPublisher, wait_s: float, listeners: Sequence[str], stopped: Callable[[], bool]
) -> None:
    """Wait until joint states and wrenches have subscribers, and all connections are complete.

    Processes discover each other one after the other, which takes some seconds if an announcement
    is lost. A subscriber that has not been discovered would miss the first messages.
    """
    begin = changed = time.monotonic()
    known: object = None
    while (now := time.monotonic()) < begin + wait_s and not stopped():
        before, known = known, (sorted(node.get_node_names_and_namespaces()), node.matched())
        if known != before or node.unheard() or node.unmatched() or node.deaf(listeners):
            changed = now
        elif now - changed > _STEADY_S and now - begin > _ANNOUNCED_S:
            return
        # On simulated time, nodes look for publishers only while it runs.
        node.publish_time(node.begin_ns - round((begin + wait_s - now) * 1e9))
        rclpy.spin_once(node, timeout_sec=0.02)


class _Pace:
    """Publication times of messages.

    Args:
        node: Node with the services that pause and step.
        rate: Speed of the replay; 1 is real time.
        start_s: Time in the bag at which the replay begins [s].
        key: Function that returns the pressed keys: space pauses, s publishes a single message.
        stopped: Function that returns True if the replay is to end.
    """

    def __init__(
        self,
        node: BagPublisher,
        rate: float,
        start_s: float,
        key: Callable[[], str],
        stopped: Callable[[], bool],
    ) -> None:
        self._node, self._rate, self._key, self._stopped = node, rate, key, stopped
        self._origin, self._offset_s = time.monotonic(), start_s
        self._turns = 0

    def wait_for(self, at_s: float) -> bool:
        """Wait until the replay reaches a time in the bag [s]; False if the replay is to end."""
        node = self._node
        self._turns += 1
        while not self._stopped():
            wait = self._origin + (at_s - self._offset_s) / self._rate - time.monotonic()
            if node.paused or wait > 0.0:
                rclpy.spin_once(node, timeout_sec=0.05 if node.paused else min(wait, 0.05))
            elif self._turns % 100 == 1:
                rclpy.spin_once(node, timeout_sec=0.0)
            pressed = self._key() if node.paused or self._turns % 20 == 1 else ""
            if pressed == " ":
                node.paused = not node.paused
            node.steps += pressed == "s"
            if node.paused:
                self._origin, self._offset_s = time.monotonic(), at_s  # time stands still
                if node.steps:
                    node.steps -= 1
                    return True
            elif wait <= 0.0:
                return True
        return False


def _play(node: BagPublisher, bag: StoredBag, start_s: float, pace: _Pace) -> int:
    """Publish all messages since a time in the bag [s], and return their number."""
    sent = 0
    for message in bag.messages():
        at_s = (message.log_ns - node.begin_ns) * 1e-9
        if at_s < start_s and message.log_ns > node.begin_ns:
            continue
        if not pace.wait_for(at_s):
            break
        node.send(message.topic, message.data, message.log_ns)
        sent += 1
    return sent


def _let_arrive(node: BagPublisher, last_ns: int, rate: float, stopped: Callable[[], bool]) -> None:
    """Wait until all reliable messages are acknowledged, because the remaining ones are lost when
    this process ends.

    Simulated time continues during this wait.
    """
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < _DEAF_S and not stopped():
        if passed > _ARRIVAL_S and node.acknowledged():
            return
        node.publish_time(last_ns + round(max(rate, 1.0) * passed * 1e9))
        rclpy.spin_once(node, timeout_sec=0.02)
