# SPDX-License-Identifier: Apache-2.0
"""Contents of a rosbag2 bag, read record by record so that truncated bags are readable.

An MCAP file that was truncated (by a killed logger or a full disk) has no index and no footer;
readers that need them read nothing. In this module, MCAP files are always read from the start, up
to the last complete chunk. Other storages (SQLite, compressed files) are read by the library
rosbags, and must be complete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.signals.bags.layouts import build_typestore, message_decoder
from sysid_core.signals.bags.mcap_file import read_indexed, read_metadata, read_ros1, scan_mcap
from sysid_core.signals.bags.records import Damage, MessageBlock, StoredMessage, StoredTopic


@dataclass(frozen=True)
class StoredBag:
    """Bag on disk.

    Attributes:
        path: Folder or file as given by the user.
        files: Storage files in order.
        topics: Topics in the order of their appearance.
        custom_data: Key-value pairs of the bag.
        damage: Damaged parts, one sentence each; empty for an undamaged bag.
        lost_s: Duration of the recording lost in damaged chunks, as far as the file shows it [s].
    """

    path: Path
    files: tuple[Path, ...]
    topics: tuple[StoredTopic, ...]
    custom_data: dict[str, str]
    damage: tuple[str, ...]
    lost_s: float = 0.0

    @property
    def count(self) -> int:
        """Number of messages of all topics."""
        return sum(topic.count for topic in self.topics)

    @property
    def seconds(self) -> float:
        """Time between the first and the last message [s]."""
        used = [topic for topic in self.topics if topic.count]
        if not used:
            return 0.0
        return (max(t.last_ns for t in used) - min(t.first_ns for t in used)) * 1e-9

    def topics_of(self, type_name: str) -> tuple[StoredTopic, ...]:
        """Return the topics with messages of a given type."""
        return tuple(topic for topic in self.topics if topic.type == type_name and topic.count)

    def messages(self, topics: Collection[str] = ()) -> Iterator[StoredMessage]:
        """Yield messages of the named topics (by default all topics), in the order of the
        storage.
        """
        for block in self.blocks(topics):
            yield from block

    def decoded(self, topic: str) -> Iterator[tuple[int, Any]]:
        """Yield the log times [ns] and the decoded messages of a topic; none if there is no such
        topic.

        Raises:
            SignalError: A message or its definition is damaged.
        """
        for stored in self.topics:
            if stored.name == topic:
                known = {stored.type: stored.definition} if stored.definition else None
                decode = message_decoder(build_typestore(known), stored.type)
                yield from ((m.log_ns, decode(m.data)) for m in self.messages((topic,)))

    def blocks(self, topics: Collection[str] = ()) -> Iterator[MessageBlock]:
        """Yield messages in blocks, for readers of whole columns."""
        wanted = set(topics)
        whole = (self.path / "metadata.yaml").is_file()
        for item in stored_items(self.path, self.files, whole=whole):
            if isinstance(item, MessageBlock):
                yield item.of_topics(wanted) if wanted else item

    @classmethod
    def open(cls, path: str | Path) -> StoredBag:
        """Open a bag: a rosbag2 folder, or one of its storage files.

        Raises:
            SignalError: There is no bag, or none of its contents can be read.
        """
        path = Path(path)
        metadata, faults = read_metadata(path)
        listed = metadata.relative_file_paths if metadata else ()
        named = dict.fromkeys(Path(name).name for name in listed)
        files = _storage_files(path, named)
        damage = list(faults)
        if path.is_dir() and metadata is None and not damage:
            damage.append(f"'{path}' has no metadata.yaml: its logger didn't close it.")
        damage += [
            f"'{name}' is listed in metadata.yaml, but missing."
            for name in named
            if path.is_dir() and not (path / name).is_file()
        ]
        topics: dict[str, dict[str, Any]] = {}
        custom_data: dict[str, str] = {}
        lost_s = 0.0
        for item in stored_items(path, files, whole=metadata is not None):
            if isinstance(item, MessageBlock):
                _count(topics, item)
            elif isinstance(item, StoredTopic):
                topics.setdefault(
                    item.name,
                    {
                        "type": item.type,
                        "definition": item.definition,
                        "encoding": item.encoding,
                        "qos": item.qos,
                        "count": 0,
                    },
                )
            elif isinstance(item, dict):
                custom_data.update(item)
            else:
                damage.append(item.text)
                lost_s += item.lost_s
        custom_data.update(metadata.custom_data if metadata else {})
        if not topics:
            raise SignalError(
                f"Nothing can be read from '{path}': {' '.join(damage) or 'it holds no topic.'}",
                remedy="Record again: a logger that is killed immediately after its start leaves an empty file.",
            )
        return cls(
            path,
            files,
            tuple(StoredTopic(name, **entry) for name, entry in topics.items()),
            {str(key): str(value) for key, value in custom_data.items()},
            tuple(damage),
            lost_s,
        )


def _count(topics: dict[str, dict[str, Any]], block: MessageBlock) -> None:
    for index in np.unique(block.topic).tolist():
        entry, log_ns = topics[block.topics[index]], block.log_ns[block.topic == index]
        first, last = int(log_ns.min()), int(log_ns.max())
        entry["count"] += len(log_ns)
        entry["first_ns"] = min(entry.get("first_ns", first), first)
        entry["last_ns"] = max(entry.get("last_ns", last), last)


def _storage_files(path: Path, named: Collection[str]) -> tuple[Path, ...]:
    if path.is_file():
        if path.suffix not in (".mcap", ".db3", ".bag"):
            raise SignalError(
                f"'{path}' is not a bag.",
                remedy="Give a rosbag2 folder, or an .mcap, .db3 or (ROS 1) .bag file.",
            )
        return (path,)
    if not path.is_dir():
        raise SignalError(
            f"There is no bag at '{path}'.", remedy="Give a rosbag2 folder or an .mcap file."
        )
    files = [path / name for name in named if (path / name).is_file()]
    if not files:
        files = sorted(path.glob("*.mcap"), key=_split_number) or sorted(
            path.glob("*.db3"), key=_split_number
        )
    if not files:
        raise SignalError(
            f"'{path}' holds neither .mcap nor .db3 files.",
            remedy="Give a rosbag2 folder or an .mcap file.",
        )
    return tuple(files)


def _split_number(file: Path) -> tuple[int, str]:
    number = file.stem.rpartition("_")[2]
    return (int(number) if number.isdigit() else 0, file.name)


_Item = MessageBlock | StoredTopic | dict[str, str] | Damage


def stored_items(path: Path, files: Sequence[Path], *, whole: bool) -> Iterator[_Item]:
    """Yield messages, topics, metadata and damage of a bag, in order.

    Args:
        path: Path given by the user.
        files: Storage files.
        whole: True if there is a metadata.yaml.
    """
    for file in files:
        if file.suffix == ".mcap":
            yield from scan_mcap(file)
        elif file.suffix == ".bag":
            yield from read_ros1(file)
        elif not whole:
            yield from read_indexed(file)
    if whole and files[0].suffix != ".mcap":
        yield from read_indexed(path)
