# SPDX-License-Identifier: Apache-2.0
"""What a damaged or hostile MCAP file may ask for: no more than it has, no more than memory bears."""

from __future__ import annotations

import io
import struct
import zlib

import zstandard
from lz4.frame import LZ4FrameDecompressor
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Chunk

MOST_CHUNK_BYTES = 256 << 20  # rosbag2 writes chunks of 1 to 4 MB
_SMALL, _MOST_RATIO = 256 << 20, 300.0  # [bytes] and their ratio: no recording compresses so well
_CHUNK_HEAD = 9 + 32  # bytes before the name of the compression
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # no CDR message begins so


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
    """Log time of the last message that a cut-off chunk was to hold [ns]; 0 where it isn't known.

    Args:
        tail: As in `partial_chunk_content`.
    """
    if len(tail) < _CHUNK_HEAD or tail[0] != Opcode.CHUNK:
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
    if data[:4] != ZSTD_MAGIC:
        return data
    try:
        if zstandard.frame_content_size(data) > MOST_CHUNK_BYTES:
            raise McapError("a message declares too much")
        return zstandard.decompress(data, MOST_CHUNK_BYTES)
    except (zstandard.ZstdError, MemoryError) as err:
        raise McapError(f"a message can't be decompressed: {err}") from err
