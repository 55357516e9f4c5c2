# SPDX-License-Identifier: Apache-2.0
"""Live residual torque of every joint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rclpy.serialization import deserialize_message
from robot_sysid.msg import FilteredJointState
from sensor_msgs.msg import JointState

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_core.signals import EffortKind
from sysid_nodes import conversions
from sysid_nodes.lifecycle import ManagedNode, qos

if TYPE_CHECKING:
    from sysid_core.validation import ResidualTorques

_PERIOD_S = 0.02  # between samples that are looked at


class TorqueResidualsComponent:
    """Publisher of `~/torque_residuals`: measured minus predicted effort of every joint.

    The prediction uses the last parameters from `~/identify`; before that, the URDF's inertial
    parameters without friction, if the efforts are torques. The residuals are computed only while
    the topic has a subscriber.

    Args:
        node: Estimator node.
    """

    def __init__(self, node: ManagedNode) -> None:
        self.node = node
        self._model: RobotModel | None = None
        self._residuals: ResidualTorques | None = None  # made when it is needed: its room is heavy
        self._newest: bytes | None = None
        self._listening: tuple[Any, Any] | None = None  # subscription and timer
        self._samples = 0
        self._publisher = node.create_publisher(JointState, "~/torque_residuals", 10)

    def got_robot(self, model: RobotModel) -> None:
        """Prepare the prediction of the torques from the URDF of this robot, as soon as there is a
        subscriber.
        """
        self._model, self._residuals = model, None

    def activate(self) -> None:
        """Wait for a subscriber of the residuals."""
        self._listening = None  # what there was went with the deactivation
        self.node.create_timer(1.0, self._look_for_listeners)

    def use(self, folder: Path, model: RobotModel) -> None:
        """Use the identified parameters for the prediction; closed chains keep the parameters of
        the URDF.

        Args:
            folder: Output folder of `sysid identify`.
            model: Robot model.
        """
        from sysid_core.estimation.arm import Identification
        from sysid_core.validation import ResidualTorques

        found = None
        try:
            found = Identification.load(folder, model)
        except SysIdError as err:
            self.node.get_logger().info(f"Residual torques are still computed with the URDF: {err}")
        self._residuals = ResidualTorques(model, found)

    def _look_for_listeners(self) -> None:
        wanted = self._publisher.get_subscription_count() > 0
        node = self.node
        if wanted and self._listening is None:
            self._listening = (
                node.create_subscription(
                    FilteredJointState,
                    "data_logger/filtered",
                    self._on_joints,
                    qos.NEWEST,
                    raw=True,
                ),
                node.create_timer(_PERIOD_S, self._take),
            )
        elif not wanted and self._listening is not None:
            node.destroy_subscription(self._listening[0])
            node.destroy_timer(self._listening[1])
            self._listening = self._newest = None

    def _on_joints(self, data: bytes) -> None:
        self._newest = data

    def _take(self) -> None:
        """Store the newest joint state, and publish its residual at the rate of the payload
        estimate.
        """
        data, self._newest = self._newest, None
        if data is None or self._model is None:
            return
        if self._residuals is None:
            from sysid_core.validation import ResidualTorques

            self._residuals = ResidualTorques(self._model)
        message = deserialize_message(data, FilteredJointState)
        names = self._residuals.model.joint_names
        q, v, a, _ = conversions.filtered_arrays(message, names)
        self._residuals.add(q, v, a)
        self._samples += 1
        if self._samples % max(1, round(1.0 / (_PERIOD_S * self.node.config.rate_hz))):
            return
        if len(message.effort) != len(message.name):  # not measured
            return
        k = conversions.columns_of(names, message.name, "data_logger/filtered")
        left = self._residuals.residual(
            [message.effort[i] for i in k], EffortKind(message.effort_kind)
        )
        if left is None:
            return
        out = JointState(
            name=list(names), position=q.tolist(), velocity=v.tolist(), effort=left.tolist()
        )
        out.header.stamp = message.header.stamp
        self._publisher.publish(out)
