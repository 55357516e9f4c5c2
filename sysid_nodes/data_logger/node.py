# SPDX-License-Identifier: Apache-2.0
"""Data logger: publishes Kalman-filtered joint states and wrenches, and records the raw streams in
a rosbag2 folder.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial

from geometry_msgs.msg import WrenchStamped
from robot_sysid.msg import FilteredJointState, FilteredWrench, Mark, StreamStatistics
from sensor_msgs.msg import JointState

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_nodes import conversions
from sysid_nodes.data_logger.config import DataLoggerConfig
from sysid_nodes.data_logger.live_filtering import LiveFiltering, Mirrored
from sysid_nodes.data_logger.recorder import JOINTS, MARKS, TYPES, WRENCH, Recorder
from sysid_nodes.lifecycle import Level, ManagedNode, ParameterError, qos

_SWITCH_S = 0.0005  # the writing thread gives way so soon


class DataLoggerNode(ManagedNode):
    """Node that filters live streams, records the raw streams, and counts all messages."""

    Config = DataLoggerConfig

    def __init__(self) -> None:
        super().__init__("data_logger")
        self.recorder: Recorder | None = None

    def configure(self) -> None:
        """Create the topics and services."""
        self._joints = Mirrored(self, FilteredJointState, "~/filtered", JointState, "joint_states")
        self._wrench = Mirrored(self, FilteredWrench, "~/wrench", WrenchStamped, "wrench")
        self._statistics = self.create_publisher(StreamStatistics, "~/statistics", 10)
        self._targets = _topic_and_type(self.config.targets)
        named = [*TYPES, *filter(None, self._targets[:1])]
        self._topics = {topic: self.resolve_topic_name(topic) for topic in named}
        self.filtering = LiveFiltering(
            effort_kind=self.config.effort_kind,
            max_gap_s=self.config.max_gap_s,
            stale_s=self.config.stale_s,
            send_joints=self._joints.send,
            send_wrench=self._wrench.send,
        )
        self.clocks.watch(*self.filtering.gates.values())
        self.recorder = Recorder(self, self.filtering, self._topics, self._targets)
        self.use_robot()

    def got_robot(self, model: RobotModel) -> None:
        """Start to filter the joints of this robot."""
        if self.recorder is not None:
            self.recorder.description = model.urdf_xml
        self.filtering.use_joints(model.joint_names)

    def activate(self) -> None:
        """Subscribe to serialised messages, so that they are recorded as they were sent."""
        self.subscribe_to_data(JointState, JOINTS, self._on_joints, raw=True)
        self.subscribe_to_data(WrenchStamped, WRENCH, self._on_wrench, raw=True)
        self.create_subscription(Mark, MARKS, self._on_mark, qos.DATA, raw=True)
        targets, kind = self._targets
        if targets:
            record = partial(self._take, targets, lambda data, now: None)
            self.subscribe_to_data(conversions.interface(kind), targets, record, raw=True)
        self.create_timer(1.0, self._report)
        self.create_timer(min(self.config.stale_s / 4, 0.25), self._watch)
        sys.setswitchinterval(_SWITCH_S)
        gc.collect()
        gc.freeze()  # what libraries have made is never searched again: no pauses of 50 ms

    def clean_up(self) -> None:
        """Close an open bag."""
        if self.recorder is not None:
            self.recorder.close("the node stops")

    # ---- streams: published first, then on their way to the disk

    def _on_joints(self, data: bytes) -> None:
        self._take(JOINTS, self.filtering.take_joints, data)

    def _on_wrench(self, data: bytes) -> None:
        self._take(WRENCH, self.filtering.take_wrench, data)

    def _on_mark(self, data: bytes) -> None:
        self._take(MARKS, lambda data, now: None, data)

    def _take(self, topic: str, use: Callable[[bytes, int], None], data: bytes) -> None:
        now = self.now_ns()
        try:
            use(data, now)
        except SysIdError as err:
            self.complain(err)
        if self.recorder is not None:
            self.recorder.put(topic, data, now)

    # ---- health

    def _watch(self) -> None:
        self._joints.look_for_listeners()
        self._wrench.look_for_listeners()
        if self.recorder is not None:
            self.recorder.watch()

    def _report(self) -> None:
        now = self.now_ns()
        monitors = {JOINTS: self.filtering.joints, WRENCH: self.filtering.wrench}
        seen = {topic: monitor.statistics(now) for topic, monitor in monitors.items()}
        for topic, statistics in seen.items():
            message = conversions.message_from_statistics(statistics, self._topics[topic], now)
            self._statistics.publish(message)
        others, names = self.filtering.others, list(self.filtering.names)
        stale = seen[JOINTS].stale
        text = "no joint_states" if stale else "receiving"
        if stale and others:
            text = f"joint_states has only {others}, the robot has {names}"
        self.diagnose(
            Level.WARN if stale else Level.OK,
            text,
            recording=self.recorder is not None and self.recorder.bag is not None,
            **({} if self.recorder is None else self.recorder.progress),
        )


def _topic_and_type(text: str) -> tuple[str, str]:
    """Topic and type of the position targets; "" if none are to be recorded.

    Raises:
        ParameterError: The text has another form, or the message type is not installed.
    """
    topic, kind, *more = [*text.split(), "", ""]
    if any(more) or bool(topic) != bool(kind):
        raise ParameterError(
            f"The value '{text}' of the parameter targets is invalid.",
            remedy="Write 'TOPIC TYPE', such as 'position_commands std_msgs/msg/Float64MultiArray'.",
        )
    if kind:
        conversions.interface(kind)
    return topic, kind
