# SPDX-License-Identifier: Apache-2.0
"""Records in the chunks of an MCAP file, many messages at once, with bounds checks."""

from __future__ import annotations

import io
import struct
import zlib
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
import zstandard
from lz4.frame import LZ4FrameDecompressor
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Schema
from numpy.typing import NDArray

from sysid_core.signals.bags.records import MessageBlock, StoredTopic

MOST_CHUNK_BYTES = 256 << 20  # rosbag2 writes chunks of 1 to 4 MB
_SMALL, _MOST_RATIO = 256 << 20, 300.0  # [bytes] and their ratio: no recording compresses so well
_CHUNK_HEAD = 9 + 32  # bytes before the name of the compression
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # no CDR message begins so


def require_plausible_size(unfolded: int, file_size: int) -> None:
    """Raise an error if the chunks of a file decompress to an implausible size.

    Args:
        unfolded: Size of the chunks decompressed so far [bytes].
        file_size: Size of the file [bytes].

    Raises:
        McapError: The decompressed size is implausible.
    """
    if unfolded > _SMALL and unfolded > _MOST_RATIO * file_size:
        raise McapError(f"{file_size >> 10} kB unfold to more than {unfolded >> 20} MB")


def chunk_content(chunk: Chunk) -> bytes:
    """Return the records of a chunk, decompressed up to the declared size.

    Raises:
        McapError: The declared size is too large, or differs from the real one.
    """
    size, data = chunk.uncompressed_size, chunk.data
    if size > MOST_CHUNK_BYTES:
        raise McapError(f"a chunk declares {size >> 20} MB")
    try:
        if chunk.compression == "zstd":
            # A frame's own header may ask for more than the chunk's.
            if zstandard.frame_content_size(data) > size:
                raise McapError("a chunk holds more than it declares")
            data = zstandard.decompress(data, size)
        elif chunk.compression == "lz4":
            data = LZ4FrameDecompressor().decompress(data, size + 1)
        elif chunk.compression:
            raise McapError(f"compression '{chunk.compression}' is not known")
    except (zstandard.ZstdError, RuntimeError, MemoryError) as err:
        raise McapError(f"a chunk can't be decompressed: {err}") from err
    if len(data) != size:
        raise McapError("a chunk isn't as long as it declares")
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise McapError("a chunk's checksum is wrong")
    return data


def partial_chunk_content(tail: bytes) -> bytes:
    """Return the recoverable content of a chunk that the end of the file truncates; empty if there
    is none.

    Args:
        tail: Bytes from the beginning of the chunk's record to the end of the file.
    """
    if len(tail) < _CHUNK_HEAD or tail[0] != Opcode.CHUNK:
        return b""
    (length,) = struct.unpack_from("<I", tail, 9 + 28)
    begin = _CHUNK_HEAD + length + 8
    (size,) = struct.unpack_from("<Q", tail, 9 + 16)
    if length > 16 or begin >= len(tail) or size > MOST_CHUNK_BYTES:
        return b""
    name, data = tail[_CHUNK_HEAD : _CHUNK_HEAD + length], tail[begin:]
    try:
        if name == b"zstd":
            data = _unfold_in_pieces(data, size)
        elif name == b"lz4":
            data = LZ4FrameDecompressor().decompress(data, size)
        elif name:
            return b""
    except (zstandard.ZstdError, RuntimeError, MemoryError):
        return b""
    return data[:size]


def partial_chunk_end(tail: bytes) -> int:
    """Log time of the last message of a truncated chunk [ns]; 0 if unknown.

    Args:
        tail: Bytes as in `partial_chunk_content`.
    """
    if len(tail) < _CHUNK_HEAD or tail[0] != Opcode.CHUNK:
        return 0
    return int(struct.unpack_from("<Q", tail, 9 + 8)[0])


def _unfold_in_pieces(data: bytes, size: int) -> bytes:
    """Decompress the complete blocks of a truncated zstd frame."""
    out = bytearray()
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as reader:
        while len(out) < size:
            piece = reader.read(min(1 << 16, size - len(out)))
            if not piece:
                break
            out += piece
    return bytes(out)


def message_content(data: bytes) -> bytes:
    """Return the CDR bytes of a message, decompressed if the recorder compressed messages one by
    one.

    Raises:
        McapError: The declared size is too large for a message.
    """
    if data[:4] != ZSTD_MAGIC:
        return data
    try:
        if zstandard.frame_content_size(data) > MOST_CHUNK_BYTES:
            raise McapError("a message declares too much")
        return zstandard.decompress(data, MOST_CHUNK_BYTES)
    except (zstandard.ZstdError, MemoryError) as err:
        raise McapError(f"a message can't be decompressed: {err}") from err


_HEAD = struct.Struct("<BQ")  # opcode and length of a record
_MESSAGE_HEAD = np.dtype(
    [
        ("opcode", "u1"),
        ("length", "<u8"),
        ("channel", "<u2"),
        ("sequence", "<u4"),
        ("log_ns", "<i8"),
        ("publish_ns", "<i8"),
    ]
)


