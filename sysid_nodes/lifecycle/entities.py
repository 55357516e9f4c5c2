# SPDX-License-Identifier: Apache-2.0
"""What a node consists of, to go back to when it is deactivated or cleaned up."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.guarded_node import GuardedNode


class Entities:
    """Publishers, subscriptions, clients, services, timers and served actions at an instant."""

    KINDS = ("publisher", "subscription", "client", "service", "timer")

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._there = {kind: set(getattr(node, f"{kind}s")) for kind in self.KINDS}
        self._served = frozenset(node.actions.open)

    def restore(self, keep: Collection[Any] = ()) -> None:
        """Destroy what has been made since, but for some; served actions are closed."""
        self._node.actions.close(keep=self._served)
        for kind, there in self._there.items():
            for entity in [e for e in getattr(self._node, f"{kind}s") if e not in there]:
                if entity not in keep:
                    getattr(self._node, f"destroy_{kind}")(entity)
