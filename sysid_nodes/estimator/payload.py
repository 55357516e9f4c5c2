# SPDX-License-Identifier: Apache-2.0
"""Running payload estimation from filtered streams and marks; the stored tare survives a restart of
the node.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import InertiaStamped
from robot_sysid.msg import (
    FilteredJointState,
    FilteredWrench,
    InertialEstimate,
    Mark,
    PayloadEstimate,
)
from std_srvs.srv import Trigger

from sysid_core.clock_gate import ClockGate
from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.payload_live import (
    KnownLoads,
    OnlinePayload,
    PayloadSession,
    PayloadState,
)
from sysid_core.estimation.payload_map import SensorModel
from sysid_core.reasons import Reason, Severity
from sysid_core.robot import RobotModel
from sysid_core.robot.shapes import load_shape
from sysid_core.signals.wrench import SensorCalibration
from sysid_nodes import conversions
from sysid_nodes.estimator.sensor import SensorComponent
from sysid_nodes.lifecycle import Level, ManagedNode, qos

if TYPE_CHECKING:
    from sysid_nodes.estimator.config import EstimatorConfig


class KeptCalibration:
    """File with the last tare of one node and sensor.

    Args:
        node: Estimator node.
        directory: Folder of the file.
        frame: Sensor frame.
        keep_s: Largest age of a stored tare that is used again [s]; sensors drift.
    """

    def __init__(self, node: ManagedNode, directory: str, frame: str, keep_s: float) -> None:
        name = "_".join([*node.get_fully_qualified_name().strip("/").split("/"), frame])
        self._path = Path(directory) / f"tare_of_{name.replace('/', '_')}.yaml"
        self._node, self._frame, self._keep_s = node, frame, keep_s
        self._kept: SensorCalibration | None = None

    def load(self) -> SensorCalibration | None:
        """Load the stored tare if it is recent enough, and log its age."""
        try:
            found = SensorCalibration.load(self._path)
        except (OSError, SysIdError):
            return None
        age_s = found.age_s(self._node.now_ns())
        if found.frame != self._frame or age_s >= self._keep_s:
            self._node.get_logger().info(
                f"The stored tare ({self._path}) isn't used: its frame is '{found.frame}', and its age {age_s:.0f} s."
            )
            return None
        self._node.get_logger().warning(
            f"Using the stored tare of {age_s:.0f} s ago ({self._path}); new tare postures replace it."
        )
        self._kept = found
        return found

    def keep(self, calibration: SensorCalibration | None) -> None:
        """Write a new tare to the file; a write error is logged but not raised."""
        if calibration is None or calibration is self._kept:
            return
        self._kept = calibration
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            calibration.save(self._path)
        except (OSError, SysIdError) as err:
            self._node.get_logger().warning(f"The tare cannot be stored: {err}")


_JOINTS, _WRENCH, _MARKS = "data_logger/filtered", "data_logger/wrench", "marks"
_KEPT_S = 30.0  # of streams between runs; a mark that is later is of nothing any more
_LEVELS = {Severity.HELD: DiagnosticStatus.OK, Severity.FAILURE: DiagnosticStatus.ERROR}
_SENSOR_SPAN_S = 2.0  # of the readings that are looked at for the sensor's health


class PayloadComponent:
    """Running payload estimation, if a sensor and a shape are configured.

    Args:
        node: Estimator node, which owns the topics.

    Raises:
        SysIdError: The shape or the calibration is invalid.
    """

    def __init__(self, node: ManagedNode) -> None:
        self.node = node
        self.config: EstimatorConfig = node.config
        self.session: PayloadSession | None = None
        self.latest: Estimate | None = None
        self.latest_ns = 0  # when it last had new samples
        self._published, self._published_ns = 0, 0
        self._state = PayloadState.COLLECTING
        # What is further ahead would push out all that is kept.
        self._gates = {
            topic: ClockGate(topic, ahead=_KEPT_S) for topic in (_JOINTS, _WRENCH, _MARKS)
        }
        node.clocks.watch(*self._gates.values())
        c = self.config
        self.wanted = bool(c.sensor_frame)
        if not self.wanted:
            return
        self._sensor = SensorComponent(node, self._begin)
        self._shape = load_shape(c.shape) if c.shape else None
        self._quality = SensorModel.named(c.sensor_quality)
        self._calibration = SensorCalibration.load(c.calibration) if c.calibration else None
        self._parts = KnownLoads.load(Path(c.parts)) if c.parts else None
        if self._parts is not None:
            node.create_service(Trigger, "~/which_part", self._on_which)
            # Not latched: a decision of the past says nothing of what is held now.
            self._held = node.create_publisher(DiagnosticArray, "~/part", 1)
        self._kept = KeptCalibration(node, c.directory, c.sensor_frame, c.keep_tare_s)
        self._publishers = [
            node.create_publisher(kind, f"~/{topic}", qos.LATCHED)
            for kind, topic in (
                (InertiaStamped, "payload"),
                (PayloadEstimate, "payload_estimate"),
                (InertialEstimate, "payload_parameters"),
            )
        ]

    def got_robot(self, model: RobotModel) -> None:
        """Prepare the estimation for this robot, and delete the samples of another robot."""
        self._published, self.latest, self.session = 0, None, None
        if self.wanted:
            self._sensor.got_robot(model)

    def _begin(self, model: RobotModel) -> None:
        """Begin a session with a robot model that contains the sensor frame."""
        self._published, self.latest = 0, None
        kept = self._kept.load() if self._calibration is None else None
        online = OnlinePayload(self._shape, sensor=self._quality)
        self.session = PayloadSession(
            model, self.config.sensor_frame, online, calibration=self._calibration or kept
        )
        self._may_tare = kept is not None

    def activate(self) -> None:
        """Subscribe to the data logger, and publish estimates at a fixed rate."""
        if not self.wanted:
            return
        node = self.node
        node.create_subscription(FilteredJointState, _JOINTS, self._on_joints, qos.DATA)
        node.create_subscription(FilteredWrench, _WRENCH, self._on_wrench, qos.DATA)
        node.create_subscription(Mark, _MARKS, self._on_mark, qos.DATA)
        node.create_timer(1.0 / self.config.rate_hz, self._publish)
        node.create_timer(1.0, self._check_sensor)
        if self._parts is not None:
            node.create_timer(1.0 / self.config.rate_hz, self._publish_part)

    # ---- streams

    def _stamp(self, topic: str, stamp: Time) -> int:
        return self.node.through(self._gates[topic], stamp)

    def _on_joints(self, message: FilteredJointState) -> None:
        if self.session is not None:
            state = conversions.filtered_arrays(message, self.session.model.joint_names)
            stamp_ns = self._stamp(_JOINTS, message.header.stamp)
            self.session.add_joints(stamp_ns, *state)
            self._sensor.take_posture(stamp_ns, *state[:2])

    def _on_wrench(self, message: FilteredWrench) -> None:
        if self.session is None:
            return
        self._sensor.check_frame(message.header.frame_id)
        self.session.add_wrench(
            self._stamp(_WRENCH, message.header.stamp),
            conversions.wrench_from_message(message.measured),
        )

    def _on_mark(self, message: Mark) -> None:
        if self.session is None:
            return
        stamp_ns = self._stamp(_MARKS, message.stamp)
        if self._may_tare and message.label.startswith(PayloadSession.TARE_PREFIX):
            self.session.tare_anew()  # instead of a kept tare; samples that are here already count
            self._may_tare = False
        if message.label == PayloadSession.RUN_START:
            self._sensor.look_where()
        self.session.add_mark(stamp_ns, message.label)

    # ---- results

    def _part(self) -> tuple[Reason, dict[str, float]]:
        """Decision which known load is held, from the newest samples, and the probability of each
        load.
        """
        assert self._parts is not None
        if self.session is None:
            raise EstimationError(
                "No robot is known.", remedy="Publish robot_description, or set robot."
            )
        now_ns = self._gates[_JOINTS].stamp_at(self.node.now_ns())
        late_s = 1e-9 * (now_ns - self.session.newest_ns)
        if late_s > self.config.part_s + qos.HEARTBEAT_S:
            raise EstimationError(
                f"The newest joint states that have been processed are {late_s:.1f} s old.",
                remedy="Check that data_logger and the robot's driver are running. If they are, this"
                " computer is overloaded: close other programs.",
            )
        data, sensor = self.session.held_data(self.config.part_s)
        found = self._parts.probabilities(data, sensor)
        return KnownLoads.judge(found, self.config.expected_part), found

    def _on_which(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            judged, found = self._part()
        except SysIdError as err:
            response.message = str(err)
            return response
        response.success = judged.severity is Severity.HELD
        shares = ", ".join(f"{name} {share:.3f}" for name, share in found.items())
        response.message = f"{judged.text} {shares}."
        return response

    def _publish_part(self) -> None:
        if not self._held.get_subscription_count():
            return
        status = DiagnosticStatus(name="part", hardware_id=self.config.sensor_frame)
        try:
            judged, found = self._part()
        except SysIdError as err:
            status.level, status.message = DiagnosticStatus.STALE, str(err)
        else:
            status.level = _LEVELS.get(judged.severity, DiagnosticStatus.WARN)
            status.message = judged.text
            status.values = [KeyValue(key=name, value=f"{p:.4f}") for name, p in found.items()]
        array = DiagnosticArray(status=[status])
        newest = self.node.now_ns() if self.session is None else self.session.newest_ns
        array.header.stamp = conversions.stamp_from_ns(newest)
        array.header.frame_id = self.config.sensor_frame
        self._held.publish(array)

    def _publish(self) -> None:
        session = self.session
        if session is None:
            return
        session.advance(self.node.now_ns() - round(self.config.lag_s * 1e9))
        session.keep_newest(_KEPT_S)
        if session.problem is not None:
            raise session.problem
        self._kept.keep(session.calibration)
        n = session.online.n_samples
        now = self.node.now_ns()
        if n < 3 or (n == self._published and now - self._published_ns < qos.HEARTBEAT_S * 1e9):
            return
        new, self._published, self._published_ns = n != self._published, n, now
        estimate = session.online.estimate()
        if estimate.values[0] > 0:
            self.latest_ns = now if new else self.latest_ns
            self.latest = estimate
            self._send(estimate, session)
            change, state = session.last_change, session.online.state
            behind_s = 1e-9 * (now - session.last_stamp_ns)
            if state is not self._state:
                self._state = state
                self.node.get_logger().info(
                    f"{state.value}, from {session.motion_s:.2f} s of motion; the newest sample is"
                    f" {behind_s:.2f} s old."
                )
            self.node.diagnose(
                Level.OK,
                state.value,
                samples=n,
                behind=f"{behind_s:.2f} s",
                load="unchanged"
                if change is None
                else f"{change.kind.value} {change.mass:+.3f} kg",
            )

    def complete_ns(self, now_ns: int) -> int:
        """Return the time up to which the estimate uses all messages, on the clock of this node
        [ns]. After `HELD_BACK_S` without a new sample, this is the present time.
        """
        if self.session is None:
            return now_ns
        behind = self._gates[_JOINTS].stamp_at(now_ns) - self.session.complete_ns
        return now_ns - behind if 0 < behind < qos.HELD_BACK_S * 1e9 else now_ns

    def _send(self, estimate: Estimate, session: PayloadSession) -> None:
        # An estimate that stays is sent again: its stamp shows that nothing is waiting.
        now_ns = self.complete_ns(self.node.now_ns())
        messages = conversions.payload_messages(estimate, session, stamp_ns=now_ns)
        for publisher, message in zip(self._publishers, messages, strict=True):
            publisher.publish(message)

    def _check_sensor(self) -> None:
        if self.session is not None:
            self._sensor.check_health(self.session.recent_wrenches(_SENSOR_SPAN_S))
