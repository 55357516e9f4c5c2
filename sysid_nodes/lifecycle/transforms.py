# SPDX-License-Identifier: Apache-2.0
"""Transforms of the topics `tf_static` and `tf`, if tf2_msgs is installed (there is no wheel of it on
PyPI).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message

from sysid_core.robot import StaticTransform

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.managed_node import ManagedNode

TRANSFORMS, MOVING = "tf_static", "tf"
# As tf2's own listeners: several nodes publish their part, each latched.
_QOS = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_MOST = 1000  # frames; more is no robot
_PATIENCE_S = 3.0  # for a frame on tf; drivers send it many times a second


class StaticTransforms:
    """Subscriber of `tf_static` that stores the transforms of all frames.

    Args:
        node: Node that subscribes while it is configured.
        heard: Function that is called when there are new transforms.

    Attributes:
        available: True if tf2_msgs is installed; without it no transforms are received.
    """

    def __init__(self, node: ManagedNode, heard: Callable[[], None]) -> None:
        self._heard = heard
        self._stamped: dict[str, Any] = {}  # by child
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            self.available = False
            return
        self.available, self._type = True, TFMessage
        node.create_subscription(TFMessage, TRANSFORMS, self._on_transforms, _QOS)

    @property
    def all(self) -> tuple[StaticTransform, ...]:
        """Transform from every frame to its parent."""
        return tuple(StaticTransform.of(stamped) for stamped in self._stamped.values())

    @property
    def serialised(self) -> bytes:
        """Serialised message with all transforms; empty if there are none."""
        if not self._stamped:
            return b""
        return bytes(serialize_message(self._type(transforms=list(self._stamped.values()))))

    def _on_transforms(self, message: Any) -> None:
        """Store the transforms of a message, or none of them if one is not a rigid transform."""
        found = {stamped.child_frame_id: stamped for stamped in message.transforms}
        known = {t.child: t for t in self.all}
        new = [t for t in map(StaticTransform.of, found.values()) if known.get(t.child) != t]
        if new and len(self._stamped | found) <= _MOST:
            self._stamped |= found
            self._heard()


class MovingTransform:
    """Receiver of the next transform of one frame on `tf`; it subscribes until the transform
    arrives, for at most some seconds.

    Args:
        node: Node that subscribes.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node, self._child = node, ""
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
            TFMessage, MOVING, self._on_transforms, 100
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
                stamp = stamped.header.stamp
                self._found = (
                    stamp.sec * 1_000_000_000 + stamp.nanosec,
                    StaticTransform.of(stamped),
                )
