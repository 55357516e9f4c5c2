# SPDX-License-Identifier: Apache-2.0
"""What a rosbag2 bag holds, read record by record, so that a truncated one can be read too.

An MCAP file that was cut off (a killed logger, a full disk) has no index and no footer; readers
that need them read nothing. Here MCAP files are always scanned from the start, up to the last
whole chunk. Other storages (SQLite, compressed files) are left to rosbags, and must be whole.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcap.exceptions import McapError
from mcap.records import Channel, Chunk, DataEnd, Footer, Message, Metadata, Schema, Statistics
from mcap.stream_reader import StreamReader

from sysid_core.errors import SignalError
from sysid_core.files import open_regular
from sysid_core.progress import report_progress
from sysid_core.signals.bags.bounded import (
    MOST_CHUNK_BYTES,
    WithinFile,
    chunk_content,
    chunk_messages,
    message_content,
    partial_chunk_content,
    partial_chunk_end,
    require_plausible_size,
)
from sysid_core.signals.bags.indexed import read_indexed, read_ros1
from sysid_core.signals.bags.metadata import BAG, read_metadata
from sysid_core.signals.bags.records import Damage, StoredMessage, StoredTopic

CUSTOM_DATA_RECORD = "robot_sysid"  # MCAP metadata record that repeats custom_data at the start


@dataclass(frozen=True)
class StoredBag:
    """A bag on disk.

    Attributes:
        path: Folder or file as given.
        files: Storage files in order.
        topics: In order of appearance.
        custom_data: Key-value pairs of the bag.
        damage: What is broken, one sentence each; empty for a whole bag.
        lost_s: Time whose messages are lost in damaged chunks, as far as these say [s].
    """

    path: Path
    files: tuple[Path, ...]
    topics: tuple[StoredTopic, ...]
    custom_data: dict[str, str]
    damage: tuple[str, ...]
    lost_s: float = 0.0

    @property
    def count(self) -> int:
        """Messages in all."""
        return sum(topic.count for topic in self.topics)

    @property
    def seconds(self) -> float:
        """Between the first and the last message [s]."""
        used = [topic for topic in self.topics if topic.count]
        if not used:
            return 0.0
        return (max(t.last_ns for t in used) - min(t.first_ns for t in used)) * 1e-9

    def topics_of(self, type_name: str) -> tuple[StoredTopic, ...]:
        """Topics of a message type that have messages."""
        return tuple(topic for topic in self.topics if topic.type == type_name and topic.count)

    def messages(self, topics: Collection[str] = ()) -> Iterator[StoredMessage]:
        """Messages of some topics (all, if none is named), in the order of the storage."""
        wanted = set(topics)
        whole = (self.path / "metadata.yaml").is_file()
        for item in stored_items(self.path, self.files, whole=whole):
            if isinstance(item, StoredMessage) and (not wanted or item.topic in wanted):
                yield item


def open_bag(path: str | Path) -> StoredBag:
    """Look through a bag: a rosbag2 folder, or one of its storage files.

    Raises:
        SignalError: There is no bag, or nothing in it can be read.
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
        f"'{name}' is listed in metadata.yaml and isn't there."
        for name in named
        if path.is_dir() and not (path / name).is_file()
    ]
    topics: dict[str, dict[str, Any]] = {}
    custom_data: dict[str, str] = {}
    lost_s = 0.0
    for item in stored_items(path, files, whole=metadata is not None):
        if isinstance(item, StoredMessage):
            entry = topics[item.topic]
            entry["count"] += 1
            entry["first_ns"] = min(entry.get("first_ns", item.log_ns), item.log_ns)
            entry["last_ns"] = max(entry.get("last_ns", item.log_ns), item.log_ns)
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
            remedy="Was anything recorded? A logger that is killed at once leaves an empty file.",
        )
    return StoredBag(
        path,
        files,
        tuple(StoredTopic(name, **entry) for name, entry in topics.items()),
        {str(key): str(value) for key, value in custom_data.items()},
        tuple(damage),
        lost_s,
    )


