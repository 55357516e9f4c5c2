# SPDX-License-Identifier: Apache-2.0
"""What a damaged or hostile MCAP file may ask for: no more than it has, no more than memory bears."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import zstandard
from lz4.frame import LZ4FrameDecompressor
from mcap.data_stream import ReadDataStream
from mcap.exceptions import EndOfFile, McapError
from mcap.records import Channel, Chunk, Message, Schema

MOST_CHUNK_BYTES = 256 << 20  # rosbag2 writes chunks of 1 to 4 MB
_SMALL, _MOST_RATIO = 256 << 20, 300.0  # [bytes] and their ratio: no recording compresses so well
_MESSAGE_HEADER = 22  # bytes before a message's data
_MESSAGE = struct.Struct("<QHIQQ")  # length, channel, sequence, log time, publish time
_CHUNK, _CHUNK_HEAD = 6, 9 + 32  # opcode; bytes before the name of the compression
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # no CDR message begins so
_OPCODES = {3: Schema, 4: Channel, 5: Message}


class WithinFile:
    """A file that is never asked for more than it still has.

    One flipped bit in a record's length makes it terabytes; `file.read` would reserve them.

    Args:
        file: Open at its beginning.
        size: Its length in bytes.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def read(self, count: int = -1) -> bytes:
        """So many bytes.

        Raises:
            EndOfFile: There are fewer.
        """
        if not 0 <= count <= self._left:
            raise EndOfFile()
        content = self._file.read(count)
        self._left -= len(content)
        return content


def require_plausible_size(unfolded: int, file_size: int) -> None:
    """Refuse a file whose chunks unfold to far more than any recording's do.

    Args:
        unfolded: Bytes of the chunks' contents so far.
        file_size: Bytes of the file.

    Raises:
        McapError: It is a decompression bomb.
    """
    if unfolded > _SMALL and unfolded > _MOST_RATIO * file_size:
        raise McapError(f"{file_size >> 10} kB unfold to more than {unfolded >> 20} MB")


def chunk_content(chunk: Chunk) -> bytes:
    """The records of a chunk, decompressed up to the size that it declares.

    Raises:
        McapError: It declares more than a chunk may have, or isn't what it declares.
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
    """What can be had of a chunk that the end of the file cuts off; empty where there is nothing.

    Args:
        tail: From the beginning of the chunk's record to the end of the file.
    """
    if len(tail) < _CHUNK_HEAD or tail[0] != _CHUNK:
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
    """Log time of the last message that a cut-off chunk was to hold [ns]; 0 where it isn't known.

    Args:
        tail: As in `partial_chunk_content`.
    """
    if len(tail) < _CHUNK_HEAD or tail[0] != _CHUNK:
        return 0
    return int(struct.unpack_from("<Q", tail, 9 + 8)[0])


def _unfold_in_pieces(data: bytes, size: int) -> bytes:
    """Whole blocks of a zstd frame that is cut off."""
    out = bytearray()
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as reader:
        while len(out) < size:
            piece = reader.read(min(1 << 16, size - len(out)))
            if not piece:
                break
            out += piece
    return bytes(out)


def message_content(data: bytes) -> bytes:
    """A message's CDR bytes, unfolded where the recorder compressed messages one by one.

    Raises:
        McapError: It declares more than a message may have.
    """
    if data[:4] != _ZSTD_MAGIC:
        return data
    try:
        if zstandard.frame_content_size(data) > MOST_CHUNK_BYTES:
            raise McapError("a message declares too much")
        return zstandard.decompress(data, MOST_CHUNK_BYTES)
    except (zstandard.ZstdError, MemoryError) as err:
        raise McapError(f"a message can't be decompressed: {err}") from err


def chunk_messages(content: bytes) -> Iterator[Schema | Channel | tuple[int, int, bytes]]:
    """As `chunk_records`, with messages as (channel, log time, data): five times as fast.

    Raises:
        McapError: As `chunk_records`.
    """
    at, end = 0, len(content)
    head, unpack = 9 + _MESSAGE_HEADER, _MESSAGE.unpack_from
    while at < end:
        if at + 9 > end:
            raise McapError("a chunk ends within a record")
        opcode = content[at]
        if opcode != 5:
            (length,) = struct.unpack_from("<Q", content, at + 1)
            if opcode == 0 or at + 9 + length > end:
                raise McapError(f"a chunk holds a record {opcode} of {length} bytes")
            if opcode in _OPCODES:
                yield from chunk_records(content[at : at + 9 + length])
            at += 9 + length
            continue
        if at + head > end:
            raise McapError("a chunk ends within a message")
        length, channel, _, log_ns, _ = unpack(content, at + 1)
        stop = at + 9 + length
        if length < _MESSAGE_HEADER or stop > end:
            raise McapError(f"a message has {length} bytes")
        yield channel, log_ns, content[at + head : stop]
        at = stop


def chunk_records(content: bytes) -> Iterator[Schema | Channel | Message]:
    """Schemas, channels and messages of a chunk's content.

    Raises:
        McapError: A record is none of these, or longer than the content.
    """
    stream = ReadDataStream(io.BytesIO(content))
    while stream.count < len(content):
        try:
            opcode, length = stream.read1(), stream.read8()
            kind = _OPCODES.get(opcode)
            if opcode == 0 or length > len(content) - stream.count:
                raise McapError(f"a chunk holds a record {opcode} of {length} bytes")
            if kind is None:
                stream.read(length)
            elif kind is Message:
                if length < _MESSAGE_HEADER:
                    raise McapError(f"a message has {length} bytes")
                yield Message.read(stream, length)
            else:
                yield kind.read(stream)
        except (struct.error, UnicodeDecodeError, ValueError) as err:
            raise McapError(f"a chunk's record can't be read: {err}") from err
