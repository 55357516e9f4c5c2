"""What a rosbag2 bag holds, read record by record, so that a truncated one can be read too.

An MCAP file that was cut off (a killed logger, a full disk) has no index and no footer; readers
that need them read nothing. Here MCAP files are always scanned from the start, up to the last
whole chunk. Other storages (SQLite, compressed files) are left to rosbags, and must be whole.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import zstandard
from mcap.exceptions import McapError
from mcap.records import Channel, Chunk, DataEnd, Footer, Message, Metadata, Schema, Statistics
from mcap.stream_reader import StreamReader
from rosbags.interfaces import ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2 import Reader

from sysid_core.errors import SignalError
from sysid_core.files import open_regular
from sysid_core.signals.bags.bounded import (
    WithinFile,
    chunk_content,
    chunk_records,
    require_plausible_size,
)
from sysid_core.signals.bags.metadata import BAG, read_metadata

CUSTOM_DATA_RECORD = "robot_sysid"  # MCAP metadata record that repeats custom_data at the start


class StoredMessage(NamedTuple):
    """A serialised message."""

    topic: str
    log_ns: int
    data: bytes


@dataclass(frozen=True)
class StoredTopic:
    """A topic in a bag.

    Attributes:
        name: Such as `/joint_states`.
        type: Such as `sensor_msgs/msg/JointState`.
        definition: Text of the message definition, "" where the bag has none.
        encoding: Of the definition: `ros2msg` or `ros2idl`.
        qos: Offered profiles as YAML text.
        count: Messages.
        first_ns: Log time of the first message; 0 where there is none.
        last_ns: Log time of the last.
    """

    name: str
    type: str
    definition: str = field(default="", repr=False)
    encoding: str = "ros2msg"
    qos: str = field(default="", repr=False)
    count: int = 0
    first_ns: int = 0
    last_ns: int = 0

    @property
    def rate_hz(self) -> float:
        """Mean rate by log times."""
        span = (self.last_ns - self.first_ns) * 1e-9
        return (self.count - 1) / span if span > 0.0 else 0.0


@dataclass(frozen=True)
class StoredBag:
    """A bag on disk.

    Attributes:
        path: Folder or file as given.
        files: Storage files in order.
        topics: In order of appearance.
        custom_data: Key-value pairs of the bag.
        damage: What is broken, one sentence each; empty for a whole bag.
    """

    path: Path
    files: tuple[Path, ...]
    topics: tuple[StoredTopic, ...]
    custom_data: dict[str, str]
    damage: tuple[str, ...]

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
        scanned = all(file.suffix == ".mcap" for file in self.files)
        stored = _scan(self.files) if scanned else _read_indexed(self.path)
        for item in stored:
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
    scanned = all(file.suffix == ".mcap" for file in files)
    damage = list(faults)
    if path.is_dir() and metadata is None:
        if not damage:
            damage.append(f"'{path}' has no metadata.yaml: its logger didn't close it.")
        if not scanned:
            raise SignalError(
                damage[0], remedy="Rebuild it with `ros2 bag reindex`; only MCAP is recovered here."
            )
    damage += [
        f"'{name}' is listed in metadata.yaml and isn't there."
        for name in named
        if path.is_dir() and not (path / name).is_file()
    ]
    topics: dict[str, dict[str, Any]] = {}
    custom_data: dict[str, str] = {}
    for item in _scan(files) if scanned else _read_indexed(path):
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
            damage.append(item)
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
    )


def _storage_files(path: Path, named: Collection[str]) -> tuple[Path, ...]:
    if path.is_file():
        if path.suffix not in (".mcap", ".db3"):
            raise SignalError(
                f"'{path}' is no bag.", remedy="Give a rosbag2 folder, or an .mcap or .db3 file."
            )
        return (path,)
    if not path.is_dir():
        raise SignalError(
            f"There is no bag at '{path}'.", remedy="Give a rosbag2 folder or an .mcap file."
        )
    files = [path / name for name in named if (path / name).is_file()]
    if not files:
        files = sorted(path.glob("*.mcap"), key=_split_number) or sorted(path.glob("*.db3"))
    if not files:
        raise SignalError(
            f"'{path}' holds neither .mcap nor .db3 files.",
            remedy="Give a rosbag2 folder or an .mcap file.",
        )
    return tuple(files)


def _split_number(file: Path) -> tuple[int, str]:
    number = file.stem.rpartition("_")[2]
    return (int(number) if number.isdigit() else 0, file.name)


def _scan(files: Collection[Path]) -> Iterator[StoredMessage | StoredTopic | dict[str, str] | str]:
    """Messages, topics, custom data and damage (as text) of MCAP files, in order."""
    for file in files:
        yield from _scan_file(file)


def _scan_file(file: Path) -> Iterator[StoredMessage | StoredTopic | dict[str, str] | str]:
    schemas: dict[int, Schema] = {}
    channels: dict[int, str] = {}
    lost_messages = 0
    bad_chunks = 0
    found, stated = 0, None
    closed = False
    size, unfolded = file.stat().st_size, 0
    with open_regular(file, BAG) as stream:
        try:
            reader = StreamReader(WithinFile(stream, size), emit_chunks=True)
            for record in reader.records:
                inner: Iterable[Any]
                if isinstance(record, Chunk):
                    require_plausible_size(unfolded + record.uncompressed_size, size)
                    try:
                        content = chunk_content(record)
                        inner = list(chunk_records(content))
                    except McapError:
                        bad_chunks += 1
                        continue
                    unfolded += len(content)
                else:
                    inner = [record]
                    closed = closed or isinstance(record, DataEnd | Footer)
                for item in inner:
                    if isinstance(item, Message):
                        found += 1
                        topic = channels.get(item.channel_id)
                        if topic is None:
                            lost_messages += 1
                        else:
                            yield StoredMessage(topic, item.log_time, item.data)
                    elif isinstance(item, Schema):
                        schemas[item.id] = item
                    elif isinstance(item, Channel) and item.id not in channels:
                        channels[item.id] = item.topic
                        yield _topic(item, schemas.get(item.schema_id))
                    elif isinstance(item, Statistics):
                        stated = item.message_count
                    elif isinstance(item, Metadata) and item.name == CUSTOM_DATA_RECORD:
                        yield dict(item.metadata)
        except (McapError, struct.error, ValueError, OverflowError, MemoryError) as err:
            if not closed:
                yield (
                    f"'{file.name}' is cut off or damaged ({err or type(err).__name__}): read to"
                    " its last whole chunk."
                    if _is_mcap(file)
                    else f"'{file.name}' doesn't begin as an MCAP file does."
                )
                closed = True
    if not closed:
        yield f"'{file.name}' is cut off: read to its last whole chunk."
    if bad_chunks:
        yield f"{bad_chunks} damaged chunks of '{file.name}' were left out."
    if stated not in (None, found) and not bad_chunks:
        yield f"'{file.name}' should hold {stated} messages; {found} were found."
    if lost_messages:
        yield f"{lost_messages} messages of '{file.name}' belong to topics that were lost."


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


def _read_indexed(path: Path) -> Iterator[StoredMessage | StoredTopic | dict[str, str] | str]:
    """The same as `_scan` from a storage that rosbags reads by its index."""
    for file in path.glob("*.zstd") if path.is_dir() else ():
        _require_plausible_zstd(file)
    try:
        with Reader(path) as reader:
            for connection in reader.connections:
                definition = connection.msgdef
                if not isinstance(connection.ext, ConnectionExtRosbag2):
                    continue
                idl = definition.format is MessageDefinitionFormat.IDL
                yield StoredTopic(
                    connection.topic,
                    connection.msgtype,
                    definition.data,
                    "ros2idl" if idl else "ros2msg",
                )
            for connection, log_ns, data in reader.messages():
                yield StoredMessage(connection.topic, log_ns, bytes(data))
    except Exception as err:  # whatever rosbags and SQLite make of damaged bytes
        raise SignalError(
            f"'{path}' can't be read: {err}", remedy="Rebuild it with `ros2 bag reindex`."
        ) from err


def _require_plausible_zstd(file: Path) -> None:
    """Refuse a compressed storage file that would fill the disk; rosbags unpacks it whole."""
    with open_regular(file, BAG) as stream:
        try:
            unfolded = zstandard.frame_content_size(stream.read(64))
            require_plausible_size(unfolded, file.stat().st_size)
        except (McapError, zstandard.ZstdError) as err:
            raise BAG.refusal(file, str(err), "Is it the file that was recorded?") from err
    if unfolded < 0:
        raise BAG.refusal(file, "it doesn't say how large it is", f"Unpack it: zstd -d {file}.")
