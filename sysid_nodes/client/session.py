# SPDX-License-Identifier: Apache-2.0
"""For the time of a `with` block: a client, a ROS domain."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import rclpy
from rclpy.signals import SignalHandlerOptions

from sysid_nodes.client.live_client import LiveClient


@contextlib.contextmanager
def live_client(
    namespace: str = "", check: Callable[[], None] = lambda: None
) -> Iterator[LiveClient]:
    """A client for the time of a `with` block; leaves signals to Python."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    client = LiveClient(namespace, check)
    try:
        yield client
    finally:
        client.node.destroy_node()
        rclpy.try_shutdown()


@contextlib.contextmanager
def own_domain() -> Iterator[dict[str, str]]:
    """Environment of a ROS domain that nobody else on this machine uses, loopback only."""
    with contextlib.ExitStack() as stack:
        try:
            from domain_coordinator import domain_id

            number = stack.enter_context(domain_id())
        except ImportError:
            number = 1 + time.time_ns() // 1_000_000 % 100
        yield {
            "ROS_DOMAIN_ID": str(number),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        }
