# SPDX-License-Identifier: Apache-2.0
"""Message types: the standard ones, and those defined by a text."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from sysid_core.errors import SignalError

DEFAULT_DISTRO = "kilted"


def message_definitions(folder: str | Path, package: str) -> dict[str, str]:
    """Contents of the `.msg` files in a folder, by type name such as `robot_sysid/msg/Mark`."""
    files = sorted(Path(folder).glob("*.msg"))
    return {f"{package}/msg/{file.stem}": file.read_text(encoding="utf-8") for file in files}


def build_typestore(
    definitions: Mapping[str, str] | None = None, *, distro: str = DEFAULT_DISTRO
) -> Typestore:
    """Message types of a ROS distribution (by default the latest), with additional types.

    Args:
        definitions: Texts of `.msg` files (or bag schemas, with their dependencies) by type name.
        distro: Such as `jazzy`.

    Raises:
        SignalError: A definition can't be parsed.
    """
    standard = get_typestore(getattr(Stores, f"ROS2_{distro.upper()}", Stores.LATEST))
    types: dict[str, Any] = {}
    for name, text in (definitions or {}).items():
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
    """Types defined in a bag for one of its topics.

    Raises:
        SignalError: The definition can't be parsed.
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
            remedy="Was the bag written by another tool? Record it again with `ros2 bag record`.",
        ) from err
    store.register(types)
    return store


def message_decoder(store: Typestore, type_name: str) -> Callable[[bytes], Any]:
    """Function that decodes messages of one type from their CDR bytes.

    Bytes beyond the message are padding and left alone: `rclpy.serialization` leaves some behind
    messages that end in an empty array, which `Typestore.deserialize_cdr` refuses.

    Raises:
        SignalError: The type's definition contains itself; from that function: the bytes are no
            such message.
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
                remedy="Does its sender use another definition of that type?",
            ) from err

    return decode
