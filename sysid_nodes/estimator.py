"""The estimator: what is identifiable, the running payload, identification on request."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import Identify
from robot_sysid.msg import (
    FilteredJointState,
    FilteredWrench,
    Identifiability,
    InertialEstimate,
    Mark,
    PayloadEstimate,
)
from robot_sysid.srv import SaveResult
from std_srvs.srv import Trigger

from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.robot import RobotModel
from sysid_core.robot.shapes import load_shape
from sysid_core.signals.wrench import SensorCalibration, wrench_faults
from sysid_nodes import conversions
from sysid_nodes.identification_job import IdentificationJob
from sysid_nodes.managed_node import DATA, LATCHED, ManagedNode, run_node
from sysid_nodes.parameters import parameter


@dataclass(frozen=True)
class EstimatorConfig:
    """Parameters of `estimator`."""

    robot: str = parameter("", "URDF file or name; empty: wait for robot_description.")
    sensor_frame: str = parameter("", "Frame of the force-torque sensor; empty: no payload.")
    shape: str = parameter(
        "", "Shape of the payload: text, mesh or YAML, see `sysid payload --help`."
    )
    calibration: str = parameter(
        "", "Sensor calibration from an earlier tare; empty: tare from marks."
    )
    rate_hz: float = parameter(10.0, "Of the running payload [Hz].", minimum=0.1, maximum=100.0)
    lag_s: float = parameter(
        0.3,
        "How long a sample waits for late messages before it is used [s].",
        minimum=0.0,
        maximum=5.0,
    )
    directory: str = parameter("results", "Where results are written.")


class EstimatorNode(ManagedNode):
    """Publishes identifiability, parameters and payload, latched."""

    Config = EstimatorConfig

    def __init__(self) -> None:
        super().__init__("estimator")
        self.session: PayloadSession | None = None
        self.latest: Estimate | None = None
        self._published = 0

    def configure(self) -> None:
        """Make the topics; the robot may come later."""
        self._identifiability = self.create_publisher(Identifiability, "~/identifiability", LATCHED)
        self._parameters = self.create_publisher(InertialEstimate, "~/parameters", LATCHED)
        self._payload = self.create_publisher(InertiaStamped, "~/payload", LATCHED)
        self._running = self.create_publisher(PayloadEstimate, "~/payload_estimate", LATCHED)
        self.create_service(SaveResult, "~/save", self._on_save)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self._action = ActionServer(
            self,
            Identify,
            "~/identify",
            execute_callback=self._on_identify,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            cancel_callback=lambda _: CancelResponse.REJECT,
        )
        self.use_robot(self.config.robot)

    def activate(self) -> None:
        """Listen to the logger and publish at a fixed rate."""
        self.create_subscription(FilteredJointState, "data_logger/filtered", self._on_joints, DATA)
        self.create_subscription(FilteredWrench, "data_logger/wrench", self._on_wrench, DATA)
        self.create_subscription(Mark, "marks", self._on_mark, DATA)
        self._timer = self.create_timer(1.0 / self.config.rate_hz, self._publish)
        self._health = self.create_timer(1.0, self._check_sensor)

    def got_robot(self, model: RobotModel) -> None:
        """Say what is identifiable, get ready for a payload."""
        self._identifiability.publish(
            conversions.message_from_identifiability(
                structural_identifiability(model), model, stamp_ns=self.now_ns()
            )
        )
        c: EstimatorConfig = self.config
        if c.sensor_frame and c.shape:
            self.session = PayloadSession(
                model,
                c.sensor_frame,
                OnlinePayload(load_shape(c.shape)),
                calibration=SensorCalibration.load(c.calibration) if c.calibration else None,
            )
        self.get_logger().info(f"Robot '{model.name}' with {model.n_bodies} bodies.")

    # ---- streams

    def _on_joints(self, message: FilteredJointState) -> None:
        if self.session is None or self.model is None:
            return
        try:
            state = conversions.filtered_arrays(message, self.model.joint_names)
            self.session.add_joints(conversions.ns_from_stamp(message.header.stamp), *state)
        except SysIdError as err:
            self.diagnose(DiagnosticStatus.ERROR, str(err))

    def _on_wrench(self, message: FilteredWrench) -> None:
        if self.session is None:
            return
        if message.header.frame_id and message.header.frame_id != self.session.sensor_frame:
            self.diagnose(
                DiagnosticStatus.ERROR,
                f"The wrench is in frame '{message.header.frame_id}', the parameter sensor_frame"
                f" says '{self.session.sensor_frame}': set it to the wrench's frame.",
            )
            return
        self.session.add_wrench(
            conversions.ns_from_stamp(message.header.stamp),
            conversions.wrench_from_message(message.measured),
        )

    def _on_mark(self, message: Mark) -> None:
        if self.session is not None:
            self.session.add_mark(conversions.ns_from_stamp(message.stamp), message.label)

    def _publish(self) -> None:
        if self.session is None:
            return
        try:
            self.session.advance(self.now_ns() - round(self.config.lag_s * 1e9))
            if self.session.problem is not None:
                raise self.session.problem
            n = self.session.online.n_samples
            if n < 3 or n == self._published:
                return
            self._published = n
            estimate = self.session.online.estimate()
            if estimate.values[0] <= 0:
                return
        except SysIdError as err:
            self.diagnose(DiagnosticStatus.ERROR, str(err))
            self.get_logger().error(str(err), throttle_duration_sec=5.0)
            return
        online, now, frame = self.session.online, self.now_ns(), self.session.sensor_frame
        self.latest = estimate
        self._payload.publish(
            conversions.inertia_message_from_estimate(estimate, stamp_ns=now, frame=frame)
        )
        self._running.publish(
            conversions.payload_message_from_estimate(
                estimate, stamp_ns=now, frame=frame, state=online.state.value, advice=online.advice
            )
        )
        self._parameters.publish(
            conversions.message_from_estimate(
                estimate,
                stamp_ns=now,
                frame=frame,
                reference_point="origin of frame_id",
                model="payload",
            )
        )
        self.diagnose(DiagnosticStatus.OK, online.state.value, samples=n)

    def _check_sensor(self) -> None:
        """Saturated, frozen or broken readings are said as they come."""
        if self.session is None:
            return
        recent = self.session.recent_wrenches(2.0)
        for fault in wrench_faults(recent) if len(recent) > 10 else ():
            self.diagnose(DiagnosticStatus.WARN, f"{fault.text} {fault.remedy}")
            self.get_logger().warning(f"{fault.text} {fault.remedy}", throttle_duration_sec=10.0)

    # ---- services and the action

    async def _on_identify(self, goal: ServerGoalHandle) -> Identify.Result:
        """The command line does it, in a process of its own: the streams go on meanwhile."""
        result = Identify.Result()
        if self.model is None:
            result.message = "No robot_description has arrived: start the robot, or set `robot`."
            goal.abort()
            return result
        folder = Path(goal.request.directory or self.config.directory)
        job = IdentificationJob(goal.request, self.model, folder)

        def ended() -> bool:
            goal.publish_feedback(Identify.Feedback(step=job.step, progress=job.progress))
            return job.done

        await self.wait_until(ended, 3600.0)
        if job.error:
            result.message = job.error
            self.get_logger().error(job.error)
            goal.abort()
            return result
        self.latest = Estimate.load(folder / "estimate.yaml")
        result.estimate = conversions.message_from_estimate(
            self.latest,
            stamp_ns=self.now_ns(),
            frame=self.model.root_link,
            reference_point="origin of each link's frame",
            model="robot",
        )
        self._parameters.publish(result.estimate)
        result.success, result.report = True, str(folder / "report.html")
        goal.succeed()
        return result

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.model is not None:
            self.got_robot(self.model)
        self._published, self.latest = 0, None
        response.success, response.message = True, "Forgot all samples."
        return response

    def _on_save(
        self, request: SaveResult.Request, response: SaveResult.Response
    ) -> SaveResult.Response:
        if self.latest is None:
            response.message = "There is no estimate yet: play a motion, or call ~/identify."
            return response
        try:
            folder = Path(request.directory or self.config.directory)
            folder.mkdir(parents=True, exist_ok=True)
            self.latest.save(folder / "estimate.yaml")
            response.success, response.path = True, str(folder / "estimate.yaml")
        except OSError as err:
            response.message = f"Can't write to '{request.directory}': {err}."
        return response


def main(args: list[str] | None = None) -> int:
    """Entry point."""
    return run_node(EstimatorNode, args)


if __name__ == "__main__":
    sys.exit(main())
