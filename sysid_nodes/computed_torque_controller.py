# SPDX-License-Identifier: Apache-2.0
"""The computed-torque controller: set points in, efforts out, better parameters on request.

`u = G^T W theta + K_p e + K_d ė`, see `TorqueController`. It begins with the URDF's (and the loops file's) parameters.
Identified ones are taken at rest only, and only after `~/use_identified` was called, unless
`use_at_rest` says that nobody needs to be asked.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from robot_sysid.msg import InertialEstimate
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from sysid_core.errors import SysIdError
from sysid_core.estimation.closed_chain import identified_chain
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain, load_closed_chain
from sysid_core.validation import ControllerTiming, TorqueController
from sysid_nodes import conversions
from sysid_nodes.lifecycle import LATCHED, ManagedNode, parameter, run_node


@dataclass(frozen=True)
class ComputedTorqueControllerConfig:
    """Parameters of `computed_torque_controller`."""

    robot: str = parameter("", "URDF file or name; empty: wait for robot_description.")
    loops: str = parameter("", "Loops file or own-leg, for closed chains; empty: none.")
    rate_hz: float = parameter(
        200.0, "Of the commanded efforts [Hz].", minimum=20.0, maximum=1000.0
    )
    bandwidth: float = parameter(10.0, "Of the tracking error [rad/s].", minimum=0.5, maximum=200.0)
    drive_inertia: float = parameter(
        0.0, "Of every drive besides the loops file's, for the gains [kg m^2].", minimum=0.0
    )
    feedback_limit: float = parameter(
        50.0,
        "Largest acceleration that the tracking error may ask for [rad/s^2].",
        minimum=1.0,
        maximum=10000.0,
    )
    setpoint_timeout_s: float = parameter(
        0.2, "Older set points end in a damped stop [s].", minimum=0.01, maximum=2.0
    )
    state_timeout_s: float = parameter(
        0.1,
        "With older joint_states nothing is commanded: the robot's own watchdog stops it [s].",
        minimum=0.01,
        maximum=2.0,
    )
    use_at_rest: bool = parameter(False, "Take identified parameters at rest without being asked.")


class ComputedTorqueControllerNode(ManagedNode):
    """Turns `setpoint` and `joint_states` into `effort_commands`."""

    Config = ComputedTorqueControllerConfig

    def __init__(self) -> None:
        super().__init__("computed_torque_controller")
        self.controller: TorqueController | None = None
        self._nominal: ClosedChain | None = None
        self._offered: ClosedChain | None = None
        self._source = "nominal"

    def configure(self) -> None:
        """Make topics and the service; the robot may come later."""
        self._efforts = self.create_publisher(Float64MultiArray, "effort_commands", 10)
        self._state = self.create_publisher(String, "~/parameters_in_use", LATCHED)
        self.create_service(Trigger, "~/use_identified", self._on_use)
        self.use_robot(self.config.robot)

    def got_robot(self, model: RobotModel) -> None:
        """Gains and feedforward from the nominal parameters."""
        c: ComputedTorqueControllerConfig = self.config
        chain = load_closed_chain(c.loops, model.urdf_xml) if c.loops else ClosedChain(model)
        self._nominal = chain
        self.controller = TorqueController(
            chain,
            c.bandwidth,
            ControllerTiming(
                setpoint_timeout=c.setpoint_timeout_s, state_timeout=c.state_timeout_s
            ),
            drive_inertia=c.drive_inertia,
            feedback_limit=c.feedback_limit,
        )
        self._tell("nominal")

    def activate(self) -> None:
        """Listen and command; after a deactivation the robot's own controller takes over."""
        self.subscribe_to_data(JointState, "joint_states", self._on_joints, depth=1)
        self.create_subscription(JointTrajectory, "setpoint", self._on_set_point, 1)
        self.create_subscription(
            InertialEstimate, "estimator/parameters", self._on_estimate, LATCHED
        )
        self._timer = self.create_timer(1.0 / self.config.rate_hz, self._tick)

    def _now(self) -> float:
        return self.now_ns() * 1e-9

    def _on_joints(self, message: JointState) -> None:
        if self.controller is None:
            return
        if set(self.controller.chain.actuated).isdisjoint(message.name):
            return  # a gripper's driver on the same topic
        try:
            q, v, _ = conversions.joint_arrays_from_message(message, self.controller.chain.actuated)
            if v is None:
                raise SysIdError(
                    "joint_states has no velocities.", remedy="Feedback needs them: see the driver."
                )
            stamp = conversions.ns_from_stamp(message.header.stamp) or self.now_ns()
            self.controller.measured(stamp * 1e-9, q, v)
        except SysIdError as err:
            self._complain(err)

    def _on_set_point(self, message: JointTrajectory) -> None:
        if self.controller is None:
            return
        try:
            _, q, v, a = conversions.trajectory_arrays(message, self.controller.chain.actuated)
            stamp = conversions.ns_from_stamp(message.header.stamp) or self.now_ns()
            self.controller.set_point(stamp * 1e-9, q[-1], v[-1], a[-1])
        except SysIdError as err:
            self._complain(err)

    def _on_estimate(self, message: InertialEstimate) -> None:
        """Keep it ready; a payload's or another robot's estimate is none of ours."""
        if self._nominal is None or message.model != "robot":
            return
        try:
            if message.urdf_hash not in ("", self._nominal.model.urdf_hash):
                raise SysIdError(
                    f"The estimate is of another robot, '{message.robot}'.",
                    remedy="Estimator and controller must use the same robot_description.",
                )
            if message.consistency_known and not message.physically_consistent:
                raise SysIdError(
                    "The estimate isn't physically consistent: it stays unused.",
                    remedy="Identify with method lmi or entropic.",
                )
            if not np.all(np.isfinite(message.values)):
                raise SysIdError(
                    "The estimate holds values that aren't finite: the last good set stays.",
                    remedy="Identify again.",
                )
            self._offered = identified_chain(
                self._nominal, conversions.estimate_from_message(message)
            )
        except SysIdError as err:
            self._complain(err)

    def _on_use(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = self._use()
            response.success = True
        except SysIdError as err:
            response.message = str(err)
        return response

    def _use(self) -> str:
        if self.controller is None or self._offered is None:
            raise SysIdError(
                "There are no identified parameters.", remedy="Call estimator/identify first."
            )
        self.controller.use(self._now(), self._offered)
        self._offered = None
        self._tell("identified")
        return "The identified parameters are in use."

    def _tick(self) -> None:
        if self.controller is None:
            return
        now = self._now()
        if (
            self.config.use_at_rest
            and self._offered is not None
            and self.controller.stands_still(now)
        ):
            self._use()
        before = self.controller.state
        try:
            effort = self.controller.effort(now)
        except SysIdError as err:
            self._complain(err)
            return
        if effort is not None:
            self._efforts.publish(Float64MultiArray(data=effort.tolist()))
        if self.controller.state is not before:
            self.diagnose(
                DiagnosticStatus.OK,
                self.controller.state.value,
                parameters=self._source,
                saturated=bool(np.any(self.controller.saturated)),
            )

    def _tell(self, source: str) -> None:
        self._source = source
        self._state.publish(String(data=source))
        self.get_logger().info(f"Parameters in use: {source}.")

    def _complain(self, err: SysIdError) -> None:
        self.diagnose(DiagnosticStatus.ERROR, str(err))
        self.get_logger().error(str(err), throttle_duration_sec=5.0)


def main(args: list[str] | None = None) -> int:
    """Entry point."""
    return run_node(ComputedTorqueControllerNode, args)


if __name__ == "__main__":
    sys.exit(main())
