# SPDX-License-Identifier: Apache-2.0
"""What commands with a force-torque sensor share: which robot carries it, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.cli.app import errors, remark
from sysid_core.cli.mounting import mounted
from sysid_core.errors import ModelError, SignalError

if TYPE_CHECKING:
    from sysid_core.robot import RobotModel
    from sysid_core.signals import Recording

LockOption = Annotated[
    list[str] | None,
    typer.Option(help="Joint that is held, JOINT or JOINT=POSITION; unmeasured ones are anyway."),
]
WrenchFrameOption = Annotated[
    list[str] | None,
    typer.Option(help="Another frame id of the wrench that means the sensor's frame."),
]
SensorParentOption = Annotated[
    str, typer.Option(help="Link that the sensor is fixed to, where the URDF lacks its frame.")
]
SensorPoseOption = Annotated[
    str, typer.Option(help="Its mounting there: 'x y z roll pitch yaw' (m, rad).")
]


def sensor_robot(
    run: Recording,
    robot: str,
    sensor_frame: str,
    *,
    lock: Sequence[str] = (),
    accepted: Sequence[str] = (),
    parent: str = "",
    pose: str = "",
    gravity: str = "",
    mount: str = "",
) -> RobotModel:
    """The robot that carries a force-torque sensor, as the live estimator has it; remarks are printed.

    Args:
        run: A recording with joint states, and maybe with a wrench and the description.
        robot: URDF file or name; empty: the description in the recording.
        sensor_frame: Link whose axes the sensor has.
        lock: Joints that are held, `JOINT` or `JOINT=POSITION`; those that weren't recorded are too.
        accepted: Other frame ids of the wrench that mean `sensor_frame`.
        parent: Link that the sensor is fixed to, where the description has no `sensor_frame`.
        pose: Mounting in `parent`: six numbers, x y z roll pitch yaw [m, rad].
        gravity: Gravity in the base frame, `X,Y,Z` [m/s^2]; "" as the URDF says.
        mount: Orientation of the base instead, `ROLL,PITCH,YAW` [rad].

    Raises:
        SignalError: There is no description, or the wrench is in another frame.
        ModelError: There is no such joint or link.
    """
    from sysid_core.robot import RobotModel, held_text, hold_joints, with_mounted_frame
    from sysid_core.signals.wrench import check_wrench_frame

    if not robot and not run.urdf_xml:
        raise SignalError(
            "The recording holds no robot_description.", remedy="Give the URDF with --robot."
        )
    model = RobotModel.from_urdf(robot or run.urdf_xml)
    model = mounted(model, gravity, mount)
    model = hold_joints(model, lock=lock, measured=run.joints.names)
    if parent:
        try:
            numbers = [float(x) for x in pose.split()] or [0.0] * 6
        except ValueError as err:
            raise ModelError(
                f"--sensor-pose '{pose}' isn't six numbers.", remedy="x y z roll pitch yaw."
            ) from err
        model = with_mounted_frame(model, sensor_frame, parent, numbers)
    sentences = [held_text(model)]
    if run.wrench is not None:
        sentences.append(check_wrench_frame(model, run.wrench.frame, sensor_frame, accepted))
    for sentence in filter(None, sentences):
        remark("warning:", sentence, to=errors)
    return model
