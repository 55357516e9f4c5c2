# SPDX-License-Identifier: Apache-2.0
"""Topics and messages as they are stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class StoredMessage(NamedTuple):
    """A serialised message."""

    topic: str
    log_ns: int
    data: bytes


@dataclass(frozen=True)
class StoredTopic:
    """A topic in a bag.

    Attributes:
        name: Such as `/joint_states`.
        type: Such as `sensor_msgs/msg/JointState`.
        definition: Text of the message definition, "" where the bag has none.
        encoding: Encoding of the definition: `ros2msg` or `ros2idl`.
        qos: Offered profiles as YAML text.
        count: Messages.
        first_ns: Log time of the first message; 0 where there is none.
        last_ns: Log time of the last.
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
        """Mean rate by log times."""
        span = (self.last_ns - self.first_ns) * 1e-9
        return (self.count - 1) / span if span > 0.0 else 0.0


@dataclass(frozen=True)
class Damage:
    """Something broken in a storage file.

    Attributes:
        text: What it is, a sentence.
        lost_s: Time whose messages are lost with it, as far as the file says [s].
    """

    text: str
    lost_s: float = 0.0
