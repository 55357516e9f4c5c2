# SPDX-License-Identifier: Apache-2.0
"""Schemas, channels and messages in the content of MCAP chunks, many messages at once."""

from __future__ import annotations

import io
import struct
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Schema
from numpy.typing import NDArray

from sysid_core.signals.bags.bounded import ZSTD_MAGIC, message_content
from sysid_core.signals.bags.records import MessageBlock, StoredTopic

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
    """Where the whole records in a chunk's content begin, shape (k,), and where the last ends.

    This loop is all that is done for each message; what is in them is read many at a time.
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
    """Channels of a file, and messages by their topic.

    Attributes:
        found: Messages so far.
        lost: Those whose channel isn't known, or that can't be unfolded.
        last_ns: Log time of the newest.
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
        """Topics that are new, and messages.

        Args:
            content: Content of one or several chunks.
            cut_off: Whether it ends anywhere; else it must end with a record.

        Raises:
            McapError: A record is none of these, or longer than the content; nothing is taken.
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
                raise McapError("a chunk holds what is no record")
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
        """The same with messages unfolded that the recorder compressed one by one."""
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
