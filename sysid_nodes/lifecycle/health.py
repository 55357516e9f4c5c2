# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of a node, published every second and immediately when a level changes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

_FAULT_S = 5.0  # how long something that went wrong once is shown
_TOPIC = "/diagnostics"


class Level(bytes, Enum):
    """Level of a diagnostic status."""

    OK = DiagnosticStatus.OK
    WARN = DiagnosticStatus.WARN
    ERROR = DiagnosticStatus.ERROR


@dataclass(frozen=True)
class _Aspect:
    level: Level
    message: str
    values: dict[str, str]
    until: float  # steady clock [s]


class Health:
    """Diagnostics of a node as a list of aspects, each with level, problem and remedy.

    Args:
        node: Node whose diagnostics are published; each status has the name `<node>: <aspect>`, as
            in diagnostic_updater.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._aspects: dict[str, _Aspect] = {}
        self.hardware_id = ""
        self._publisher = node.create_publisher(DiagnosticArray, _TOPIC, 10)
        # On the steady clock: a simulated clock that stands still hides nothing.
        self.clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(1.0, self.publish, clock=self.clock)

    def say(
        self,
        aspect: str,
        level: Level,
        message: str,
        *,
        for_s: float = float("inf"),
        **values: object,
    ) -> None:
        """Set the level and text of an aspect; it is removed after `for_s` seconds without an
        update.
        """
        before = self._aspects.get(aspect)
        self._aspects[aspect] = _Aspect(
            level, message, {k: str(v) for k, v in values.items()}, time.monotonic() + for_s
        )
        if before is None or before.level != level:
            self.publish()

    def fault(self, aspect: str, message: str) -> None:
        """Report an error that has just occurred; it is removed after some seconds."""
        self.say(aspect, Level.ERROR, message, for_s=_FAULT_S)

    def forget(self, aspect: str) -> None:
        """Remove an aspect."""
        self._aspects.pop(aspect, None)

    def publish(self) -> None:
        """Publish all aspects."""
        now = time.monotonic()
        self._aspects = {name: a for name, a in self._aspects.items() if a.until > now}
        array = DiagnosticArray()
        array.header.stamp = self._node.get_clock().now().to_msg()
        node = self._node.get_fully_qualified_name()
        array.status = [
            DiagnosticStatus(
                level=aspect.level,
                name=f"{node}: {name}",
                message=aspect.message,
                hardware_id=self.hardware_id,
                values=[KeyValue(key=key, value=value) for key, value in aspect.values.items()],
            )
            for name, aspect in self._aspects.items()
        ]
        self._publisher.publish(array)
