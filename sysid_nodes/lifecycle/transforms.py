# SPDX-License-Identifier: Apache-2.0
"""Transforms of the topic `tf_static`, if tf2_msgs is installed (there is no wheel of it on PyPI)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message

from sysid_core.robot import StaticTransform

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.managed_node import ManagedNode

# As tf2's own listeners: several nodes publish their part, each latched.
_QOS = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_MOST = 1000  # frames; more is no robot


class StaticTransforms:
    """Subscriber of `tf_static` that stores the transforms of all frames.

    Args:
        node: Node that subscribes while it is configured.
        heard: Function that is called when there are new transforms.

    Attributes:
        available: True if tf2_msgs is installed; without it no transforms are received.
    """

    TOPIC = "tf_static"

    def __init__(self, node: ManagedNode, heard: Callable[[], None]) -> None:
        self._heard = heard
        self._stamped: dict[str, Any] = {}  # by child
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            self.available = False
            return
        self.available, self._type = True, TFMessage
        node.create_subscription(TFMessage, self.TOPIC, self._on_transforms, _QOS)

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
