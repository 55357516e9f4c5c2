# SPDX-License-Identifier: Apache-2.0
"""What commands with a force-torque sensor share: which robot carries it, and where."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import errors, remark
from sysid_cli.mounting import GravityOption, MountOption, mounted
from sysid_cli.recordings import BagRobotOption
from sysid_core.errors import ModelError, SignalError

if TYPE_CHECKING:
    from sysid_core.robot import RobotModel
    from sysid_core.signals import Recording
    from sysid_core.signals.wrench import WrenchSign


@dataclass(frozen=True, kw_only=True)
class SensorSettings:
    """The robot that carries a force-torque sensor, as the live estimator has it."""

    robot: BagRobotOption = ""
    lock: Annotated[
        list[str],
        typer.Option(
            help="Joint that is held, JOINT or JOINT=POSITION; unmeasured ones are anyway."
        ),
    ] = field(default_factory=list)
    wrench_frame: Annotated[
        list[str],
        typer.Option(help="Another frame id of the wrench that means the sensor's frame."),
    ] = field(default_factory=list)
    wrench_sign: Annotated[
        str,
        typer.Option(
            help="What the wrench is: sensor-on-load (f = -m g at rest), load-on-sensor, or auto: as"
            " the weight shows."
        ),
    ] = "auto"
    sensor_parent: Annotated[
        str,
        typer.Option(
            help="Link that the sensor is fixed to, where neither the URDF nor tf_static has its frame."
        ),
    ] = ""
    sensor_pose: Annotated[
        str, typer.Option(help="Its mounting there: 'x y z roll pitch yaw' (m, rad).")
    ] = ""
    gravity: GravityOption = ""
    mount: MountOption = ""

    @property
    def sign(self) -> WrenchSign:
        """What is known of the wrench's sign.

        Raises:
            SignalError: There is no such sign.
        """
        from sysid_core.signals.wrench import WrenchSign

        return WrenchSign.named(self.wrench_sign, "The wrench's sign", SignalError)

    def on_sensor(self, run: Recording, sensor_frame: str) -> tuple[Recording, RobotModel]:
        """The recording with its wrench in the sensor's frame, and the robot; arguments as of `model`."""
        model = self.model(run, sensor_frame)
        if run.wrench is None:
            return run, model
        return replace(run, wrench=replace(run.wrench, frame=sensor_frame)), model

    def model(self, run: Recording, sensor_frame: str) -> RobotModel:
        """The robot of a recording, joints held that weren't recorded; remarks are printed.

        Args:
            run: A recording with joint states, and maybe with a wrench and the description.
            sensor_frame: Link whose axes the sensor has.

        Raises:
            SignalError: There is no description, or the wrench is in another frame.
            ModelError: There is no such joint or link.
        """
        from sysid_core.robot import RobotModel, held_text, hold_joints
        from sysid_core.signals.wrench import check_wrench_frame, mount_sensor

        if not self.robot and not run.urdf_xml:
            raise SignalError(
                "The recording holds no robot_description.", remedy="Give the URDF with --robot."
            )
        model = RobotModel.from_urdf(self.robot or run.urdf_xml)
        model = mounted(model, self.gravity, self.mount)
        model = hold_joints(model, lock=self.lock, measured=run.joints.names)
        model, mounting = mount_sensor(
            model, sensor_frame, run.transforms, parent=self.sensor_parent, pose=self._pose()
        )
        sentences = [held_text(model), mounting]
        if run.wrench is not None:
            sentences.append(
                check_wrench_frame(model, run.wrench.frame, sensor_frame, self.wrench_frame)
            )
        for sentence in filter(None, sentences):
            remark("warning:", sentence, to=errors)
        return model

    def _pose(self) -> list[float]:
        try:
            return [float(x) for x in self.sensor_pose.split()] or [0.0] * 6
        except ValueError as err:
            raise ModelError(
                f"--sensor-pose '{self.sensor_pose}' isn't six numbers.",
                remedy="x y z roll pitch yaw.",
            ) from err
