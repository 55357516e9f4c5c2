# SPDX-License-Identifier: Apache-2.0
"""Topics and messages in the form in which they are stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BLOCK = 4096  # messages of storages that give them one by one


class StoredMessage(NamedTuple):
    """Serialised message of a bag."""

    topic: str
    log_ns: int
    data: bytes


@dataclass(frozen=True, eq=False)
class MessageBlock:
    """Serialised messages (k of them) in storage order, as positions in one block of bytes.

    Attributes:
        topics: Names of the topics.
        topic: Index of each message's topic in `topics`, shape (k,).
        log_ns: Times of reception, shape (k,) [ns].
        content: Bytes that contain all messages.
        start: Start of each message in `content`, shape (k,) [bytes].
        length: Length of each message, shape (k,) [bytes].
    """

    topics: tuple[str, ...]
    topic: NDArray[np.intp]
    log_ns: NDArray[np.int64]
    content: bytes
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.topic)

    def __iter__(self) -> Iterator[StoredMessage]:
        columns = (x.tolist() for x in (self.topic, self.log_ns, self.start, self.length))
        for topic, log_ns, start, length in zip(*columns, strict=True):
            yield StoredMessage(self.topics[topic], log_ns, self.content[start : start + length])

    def select(self, rows: NDArray[np.bool_]) -> MessageBlock:
        """Return a copy with some of the messages."""
        return MessageBlock(
            self.topics,
            self.topic[rows],
            self.log_ns[rows],
            self.content,
            self.start[rows],
            self.length[rows],
        )

    def of_topics(self, names: Collection[str]) -> MessageBlock:
        """Return a copy with the messages of some topics."""
        wanted = np.array([name in names for name in self.topics], dtype=bool)
        return self if wanted.all() else self.select(wanted[self.topic])

    def rows(self, length: int) -> NDArray[np.uint8]:
        """Return the bytes of the messages, which all have the same length, shape (k, length)."""
        found = np.frombuffer(self.content, np.uint8)
        return np.lib.stride_tricks.sliding_window_view(found, length)[self.start]


def message_block(messages: Collection[StoredMessage]) -> MessageBlock:
    """Return a block of messages from a list, in the same order."""
    topics = tuple(dict.fromkeys(message.topic for message in messages))
    index = {name: k for k, name in enumerate(topics)}
    length = np.array([len(message.data) for message in messages], dtype=np.int64)
    return MessageBlock(
        topics,
        np.array([index[message.topic] for message in messages], dtype=np.intp),
        np.array([message.log_ns for message in messages], dtype=np.int64),
        b"".join(message.data for message in messages),
        np.cumsum(length) - length,
        length,
    )


def in_blocks(messages: Iterable[StoredMessage]) -> Iterator[MessageBlock]:
    """Yield blocks of messages from an iterator of single messages."""
    source = iter(messages)
    while batch := list(islice(source, _BLOCK)):
        yield message_block(batch)


@dataclass(frozen=True)
class StoredTopic:
    """Topic of a bag.

    Attributes:
        name: Name of the topic, such as `/joint_states`.
        type: Message type, such as `sensor_msgs/msg/JointState`.
        definition: Text of the message definition; "" if the bag has none.
        encoding: Encoding of the definition: `ros2msg` or `ros2idl`.
        qos: Offered QoS profiles as YAML text.
        count: Number of messages.
        first_ns: Log time of the first message [ns]; 0 without messages.
        last_ns: Log time of the last message [ns].
    """

    name: str
    type: str
    definition: str = field(default="", repr=False)
    encoding: str = "ros2msg"
    qos: str = field(default="", repr=False)
    count: int = 0
    first_ns: int = 0
    last_ns: int = 0

    @property
    def rate_hz(self) -> float:
        """Mean message rate, computed from the log times [Hz]."""
        span = (self.last_ns - self.first_ns) * 1e-9
        return (self.count - 1) / span if span > 0.0 else 0.0


@dataclass(frozen=True)
class Damage:
    """Damage of a storage file.

    Attributes:
        text: Description of the damage, one sentence.
        lost_s: Duration of the lost part of the recording, as far as the file shows it [s].
    """

    text: str
    lost_s: float = 0.0
