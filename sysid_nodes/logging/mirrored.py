# SPDX-License-Identifier: Apache-2.0
"""A topic of our type, and a plain mirror of it that every plotter reads."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from sysid_nodes.lifecycle import DATA


class Mirrored:
    """Two publishers; the mirror `~/plain/<name>` costs nothing while nobody listens.

    Args:
        node: That publishes.
        rich: Our message type.
        topic: Its topic.
        plain: A standard message type.
        name: Name of the mirror.
    """

    def __init__(self, node: Node, rich: type, topic: str, plain: type, name: str) -> None:
        self._rich = node.create_publisher(rich, topic, DATA)
        self._plain = node.create_publisher(plain, f"~/plain/{name}", DATA)
        self._listened = False

    def send(self, data: bytes, mirror: Callable[[], bytes]) -> None:
        """Publish serialised messages; `mirror` makes the plain one if it is wanted."""
        self._rich.publish(data)
        if self._listened:
            self._plain.publish(mirror())

    def look_for_listeners(self) -> None:
        """Find out whether somebody reads the mirror."""
        self._listened = self._plain.get_subscription_count() > 0
