# SPDX-License-Identifier: Apache-2.0
"""Storages that rosbags reads by their index: SQLite, compressed files, ROS 1. They must be whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import zstandard
from mcap.exceptions import McapError
from rosbags.interfaces import ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag1 import Reader as Ros1Reader
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from sysid_core.errors import SignalError
from sysid_core.files import open_regular
from sysid_core.signals.bags.bounded import require_plausible_size
from sysid_core.signals.bags.metadata import BAG
from sysid_core.signals.bags.records import (
    Damage,
    MessageBlock,
    StoredMessage,
    StoredTopic,
    in_blocks,
)


def read_ros1(file: Path) -> Iterator[MessageBlock | StoredTopic | Damage]:
    """Topics and messages of a ROS 1 bag, as ROS 2 would have stored them; other types are named.

    Raises:
        SignalError: It can't be read.
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
        text = f"Messages of types that ROS 2 doesn't have were left out: {sorted(unknown)}."
        yield Damage(text)


def read_indexed(path: Path) -> Iterator[MessageBlock | StoredTopic]:
    """Topics and messages of a bag that rosbags reads by its index: SQLite, compressed files.

    Args:
        path: Folder, or a .db3 file.

    Raises:
        SignalError: It can't be read.
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
    """Refuse a compressed storage file that would fill the disk; rosbags unpacks it whole."""
    size = file.stat().st_size
    with open_regular(file, BAG) as stream:
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
            raise BAG.refusal(file, str(err), "Is it the file that was recorded?") from err
