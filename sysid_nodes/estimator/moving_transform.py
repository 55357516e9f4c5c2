# SPDX-License-Identifier: Apache-2.0
"""Transform of a frame on the topic `tf`, if tf2_msgs is installed."""

from __future__ import annotations

import time
from typing import Any

from sysid_core.clock_gate import ClockGate
from sysid_core.robot import StaticTransform
from sysid_nodes.lifecycle import ManagedNode

_PATIENCE_S = 3.0  # for a frame on tf; drivers send it many times a second


class MovingTransform:
    """Receiver of the next transform of one frame on `tf`; it subscribes until the transform
    arrives, for at most a few seconds.

    Args:
        node: Node that subscribes.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node, self._child, self._gate = node, "", ClockGate("tf")
        node.clocks.watch(self._gate)
        self._subscription: Any = None
        self._until = 0.0  # on the steady clock [s]
        self._found: tuple[int, StaticTransform] | None = None  # stamp [ns]

    def look_for(self, child: str) -> None:
        """Start to wait for the transform of a frame."""
        self._child, self._found = child, None
        self._until = time.monotonic() + _PATIENCE_S
        if self._subscription is not None:
            return
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            return
        self._subscription = self._node.create_subscription(
            TFMessage, "tf", self._on_transforms, 100
        )

    def take(self) -> tuple[int, StaticTransform] | None:
        """Return stamp [ns] and transform once; None if no transform has arrived."""
        found, self._found = self._found, None
        over = found is not None or time.monotonic() > self._until
        if over and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
        return found

    def _on_transforms(self, message: Any) -> None:
        for stamped in message.transforms:
            if stamped.child_frame_id.lstrip("/") == self._child and self._found is None:
                stamp_ns = self._node.through(self._gate, stamped.header.stamp)
                self._found = stamp_ns, StaticTransform.of(stamped)