def record_places(content: bytes) -> tuple[NDArray[np.int64], int]:
    """Return the start of each complete record in the content of a chunk, shape (k,), and the end
    of the last one.

    Only this loop runs once for each message; the contents of messages are decoded many at a time.
    """
    starts = array("q")
    at, end, head, unpack = 0, len(content), _HEAD.size, _HEAD.unpack_from
    last = end - head
    while at <= last:
        opcode, length = unpack(content, at)
        if not opcode:  # no record begins so
            break
        starts.append(at)
        at += head + length
    if at > end:
        at = starts.pop()
    return np.array(starts, dtype=np.int64), at


class Channels:
    """Channels of an MCAP file, with messages grouped by topic.

    Attributes:
        found: Number of messages read so far.
        lost: Number of messages that have an unknown channel or cannot be decompressed.
        last_ns: Log time of the newest message [ns].
    """

    def __init__(self) -> None:
        self._schemas: dict[int, Schema] = {}
        self._topics: tuple[str, ...] = ()
        self._index: NDArray[np.intp] = np.full(1 << 16, -1, dtype=np.intp)  # of a channel's topic
        self.found = self.lost = 0
        self.last_ns = 0

    def take(
        self, content: bytes, *, cut_off: bool = False
    ) -> Iterator[MessageBlock | StoredTopic]:
        """Process new channel and message records.

        Args:
            content: Content of one or several chunks.
            cut_off: True if the content may end within a record.

        Raises:
            McapError: A record has an unknown kind, or is longer than the content; no message is
                kept.
        """
        starts, end = record_places(content)
        if end != len(content) and not cut_off:
            raise McapError("a chunk ends within a record")
        opcodes = np.frombuffer(content, np.uint8)[starts]
        length = np.diff(starts, append=end) - _MESSAGE_HEAD.itemsize
        is_message = opcodes == Opcode.MESSAGE
        bad = is_message & (length < 0)
        if bad.any():
            if not cut_off:
                raise McapError("a chunk contains invalid records")
            n = int(np.argmax(bad))
            starts, opcodes, length, is_message = (
                starts[:n],
                opcodes[:n],
                length[:n],
                is_message[:n],
            )
        at, length = starts[is_message], length[is_message]
        others = np.flatnonzero((opcodes == Opcode.SCHEMA) | (opcodes == Opcode.CHANNEL))
        read = [_schema_or_channel(content, int(opcodes[k]), int(starts[k])) for k in others]
        for record in read:
            yield from self._announce(record)
        if len(at):
            yield self._block(content, at, length)

    def _announce(self, record: Schema | Channel) -> Iterator[StoredTopic]:
        if isinstance(record, Schema):
            self._schemas[record.id] = record
        elif self._index[record.id] < 0:
            if record.topic not in self._topics:
                self._topics = (*self._topics, record.topic)
            self._index[record.id] = self._topics.index(record.topic)
            yield _topic(record, self._schemas.get(record.schema_id))

    def _block(
        self, content: bytes, at: NDArray[np.int64], length: NDArray[np.int64]
    ) -> MessageBlock:
        size = _MESSAGE_HEAD.itemsize
        view = np.lib.stride_tricks.sliding_window_view(np.frombuffer(content, np.uint8), size)
        heads: NDArray[Any] = np.ascontiguousarray(view[at]).view(_MESSAGE_HEAD)[:, 0]
        self.found += len(at)
        self.last_ns = max(self.last_ns, int(heads["log_ns"].max()))
        topic = self._index[heads["channel"]]
        known = topic >= 0
        self.lost += int(np.count_nonzero(~known))
        block = MessageBlock(self._topics, topic, heads["log_ns"], content, at + size, length)
        return self._unfolded(block if known.all() else block.select(known))

    def _unfolded(self, block: MessageBlock) -> MessageBlock:
        """Copy in which messages that the recorder compressed individually are decompressed."""
        long = block.length >= len(ZSTD_MAGIC)
        if not long.any():
            return block
        first = block.select(long).rows(len(ZSTD_MAGIC))
        if not (first == np.frombuffer(ZSTD_MAGIC, np.uint8)).all(axis=1).any():
            return block
        data: list[bytes] = []
        good = np.ones(len(block), dtype=bool)
        for k, message in enumerate(block):
            try:
                data.append(message_content(message.data))
            except McapError:
                good[k] = False
        self.lost += len(block) - len(data)
        kept, sizes = block.select(good), np.array([len(x) for x in data], dtype=np.int64)
        return MessageBlock(
            kept.topics, kept.topic, kept.log_ns, b"".join(data), np.cumsum(sizes) - sizes, sizes
        )


def _schema_or_channel(content: bytes, opcode: int, start: int) -> Schema | Channel:
    _, length = _HEAD.unpack_from(content, start)
    begin = start + _HEAD.size
    stream = ReadDataStream(io.BytesIO(content[begin : begin + length]))
    try:
        return Schema.read(stream) if opcode == Opcode.SCHEMA else Channel.read(stream)
    except (struct.error, UnicodeDecodeError, ValueError, OverflowError) as err:
        raise McapError(f"a chunk's record can't be read: {err}") from err


def _topic(channel: Channel, schema: Schema | None) -> StoredTopic:
    return StoredTopic(
        channel.topic,
        schema.name if schema else "",
        schema.data.decode(errors="replace") if schema else "",
        schema.encoding if schema else "",
        channel.metadata.get("offered_qos_profiles", ""),
    )
