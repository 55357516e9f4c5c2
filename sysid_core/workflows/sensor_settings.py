# SPDX-License-Identifier: Apache-2.0
"""Settings of what is done with a force-torque sensor: weighing and taring."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sysid_core.errors import ModelError, SignalError

CLOCKS = ("estimate", "as-stamped")
PAYLOAD_METHODS = (
    "map", "map-running", "pmd", "pmd-squared", "ols", "rtls", "geo", "lmi", "homogeneous",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SensorSettings:
    """The robot that carries a force-torque sensor, as the live estimator has it.

    Attributes:
        robot: URDF file or name; default: the description in the bag.
        lock: Joint that is held, JOINT or JOINT=POSITION; unmeasured ones are anyway.
        wrench_frame: Another frame id of the wrench that means the sensor's frame.
        wrench_sign: What the wrench is: sensor-on-load (f = -m g at rest), load-on-sensor, or auto: as
            the weight shows.
        sensor_parent: Link that the sensor is fixed to, where neither the URDF nor tf_static has its
            frame.
        sensor_pose: Its mounting there: 'x y z roll pitch yaw' (m, rad).
        gravity: X,Y,Z of gravity in the base frame [m/s^2], where the base isn't mounted as the URDF
            says.
        mount: ROLL,PITCH,YAW of the base in the world instead [rad]: 3.14159,0,0 hangs from the
            ceiling.
    """

    robot: str = ""
    lock: tuple[str, ...] = ()
    wrench_frame: tuple[str, ...] = ()
    wrench_sign: str = "auto"
    sensor_parent: str = ""
    sensor_pose: str = ""
    gravity: str = ""
    mount: str = ""

    @property
    def pose(self) -> list[float]:
        """The mounting, six numbers [m, rad].

        Raises:
            ModelError: It isn't that.
        """
        try:
            return [float(x) for x in self.sensor_pose.split()] or [0.0] * 6
        except ValueError as err:
            raise ModelError(
                f"--sensor-pose '{self.sensor_pose}' isn't six numbers.",
                remedy="x y z roll pitch yaw.",
            ) from err


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """Columns of a table with a wrench; what isn't given is found by name.

    Attributes:
        wrench_columns: Of a table: six columns, force then torque, with commas.
        joint_columns: Of a table: positions, in the order of the robot's joints.
        pose_columns: Of a table without a robot: the sensor's pose in a base whose z axis points up:
            x,y,z and a quaternion or rotation vector; or the quaternion alone.
        rotation: What the rotation's columns are: auto, xyzw, wxyz, rotvec, rpy.
        time_column: Of a table: the time.
        rate: Rows per second of a table without time.
        still: Each row of the table is a still posture.
        wrench_axes: Whose axes the wrench has: sensor, base (UR's TCP force), or auto.
    """

    wrench_columns: str = ""
    joint_columns: str = ""
    pose_columns: str = ""
    rotation: str = "auto"
    time_column: str = ""
    rate: float = 0.0
    still: bool = False
    wrench_axes: str = "auto"


@dataclass(frozen=True, kw_only=True)
class WeighSettings:
    """A payload weighed by a force-torque sensor, from a file.

    Attributes:
        sensor_frame: Frame of the force-torque sensor.
        shape: Shape of the object in the sensor frame: 'box 0.2 0.3 0.05', 'cylinder R L', 'sphere R',
            'gripper OPENING' (its width only, fingers along y; metres), each with 'at X Y Z' where its
            centre isn't the sensor's origin; a mesh or point cloud ('[hull] FILE [scale 0.001]'), or a
            YAML file (see config/shapes). Without one the inertia is known less well.
        shape_sd: Relative deviation of the shape's lengths: 0 exact (a mesh is, unless said), 0.5 a guess
            (what is typed).
        sensor_robot: The robot with the sensor.
        table: Columns of tables.
        method: Estimator: map, map-running, pmd, pmd-squared, ols, rtls, geo, lmi, homogeneous.
        sensor: Quality of the sensor: ordinary, or calibrated (gains, delay, axes).
        calibration: Sensor calibration of an earlier tare.
        clock: Stamps of the wrench: estimate (offset and drift against the joints' clock, corrected
            where they are more than 5 ms) or as-stamped.
        flange_frame: Frame in which the controller wants it; default: the sensor's.
        truth: YAML with `pi` (ten numbers), to compare with.
        compare: Every other method on the same data too, for the report.
    """

    sensor_frame: str = ""
    shape: str = ""
    shape_sd: float | None = None
    sensor_robot: SensorSettings = field(default_factory=SensorSettings)
    table: TableSettings = field(default_factory=TableSettings)
    method: str = "map"
    sensor: str = "ordinary"
    calibration: Path | None = None
    clock: str = "estimate"
    flange_frame: str = ""
    truth: Path | None = None
    compare: bool = True

    def __post_init__(self) -> None:
        if not self.sensor_frame and self.sensor_robot.robot:
            raise SignalError("No sensor frame is given.", remedy="Say --sensor-frame FRAME.")
        for word, name, known in (
            ("method", self.method, PAYLOAD_METHODS),
            ("clock", self.clock, CLOCKS),
        ):
            if name not in known:
                raise SignalError(
                    f"No {word} '{name}'.", remedy=f"Choose one of: {', '.join(known)}."
                )


@dataclass(frozen=True, kw_only=True)
class TareSettings:
    """Bias, tool and delay of a force-torque sensor, from a recording.

    Attributes:
        recording: rosbag2 bag: three or more tilted postures, a second each.
        sensor_frame: Frame of the force-torque sensor.
        sensor: The robot with the sensor.
        tool: What hangs there is the tool: subtract it from now on.
        calibrate: Gains, mounting, gravity's direction and drift too: 8 postures or more.
        check: A kept calibration: only its bias is taken anew, from one still posture or more with
            nothing held.
        temperature: Temperature of the sensor, in °C, kept with the tare.
        bare: Nothing hangs on the sensor.
        expected_mass: What should hang there, in kg; 0: not known. With --calibrate it is taken as
            exact.
        force_range: Full scale of the forces, in N; 0: not known.
        torque_range: Full scale of the torques, in N m; 0: not known.
    """

    recording: Path
    sensor_frame: str
    sensor: SensorSettings = field(default_factory=SensorSettings)
    tool: bool = False
    calibrate: bool = False
    check: Path | None = None
    temperature: float = float("nan")
    bare: bool = False
    expected_mass: float = 0.0
    force_range: float = 0.0
    torque_range: float = 0.0
