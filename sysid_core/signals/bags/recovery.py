# SPDX-License-Identifier: Apache-2.0
"""Recovery of a readable bag from a damaged one."""

from __future__ import annotations

from pathlib import Path

from sysid_core.errors import SignalError
from sysid_core.files import FileKind, parse_yaml
from sysid_core.signals.bags.records import StoredTopic
from sysid_core.signals.bags.storage import StoredBag, open_bag
from sysid_core.signals.bags.writer import BagWriter, OfferedQos

_QOS = FileKind("quality of service", "Record again.", SignalError)


def recover_bag(path: str | Path, out: str | Path) -> StoredBag:
    """Write all readable messages of a damaged bag to a new bag, with index and metadata.

    Args:
        path: Damaged (or whole) bag: folder or storage file. It isn't touched.
        out: Folder to create.

    Returns:
        The new bag.

    Raises:
        SignalError: Nothing can be read, or the folder exists.
    """
    bag = open_bag(path)
    definitions = {topic.type: topic.definition for topic in bag.topics if topic.definition}
    with BagWriter(out, custom_data=bag.custom_data, definitions=definitions) as writer:
        for topic in bag.topics:
            writer.add_topic(topic.name, topic.type, offered_qos(topic))
        for message in bag.messages():
            writer.write(message.topic, message.data, message.log_ns)
    return open_bag(out)


def offered_qos(topic: StoredTopic) -> OfferedQos:
    """QoS of a recorded publisher, as far as a replay needs it."""
    try:
        profile = parse_yaml(topic.qos, _QOS, topic.name)[0]
        best_effort = str(profile["reliability"]) in ("best_effort", "2")
        latched = str(profile["durability"]) in ("transient_local", "1")
        depth = int(profile["depth"])
    except (SignalError, KeyError, IndexError, TypeError, ValueError):
        return OfferedQos()
    return OfferedQos(
        "best_effort" if best_effort else "reliable",
        "transient_local" if latched else "volatile",
        depth,
    )
