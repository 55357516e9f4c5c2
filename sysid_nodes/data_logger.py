"""The data logger: Kalman-filtered joint states and wrench out, raw streams into a rosbag2 bag."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message
from robot_sysid.msg import FilteredJointState, FilteredWrench, Mark, StreamStatistics
from robot_sysid.srv import MarkRecording, StartRecording, StopRecording
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_core.signals import EffortKind, SampleOutcome, StreamMonitor
from sysid_core.signals.bags import BagWriter, OfferedQos
from sysid_core.signals.filters import JointFilter
from sysid_core.signals.wrench import WrenchFilter
from sysid_nodes import conversions
from sysid_nodes.lifecycle import DATA, ManagedNode, interface_definitions, parameter, run_node
from sysid_nodes.serialised import SerialisedStreams

JOINTS, WRENCH, MARKS, DESCRIPTION = "joint_states", "wrench", "marks", "robot_description"
TYPES = {
    JOINTS: "sensor_msgs/msg/JointState",
    WRENCH: "geometry_msgs/msg/WrenchStamped",
    MARKS: "robot_sysid/msg/Mark",
    DESCRIPTION: "std_msgs/msg/String",
}
# Filtering comes in slices, between which new messages are taken in.
_WORK_PERIOD_S, _WORK_S = 0.005, 0.005


@dataclass(frozen=True)
class DataLoggerConfig:
    """Parameters of `data_logger`."""

    robot: str = parameter("", "URDF file or name; empty: wait for robot_description.")
    effort_kind: str = parameter(
        "unknown",
        "What `effort` of joint_states means on this robot.",
        choices=tuple(kind.value for kind in EffortKind),
    )
    directory: str = parameter("recordings", "Where bags go when no path is given.")
    chunk_bytes: int = parameter(
        4096, "Size of a chunk of the bag; a kill loses one [byte].", minimum=512, maximum=2**24
    )
    max_gap_s: float = parameter(
        0.1, "A longer gap starts the filters again [s].", minimum=0.001, maximum=10.0
    )
    stale_s: float = parameter(
        1.0,
        "Without joint_states for so long a running bag is closed [s].",
        minimum=0.05,
        maximum=60.0,
    )
    tare_s: float = parameter(1.0, "Duration of ~/tare [s].", minimum=0.1, maximum=60.0)


class DataLoggerNode(ManagedNode):
    """Filters live, records raw, counts everything."""

    Config = DataLoggerConfig

    def __init__(self) -> None:
        super().__init__("data_logger")
        self.bag: BagWriter | None = None
        self._description = ""
        self._names: list[str] = []
        self._known: set[str] = set()
        self._others: list[str] = []  # joints of other drivers on the same topic
        # Received, recorded, still to be filtered: handler, bytes, time of reception.
        self._pending: deque[tuple[Callable[[bytes, int], None], bytes, int]] = deque()
        self._tare_until_ns = self._last_joints_ns = self._bag_began_ns = 0

    def configure(self) -> None:
        """Make topics and services."""
        self._filtered = self.create_publisher(FilteredJointState, "~/filtered", DATA)
        self._wrench = self.create_publisher(FilteredWrench, "~/wrench", DATA)
        self._statistics = self.create_publisher(StreamStatistics, "~/statistics", 10)
        self._marks = self.create_publisher(Mark, MARKS, DATA)
        self.create_service(StartRecording, "~/start", self._on_start)
        self.create_service(StopRecording, "~/stop", self._on_stop)
        self.create_service(MarkRecording, "~/mark", self._on_mark_request)
        self.create_service(Trigger, "~/tare", self._on_tare)
        self.monitors = {
            topic: StreamMonitor(max_gap_s=self.config.max_gap_s, stale_s=self.config.stale_s)
            for topic in (JOINTS, WRENCH)
        }
        self._bytes = SerialisedStreams()
        self._topics = {topic: self.resolve_topic_name(topic) for topic in TYPES}
        self._wrench_filter = WrenchFilter(max_gap_s=self.config.max_gap_s)
        self._joint_filter: JointFilter | None = None
        self.use_robot(self.config.robot)

    def got_robot(self, model: RobotModel) -> None:
        """Filter this robot's joints."""
        self._description, self._names = model.urdf_xml, list(model.joint_names)
        self._known = set(self._names)
        self._joint_filter = JointFilter(model.nv, max_gap_s=self.config.max_gap_s)

    def activate(self) -> None:
        """Listen; raw, so that what is recorded is what was sent."""
        for kind, topic, use in (
            (JointState, JOINTS, self._use_joints),
            (WrenchStamped, WRENCH, self._use_wrench),
        ):
            self.subscribe_to_data(kind, topic, partial(self._on_data, topic, use), raw=True)
        self._pending.clear()
        self.create_timer(_WORK_PERIOD_S, self._work)
        self.create_subscription(Mark, MARKS, self._on_mark, DATA, raw=True)
        self._timer = self.create_timer(1.0, self._report)
        self._watchdog = self.create_timer(min(self.config.stale_s / 4, 0.25), self._watch)

    def clean_up(self) -> None:
        """Close the bag."""
        self._close("the node stops")

    # ---- streams

    def _write(self, topic: str, data: bytes, now_ns: int) -> None:
        if self.bag is None:
            return
        try:
            self.bag.write(self._topics[topic], data, now_ns)
        except SysIdError as err:
            self.bag = None
            self._complain(err)

    def _complain(self, err: SysIdError) -> None:
        self.diagnose(DiagnosticStatus.ERROR, str(err))
        self.get_logger().error(str(err), throttle_duration_sec=5.0)

    def _stamp(self, stamp: Time, now_ns: int) -> int:
        return conversions.ns_from_stamp(stamp) or now_ns  # some drivers leave it zero

    def _on_data(self, topic: str, use: Callable[[bytes, int], None], data: bytes) -> None:
        """Record at once; filter when there is time: an overload delays, and loses nothing."""
        now = self.now_ns()
        self._write(topic, data, now)
        self._pending.append((use, data, now))

    def _work(self) -> None:
        end = time.monotonic() + _WORK_S
        while self._pending and time.monotonic() < end:
            use, data, now = self._pending.popleft()
            use(data, now)

    def _use_joints(self, data: bytes, now: int) -> None:
        if self._joint_filter is None:
            self._last_joints_ns = now
            return
        stamp = now
        try:
            message = self._bytes.joint_state(data)
            if not self._known.intersection(message.name):  # a gripper's driver on the same topic
                self._others = list(message.name)
                return
            self._last_joints_ns = now
            stamp = self._stamp(message.header.stamp, now)
            q, v, effort = conversions.joint_arrays_from_message(message, self._names)
            sample = self._joint_filter.update(stamp, q, v, effort)
        except SysIdError as err:
            self.monitors[JOINTS].add(stamp, now, valid=False)
            self._complain(err)
            return
        self.monitors[JOINTS].add(stamp, now, valid=sample.outcome is not SampleOutcome.INVALID)
        if not sample.outcome.refused:
            self._filtered.publish(
                self._bytes.filtered_joints(sample, self._names, self.config.effort_kind)
            )

    def _use_wrench(self, data: bytes, now: int) -> None:
        try:
            message = self._bytes.wrench(data)
        except SysIdError as err:
            self._complain(err)
            return
        stamp = self._stamp(message.header.stamp, now)
        measured = conversions.wrench_from_message(message.wrench)
        taring = now < self._tare_until_ns
        sample = self._wrench_filter.update(stamp, measured, measured * 0.0 if taring else None)
        self.monitors[WRENCH].add(stamp, now, valid=sample.outcome is not SampleOutcome.INVALID)
        if not sample.outcome.refused:
            self._wrench.publish(
                self._bytes.filtered_wrench(sample, message, stamp, tared=self._wrench_filter.tared)
            )

    def _on_mark(self, data: bytes) -> None:
        self._write(MARKS, data, self.now_ns())

    # ---- the bag

    def _on_start(
        self, request: StartRecording.Request, response: StartRecording.Response
    ) -> StartRecording.Response:
        name = self.model.name if self.model else "robot"
        path = request.path or str(
            Path(self.config.directory) / f"{name}_{datetime.now():%Y%m%d_%H%M%S}"
        )
        if self.bag is not None:
            response.message = f"Already recording to {self.bag.path}: call ~/stop first."
            return response
        if self._last_joints_ns == 0:
            what = f"No joint state of this robot has come on {self._topics[JOINTS]} yet"
            response.message = (
                f"{what}, only of {self._others}: does robot_description belong to it?"
                if self._others
                else f"{what}: is the driver running, and is the topic remapped to its name?"
            )
            return response
        try:
            bag = BagWriter(
                path,
                custom_data={
                    "effort_kind": self.config.effort_kind,
                    "joint_topic": self._topics[JOINTS],
                    "wrench_topic": self._topics[WRENCH],
                },
                definitions=interface_definitions(),
                chunk_bytes=self.config.chunk_bytes,
            )
            for topic, type_name in TYPES.items():
                latched = OfferedQos(durability="transient_local", depth=1)
                bag.add_topic(
                    self._topics[topic],
                    type_name,
                    latched if topic == DESCRIPTION else None,
                )
        except SysIdError as err:
            response.message = str(err)
            return response
        # From here on the filters see what the bag holds: a replay gives the same numbers.
        self._pending.clear()
        self._wrench_filter = WrenchFilter(max_gap_s=self.config.max_gap_s)
        if self.model is not None:
            self._joint_filter = JointFilter(self.model.nv, max_gap_s=self.config.max_gap_s)
        self.bag, self._bag_began_ns = bag, self.now_ns()
        if self._description:
            self._write(
                DESCRIPTION, serialize_message(String(data=self._description)), self.now_ns()
            )
        response.success, response.path = True, path
        self.get_logger().info(f"Recording to {path}")
        return response

    def _on_stop(
        self, request: StopRecording.Request, response: StopRecording.Response
    ) -> StopRecording.Response:
        if self.bag is None:
            response.message = "Nothing is being recorded: call ~/start first."
            return response
        response.path, response.messages = str(self.bag.path), self.bag.count
        response.message = self._close("asked to")
        response.success = not response.message
        return response

    def _close(self, reason: str) -> str:
        """Close a running bag; what went wrong, or nothing."""
        if self.bag is None:
            return ""
        bag, self.bag = self.bag, None
        try:
            bag.close()
        except SysIdError as err:
            self._complain(err)
            return str(err)
        self.get_logger().info(f"Closed {bag.path} with {bag.count} messages ({reason}).")
        return ""

    def _on_mark_request(
        self, request: MarkRecording.Request, response: MarkRecording.Response
    ) -> MarkRecording.Response:
        self._marks.publish(
            Mark(stamp=conversions.stamp_from_ns(self.now_ns()), label=request.label)
        )
        response.success = True
        return response

    def _on_tare(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._wrench_filter.forget_bias()
        self._tare_until_ns = self.now_ns() + round(self.config.tare_s * 1e9)
        response.success = True
        response.message = (
            f"Taring for {self.config.tare_s} s: nothing may touch or hang on the sensor."
        )
        return response

    # ---- health

    def _watch(self) -> None:
        if self._pending:  # it is only we who are late
            return
        silent_s = (self.now_ns() - max(self._last_joints_ns, self._bag_began_ns)) * 1e-9
        if self.bag is not None and silent_s > self.config.stale_s:
            self.diagnose(DiagnosticStatus.ERROR, "joint_states stopped")
            self.get_logger().error("joint_states stopped: the bag is closed, nothing is lost.")
            self._close("joint_states stopped")

    def _report(self) -> None:
        now = self.now_ns()
        for topic, monitor in self.monitors.items():
            self._statistics.publish(
                conversions.message_from_statistics(
                    monitor.statistics(now), self._topics[topic], now
                )
            )
        stale = self.monitors[JOINTS].statistics(now).stale
        text = "no joint_states" if stale else "receiving"
        if stale and self._others:
            text = f"joint_states has only {self._others}, the robot has {self._names}"
        level = DiagnosticStatus.WARN if stale else DiagnosticStatus.OK
        self.diagnose(level, text, recording=self.bag is not None)


def main(args: list[str] | None = None) -> int:
    """Entry point."""
    return run_node(DataLoggerNode, args)


if __name__ == "__main__":
    sys.exit(main())
