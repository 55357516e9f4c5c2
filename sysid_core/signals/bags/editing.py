# SPDX-License-Identifier: Apache-2.0
"""Editing of bags: a part of one, several merged, a damaged one repaired."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from pathlib import Path

from sysid_core.errors import SignalError
from sysid_core.files import FileKind, parse_yaml
from sysid_core.signals.bags.records import StoredMessage, StoredTopic
from sysid_core.signals.bags.storage import StoredBag, open_bag
from sysid_core.signals.bags.writer import BagWriter, OfferedQos

_QOS = FileKind("quality of service", "Record again.", SignalError)


def recover_bag(path: str | Path, out: str | Path) -> StoredBag:
    """Write all readable messages of a bag to a new one, with index and metadata.

    Args:
        path: Damaged (or whole) bag: folder or storage file. It isn't touched.
        out: Folder to create.

    Returns:
        The new bag.

    Raises:
        SignalError: Nothing can be read, or the folder exists.
    """
    bag = open_bag(path)
    return _write([bag], bag.messages(), out)


def cut_bag(
    path: str | Path, out: str | Path, *, start_s: float = 0.0, end_s: float = float("inf")
) -> StoredBag:
    """Write the part of a bag between two times into a new one; latched messages are kept.

    Args:
        path: Bag to cut; it isn't touched.
        out: Folder to create.
        start_s: Begin of the part, after the bag's first message [s].
        end_s: End of the part [s].

    Returns:
        The new bag.

    Raises:
        SignalError: No message in between, or the folder exists.
    """
    bag = open_bag(path)
    begin = min(topic.first_ns for topic in bag.topics if topic.count)
    latched = {t.name for t in bag.topics if offered_qos(t).durability == "transient_local"}
    low = begin + start_s * 1e9
    high = begin + min(end_s, 1e9) * 1e9
    if not any(low <= t.last_ns and t.first_ns <= high for t in bag.topics if t.count):
        raise SignalError(
            f"'{path}' has {bag.seconds:.1f} s; nothing is between {start_s} and {end_s} s.",
            remedy="Give times within the recording.",
        )

    def inside() -> Iterable[StoredMessage]:
        for message in bag.messages():
            if message.topic in latched and message.log_ns < low:
                yield StoredMessage(message.topic, int(low), message.data)
            elif low <= message.log_ns <= high:
                yield message

    return _write([bag], inside(), out)


def merge_bags(paths: Sequence[str | Path], out: str | Path) -> StoredBag:
    """Write the messages of several bags into one, in the order of their reception.

    Args:
        paths: Bags; they aren't touched.
        out: Folder to create.

    Returns:
        The new bag.

    Raises:
        SignalError: A bag can't be read, or has another type on a topic of the same name.
    """
    bags = [open_bag(path) for path in paths]
    messages = heapq.merge(*(bag.messages() for bag in bags), key=lambda message: message.log_ns)
    return _write(bags, messages, out)


def offered_qos(topic: StoredTopic) -> OfferedQos:
    """QoS of the publisher according to the bag, as far as replaying needs it."""
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


def _write(
    bags: Sequence[StoredBag], messages: Iterable[StoredMessage], out: str | Path
) -> StoredBag:
    topics: dict[str, StoredTopic] = {}
    for topic in (topic for bag in bags for topic in bag.topics):
        known = topics.setdefault(topic.name, topic)
        if known.type != topic.type:
            raise SignalError(
                f"'{topic.name}' holds {known.type} in one bag and {topic.type} in another.",
                remedy="Merge recordings of one robot only.",
            )
    custom_data = {key: value for bag in reversed(bags) for key, value in bag.custom_data.items()}
    definitions = {topic.type: topic.definition for topic in topics.values() if topic.definition}
    with BagWriter(out, custom_data=custom_data, definitions=definitions) as writer:
        for topic in topics.values():
            writer.add_topic(topic.name, topic.type, offered_qos(topic))
        for message in messages:
            writer.write(message.topic, message.data, message.log_ns)
    return open_bag(out)
