# SPDX-License-Identifier: Apache-2.0
"""Force-torque sensor of the estimator node: its mounting on the robot, its frame, and checks of
its readings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from rclpy.timer import Timer

from sysid_core.errors import ModelError, SignalError
from sysid_core.robot import Array, RobotModel, StaticTransform
from sysid_core.signals import WrenchStream
from sysid_core.signals.wrench import SensorFrame, WrenchCheck
from sysid_nodes.estimator.moving_transform import MovingTransform
from sysid_nodes.lifecycle import Level, ManagedNode, Newest, StaticTransforms

if TYPE_CHECKING:
    from sysid_nodes.estimator.config import EstimatorConfig

_FEW = 10  # readings that say nothing of a sensor's health
_PATIENCE_S = 3.0  # for tf_static to say where a sensor is that the description lacks
_STANDS = 0.02  # [rad/s] below which tf and joint states are of one posture


class SensorComponent:
    """Check of the received wrenches against the configuration of the sensor.

    Args:
        node: Estimator node.
        mounted: Function that is called with the robot model including the sensor frame, as soon as
            the mounting of the sensor is known, and again when `tf_static` changes it.
    """

    def __init__(self, node: ManagedNode, mounted: Callable[[RobotModel], None]) -> None:
        self._node, self._mounted = node, mounted
        self._config: EstimatorConfig = node.config
        self._known: Newest[str, bool] = Newest()  # frames of wrenches
        self._bare: RobotModel | None = None  # as described
        self._sensor: SensorFrame | None = None  # on the robot
        self._patience: Timer | None = None
        self._transforms = StaticTransforms(node, self._heard)
        self._moving, self._outside = MovingTransform(node), ""  # a wrench's frame that is no link
        self._place: tuple[int, StaticTransform] | None = None  # stamp [ns], by tf
        self._again = False  # look once more after that is compared
        self._moved = False  # during the last look
        self._misplaced: SignalError | None = None

    def got_robot(self, model: RobotModel) -> None:
        """Find the sensor on this robot; if its frame is unknown, wait shortly for its transform
        (TF).

        Raises:
            ModelError: The pose of the sensor is not given, or is given more than once.
        """
        self._bare, self._sensor = model, None
        self._known.clear()
        self._stop_waiting()
        try:
            self._mount()
        except ModelError:
            if not self._transforms.available or self._config.sensor_parent:
                raise
            self._patience = self._node.create_timer(_PATIENCE_S, self._give_up)

    def _heard(self) -> None:
        with contextlib.suppress(ModelError):  # of frames that don't help: `_give_up` reports it
            self._mount()

    def _mount(self) -> None:
        if self._bare is None:
            return
        c = self._config
        given = {"parent": c.sensor_parent, "pose": c.sensor_pose}
        found = SensorFrame.mounted(self._bare, c.sensor_frame, self._transforms.all, **given)
        before, self._sensor = self._sensor, found
        self._known.clear()
        if before is not None and _same_place(before, found):
            return
        if found.remark:
            self._node.get_logger().info(found.remark)
            self._node.health.say("sensor frame", Level.OK, found.remark)
        self._mounted(found.model)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()

    def _give_up(self) -> None:
        self._stop_waiting()
        if self._sensor is not None:
            return
        try:
            self._mount()
        except ModelError as err:
            self._node.give_up_configuration(err)

    def check_frame(self, frame_id: str) -> None:
        """Check each `frame_id` once, and report each problem once.

        Raises:
            SignalError: The wrench is in another frame.
        """
        if self._sensor is None:
            return
        if self._misplaced is not None:
            raise self._misplaced
        if frame_id in self._known:
            return
        remark = self._sensor.check(frame_id, self._config.wrench_frames)
        self._known[frame_id] = True
        static = {transform.child for transform in self._transforms.all}
        described = self._bare is not None and self._bare.pin_model.existFrame(frame_id)
        if frame_id and not described and frame_id not in static:
            self._outside = frame_id
            self.look_where()
        if remark:
            self._node.get_logger().warning(remark)
            self._node.health.say("wrench frame", Level.OK, remark)

    def look_where(self) -> None:
        """Look up the frame of the wrench in `tf` if it is not a link, because a tool may have been
        set on the robot's controller.

        A transform that waits for a joint state with its stamp is compared before a newer transform
        is requested. Otherwise, joint states that arrive late would always be older than the newest
        transform, and there would be no comparison.
        """
        self._again = self._place is not None
        if self._outside and not self._again:
            self._moving.look_for(self._outside)

    def take_posture(self, stamp_ns: int, q: Array, v: Array) -> None:
        """Compare a transform from `tf` with a joint state (q and v, (n,) each) at rest that is not
        older than the transform.

        Raises:
            SignalError: The frame of the wrench has another pose than the sensor.
        """
        moves = bool(np.max(np.abs(v)) > _STANDS)
        if self._moved and not moves:
            self._moved = False
            self.look_where()
        self._place = self._place or self._moving.take()
        if self._place is None or stamp_ns < self._place[0] or self._sensor is None:
            return
        (_, transform), self._place = self._place, None
        if moves:  # until it stands, each look would be in vain
            self._moved = True
            return
        if self._again:
            self.look_where()
        self._misplaced = None
        try:
            self._sensor.check_place(q, transform)
        except SignalError as err:
            self._misplaced = err
            raise

    def check_health(self, recent: WrenchStream) -> None:
        """Report saturated, constant or invalid readings, and periodic disturbances."""
        found = (
            [f"{x.text} {x.remedy}" for x in WrenchCheck(recent).faults()]
            if len(recent) > _FEW
            else []
        )
        hum = None if found else WrenchCheck(recent).hum()
        words = " ".join(found) if hum is None else hum.text
        if not words:
            self._node.health.forget("sensor")
            return
        self._node.health.say("sensor", Level.WARN, words)
        self._node.get_logger().warning(words, throttle_duration_sec=10.0)


def _same_place(one: SensorFrame, other: SensorFrame) -> bool:
    a, b = (x.model.pin_model.frames[x.model.frame_id(x.name)] for x in (one, other))
    return bool(a.parentJoint == b.parentJoint and a.placement == b.placement)
