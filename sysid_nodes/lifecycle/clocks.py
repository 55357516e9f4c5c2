# SPDX-License-Identifier: Apache-2.0
"""Report of publishers whose clock differs from the clock of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from sysid_nodes.lifecycle.health import Level

if TYPE_CHECKING:
    from sysid_core.clock_gate import ClockGate
    from sysid_nodes.lifecycle.guarded_node import GuardedNode

_PERIOD_S = 1.0


class ClockWatch:
    """Diagnostic of the clock offsets that the gates of a node have measured, once a second.

    Args:
        node: Node that receives the stamps.
    """

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._gates: WeakSet[ClockGate] = WeakSet()  # a new configuration has new ones
        self._timer = node.create_timer(_PERIOD_S, self.look, clock=node.health.clock)

    def watch(self, *gates: ClockGate) -> None:
        """Report the offsets that these gates measure."""
        self._gates.update(gates)

    def look(self) -> None:
        """Update the diagnostic now. In simulated time no offset is reported, because `/clock` may
        arrive after messages with the same time.
        """
        words = "; ".join(sorted(filter(None, (gate.words for gate in self._gates))))
        if words and not self._node.get_clock().ros_time_is_active:
            self._node.health.say("clocks", Level.WARN, words)
        else:
            self._node.health.forget("clocks")
