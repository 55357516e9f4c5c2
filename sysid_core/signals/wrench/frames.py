# SPDX-License-Identifier: Apache-2.0
"""Frame of the sensor, and its agreement with the `frame_id` of the wrench.

Drivers name frames that are no links of the robot: ur_robot_driver sends `tool0_controller`, xarm_ros2
`uf_ft_sensor_raw_data`. The description, a mounting that the user gives, or TF's `tf_static` say where
they are; else their axes are those of a link all the same. Live and offline ask here, so that both
accept the same and say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError, SignalError
from sysid_core.robot import (
    RobotModel,
    StaticTransform,
    with_mounted_frame,
    with_static_transforms,
)

_SAME_PLACE = 1e-6  # [m and -] two links in one place are one frame
# Kinematics that nobody calibrated are millimetres from the controller's own; a tool is centimetres away.
_PLACE, _TILT = 0.01, np.radians(1.0)  # [m, rad]


def mount_sensor(
    model: RobotModel,
    sensor_frame: str,
    transforms: Iterable[StaticTransform] = (),
    *,
    parent: str = "",
    pose: Sequence[float] = (0.0,) * 6,
) -> tuple[RobotModel, str]:
    """Copy of a robot with the sensor frame, which is added as declared if the description lacks
    it.

    Args:
        model: The robot.
        sensor_frame: Frame of the sensor.
        transforms: What `tf_static` says.
        parent: Link that the user has the sensor fixed to; empty: description or TF say it.
        pose: x y z roll pitch yaw of the sensor in `parent`, shape (6,) [m, rad].

    Returns:
        The robot, with all frames of `tf_static` on it; a remark, "" when there is nothing to remark.

    Raises:
        ModelError: Nobody says where the sensor is, or several do.
    """
    if parent:
        model = with_mounted_frame(model, sensor_frame, parent, pose)
    out = with_static_transforms(model, transforms)
    try:
        index = out.frame_id(sensor_frame)
    except ModelError as err:
        raise ModelError(
            f"The robot '{model.name}' has no frame '{sensor_frame}', and tf_static contains no fixed transform from it to a link."
            "",
            remedy="Choose one of its links, publish a static transform to one, or give the mounting of the sensor ("
            f"sensor_parent and sensor_pose). {err.remedy}",
        ) from err
    if model.pin_model.existFrame(sensor_frame):  # of the description, or of the user
        return out, ""
    frame = out.pin_model.frames[index]
    link = out.pin_model.frames[frame.parentFrame].name
    return out, f"Sensor frame '{sensor_frame}' is fixed to '{link}', according to tf_static."


def check_wrench_frame(
    model: RobotModel, frame_id: str, sensor_frame: str, accepted: Sequence[str] = ()
) -> str:
    """Check if the `frame_id` of a wrench can be the frame of the sensor.

    Args:
        model: The robot.
        frame_id: Frame of the wrench's header; empty: the driver doesn't say.
        sensor_frame: The link whose axes the sensor has.
        accepted: Other frame ids that mean it; empty: any that is no link of the robot elsewhere.

    Returns:
        A remark for the user, "" when there is nothing to remark.

    Raises:
        SignalError: The wrench is in another frame.
    """
    if frame_id in ("", sensor_frame, *accepted):
        return ""
    if accepted:
        raise SignalError(
            f"The wrench is in frame '{frame_id}', accepted are {[sensor_frame, *accepted]}.",
            remedy=f"If the sensor's axes are those of '{sensor_frame}', add '{frame_id}' to the"
            " accepted frames (parameter wrench_frames, option --wrench-frame).",
        )
    try:
        there, here = (_placement(model, name) for name in (frame_id, sensor_frame))
    except ModelError:
        return (
            f"The wrench is in frame '{frame_id}', which is not a link of {model.name}: its axes are"
            f" taken to be those of '{sensor_frame}'."
        )
    if there[0] == here[0] and np.allclose(
        there[1].homogeneous, here[1].homogeneous, atol=_SAME_PLACE
    ):
        return ""
    raise SignalError(
        f"The wrench is in frame '{frame_id}', a link elsewhere than '{sensor_frame}'.",
        remedy=f"Set the sensor's frame to '{frame_id}'; if the driver names the wrong link, accept"
        f" it (parameter wrench_frames, option --wrench-frame {frame_id}).",
    )


def check_wrench_place(
    model: RobotModel, q: ArrayLike, sensor_frame: str, transform: StaticTransform
) -> None:
    """Check if the frame of a wrench, that `tf` has beside the links, is where the sensor is.

    A UR's `tool0_controller` is its active tool centre point: elsewhere than `tool0` once a tool is set.

    Args:
        model: The robot, with the sensor.
        q: Posture at the time of the transform, shape (n,).
        sensor_frame: Frame of the sensor.
        transform: The wrench's frame in a frame of the robot; in another one nothing is checked.

    Raises:
        SignalError: It is elsewhere.
    """
    tree = model.pin_model
    if not tree.existFrame(transform.parent):
        return
    data = tree.createData()
    pin.framesForwardKinematics(tree, data, model.configuration(q))
    sensor, parent = (data.oMf[model.frame_id(name)] for name in (sensor_frame, transform.parent))
    offset = sensor.actInv(parent * transform.pose)
    distance = float(np.linalg.norm(offset.translation))
    tilt = float(np.linalg.norm(pin.log3(offset.rotation)))
    if distance <= _PLACE and tilt <= _TILT:
        return
    numbers = [*offset.translation, *pin.rpy.matrixToRpy(offset.rotation)]
    pose = ", ".join(f"{x:.4f}" for x in np.round(numbers, 4) + 0.0)  # no -0
    raise SignalError(
        f"The wrench is in frame '{transform.child}', {1e3 * distance:.0f} mm and"
        f" {np.degrees(tilt):.1f} degrees from '{sensor_frame}', according to tf.",
        remedy="Set the tool centre point of the controller to zero; or set sensor_frame to"
        f" '{transform.child}', sensor_parent to '{sensor_frame}' and sensor_pose to [{pose}].",
        distance=distance,
        tilt=tilt,
    )


def _placement(model: RobotModel, name: str) -> tuple[int, pin.SE3]:
    frame = model.pin_model.frames[model.frame_id(name)]
    return int(frame.parentJoint), frame.placement
