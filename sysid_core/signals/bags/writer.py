# SPDX-License-Identifier: Apache-2.0
"""Writing of rosbag2 bags (MCAP) from serialised messages, safe even if the process is killed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mcap.writer import CompressionType, Writer
from rosbags.typesys import TypesysError

from sysid_core.errors import SignalError
from sysid_core.files import FileKind, write_yaml, yaml_text
from sysid_core.signals.bags.layouts import DISTRO, build_typestore
from sysid_core.signals.bags.mcap_file import CUSTOM_DATA_RECORD
from sysid_core.signals.bags.records import StoredTopic
from sysid_core.signals.bags.storage import StoredBag

_METADATA_VERSION = 9  # of rosbag2 since Jazzy
_FOREVER = {"sec": 9223372036, "nsec": 854775807}
_QOS = FileKind("quality of service", "Record again.", SignalError)


@dataclass(frozen=True)
class OfferedQos:
    """Quality of service that a publisher offered; `ros2 bag play` offers the same.

    Attributes:
        reliability: `reliable` or `best_effort`.
        durability: `volatile` or `transient_local`.
        depth: Depth of the history [messages].
    """

    reliability: Literal["reliable", "best_effort"] = "reliable"
    durability: Literal["volatile", "transient_local"] = "volatile"
    depth: int = 50

    def profile(self) -> dict[str, Any]:
        """Return the QoS profile in the text form of rosbag2."""
        return {
            "history": "keep_last",
            "depth": self.depth,
            "reliability": self.reliability,
            "durability": self.durability,
            "deadline": dict(_FOREVER),
            "lifespan": dict(_FOREVER),
            "liveliness": "automatic",
            "liveliness_lease_duration": dict(_FOREVER),
            "avoid_ros_namespace_conventions": False,
        }

    @classmethod
    def of(cls, topic: StoredTopic) -> OfferedQos:
        """Return the QoS of a recorded publisher, as far as a replay needs it. Descriptions and static
        transforms are latched even if the bag does not say so, because all nodes request it.
        """
        try:
            profile = _QOS.parse_yaml(topic.qos, topic.name)[0]
            best_effort = str(profile["reliability"]) in ("best_effort", "2")
            latched = str(profile["durability"]) in ("transient_local", "1")
            depth = int(profile["depth"])
        except (SignalError, KeyError, IndexError, TypeError, ValueError):
            best_effort, latched, depth = False, False, cls.depth
        latched |= topic.name.endswith(("robot_description", "tf_static"))
        return cls(
            "best_effort" if best_effort else "reliable",
            "transient_local" if latched else "volatile",
            depth,
        )


@dataclass
class _Topic:
    type: str
    profiles: list[dict[str, Any]]
    type_hash: str
    channel: int
    count: int = 0


class BagWriter:
    """Writer of a rosbag2 folder with one MCAP file; each small chunk is written to disk as soon as
    it is full.

    If the process is killed, only the current chunk is lost; `read_bag` reads the rest.

    Args:
        path: Folder to create.
        custom_data: Key-value pairs that are written to metadata.yaml, and to the start of the file
            for truncated bags. `read_bag` uses `effort_kind`, `joint_topic` and `wrench_topic`.
        definitions: Texts of `.msg` files of non-standard types, by type name.
        chunk_bytes: Size of a chunk [bytes].

    Raises:
        SignalError: The folder exists or cannot be created.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        custom_data: Mapping[str, str] | None = None,
        definitions: Mapping[str, str] | None = None,
        chunk_bytes: int = 4096,
    ) -> None:
        self.path = Path(path)
        self.file = self.path / f"{self.path.name}_0.mcap"
        self._custom_data = {str(key): str(value) for key, value in (custom_data or {}).items()}
        self._types = build_typestore(definitions)
        self._topics: dict[str, _Topic] = {}
        self._schemas: dict[str, int] = {}
        self._first_ns: int | None = None
        self._last_ns = 0
        try:
            self.path.mkdir(parents=True)
        except FileExistsError as err:
            raise SignalError(
                f"'{self.path}' exists already.", remedy="Name a new folder for the bag."
            ) from err
        except OSError as err:
            raise SignalError(
                f"'{self.path}' can't be created: {err}.",
                remedy="Name a folder with write permission.",
            ) from err
        self._open = True
        with self._disk():
            self._stream = self.file.open("xb")
            self._writer = Writer(
                self._stream, chunk_size=chunk_bytes, compression=CompressionType.NONE
            )
            self._writer.start(profile="ros2", library="robot_sysid")
            if self._custom_data:
                self._writer.add_metadata(CUSTOM_DATA_RECORD, self._custom_data)
            self._stream.flush()
            self._flushed = self._stream.tell()

    @property
    def count(self) -> int:
        """Number of messages written."""
        return sum(topic.count for topic in self._topics.values())

    def add_topic(self, name: str, type_name: str, qos: OfferedQos | None = None) -> None:
        """Add a topic before its first message.

        Args:
            name: Name of the topic, such as `/joint_states`.
            type_name: Message type, such as `sensor_msgs/msg/JointState`.
            qos: Quality of service that the publisher offered; None: reliable, volatile.

        Raises:
            SignalError: The topic exists already, or its type is unknown.
        """
        if name in self._topics:
            raise SignalError(f"Topic '{name}' is in the bag already.", remedy="Add it once.")
        if type_name not in self._types.fielddefs:
            raise SignalError(
                f"Message type '{type_name}' of topic '{name}' isn't known.",
                remedy="Give its .msg text in `definitions`, under that name.",
            )
        try:
            text, _ = self._types.generate_msgdef(type_name, ros_version=2)
            type_hash = self._types.hash_rihs01(type_name)
        except (KeyError, TypesysError) as err:
            raise SignalError(
                f"Message type '{type_name}' holds a type that isn't known: {err}.",
                remedy="Give its .msg text in `definitions` too.",
            ) from err
        if type_name not in self._schemas:
            schema = self._writer.register_schema(type_name, "ros2msg", text.encode())
            self._schemas[type_name] = schema
        profiles = [(qos or OfferedQos()).profile()]
        channel = self._writer.register_channel(
            name,
            "cdr",
            self._schemas[type_name],
            {"offered_qos_profiles": yaml_text(profiles), "topic_type_hash": type_hash},
        )
        self._topics[name] = _Topic(type_name, profiles, type_hash, channel)

    def write(self, topic: str, data: bytes, stamp_ns: int) -> None:
        """Write one serialised message.

        Args:
            topic: Name of a topic added by `add_topic`.
            data: CDR bytes of the message, as from a raw subscription.
            stamp_ns: Time of reception [ns].

        Raises:
            SignalError: The topic was not added, the bag is closed, or the disk is full. In the
                last case the bag is closed, and the messages written so far can be read.
        """
        entry = self._topics.get(topic)
        if entry is None or not self._open:
            raise SignalError(
                f"Can't write to '{topic}': "
                + ("the bag is closed." if entry else "the topic wasn't added."),
                remedy=f"Topics: {list(self._topics)}; add before writing, close last.",
            )
        with self._disk():
            self._writer.add_message(entry.channel, stamp_ns, data, stamp_ns, entry.count)
            entry.count += 1
            self._first_ns = stamp_ns if self._first_ns is None else min(self._first_ns, stamp_ns)
            self._last_ns = max(self._last_ns, stamp_ns)
            if self._stream.tell() != self._flushed:  # a chunk has been closed
                self._stream.flush()
                self._flushed = self._stream.tell()

    def close(self) -> None:
        """Write index, footer and metadata.yaml. Further calls have no effect.

        Raises:
            SignalError: The disk is full; the messages written so far can be read.
        """
        if not self._open:
            return
        self._open = False
        information = self._information()
        with self._disk():
            self._writer.add_metadata("rosbag2", {"serialized_metadata": yaml_text(information)})
            self._writer.finish()
            self._stream.close()
            content = {"rosbag2_bagfile_information": information}
            write_yaml(self.path / "metadata.yaml", content)

    @contextlib.contextmanager
    def _disk(self) -> Iterator[None]:
        """Close the bag with an error if the disk is full."""
        try:
            yield
        except OSError as err:
            self._open = False
            with contextlib.suppress(AttributeError, OSError):
                self._stream.close()
            raise SignalError(
                f"The bag '{self.path}' can't be written: {err.strerror or err}.",
                remedy="Free disk space; `sysid bag recover` repairs the written part of the bag.",
            ) from err

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _information(self) -> dict[str, Any]:
        span = {
            "duration": {"nanoseconds": self._last_ns - (self._first_ns or 0)},
            "starting_time": {"nanoseconds_since_epoch": self._first_ns or 0},
            "message_count": self.count,
        }
        return {
            "version": _METADATA_VERSION,
            "storage_identifier": "mcap",
            **span,
            "topics_with_message_count": [
                {
                    "topic_metadata": {
                        "name": name,
                        "type": topic.type,
                        "serialization_format": "cdr",
                        "offered_qos_profiles": topic.profiles,
                        "type_description_hash": topic.type_hash,
                    },
                    "message_count": topic.count,
                }
                for name, topic in self._topics.items()
            ],
            "compression_format": "",
            "compression_mode": "",
            "relative_file_paths": [self.file.name],
            "files": [{"path": self.file.name, **span}],
            "custom_data": self._custom_data or None,
            "ros_distro": DISTRO,
        }

    @staticmethod
    def recover(path: str | Path, out: str | Path) -> StoredBag:
        """Write all readable messages of a damaged bag to a new bag, with index and metadata.

        Args:
            path: Folder or storage file of the damaged (or intact) bag, which is not modified.
            out: Folder to create.

        Returns:
            New bag.

        Raises:
            SignalError: The bag cannot be read, or the new folder exists.
        """
        bag = StoredBag.open(path)
        definitions = {topic.type: topic.definition for topic in bag.topics if topic.definition}
        with BagWriter(out, custom_data=bag.custom_data, definitions=definitions) as writer:
            for topic in bag.topics:
                writer.add_topic(topic.name, topic.type, OfferedQos.of(topic))
            for message in bag.messages():
                writer.write(message.topic, message.data, message.log_ns)
        return StoredBag.open(out)
