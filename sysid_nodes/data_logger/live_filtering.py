# SPDX-License-Identifier: Apache-2.0
"""Live filters: joint states and wrenches are counted, filtered and published, also as standard
messages for plotting tools.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

from rclpy.node import Node

from sysid_core.clock_gate import ClockGate
from sysid_core.errors import SysIdError
from sysid_core.signals import EffortKind, SampleOutcome, StreamMonitor
from sysid_core.signals.bags import Layout
from sysid_core.signals.filters import JointFilter
from sysid_core.signals.wrench import WrenchFilter
from sysid_nodes.data_logger.serialised import (
    JointStateReader,
    JointStateWriter,
    WrenchReader,
    WrenchWriter,
    message_types,
)
from sysid_nodes.lifecycle import qos


class Mirrored:
    """Two publishers: one of a filtered topic, and one of the same data as a standard message on
    `~/plain/<name>`.

    Args:
        node: Node that owns the publishers.
        rich: Message type of this package.
        topic: Name of the filtered topic.
        plain: Standard message type.
        name: Last part of the name of the topic with standard messages.
    """

    def __init__(self, node: Node, rich: type, topic: str, plain: type, name: str) -> None:
        self._rich = node.create_publisher(rich, topic, qos.DATA)
        self._plain = node.create_publisher(plain, f"~/plain/{name}", qos.DATA)
        self._listened = False

    def send(self, data: bytes, mirror: Callable[[], bytes]) -> None:
        """Publish serialised messages; `mirror` is called to create the standard message if that
        has subscribers.
        """
        self._rich.publish(data)
        if self._listened:
            self._plain.publish(mirror())

    def look_for_listeners(self) -> None:
        """Check if the standard message has subscribers."""
        self._listened = self._plain.get_subscription_count() > 0


Send = Callable[[bytes], None]


class LiveFiltering:
    """Filters of the joints and the sensor of one robot.

    Args:
        effort_kind: Kind of the efforts, published with the states.
        max_gap_s: Gap between samples after which the filters restart [s].
        stale_s: Time without messages after which a stream is stale [s].
        send_joints: Function that publishes a `FilteredJointState`; its second argument is a
            function that creates the standard message.
        send_wrench: The same function for a `FilteredWrench`.

    Attributes:
        joints, wrench: Monitors of the two streams.
        others: Joints of other drivers that publish on the same topic.
        last_joints_ns: Arrival time of the last state of this robot [ns]; 0 before the first.
    """

    def __init__(
        self,
        *,
        effort_kind: EffortKind,
        max_gap_s: float,
        stale_s: float,
        send_joints: Callable[[bytes, Callable[[], bytes]], None],
        send_wrench: Callable[[bytes, Callable[[], bytes]], None],
    ) -> None:
        self._effort_kind, self._max_gap_s = effort_kind, max_gap_s
        self._send_joints, self._send_wrench = send_joints, send_wrench
        self.joints, self.wrench = (
            StreamMonitor(max_gap_s=max_gap_s, stale_s=stale_s) for _ in range(2)
        )
        # What is recorded is what was sent: nothing is refused, only measured.
        self.gates = {t: ClockGate(t, ahead=math.inf) for t in ("joint_states", "wrench")}
        self.others: list[str] = []
        self.last_joints_ns = 0
        self._types = message_types()
        self._names: tuple[str, ...] = ()
        self._reader: JointStateReader | None = None
        self._wrench_reader = WrenchReader()
        self._joint_writers: dict[bool, JointStateWriter] = {}
        # Of the newest frames: a driver may invent names without end.
        self._wrench_writer = lru_cache(maxsize=8)(partial(WrenchWriter, self._types))
        self._newest: dict[str, tuple[int, str]] = {}  # stamp [ns] and publisher, by stream
        self._tare_ns = (0, 0)  # stamps of the readings that are the bias
        warm_up()
        self.restart()

    @property
    def names(self) -> tuple[str, ...]:
        """Joints of the robot; empty until the robot is known."""
        return self._names

    def use_joints(self, names: Sequence[str]) -> None:
        """Filter these joints from now on."""
        self._names, self._reader = tuple(names), JointStateReader(names)
        self._joint_writers = {}
        self.restart()

    def restart(self) -> None:
        """Reset the filters when a bag starts, so that a replay of the bag gives the same results."""
        self._joint_filter = JointFilter(len(self._names), max_gap_s=self._max_gap_s)
        self._wrench_filter = WrenchFilter(max_gap_s=self._max_gap_s)

    def tare(self, now_ns: int, seconds: float) -> None:
        """Estimate the bias from the next seconds of sensor readings, as measured by their time
        stamps, not by their time of arrival."""
        self._wrench_filter.forget_bias()
        _, publisher = self._newest.get("wrench", (0, ""))
        begin = self.gates["wrench"].stamp_at(now_ns, publisher)
        self._tare_ns = begin, begin + round(seconds * 1e9)

    def stamps_at(self, now_ns: int) -> dict[str, int]:
        """Return the stamps that the messages of each stream have at a time [ns], on the clocks of
        their publishers; a stream that has been silent for `HELD_BACK_S` has ended.
        """
        stamps = {
            topic: (self.gates[topic].stamp_at(now_ns, publisher), newest)
            for topic, (newest, publisher) in self._newest.items()
        }
        return {
            t: now for t, (now, newest) in stamps.items() if now - newest < qos.HELD_BACK_S * 1e9
        }

    def reaches(self, stamps: Mapping[str, int]) -> bool:
        """Return True if the messages of all streams up to these stamps have arrived."""
        return all(self._newest[topic][0] >= stamp for topic, stamp in stamps.items())

    def is_of_robot(self, data: bytes) -> bool:
        """Return True for a joint state of this robot."""
        if self._reader is None:
            return True
        try:
            return not set(self._names).isdisjoint(self._reader.layout(data).names)
        except SysIdError:
            return False

    def take_joints(self, data: bytes, now_ns: int) -> None:
        """Filter and publish a joint state.

        Raises:
            SysIdError: The message is invalid, or lacks joints of the robot.
        """
        if self._reader is None:  # no robot yet, but the driver lives
            self.last_joints_ns = now_ns
            return
        stamp = now_ns
        try:
            layout = self._reader.layout(data)
            if set(self._names).isdisjoint(layout.names):  # a gripper's driver
                self.others = list(layout.names)
                return
            self.last_joints_ns = now_ns
            stamp = self._take_stamp("joint_states", layout, data, now_ns, layout.names[0])
            sample = self._joint_filter.update(stamp, *self._reader.arrays(layout, data))
        except SysIdError:
            self.joints.add(stamp, now_ns, valid=False)
            raise
        if not sample.outcome.refused:
            with_effort = sample.effort is not None
            writer = self._joint_writers.get(with_effort)
            if writer is None:
                writer = JointStateWriter(
                    self._types, self._names, self._effort_kind.value, with_effort
                )
                self._joint_writers[with_effort] = writer
            self._send_joints(writer.rich(sample), lambda: writer.plain(sample))
        self.joints.add(stamp, now_ns, valid=sample.outcome not in _BAD)

    def take_wrench(self, data: bytes, now_ns: int) -> None:
        """Filter and publish a wrench.

        Raises:
            SysIdError: The message is invalid.
        """
        layout = self._wrench_reader.layout(data)
        stamp = self._take_stamp("wrench", layout, data, now_ns, layout.frame)
        measured = layout.values(data, "wrench")
        taring = self._tare_ns[0] <= stamp < self._tare_ns[1]
        sample = self._wrench_filter.update(stamp, measured, measured * 0.0 if taring else None)
        if not sample.outcome.refused:
            writer = self._wrench_writer(layout.frame, self._wrench_filter.tared)
            self._send_wrench(
                writer.rich(sample, stamp, measured), lambda: writer.plain(sample, stamp)
            )
        self.wrench.add(stamp, now_ns, valid=sample.outcome not in _BAD)

    def _take_stamp(
        self, topic: str, layout: Layout, data: bytes, now_ns: int, publisher: str
    ) -> int:
        stamp = self.gates[topic].take(layout.stamp_ns(data), now_ns, publisher)
        self._newest[topic] = stamp, publisher
        return stamp


_BAD = (SampleOutcome.INVALID, SampleOutcome.OUTLIER)


def warm_up() -> None:
    """Compile the filters in advance, because compilation would delay the first samples by half a
    second.

    The first compilation on a computer takes ten seconds; `make setup` does it in advance.
    """
    joints, wrench = JointFilter(1), WrenchFilter()
    for k in range(300):
        stamp, value = k * 1_000_000, [1e-6 * k * k]
        joints.update(stamp, value, value, value)
        wrench.update(stamp, value * 6)
