# SPDX-License-Identifier: Apache-2.0
"""Test of messages between two processes of this machine: `python -m sysid_nodes.client.loopback`.

`echo` answers every message with the same text. `ask` sends a message until an answer arrives,
prints the round-trip time in milliseconds, and ends with exit status 0, or 1 after a timeout.
"""

from __future__ import annotations

import sys
import time

import rclpy
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String

QUESTION, ANSWER = "sysid_loopback_question", "sysid_loopback_answer"


def echo(timeout_s: float) -> int:
    """Answer messages until the time is up."""
    node = rclpy.create_node("sysid_loopback_echo")
    publisher = node.create_publisher(String, ANSWER, 10)
    node.create_subscription(String, QUESTION, publisher.publish, 10)
    end = time.monotonic() + timeout_s
    while rclpy.ok() and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    return 0


def ask(timeout_s: float) -> int:
    """Send requests until an answer arrives."""
    node = rclpy.create_node("sysid_loopback_ask")
    publisher = node.create_publisher(String, QUESTION, 10)
    trips: list[float] = []
    node.create_subscription(
        String, ANSWER, lambda msg: trips.append(time.monotonic() - float(msg.data)), 10
    )
    end = time.monotonic() + timeout_s
    while rclpy.ok() and time.monotonic() < end and len(trips) < 5:
        publisher.publish(String(data=repr(time.monotonic())))
        rclpy.spin_once(node, timeout_sec=0.1)
    if not trips:
        return 1
    print(f"{min(trips) * 1e3:.2f}")
    return 0


def main() -> int:
    """Run one of the two processes."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        return {"echo": echo, "ask": ask}[sys.argv[1]](float(sys.argv[2]))
    except KeyboardInterrupt:
        return 0
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
