# SPDX-License-Identifier: Apache-2.0
"""Text contents of a bag: robot description, static transforms, marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sysid_core.robot import StaticTransform
from sysid_core.signals.bags.records import StoredTopic
from sysid_core.signals.bags.storage import StoredBag
from sysid_core.signals.bags.types import message_decoder, stored_typestore
from sysid_core.signals.recording import Mark

STRING = "std_msgs/msg/String"
MARK = "robot_sysid/msg/Mark"
TRANSFORMS = "tf2_msgs/msg/TFMessage"


def namespace_of(topic: str) -> str:
    """Namespace of a topic; "" without namespace."""
    return topic.rpartition("/")[0]


class Texts:
    """Descriptions, static transforms and marks of the robot whose joint states are read.

    Where several robots are in a bag, what stands in the joint states' namespace counts, or in the
    nearest one above it.
    """

    def __init__(self, bag: StoredBag, joint_topic: str) -> None:
        self.marks: list[Mark] = []
        self.description = ""
        self.transforms: dict[str, StaticTransform] = {}  # by child
        self.notes: list[str] = []
        self.broken = 0
        strings, frames = bag.topics_of(STRING), bag.topics_of(TRANSFORMS)
        descriptions = [t for t in strings if t.name.endswith("robot_description")]
        transforms = [t for t in frames if t.name.endswith("tf_static")]
        marks = [*(t for t in strings if t.name.endswith("/marks")), *bag.topics_of(MARK)]
        self._used: dict[str, tuple[StoredTopic, Callable[[int, Any], None]]] = {}
        for what, topics, take in (
            ("descriptions", descriptions, self._describe),
            ("static transforms", transforms, self._fix),
            ("marks", marks, self._mark),
        ):
            mine = [
                t
                for t in topics
                if (namespace_of(joint_topic) + "/").startswith(namespace_of(t.name) + "/")
            ]
            nearest = max((len(namespace_of(t.name)) for t in mine), default=0)
            if len(topics) == 1:
                mine, nearest = topics, len(namespace_of(topics[0].name))
            used = [t for t in mine if len(namespace_of(t.name)) == nearest]
            others = [t.name for t in topics if t not in used]
            if others:
                self.notes.append(f"{what} on {others} belong to another robot and were omitted.")
            self._used |= {topic.name: (topic, take) for topic in used}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of their topics."""
        return tuple(self._used)

    def takers(self) -> dict[str, Callable[[int, bytes], None]]:
        """Functions that process the messages of each topic."""

        def taker(topic: StoredTopic, take: Callable[[int, Any], None]) -> Any:
            store = stored_typestore(topic.type, topic.definition, topic.encoding)
            decode = message_decoder(store, topic.type)

            def take_bytes(log_ns: int, data: bytes) -> None:
                try:
                    take(log_ns, decode(data))
                except Exception:  # whatever a deserialiser makes of damaged bytes
                    self.broken += 1

            return take_bytes

        return {name: taker(*used) for name, used in self._used.items()}

    def _describe(self, log_ns: int, message: Any) -> None:
        self.description = message.data

    def _fix(self, log_ns: int, message: Any) -> None:
        found = (StaticTransform.of(stamped) for stamped in message.transforms)
        self.transforms |= {transform.child: transform for transform in found}

    def _mark(self, log_ns: int, message: Any) -> None:
        if hasattr(message, "label"):
            stamp = message.stamp
            self.marks.append(Mark(int(stamp.sec) * 10**9 + int(stamp.nanosec), message.label))
        else:
            self.marks.append(Mark(log_ns, message.data))
