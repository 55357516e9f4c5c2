# SPDX-License-Identifier: Apache-2.0
"""Two nodes of one name publish on the same topics, each as if it were alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sysid_nodes.lifecycle.health import ERROR

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.guarded_node import GuardedNode

_PERIOD_S = 2.0
_ASPECT = "twin"


class TwinWatch:
    """Looks for other nodes of a node's name, and reports them.

    Args:
        node: Whose name must be its own.
    """

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._timer = node.create_timer(_PERIOD_S, self._look, clock=node.health.clock)

    def _look(self) -> None:
        node = self._node
        mine = (node.get_name(), node.get_namespace())
        if node.get_node_names_and_namespaces().count(mine) < 2:
            node.health.forget(_ASPECT)
            return
        words = f"Another node is called {node.get_fully_qualified_name()} too: end one of them."
        node.log_error(words, key=_ASPECT)
        node.health.say(_ASPECT, ERROR, words)
