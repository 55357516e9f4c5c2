# SPDX-License-Identifier: Apache-2.0
"""Frame of a force-torque sensor on a robot.

Drivers use frames that are not links of the robot: ur_robot_driver publishes `tool0_controller`,
xarm_ros2 `uf_ft_sensor_raw_data`. The pose of such a frame is taken from the description, from a
mounting that the user gives, or from TF's `tf_static`. If none of these contains it, its axes are
assumed to be those of a link. Live and offline estimation both use this module, so that they accept
the same frames with the same messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError, SignalError
from sysid_core.robot import RobotModel, StaticTransform

_SAME_PLACE = 1e-6  # [m and -] two links in one place are one frame
# Kinematics that nobody calibrated are millimetres from the controller's own; a tool is centimetres away.
_PLACE, _TILT = 0.01, np.radians(1.0)  # [m, rad]


@dataclass(frozen=True, eq=False)
class SensorFrame:
    """Frame of a force-torque sensor on a robot.

    Attributes:
        model: Robot that has the frame.
        name: Link or frame with the axes of the sensor.
        remark: Remark for the user on the source of its pose; "": none.
    """

    model: RobotModel
    name: str
    remark: str = ""

    @classmethod
    def mounted(
        cls,
        model: RobotModel,
        name: str,
        transforms: Iterable[StaticTransform] = (),
        *,
        parent: str = "",
        pose: Sequence[float] = (0.0,) * 6,
    ) -> SensorFrame:
        """Return the frame on a copy of a robot, to which it is added as declared if the description
        lacks it.

        Args:
            model: Robot model.
            name: Frame of the sensor.
            transforms: Transforms of `tf_static`.
            parent: Link that carries the sensor; empty: as in the description or TF.
            pose: x y z roll pitch yaw of the sensor in `parent`, shape (6,) [m, rad].

        Raises:
            ModelError: The pose of the sensor is not given, or given more than once.
        """
        if parent:
            model = model.with_frame(name, parent, pose)
        out = model.with_static_transforms(transforms)
        try:
            index = out.frame_id(name)
        except ModelError as err:
            raise ModelError(
                f"The robot '{model.name}' has no frame '{name}', and tf_static contains no"
                " fixed transform from it to a link.",
                remedy="Choose one of its links, publish a static transform to one, or give the mounting of the sensor ("
                f"sensor_parent and sensor_pose). {err.remedy}",
            ) from err
        if model.pin_model.existFrame(name):  # of the description, or of the user
            return cls(out, name)
        frame = out.pin_model.frames[index]
        link = out.pin_model.frames[frame.parentFrame].name
        return cls(
            out, name, f"Sensor frame '{name}' is fixed to '{link}', according to tf_static."
        )

    def check(self, frame_id: str, accepted: Sequence[str] = ()) -> str:
        """Check if the `frame_id` of a wrench can be the frame of the sensor.

        Args:
            frame_id: Frame of the wrench's header; empty: not given by the driver.
            accepted: Other names of this frame; empty: any name that is not another link of the robot.

        Returns:
            Remark for the user; "": none.

        Raises:
            SignalError: The wrench is in another frame.
        """
        if frame_id in ("", self.name, *accepted):
            return ""
        if accepted:
            raise SignalError(
                f"The wrench is in frame '{frame_id}', accepted are {[self.name, *accepted]}.",
                remedy=f"If the sensor's axes are those of '{self.name}', add '{frame_id}' to the"
                " accepted frames (parameter wrench_frames, option --wrench-frame).",
            )
        try:
            there, here = (self._placement(name) for name in (frame_id, self.name))
        except ModelError:
            return (
                f"The wrench is in frame '{frame_id}', which is not a link of {self.model.name}: its axes"
                f" are taken to be those of '{self.name}'."
            )
        if there[0] == here[0] and np.allclose(
            there[1].homogeneous, here[1].homogeneous, atol=_SAME_PLACE
        ):
            return ""
        raise SignalError(
            f"The wrench is in frame '{frame_id}', a link with another pose than '{self.name}'.",
            remedy=f"Set the sensor's frame to '{frame_id}'; if the driver names the wrong link, accept"
            f" it (parameter wrench_frames, option --wrench-frame {frame_id}).",
        )

    def check_place(self, q: ArrayLike, transform: StaticTransform) -> None:
        """Check that the frame of a wrench, which `tf` contains in addition to the links, is at the
        sensor.

        The frame `tool0_controller` of a UR is its active tool centre point, which differs from `tool0`
        once a tool is set.

        Args:
            q: Joint positions at the time of the transform, shape (n,) [rad or m].
            transform: Pose of the frame of the wrench in a frame of the robot; if its parent is not a
                frame of the robot, nothing is checked.

        Raises:
            SignalError: The frame is at another place than the sensor.
        """
        tree = self.model.pin_model
        if not tree.existFrame(transform.parent):
            return
        data = tree.createData()
        pin.framesForwardKinematics(tree, data, self.model.configuration(q))
        sensor, parent = (
            data.oMf[self.model.frame_id(name)] for name in (self.name, transform.parent)
        )
        offset = sensor.actInv(parent * transform.pose)
        distance = float(np.linalg.norm(offset.translation))
        tilt = float(np.linalg.norm(pin.log3(offset.rotation)))
        if distance <= _PLACE and tilt <= _TILT:
            return
        numbers = [*offset.translation, *pin.rpy.matrixToRpy(offset.rotation)]
        pose = ", ".join(f"{x:.4f}" for x in np.round(numbers, 4) + 0.0)  # no -0
        raise SignalError(
            f"The wrench is in frame '{transform.child}', {1e3 * distance:.0f} mm and"
            f" {np.degrees(tilt):.1f} degrees from '{self.name}', according to tf.",
            remedy="Set the tool centre point of the controller to zero; or set sensor_frame to"
            f" '{transform.child}', sensor_parent to '{self.name}' and sensor_pose to [{pose}].",
            distance=distance,
            tilt=tilt,
        )

    def _placement(self, name: str) -> tuple[int, pin.SE3]:
        """Joint that carries a frame, and pose of the frame at this joint."""
        frame = self.model.pin_model.frames[self.model.frame_id(name)]
        return int(frame.parentJoint), frame.placement