def _storage_files(path: Path, named: Collection[str]) -> tuple[Path, ...]:
    if path.is_file():
        if path.suffix not in (".mcap", ".db3", ".bag"):
            raise SignalError(
                f"'{path}' is no bag.",
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


_Item = StoredMessage | StoredTopic | dict[str, str] | Damage


def stored_items(path: Path, files: Sequence[Path], *, whole: bool) -> Iterator[_Item]:
    """Messages, topics, custom data and damage of a bag, in order.

    Args:
        path: As given by the user.
        files: Storage files.
        whole: Whether there is a metadata.yaml.
    """
    for file in files:
        if file.suffix == ".mcap":
            yield from _scan_file(file)
        elif file.suffix == ".bag":
            yield from read_ros1(file)
        elif not whole:
            yield from read_indexed(file)
    if whole and files[0].suffix != ".mcap":
        yield from read_indexed(path)


def _scan_file(file: Path) -> Iterator[_Item]:
    topics = _Topics()
    bad_chunks, bad_ns, unfolded, stated = 0, 0, 0, None
    closed = False
    size = file.stat().st_size
    with open_regular(file, BAG) as stream:
        whole = 0  # end of the last whole record
        try:
            reader = StreamReader(WithinFile(stream, size), emit_chunks=True)
            for record in reader.records:
                whole = stream.tell()
                report_progress(file.name, whole / max(size, 1))
                closed = closed or isinstance(record, DataEnd | Footer)
                if isinstance(record, Chunk):
                    require_plausible_size(unfolded + record.uncompressed_size, size)
                    try:
                        content = chunk_content(record)
                        items = list(chunk_messages(content))
                    except McapError:
                        bad_chunks += 1
                        bad_ns += max(0, record.message_end_time - record.message_start_time)
                        continue
                    unfolded += len(content)
                    yield from topics.take(items)
                elif isinstance(record, Message):
                    yield from topics.take([(record.channel_id, record.log_time, record.data)])
                elif isinstance(record, Schema | Channel):
                    yield from topics.take([record])
                elif isinstance(record, Statistics):
                    stated = record.message_count
                elif isinstance(record, Metadata) and record.name == CUSTOM_DATA_RECORD:
                    yield dict(record.metadata)
        except (McapError, struct.error, ValueError, OverflowError, MemoryError) as err:
            if not closed:
                stream.seek(whole)
                tail = stream.read(MOST_CHUNK_BYTES)
                yield from topics.take(_until_damaged(partial_chunk_content(tail)))
                lost_s = max(0, partial_chunk_end(tail) - topics.last_ns) * 1e-9
                yield (
                    Damage(
                        f"'{file.name}' is cut off or damaged ({err or type(err).__name__}): read to"
                        f" its last whole message; {lost_s:.2f} s of its last chunk are lost.",
                        lost_s,
                    )
                    if _is_mcap(file)
                    else Damage(f"'{file.name}' doesn't begin as an MCAP file does.")
                )
                closed = True
    if not closed:
        yield Damage(f"'{file.name}' is cut off: read to its last whole chunk.")
    if bad_chunks:
        text = f"{bad_chunks} damaged chunks of '{file.name}' were left out: {bad_ns * 1e-9:.2f} s."
        yield Damage(text, bad_ns * 1e-9)
    if stated not in (None, topics.found) and not bad_chunks:
        yield Damage(f"'{file.name}' should hold {stated} messages; {topics.found} were found.")
    if topics.lost:
        yield Damage(f"{topics.lost} messages of '{file.name}' belong to topics that were lost.")


class _Topics:
    """Channels of a file, and messages by their topic."""

    def __init__(self) -> None:
        self._schemas: dict[int, Schema] = {}
        self._names: dict[int, str] = {}
        self.found = self.lost = 0
        self.last_ns = 0  # log time of the newest message

    def take(
        self, items: Iterable[Schema | Channel | tuple[int, int, bytes]]
    ) -> Iterator[StoredMessage | StoredTopic]:
        for item in items:
            if isinstance(item, tuple):
                self.found += 1
                self.last_ns = max(self.last_ns, item[1])
                topic = self._names.get(item[0])
                if topic is None:
                    self.lost += 1
                    continue
                try:
                    yield StoredMessage(topic, item[1], message_content(item[2]))
                except McapError:
                    self.lost += 1
            elif isinstance(item, Schema):
                self._schemas[item.id] = item
            elif item.id not in self._names:
                self._names[item.id] = item.topic
                yield _topic(item, self._schemas.get(item.schema_id))


def _until_damaged(content: bytes) -> list[Any]:
    items = []
    try:
        for item in chunk_messages(content):
            items.append(item)
    except McapError:
        pass  # the message that the end of the file cuts off
    return items


def _is_mcap(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(5) in (
            b"",
            b"\x89MCAP",
        )  # a logger that was killed at once leaves nothing


def _topic(channel: Channel, schema: Schema | None) -> StoredTopic:
    return StoredTopic(
        channel.topic,
        schema.name if schema else "",
        schema.data.decode(errors="replace") if schema else "",
        schema.encoding if schema else "",
        channel.metadata.get("offered_qos_profiles", ""),
    )
