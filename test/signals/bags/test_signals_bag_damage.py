# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile bags: what can be read is read, the rest is a sentence; memory is bounded."""

from __future__ import annotations

import resource
import struct
from pathlib import Path

import lz4.frame
import numpy as np
import pytest
import zstandard
from mcap.writer import CompressionType, Writer

from sysid_core.errors import SignalError
from sysid_core.signals.bags import StoredBag, read_bag

MAGIC = b"\x89MCAP0\r\n"
T0 = 1_700_000_000_000_000_000
HEADER = struct.pack("<BQ", 1, 8) + struct.pack("<II", 0, 0)


def record(opcode: int, content: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(content)) + content


def text(words: str) -> bytes:
    return struct.pack("<I", len(words)) + words.encode()


def chunk(compression: str, content: bytes, declared: int) -> bytes:
    body = struct.pack("<QQQI", 0, 1, declared, 0) + text(compression)
    return record(6, body + struct.pack("<Q", len(content)) + content)


def small_bag(path: Path, compression: CompressionType) -> Path:
    with path.open("wb") as stream:
        writer = Writer(stream, compression=compression, chunk_size=2000)
        writer.start()
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        channel = writer.register_channel("/words", "cdr", schema)
        for k in range(200):
            data = struct.pack("<IIB", 256, 1, 0) + struct.pack("<I", k)
            writer.add_message(channel, k, data, k)
        writer.finish()
    return path


@pytest.mark.parametrize("compression", list(CompressionType))
def test_chunks_of_every_compression_are_read(tmp_path: Path, compression: CompressionType) -> None:
    bag = StoredBag.open(small_bag(tmp_path / "a.mcap", compression))
    assert bag.count == 200
    assert not bag.damage
    assert [m.log_ns for m in bag.messages()] == list(range(200))


@pytest.mark.parametrize("compression", list(CompressionType))
def test_one_flipped_bit_costs_a_chunk_or_the_rest_and_is_said(
    tmp_path: Path, compression: CompressionType
) -> None:
    whole = small_bag(tmp_path / "a.mcap", compression).read_bytes()
    true = [(m.log_ns, m.data) for m in StoredBag.open(tmp_path / "a.mcap").messages()]
    rng = np.random.default_rng(1)
    for bit in rng.integers(0, 8 * len(whole), 100):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << (bit % 8)
        (tmp_path / "b.mcap").write_bytes(bytes(damaged))
        try:
            bag = StoredBag.open(tmp_path / "b.mcap")
            found = [(m.log_ns, m.data) for m in bag.messages()]
        except SignalError as err:
            assert err.remedy
        else:  # chunks have checksums: what comes through is what was recorded
            assert set(found) <= set(true)
            assert len(found) == len(true) or bag.damage


@pytest.mark.parametrize(
    ("compression", "content", "declared"),
    [
        ("zstd", zstandard.compress(b"\0" * (100 << 20)), 1000),  # the frame asks for more
        ("zstd", zstandard.compress(b"\0" * (100 << 20)), 100 << 20),
        ("lz4", lz4.frame.compress(b"\0" * (100 << 20)), 1000),
        ("zstd", b"\0" * 100, 6 << 30),
        ("", b"\0" * 100, 100),
        ("snappy", b"\0" * 100, 100),
    ],
)
def test_decompression_bombs_are_refused_with_little_memory(
    tmp_path: Path, compression: str, content: bytes, declared: int
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bomb = MAGIC + HEADER + chunk(compression, content, declared) * 3 + record(2, b"\0" * 20)
    (tmp_path / "bomb.mcap").write_bytes(bomb + MAGIC)
    with pytest.raises(SignalError, match="Nothing can be read") as err:
        StoredBag.open(tmp_path / "bomb.mcap")
    assert err.value.remedy
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10  # [kB]


def test_a_file_that_unfolds_beyond_all_measure_is_left(tmp_path: Path) -> None:
    filler = record(200, b"\0" * (90 << 20))  # an unknown record is skipped
    content = zstandard.compress(filler)
    bomb = MAGIC + HEADER + chunk("zstd", content, len(filler)) * 20
    (tmp_path / "bomb.mcap").write_bytes(bomb)
    with pytest.raises(SignalError, match="unfold to more than"):
        StoredBag.open(tmp_path / "bomb.mcap")


@pytest.mark.parametrize(
    "metadata",
    [
        b"\xff\xfe",
        b"[" * 20_000,
        b"",
        b"- 1",
        b"rosbag2_bagfile_information: {relative_file_paths: [null]}",
        b"rosbag2_bagfile_information: {custom_data: [1, 2]}",
        b"rosbag2_bagfile_information: {version: 1}\nrosbag2_bagfile_information: {}",
    ],
)
def test_damaged_metadata_is_said_and_the_storage_read_all_the_same(
    tmp_path: Path, metadata: bytes
) -> None:
    small_bag(tmp_path / "bag_0.mcap", CompressionType.NONE)
    (tmp_path / "metadata.yaml").write_bytes(metadata)
    bag = StoredBag.open(tmp_path)
    assert bag.count == 200
    assert any("metadata.yaml" in sentence for sentence in bag.damage)


def test_a_type_that_contains_itself_is_a_sentence(tmp_path: Path) -> None:
    with (tmp_path / "a.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        text = b"std_msgs/Header header\nsensor_msgs/JointState inner"
        schema = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", text)
        channel = writer.register_channel("/joint_states", "cdr", schema)
        writer.add_message(channel, 1, b"\0\1\0\0" + b"\0" * 40, 1)
        writer.finish()
    with pytest.raises(SignalError) as err:
        read_bag(tmp_path / "a.mcap")
    assert err.value.remedy


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"X" * 5000])
def test_a_damaged_database_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bag.db3").write_bytes(content)
    with pytest.raises(SignalError) as err:
        read_bag(tmp_path / "bag.db3")
    assert err.value.remedy


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.ZSTD])
def test_big_chunks_lose_at_most_the_last_one_and_the_seconds_are_said(
    tmp_path: Path, rng: np.random.Generator, compression: CompressionType
) -> None:
    """Chunks of 1 MiB as `ros2 bag record` writes them, cut at random places."""
    whole, step = tmp_path / "whole.mcap", 10_000_000
    with whole.open("wb") as stream:
        writer = Writer(stream, compression=compression, chunk_size=1 << 20)
        writer.start(profile="ros2", library="test")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        channel = writer.register_channel("/a", "cdr", schema)
        for k in range(2000):
            writer.add_message(channel, T0 + k * step, rng.bytes(2000), T0 + k * step, k)
        writer.finish()
    data = whole.read_bytes()
    per_chunk = (1 << 20) / 2031 * step * 1e-9  # [s]
    lost = []
    for cut in rng.integers(len(data) // 10, int(0.95 * len(data)), 10).tolist():
        file = tmp_path / "cut.mcap"
        file.write_bytes(data[:cut])
        found = StoredBag.open(file)
        last = T0 + (found.count - 1) * step
        assert found.topics[0].last_ns == last
        assert found.lost_s <= per_chunk + 0.02
        in_file = cut / len(data) * 2000 * step * 1e-9
        assert found.seconds + found.lost_s > in_file - 0.1
        assert any(f"{found.lost_s:.2f} s of its last chunk" in text for text in found.damage)
        lost.append(found.lost_s)
    assert max(lost) > 0.1
