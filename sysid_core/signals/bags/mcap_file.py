# SPDX-License-Identifier: Apache-2.0
"""Reading of an MCAP file, by its index or from its start, chunk by chunk."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import EndOfFile, InvalidMagic, McapError
from mcap.opcode import Opcode
from mcap.records import Chunk, Metadata, Statistics
from pydantic import Field
from rosbags.interfaces import ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag1 import Reader as Ros1Reader
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from sysid_core.errors import SignalError
from sysid_core.files import FileKind, FileSchema, Name
from sysid_core.progress import report_progress
from sysid_core.signals.bags.mcap_records import (
    MOST_CHUNK_BYTES,
    Channels,
    chunk_content,
    partial_chunk_content,
    partial_chunk_end,
    require_plausible_size,
)
from sysid_core.signals.bags.records import (
    Damage,
    MessageBlock,
    StoredMessage,
    StoredTopic,
    in_blocks,
)

BAG = FileKind("bag", "Give a rosbag2 folder, or an .mcap or .db3 file.", SignalError)
CUSTOM_DATA_RECORD = "robot_sysid"  # MCAP metadata record that repeats custom_data at the start
_MAGIC = b"\x89MCAP0\r\n"
_HEAD = struct.Struct("<BQ")  # opcode and length of a record
_READ = (
    Opcode.SCHEMA,
    Opcode.CHANNEL,
    Opcode.MESSAGE,
    Opcode.CHUNK,
    Opcode.STATISTICS,
    Opcode.METADATA,
)
_AT_ONCE = 1 << 20  # bytes of chunks that are looked through together


class BagMetadata(FileSchema):
    """Metadata of a bag that this package uses."""

    MORE_KEYS: ClassVar[bool] = True
    relative_file_paths: list[Name] = Field(default_factory=list)
    custom_data: dict[str, Any] = Field(default_factory=dict)


class _MetadataFile(FileSchema):
    MORE_KEYS: ClassVar[bool] = True
    rosbag2_bagfile_information: BagMetadata


def read_metadata(path: Path) -> tuple[BagMetadata | None, tuple[str, ...]]:
    """Return the contents of metadata.yaml (None if it is missing), and its faults."""
    file = path / "metadata.yaml"
    if not file.exists():
        return None, ()
    try:
        content = BAG.read_schema(file, _MetadataFile)
        return content.rosbag2_bagfile_information, ()
    except SignalError as err:
        return None, (err.message,)


_Item = MessageBlock | StoredTopic | dict[str, str] | Damage


def scan_mcap(file: Path) -> Iterator[_Item]:
    """Yield the messages, topics, metadata and damage of an MCAP file, in order.

    Chunks are processed about a megabyte at a time, so that files with small chunks take no longer
    to read. Truncated or damaged parts are reported; all others are read.

    Args:
        file: Opened MCAP file; index and footer are not needed.
    """
    with BAG.open(file) as stream:
        yield from _Scan(file, stream).items()


class _Scan:
    """Single pass over an MCAP file."""

    def __init__(self, file: Path, stream: BinaryIO) -> None:
        self._file, self._stream = file, stream
        self._size = file.stat().st_size
        self._channels = Channels()
        self._waiting: list[tuple[bytes, int]] = []  # contents, with the time that each spans [ns]
        self._bytes_waiting = 0
        self._bad_chunks = self._bad_ns = self._unfolded = 0
        self._stated: int | None = None  # messages that the file says it has
        self._closed = False
        self._whole = 0  # end of the last whole record

    def items(self) -> Iterator[_Item]:
        try:
            yield from self._records()
            yield from self._looked_through()
        except (McapError, struct.error, ValueError, OverflowError, MemoryError) as err:
            yield from self._looked_through()
            if not self._closed:
                yield from self._tail(err)
        yield from self._faults()

    def _records(self) -> Iterator[_Item]:
        if (begin := self._stream.read(len(_MAGIC))) != _MAGIC:
            raise EndOfFile() if _MAGIC.startswith(begin) else InvalidMagic(begin)
        self._whole = len(_MAGIC)
        opcode = 0
        while opcode != Opcode.FOOTER:
            head = self._stream.read(_HEAD.size)
            if len(head) < _HEAD.size:
                raise EndOfFile()
            opcode, length = _HEAD.unpack(head)
            if opcode == 0 or length > self._size - self._whole - _HEAD.size:
                raise EndOfFile()
            yield from self._record(opcode, head, length)
            self._whole += _HEAD.size + length
            report_progress(self._file.name, self._whole / max(self._size, 1))

    def _record(self, opcode: int, head: bytes, length: int) -> Iterator[_Item]:
        self._closed = self._closed or opcode in (Opcode.DATA_END, Opcode.FOOTER)
        if opcode not in _READ:
            self._stream.seek(length, 1)
            return
        data = self._stream.read(length)
        fields = ReadDataStream(BytesIO(data))
        if opcode == Opcode.CHUNK:
            self._take_chunk(Chunk.read(fields))
        elif opcode == Opcode.STATISTICS:
            self._stated = Statistics.read(fields).message_count
        elif opcode == Opcode.METADATA:
            metadata = Metadata.read(fields)
            if metadata.name == CUSTOM_DATA_RECORD:
                yield dict(metadata.metadata)
        else:
            self._wait(head + data, 0)
        if self._bytes_waiting >= _AT_ONCE:
            yield from self._looked_through()

    def _take_chunk(self, chunk: Chunk) -> None:
        require_plausible_size(self._unfolded + chunk.uncompressed_size, self._size)
        span_ns = max(0, chunk.message_end_time - chunk.message_start_time)
        try:
            content = chunk_content(chunk)
        except McapError:
            self._lose_chunk(span_ns)
            return
        self._unfolded += len(content)
        self._wait(content, span_ns)

    def _wait(self, content: bytes, span_ns: int) -> None:
        self._waiting.append((content, span_ns))
        self._bytes_waiting += len(content)

    def _lose_chunk(self, span_ns: int) -> None:
        self._bad_chunks += 1
        self._bad_ns += span_ns

    def _looked_through(self) -> Iterator[MessageBlock | StoredTopic]:
        """Yield the contents of the waiting chunks and remove these chunks from the queue."""
        waiting, self._waiting, self._bytes_waiting = self._waiting, [], 0
        try:
            yield from self._channels.take(b"".join(content for content, _ in waiting))
        except McapError:  # one of them is damaged: each by itself
            for content, span_ns in waiting:
                try:
                    yield from self._channels.take(content)
                except McapError:
                    self._lose_chunk(span_ns)

    def _tail(self, err: Exception) -> Iterator[_Item]:
        """Yield the contents of the truncated end of the file."""
        self._closed = True
        self._stream.seek(self._whole)
        tail = self._stream.read(MOST_CHUNK_BYTES)
        with contextlib.suppress(McapError):
            yield from self._channels.take(partial_chunk_content(tail), cut_off=True)
        if not _begins_as_mcap(self._file):
            yield Damage(f"'{self._file.name}' does not begin like an MCAP file.")
            return
        lost_s = max(0, partial_chunk_end(tail) - self._channels.last_ns) * 1e-9
        yield Damage(
            f"'{self._file.name}' is cut off or damaged ({str(err) or type(err).__name__}): read to"
            f" its last whole message; {lost_s:.2f} s of its last chunk are lost.",
            lost_s,
        )

    def _faults(self) -> Iterator[Damage]:
        name, lost_s = self._file.name, self._bad_ns * 1e-9
        if self._bad_chunks:
            text = f"{self._bad_chunks} damaged chunks of '{name}' were omitted: {lost_s:.2f} s."
            yield Damage(text, lost_s)
        found = self._channels.found
        if self._stated not in (None, found) and not self._bad_chunks:
            yield Damage(f"'{name}' should hold {self._stated} messages; {found} were found.")
        if self._channels.lost:
            text = f"{self._channels.lost} messages of '{name}' belong to topics that were lost."
            yield Damage(text)


def _begins_as_mcap(file: Path) -> bool:
    """True if a file begins with the magic bytes of MCAP, or is empty because the logger was killed
    immediately.
    """
    with file.open("rb") as stream:
        return stream.read(5) in (b"", _MAGIC[:5])


def read_ros1(file: Path) -> Iterator[MessageBlock | StoredTopic | Damage]:
    """Yield topics and messages of a ROS 1 bag in the form of ROS 2; message types without
    equivalent are listed.

    Raises:
        SignalError: The file cannot be read.
    """
    store = get_typestore(Stores.LATEST)
    unknown: set[str] = set()
    yield Damage(f"'{file.name}' is a ROS 1 bag: its messages are converted.")
    try:
        with Ros1Reader(file) as reader:
            for connection in reader.connections:
                if connection.msgtype in store.fielddefs:
                    text, _ = store.generate_msgdef(connection.msgtype, ros_version=2)
                    yield StoredTopic(connection.topic, connection.msgtype, text, "ros2msg")
                else:
                    unknown.add(connection.msgtype)
            yield from in_blocks(
                StoredMessage(c.topic, log_ns, bytes(store.ros1_to_cdr(data, c.msgtype)))
                for c, log_ns, data in reader.messages()
                if c.msgtype not in unknown
            )
    except Exception as err:  # whatever rosbags makes of damaged bytes
        raise SignalError(
            f"'{file}' can't be read: {err}", remedy="Repair it with `rosbag reindex`."
        ) from err
    if unknown:
        text = f"Messages of types that ROS 2 doesn't have were omitted: {sorted(unknown)}."
        yield Damage(text)


def read_indexed(path: Path) -> Iterator[MessageBlock | StoredTopic]:
    """Yield topics and messages of a bag that the library rosbags reads by its index: SQLite,
    compressed files.

    Args:
        path: Folder of the bag, or one of its files, also .db3.

    Raises:
        SignalError: The file cannot be read.
    """
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
            yield from in_blocks(
                StoredMessage(connection.topic, log_ns, bytes(data))
                for connection, log_ns, data in reader.messages()
            )
    except Exception as err:  # whatever rosbags and SQLite make of damaged bytes
        raise SignalError(
            f"'{path}' can't be read: {err}", remedy="Rebuild it with `ros2 bag reindex`."
        ) from err


def _require_plausible_zstd(file: Path) -> None:
    """Raise an error for a compressed storage file that would fill the disk, because rosbags
    decompresses it as a whole.
    """
    size = file.stat().st_size
    with BAG.open(file) as stream:
        try:
            unfolded = zstandard.frame_content_size(stream.read(64))
            require_plausible_size(unfolded, size)
            if unfolded < 0:  # written as a stream: unpack and forget it
                stream.seek(0)
                pieces = zstandard.ZstdDecompressor().read_to_iter(stream)
                unfolded = 0
                for piece in pieces:
                    unfolded += len(piece)
                    require_plausible_size(unfolded, size)
        except (McapError, zstandard.ZstdError) as err:
            raise BAG.refusal(
                file, str(err), "Check that this is the recorded file, and copy it again."
            ) from err
