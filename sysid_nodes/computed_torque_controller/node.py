# SPDX-License-Identifier: Apache-2.0
"""Computed-torque controller: from set points to efforts, with identified parameters on request.

The control law is `u = G^T W theta + K_p e + K_d ė`, see `TorqueController`. The node starts with
the parameters of the URDF (and of the file of kinematic loops). It changes to identified parameters only while
the robot is at rest, and only after a call of `~/use_identified`, unless the parameter
`use_at_rest` permits this without a call.
"""

from __future__ import annotations

import numpy as np
from robot_sysid.msg import InertialEstimate
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from sysid_core.clock_gate import ClockGate
from sysid_core.control import ControllerState, TorqueController
from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_nodes import conversions
from sysid_nodes.computed_torque_controller.config import ComputedTorqueControllerConfig
from sysid_nodes.computed_torque_controller.identified_parameters import (
    IdentifiedParameters,
    ParameterSource,
)
from sysid_nodes.computed_torque_controller.set_point_input import SetPointInput
from sysid_nodes.lifecycle import Level, ManagedNode, qos


class ComputedTorqueControllerNode(ManagedNode):
    """Node that computes `effort_commands` from `setpoint` and `joint_states`."""

    Config = ComputedTorqueControllerConfig

    def __init__(self) -> None:
        super().__init__("computed_torque_controller")
        self.controller: TorqueController | None = None
        self._identified: IdentifiedParameters | None = None
        self._source = ParameterSource.NOMINAL
        self._listens = False  # to set points

    def configure(self) -> None:
        """Create topics and service; the robot description may arrive later."""
        self._efforts = self.create_publisher(Float64MultiArray, "effort_commands", 10)
        self._state = self.create_publisher(String, "~/parameters_in_use", qos.LATCHED)
        self.create_service(Trigger, "~/use_identified", self._on_use)
        self.use_robot()

    def got_robot(self, model: RobotModel) -> None:
        """Compute the gains and the feedforward from the nominal parameters."""
        c: ComputedTorqueControllerConfig = self.config
        chain = c.chain_of(model)
        self._identified = IdentifiedParameters(chain, self.config.gravity_factor)
        self.controller = c.controller_of(chain, c.use_sim_time)
        limits = c.set_point_limits(chain)
        self._set_points = SetPointInput(
            self.controller, limits, lambda: self.count_publishers("setpoint")
        )
        ahead = self.controller.timing.ahead
        self._state_gate = ClockGate("joint_states", oldest=c.state_timeout_s, ahead=ahead)
        self.clocks.watch(self._set_points.gate, self._state_gate)
        self._report(ParameterSource.NOMINAL)

    def activate(self) -> None:
        """Subscribe to the inputs and publish commands until deactivation, when the robot's own
        controller takes over.
        """
        self._listens = False
        self.subscribe_to_data(JointState, "joint_states", self._on_joints, qos=qos.NEWEST)
        self.create_subscription(
            InertialEstimate, "estimator/parameters", self._on_estimate, qos.LATCHED
        )
        self._timer = self.create_timer(1.0 / self.config.rate_hz, self._tick)

    @property
    def fixed_because(self) -> str:
        """Reason why the clock cannot be changed now: it would cause a step of a moving reference."""
        moving = (ControllerState.TRACKING, ControllerState.STOPPING)
        active = self.controller is not None and self.controller.state in moving
        return "The controller is moving the robot" if active else ""

    def _now(self) -> float:
        return self.now_ns() * 1e-9

    def _on_joints(self, message: JointState) -> None:
        if self.controller is None:
            return
        if set(self.controller.chain.actuated).isdisjoint(message.name):
            return  # a gripper's driver on the same topic
        q, v, _ = conversions.joint_arrays_from_message(message, self.controller.chain.actuated)
        if v is None:
            raise SysIdError(
                "joint_states has no velocities.",
                remedy="Check the driver: the controller needs velocities for feedback.",
            )
        stamp = conversions.ns_from_stamp(message.header.stamp)
        self.controller.measured(self._state_gate.take(stamp, self.now_ns()) * 1e-9, q, v)
        if not self._listens:  # before, an executor finds nobody that could move the robot
            self.create_subscription(JointTrajectory, "setpoint", self._on_set_point, qos.LAST)
            self._listens = True

    def _on_set_point(self, message: JointTrajectory) -> None:
        if self.controller is not None:
            self._set_points.take(message, self.now_ns())

    def _on_estimate(self, message: InertialEstimate) -> None:
        if self._identified is None:
            return
        self._identified.offer(message)

    def _on_use(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.message = self._use()
        response.success = True
        return response

    def _use(self) -> str:
        if self.controller is None or self._identified is None:
            raise SysIdError(
                "The robot description has not arrived yet.",
                remedy="Start the node that publishes robot_description.",
            )
        self._identified.use(self.controller, self._now())
        self._report(ParameterSource.IDENTIFIED)
        return "The identified parameters are in use."

    def _tick(self) -> None:
        if self.controller is None:
            return
        now = self._now()
        offered = self._identified is not None and self._identified.offered is not None
        if self.config.use_at_rest and offered and self.controller.stands_still(now):
            self._use()
        before = self.controller.state
        effort = self.controller.effort(now)
        fallen_back = self.controller.chain is self.controller.nominal
        if fallen_back and self._source is not ParameterSource.NOMINAL:
            self._report(ParameterSource.NOMINAL)
        if effort is not None:
            self._efforts.publish(Float64MultiArray(data=effort.tolist()))
        if self.controller.state is not before:
            self.diagnose(
                Level.OK,
                self.controller.state.value,
                parameters=self._source.value,
                saturated=bool(np.any(self.controller.saturated)),
            )

    def _report(self, source: ParameterSource) -> None:
        self._source = source
        self._state.publish(String(data=source.value))
        self.get_logger().info(f"Parameters in use: {source.value}.")
