# SPDX-License-Identifier: Apache-2.0
"""Messages with fixed byte offsets, read one at a time or many at once.

A driver publishes the same joints in the same order for hours; only the numbers change. The byte
offsets of the numbers are determined once. Then a single message is read as views of its bytes, and
a thousand messages as a matrix.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from sysid_core.errors import SignalError
from sysid_core.signals.recording import Array

DISTRO = "kilted"  # whose message types are used
JOINT_STATE = "sensor_msgs/msg/JointState"
WRENCH_STAMPED = "geometry_msgs/msg/WrenchStamped"
_LITTLE_ENDIAN = b"\x00\x01"
_STAMP_AT, _HEAD_AT = 4, 12  # behind the encapsulation; what follows the stamp
_MOST = 10_000  # names or characters; more are damaged bytes


def build_typestore(definitions: Mapping[str, str] | None = None) -> Typestore:
    """Return the message types of ROS, with additional types; cached, so that the same arguments
    give the same object.

    Args:
        definitions: Texts of `.msg` files (or bag schemas, with their dependencies) by type name.

    Raises:
        SignalError: A definition is invalid.
    """
    return _build_typestore(tuple((definitions or {}).items()))


@functools.cache  # hundreds of classes are made
def _build_typestore(definitions: tuple[tuple[str, str], ...]) -> Typestore:
    standard = get_typestore(getattr(Stores, f"ROS2_{DISTRO.upper()}", Stores.LATEST))
    types: dict[str, Any] = {}
    for name, text in definitions:
        try:
            parsed = get_types_from_msg(text, name)
        except Exception as err:  # whatever the parser makes of other people's text
            raise SignalError(
                f"The definition of '{name}' can't be parsed: {err}.",
                remedy="Give the text of its .msg file.",
            ) from err
        types.update(parsed)
    store = get_typestore(Stores.EMPTY)
    store.register({**standard.fielddefs, **types})  # what is given wins over the distribution's
    return store


def stored_typestore(name: str, definition: str, encoding: str) -> Typestore:
    """Return the types defined in a bag for one of its topics.

    Raises:
        SignalError: The definition is invalid.
    """
    if not definition:
        return get_typestore(Stores.LATEST)
    store = get_typestore(Stores.EMPTY)
    try:
        if encoding == "ros2idl":
            types: dict[str, Any] = {}
            separator = "=" * 80 + "\n"
            for part in definition.split(separator):
                types.update(
                    get_types_from_idl(part.split("\n", 1)[1] if part[:4] == "IDL:" else part)
                )
        else:
            types = dict(get_types_from_msg(definition, name))
    except Exception as err:
        raise SignalError(
            f"The bag's definition of '{name}' can't be parsed: {err}.",
            remedy="If the bag was written by another tool, record again with `ros2 bag record`.",
        ) from err
    store.register(types)
    return store


def message_decoder(store: Typestore, type_name: str) -> Callable[[bytes], Any]:
    """Return a function that decodes messages of one type from their CDR bytes.

    Bytes after the end of a message are padding and are ignored: `rclpy.serialization` appends such
    bytes to messages that end in an empty array; `Typestore.deserialize_cdr` refuses these
    messages.

    Raises:
        SignalError: The definition of the type contains itself. The returned function raises it if
            the bytes are not a message of this type.
    """
    try:
        definition = store.get_msgdef(type_name)
    except RecursionError as err:
        raise SignalError(
            f"The definition of '{type_name}' in the bag contains itself.",
            remedy="Record it again: the bag's definitions are damaged.",
        ) from err
    decoders = {
        b"\x00\x00": definition.deserialize_cdr_be,
        b"\x00\x01": definition.deserialize_cdr_le,
    }

    def decode(data: bytes) -> Any:
        try:
            message, end = decoders[data[:2]](data[4:], 0, definition.cls, store)
            if end > len(data) - 4:
                raise ValueError("it is cut off")
            return message
        except (KeyError, struct.error, SerdeError, ValueError) as err:
            raise SignalError(
                f"A message of type '{type_name}' can't be decoded ({err!r}).",
                remedy="Check that the sender uses the same definition of this message type.",
            ) from err

    return decode


@dataclass(frozen=True, eq=False)
class Layout:
    """Byte layout of the numbers in a message.

    Attributes:
        length: Smallest length of the message [bytes].
        frame: `frame_id` of the header.
        names: Joint names, in the order of the message.
        fields: Byte offset and number of float64 values of each field, by name.
        fixed: Byte offsets and contents of the parts that are equal in all messages of the layout.
    """

    length: int
    frame: str
    names: tuple[str, ...]
    fields: dict[str, tuple[int, int]]
    fixed: tuple[tuple[int, bytes], ...]

    def fits(self, data: bytes) -> bool:
        """Return True if a message has this layout."""
        if len(data) < self.length:
            return False
        for at, piece in self.fixed:  # noqa: SIM110 - done for each live sample
            if data[at : at + len(piece)] != piece:
                return False
        return True

    def stamp_ns(self, data: bytes) -> int:
        """Return the stamp of the message header [ns]."""
        sec, nanosec = struct.unpack_from("<iI", data, _STAMP_AT)
        return int(sec) * 1_000_000_000 + int(nanosec)

    def values(self, data: bytes, field: str) -> Array:
        """Return the values of a field, as a view of the bytes, shape (count,)."""
        at, count = self.fields[field]
        return np.frombuffer(data, "<f8", count, at)

    def rows_that_fit(self, block: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return a mask of the messages with this layout in a block of shape (K, length)."""
        good = np.ones(len(block), dtype=bool)
        for at, piece in self.fixed:
            good &= (block[:, at : at + len(piece)] == np.frombuffer(piece, np.uint8)).all(axis=1)
        return good

    def stamps_of(self, block: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the stamps of a block of messages, shape (K,)."""
        parts = np.ascontiguousarray(block[:, _STAMP_AT:_HEAD_AT])
        sec = parts[:, :4].copy().view("<i4")[:, 0].astype(np.int64)
        return sec * 1_000_000_000 + parts[:, 4:].copy().view("<u4")[:, 0]

    def columns_of(self, block: NDArray[np.uint8], field: str) -> Array:
        """Return the values of a field in a block of messages, shape (K, count)."""
        at, count = self.fields[field]
        if not count:
            return np.empty((len(block), 0))
        return np.ascontiguousarray(block[:, at : at + 8 * count]).view("<f8")

    @classmethod
    def of_joint_states(cls, data: bytes) -> Layout:
        """Return the layout of a `sensor_msgs/JointState` with the fields `position`, `velocity`,
        `effort`.

        Raises:
            SignalError: The bytes are not such a message.
        """
        return _layout(data, _walk_joint_state, JOINT_STATE)

    @classmethod
    def of_wrenches(cls, data: bytes) -> Layout:
        """Return the layout of a `geometry_msgs/WrenchStamped` with the field `wrench`: force, then
        torque.

        Raises:
            SignalError: The bytes are not such a message.
        """
        return _layout(data, _walk_wrench, WRENCH_STAMPED)


class _Cursor:
    """Reader of little-endian CDR; alignment is counted from the end of the encapsulation header."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def align(self, size: int) -> None:
        self.at += -(self.at - 4) % size

    def count(self) -> int:
        self.align(4)
        (value,) = struct.unpack_from("<I", self.data, self.at)
        self.at += 4
        if value > _MOST:
            raise ValueError(f"{value} entries")
        return int(value)

    def string(self) -> str:
        length = self.count()
        text = self.data[self.at : self.at + max(length - 1, 0)]
        self.at += length
        return bytes(text).decode()

    def doubles(self, count: int) -> tuple[int, int]:
        if count:
            self.align(8)
        field = (self.at, count)
        self.at += 8 * count
        return field


_Walked = tuple[tuple[str, ...], dict[str, tuple[int, int]], list[tuple[int, int]]]


def _walk_joint_state(cursor: _Cursor) -> _Walked:
    begin = cursor.at
    names = tuple(cursor.string() for _ in range(cursor.count()))
    fields, fixed = {}, []
    for field in ("position", "velocity", "effort"):
        count = cursor.count()
        fixed.append((begin, cursor.at))
        fields[field] = cursor.doubles(count)
        begin = cursor.at
    return names, fields, fixed


def _walk_wrench(cursor: _Cursor) -> _Walked:
    return (), {"wrench": cursor.doubles(6)}, []


def _layout(data: bytes, walk: Callable[[_Cursor], _Walked], type_name: str) -> Layout:
    try:
        if data[:2] != _LITTLE_ENDIAN:
            raise ValueError("not little-endian CDR")
        cursor = _Cursor(data, _HEAD_AT)
        frame = cursor.string()
        head_end = cursor.at
        names, fields, fixed = walk(cursor)
        if cursor.at > len(data):
            raise ValueError("it is cut off")
    except (struct.error, ValueError) as err:
        raise SignalError(
            f"A message of type '{type_name}' can't be decoded ({err}).",
            remedy="Check that the sender uses the same definition of this message type.",
        ) from err
    pieces = [(0, 2), (_HEAD_AT, head_end), *fixed]
    return Layout(
        cursor.at,
        frame,
        names,
        fields,
        tuple((a, bytes(data[a:b])) for a, b in pieces if b > a),
    )
