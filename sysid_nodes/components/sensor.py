# SPDX-License-Identifier: Apache-2.0
"""The force-torque sensor as seen from the node: where it is, whose frame it names, how it fares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sysid_core.robot import RobotModel, with_mounted_frame
from sysid_core.signals import WrenchStream
from sysid_core.signals.wrench import check_wrench_frame, wrench_faults
from sysid_nodes.lifecycle import OK, WARN, ManagedNode

if TYPE_CHECKING:
    from sysid_nodes.components.config import EstimatorConfig

_FEW = 10  # readings that say nothing of a sensor's health


class SensorComponent:
    """Checks what comes from the sensor against its configuration.

    Args:
        node: The estimator.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self._config: EstimatorConfig = node.config
        self._known: set[str] = set()

    def mounted(self, model: RobotModel) -> RobotModel:
        """The robot with the sensor's frame, which the description may lack.

        Raises:
            ModelError: There is no such link, or the frame is there already.
        """
        self._known.clear()
        c = self._config
        if c.sensor_parent:
            model = with_mounted_frame(model, c.sensor_frame, c.sensor_parent, c.sensor_pose)
        model.frame_id(c.sensor_frame)
        return model

    def check_frame(self, model: RobotModel, frame_id: str) -> None:
        """Look at each frame id once; report once what there is to remark.

        Raises:
            SignalError: The wrench is in another frame.
        """
        if frame_id in self._known:
            return
        c = self._config
        remark = check_wrench_frame(model, frame_id, c.sensor_frame, c.wrench_frames)
        self._known.add(frame_id)
        if remark:
            self._node.get_logger().warning(remark)
            self._node.health.say("wrench frame", OK, remark)

    def check_health(self, recent: WrenchStream) -> None:
        """Report saturated, frozen or broken readings."""
        faults = wrench_faults(recent) if len(recent) > _FEW else ()
        if not faults:
            self._node.health.forget("sensor")
            return
        words = " ".join(f"{fault.text} {fault.remedy}" for fault in faults)
        self._node.health.say("sensor", WARN, words)
        self._node.get_logger().warning(words, throttle_duration_sec=10.0)
