# SPDX-License-Identifier: Apache-2.0
"""Bag of the data logger, and the services to start, stop, mark and tare. A separate thread writes
the bag, so that a slow disk does not delay the filters.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from rclpy.serialization import deserialize_message, serialize_message
from robot_sysid.msg import Mark
from robot_sysid.srv import MarkRecording, StartRecording, StopRecording
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from sysid_core.errors import SysIdError
from sysid_core.signals.bags import BagWriter, OfferedQos
from sysid_nodes import conversions
from sysid_nodes.data_logger.live_filtering import LiveFiltering
from sysid_nodes.data_logger.pulse import Pulse
from sysid_nodes.data_logger.serialised import interface_definitions
from sysid_nodes.lifecycle import Level, ManagedNode, Newest, StaticTransforms, qos
from sysid_nodes.security import new_inside

_PERIOD_S = 0.02  # between writes; a kill loses what has come since


class BagRecording:
    """Writer of a bag with a queue: messages are accepted immediately and written in order.

    Args:
        path: Folder to create.
        topics: Message types by topic name.
        latched: Topics whose last message is sent to late subscribers.
        custom_data: Key-value pairs for the bag, as in `BagWriter`.
        chunk_bytes: Size of a chunk [bytes], as in `BagWriter`.

    Attributes:
        path: Requested path.
        failure: Reason why writing has stopped; None without a failure.

    Raises:
        SysIdError: The folder exists or cannot be created, or a message type is unknown.
    """

    def __init__(
        self,
        path: str,
        topics: Mapping[str, str],
        *,
        latched: tuple[str, ...] = (),
        custom_data: Mapping[str, str],
        chunk_bytes: int,
    ) -> None:
        self.path = path
        self.failure: SysIdError | None = None
        self._writer = BagWriter(
            path,
            custom_data=custom_data,
            definitions=interface_definitions(),
            chunk_bytes=chunk_bytes,
        )
        late = OfferedQos(durability="transient_local", depth=1)
        for topic, type_name in topics.items():
            self._writer.add_topic(topic, type_name, late if topic in latched else None)
        self._queue: deque[tuple[str, bytes, int]] = deque()
        self._open = True
        self._thread = threading.Thread(target=self._work, name="bag", daemon=True)
        self._thread.start()

    @property
    def count(self) -> int:
        """Number of messages accepted."""
        return self._writer.count + len(self._queue)

    def put(self, topic: str, data: bytes, now_ns: int) -> None:
        """Add a message; it is written to disk about 20 ms later."""
        if self.failure is None:
            self._queue.append((topic, data, now_ns))

    def close(self) -> None:
        """Write the remaining messages, the index and the metadata.

        Raises:
            SysIdError: Some messages could not be written.
        """
        self._open = False
        self._thread.join()
        self._empty()
        self._writer.close()
        if self.failure is not None:
            raise self.failure

    def _work(self) -> None:
        while self._open and self.failure is None:
            time.sleep(_PERIOD_S)
            self._empty()

    def _empty(self) -> None:
        try:
            while self._queue and self.failure is None:
                self._writer.write(*self._queue.popleft())
        except SysIdError as err:
            self.failure = err
            self._queue.clear()


JOINTS, WRENCH, MARKS, DESCRIPTION = "joint_states", "wrench", "marks", "robot_description"
TYPES = {
    JOINTS: "sensor_msgs/msg/JointState",
    WRENCH: "geometry_msgs/msg/WrenchStamped",
    MARKS: "robot_sysid/msg/Mark",
    DESCRIPTION: "std_msgs/msg/String",
    StaticTransforms.TOPIC: "tf2_msgs/msg/TFMessage",
}


class Recorder:
    """Current bag of the data logger, with the services that control it.

    Args:
        node: Node of the data logger, whose parameters determine folder and chunk size of the bag.
        filtering: Live filters, which restart with each bag, and know what has arrived.
        topics: Full names of the topics in `TYPES` and of the topic of position targets.
        targets: Name and type of the topic of position targets; ("", "") if none are recorded.

    Attributes:
        bag: Current bag; None if nothing is recorded.
        description: URDF that is stored in the bag.
    """

    def __init__(
        self,
        node: ManagedNode,
        filtering: LiveFiltering,
        topics: Mapping[str, str],
        targets: tuple[str, str],
    ) -> None:
        self._node, self._filtering, self._topics = node, filtering, topics
        self._targets = targets[0]
        self.bag: BagRecording | None = None
        self.description = ""
        self._began_ns, self._watched_ns, self._silent_s = 0, 0, 0.0
        self._transforms = StaticTransforms(node, self._put_transforms)
        self._recorded = {
            name: {**TYPES, targets[0]: targets[1]}[topic]
            for topic, name in topics.items()
            if topic != StaticTransforms.TOPIC or self._transforms.available
        }
        self._pulse = Pulse(node, JointState, JOINTS, filtering.is_of_robot)
        self._segments: Newest[str, bool] = Newest()  # marked ones that have not ended
        self._marks = node.create_publisher(Mark, MARKS, qos.DATA)
        node.create_service(StartRecording, "~/start", self._on_start)
        node.create_service(StopRecording, "~/stop", self._on_stop)
        node.create_service(MarkRecording, "~/mark", self._on_mark)
        node.create_service(Trigger, "~/tare", self._on_tare)

    @property
    def progress(self) -> dict[str, object]:
        """Path, number of messages, duration [s] and size [bytes] of the current bag; empty if
        there is none.
        """
        if self.bag is None:
            return {}
        seconds = (self._node.now_ns() - self._began_ns) * 1e-9
        files = [f.stat().st_size for f in Path(self.bag.path).glob("*") if f.is_file()]
        return {
            "path": self.bag.path,
            "messages": self.bag.count,
            "seconds": round(seconds, 1),
            "bytes": sum(files),
        }

    def put(self, topic: str, data: bytes, now_ns: int) -> None:
        """Record a message, if a bag is open."""
        if self.bag is None:
            return
        self.bag.put(self._topics[topic], data, now_ns)
        if topic == MARKS:
            segment, _, edge = deserialize_message(data, Mark).label.rpartition(":")
            if edge == "start":
                self._segments[segment] = True
            elif edge == "end":
                self._segments.pop(segment, None)

    def _put_transforms(self) -> None:
        """Record all static transforms in one message, because the topic is latched."""
        if self._transforms.serialised:
            self.put(StaticTransforms.TOPIC, self._transforms.serialised, self._node.now_ns())

    def close(self, reason: str) -> str:
        """Close the current bag; returns an error message or an empty string."""
        if self.bag is None:
            return ""
        bag, self.bag = self.bag, None
        self._pulse.stop()
        try:
            bag.close()
        except SysIdError as err:
            self._node.complain(err)
            return str(err)
        words = f"Closed {bag.path} with {bag.count} messages ({reason})."
        self._node.get_logger().info(words)
        return ""

    def watch(self) -> None:
        """Close the bag if the disk or the robot has failed."""
        if self.bag is None:
            return
        if self.bag.failure is not None:
            self.close("it cannot be written")
            return
        now, stale_s = self._node.now_ns(), self._node.config.stale_s
        # Of the time in which this node was held up itself, little counts: messages may be waiting.
        passed_s = min((now - self._watched_ns) * 1e-9, 0.25 * stale_s)
        heard = max(self._filtering.last_joints_ns, self._began_ns) > self._watched_ns
        self._silent_s, self._watched_ns = 0.0 if heard else self._silent_s + passed_s, now
        if heard:
            self._pulse.stop()
        elif self._silent_s >= 0.5 * stale_s:
            self._pulse.listen()  # they may be published, but held back
        if self._silent_s >= (max(stale_s, qos.HELD_BACK_S) if self._pulse.beats else stale_s):
            self._node.diagnose(Level.ERROR, "joint_states stopped")
            words = "joint_states stopped: the bag was closed without loss."
            self._node.get_logger().error(words)
            self.close("joint_states stopped")

    def _on_start(
        self, request: StartRecording.Request, response: StartRecording.Response
    ) -> StartRecording.Response:
        config, model = self._node.config, self._node.model
        name = f"{model.name if model else 'robot'}_{datetime.now():%Y%m%d_%H%M%S}"
        response.message = self._why_not()
        if response.message:
            return response
        try:
            path = str(new_inside(config.directory, request.path or name, "The bag"))
            self.bag = BagRecording(
                path,
                self._recorded,
                latched=(self._topics[DESCRIPTION], self._topics[StaticTransforms.TOPIC]),
                custom_data={
                    "effort_kind": config.effort_kind.value,
                    "joint_topic": self._topics[JOINTS],
                    "wrench_topic": self._topics[WRENCH],
                    **self._of_targets(),
                },
                chunk_bytes=config.chunk_bytes,
            )
        except SysIdError as err:
            response.message = str(err)
            return response
        # From here on the filters see what the bag holds: a replay gives the same numbers.
        self._filtering.restart()
        self._began_ns = self._watched_ns = self._node.now_ns()
        self._silent_s = 0.0
        self._segments.clear()
        if self.description:
            text = serialize_message(String(data=self.description))
            self.put(DESCRIPTION, text, self._began_ns)
        self._put_transforms()
        response.success, response.path = True, path
        self._node.get_logger().info(f"Recording to {path}")
        return response

    def _of_targets(self) -> dict[str, str]:
        """Metadata of recorded position targets, such as the joint names, which the messages do not
        contain.
        """
        if not self._targets:
            return {}
        joints = " ".join(self._filtering.names)
        return {"target_topic": self._topics[self._targets], "target_joints": joints}

    def _why_not(self) -> str:
        """Reason why no bag can be started now; empty if one can."""
        if self.bag is not None:
            return f"Already recording to {self.bag.path}: call ~/stop first."
        if self._filtering.last_joints_ns:
            return ""
        what = f"No joint state of this robot has arrived on {self._topics[JOINTS]} yet"
        if self._filtering.others:
            others = self._filtering.others
            return f"{what}, only of {others}: check that robot_description belongs to it."
        return f"{what}: check that the driver is running, and that the topic is remapped."

    async def _on_stop(
        self, request: StopRecording.Request, response: StopRecording.Response
    ) -> StopRecording.Response:
        """Close the bag when everything up to the request has arrived, or after `HELD_BACK_S`."""
        bag = self.bag
        if bag is None:
            response.message = "Nothing is being recorded: call ~/start first."
            return response
        ends = self._filtering.stamps_at(self._node.now_ns())

        def complete() -> bool:
            return not self._segments and self._filtering.reaches(ends)

        await self._node.waits.until(lambda: self.bag is not bag or complete(), qos.HELD_BACK_S)
        response.path = bag.path
        response.message = self.close("on request") if self.bag is bag else str(bag.failure or "")
        response.messages = bag.count
        response.success = not response.message
        return response

    def _on_mark(
        self, request: MarkRecording.Request, response: MarkRecording.Response
    ) -> MarkRecording.Response:
        stamp = conversions.stamp_from_ns(self._node.now_ns())
        self._marks.publish(Mark(stamp=stamp, label=request.label))
        response.success = True
        return response

    def _on_tare(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        seconds = self._node.config.tare_s
        self._filtering.tare(self._node.now_ns(), seconds)
        response.success = True
        response.message = f"Taring for {seconds} s: keep the sensor free of contact and load."
        return response
