# SPDX-License-Identifier: Apache-2.0
"""What a node consists of, to go back to when it is deactivated or cleaned up."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rclpy.action import ActionClient, ActionServer
from rclpy.node import Node


class Entities:
    """Publishers, subscriptions, clients, services, timers and actions of a node at an instant."""

    KINDS = ("publisher", "subscription", "client", "service", "timer")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._there = {kind: set(getattr(node, f"{kind}s")) for kind in self.KINDS}
        self._actions = set(self._actions_now())

    def _actions_now(self) -> list[Any]:
        return [w for w in self._node.waitables if isinstance(w, (ActionClient, ActionServer))]

    def restore(self, keep: Collection[Any] = ()) -> None:
        """Destroy what has been made since, but for some."""
        for action in self._actions_now():
            if action not in self._actions:
                action.destroy()
        for kind, there in self._there.items():
            for entity in [e for e in getattr(self._node, f"{kind}s") if e not in there]:
                if entity not in keep:
                    getattr(self._node, f"destroy_{kind}")(entity)
