# SPDX-License-Identifier: Apache-2.0
"""Settings of the workflows, one frozen dataclass each; their fields are the options of the
commands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sysid_core.errors import EstimationError, ModelError, SignalError, SysIdError
from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.settings import bounded, require_bounds, words

if TYPE_CHECKING:
    from sysid_core.servos import ServoRecording

ESTIMATE = "estimate"  # gravity, from the recordings


@dataclass(frozen=True, kw_only=True)
class LoadSettings:
    """Recordings with a load of known mass, and the known values of the load.

    Attributes:
        loaded: Recording with a load of known mass, to estimate the drive gains; may be repeated.
        load_mass: Mass of the load in the recordings of --loaded [kg].
        load_frame: Frame that carries the load, such as tool0; default: the last link.
        load_com: Centre of mass of the load in the load frame, X,Y,Z [m]; default: estimated.
    """

    loaded: tuple[Path, ...] = ()
    load_mass: float = 0.0
    load_frame: str = ""
    load_com: str = ""


@dataclass(frozen=True, kw_only=True)
class SequentialSettings:
    """Settings that only `--method sequential` uses.

    Attributes:
        plan: With --method sequential: trajectory of the executed motion, from `sysid plan
            sequential`.
        unexcited: With --method sequential: treatment of minimal constants (base parameters) that no step
            excites: 'refuse' ends with an error, 'prior' keeps the values of the URDF.
    """

    plan: Path | None = None
    unexcited: str = "refuse"


def _require_robot(robot: str, loops: str) -> None:
    """Raise an error if no option names the robot.

    Raises:
        EstimationError: There is neither a robot nor a file of kinematic loops, which names its URDF.
    """
    if not robot and loops in ("", "mimic"):
        raise EstimationError(
            "The robot is not given.",
            remedy="Give --robot URDF, or --loops with a file of kinematic loops that names the URDF.",
        )


@dataclass(frozen=True, kw_only=True)
class IdentifySettings:
    """Settings of an identification from files.

    Attributes:
        recordings: Tables (CSV) or rosbag2 bags.
        robot: URDF file, or a robot of example-robot-data; default with `loops`: the URDF
            in the file of kinematic loops.
        columns: Column map (YAML): columns, units, effort kind, drive gains.
        lock: JOINT[=POSITION] to be locked (rad or m; default 0), such as a gripper's joint.
        load: Recordings with a load of known mass, which determines the drive gains.
        loops: YAML file of the kinematic loops of a closed chain, 'own-leg' (reference robot), or 'mimic' for the mimic
            joints of the URDF.
        validate: Recording for validation, which is not used in the fit; may be repeated.
        fit: Settings of the fit, such as method, friction terms and filters.
        gravity: Gravity X,Y,Z in the base frame [m/s^2], if the base is not mounted as in the URDF;
            'estimate' estimates it from the recordings.
        mount: Orientation ROLL,PITCH,YAW of the base in the world [rad], instead of gravity:
            3.14159,0,0 for a robot on the ceiling.
        force: Write identified.urdf even if the verdict is fail.
        sequential: Settings of the sequential method.
        effort_kind: Kind of the efforts, if the bag does not declare it.
    """

    recordings: tuple[Path, ...]
    robot: str = ""
    columns: Path | None = None
    lock: tuple[str, ...] = ()
    load: LoadSettings = field(default_factory=LoadSettings)
    loops: str = ""
    validate: tuple[Path, ...] = ()
    fit: FitSettings = field(default_factory=FitSettings)
    gravity: str = ""
    mount: str = ""
    force: bool = False
    sequential: SequentialSettings = field(default_factory=SequentialSettings)
    effort_kind: str = ""

    def __post_init__(self) -> None:
        _require_robot(self.robot, self.loops)
        if not self.loops and self.fit.method != "sequential":
            return
        alone = "--loops" if self.loops else "--method sequential"
        for option, given in (
            ("--loaded", self.load.loaded),
            ("--lock", self.loops and self.lock),
            ("--method sequential", self.loops and self.fit.method == "sequential"),
        ):
            if given:
                raise EstimationError(
                    f"{option} cannot be combined with {alone}.", remedy="Omit one of them."
                )


@dataclass(frozen=True, kw_only=True)
class ValidateSettings:
    """Settings of a validation from files.

    Attributes:
        identified: Result folder of `sysid identify`.
        recordings: Tables (CSV) or rosbag2 bags.
        robot: URDF that was used for the identification; default with `loops`: that in the file of kinematic loops.
        columns: Column map (YAML): columns, units, effort kind, drive gains; default: the column map
            with which the robot was identified.
        loops: File of kinematic loops with which the robot was identified, if any.
        effort_kind: Kind of the efforts, if the bag does not declare it.
    """

    identified: Path
    recordings: tuple[Path, ...]
    robot: str = ""
    columns: Path | None = None
    loops: str = ""
    effort_kind: str = ""

    def __post_init__(self) -> None:
        _require_robot(self.robot, self.loops)


@dataclass(frozen=True, kw_only=True)
class TorqueWeighingSettings:
    """Settings of the estimation of a payload from joint torques in files.

    Attributes:
        loaded: Recordings with the payload: tables (CSV) or rosbag2 bags.
        robot: URDF file, or a robot of example-robot-data.
        frame: Frame that carries the payload, such as tool0.
        lock: JOINT[=POSITION] to be locked (rad or m; default 0), such as a gripper's joint.
        unloaded: Recording of the same arm without the payload; may be repeated. Default: the
            parameters of the URDF are used instead.
        arm: estimate.yaml of the unloaded arm (full parameters), which replaces --unloaded.
        columns: Column map (YAML): columns, units, effort kind, drive gains.
        gain_sd: Relative standard deviation of each drive gain, half of whose variance is common to
            all drives; default: the column map's `gain_sd`, or 0.05.
        target_current: Columns FIRST-LAST of the controller's desired currents. The gains computed
            from these and from --target-torque replace those of the column map.
        target_torque: Columns FIRST-LAST of the controller's model torques.
        friction: Friction terms: 'usual', 'geared', or a list separated by commas, as in `identify`.
        shape: Shape of the payload in the frame given by --frame, as in `sysid payload`: a prior
            for the inertia.
        rate_hz: Sampling rate for the fit [Hz].
        motion_cutoff_hz: Cut-off frequency of the low-pass filter of the motion [Hz].
        effort_kind: Kind of the efforts, if the bag does not declare it.
        gravity: Gravity X,Y,Z in the base frame [m/s^2], if the base is not mounted as in the URDF.
        mount: Orientation ROLL,PITCH,YAW of the base in the world [rad], instead of gravity:
            3.14159,0,0 for a robot on the ceiling.
        true_mass: True mass for comparison [kg]; default: unknown.
    """

    loaded: tuple[Path, ...]
    robot: str
    frame: str
    lock: tuple[str, ...] = ()
    unloaded: tuple[Path, ...] = ()
    arm: Path | None = None
    columns: Path | None = None
    gain_sd: float | None = bounded(None, 0.0)
    target_current: str = ""
    target_torque: str = ""
    friction: str = "geared"
    shape: str = ""
    rate_hz: float = bounded(50.0, 1.0)
    motion_cutoff_hz: float = bounded(8.0, 0.1)
    effort_kind: str = ""
    gravity: str = ""
    mount: str = ""
    true_mass: float = float("nan")

    def __post_init__(self) -> None:
        require_bounds(self, EstimationError)


CLOCKS = ("estimate", "as-stamped")
PAYLOAD_METHODS = (
    "map", "map-running", "pmd", "pmd-squared", "ols", "rtls", "geo", "lmi", "homogeneous",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SensorSettings:
    """Settings of the robot with a force-torque sensor and of the live estimator.

    Attributes:
        robot: URDF file, or a robot of example-robot-data; default: the description in the bag.
        lock: Joint to be locked, JOINT or JOINT=POSITION; may be repeated. Unmeasured joints are
            always locked.
        wrench_frame: Frame id of the wrench messages, if it is not the name of the sensor frame.
        wrench_sign: Sign convention of the wrench: sensor-on-load (f = -m g at rest),
            load-on-sensor, or auto (determined from the weight).
        sensor_parent: Link on which the sensor is mounted, if neither the URDF nor tf_static has
            its frame.
        sensor_pose: Pose of the sensor on its parent link: 'x y z roll pitch yaw' (m, rad).
        gravity: Gravity X,Y,Z in the base frame [m/s^2], if the base is not mounted as in the URDF.
        mount: Orientation ROLL,PITCH,YAW of the base in the world [rad], instead of gravity:
            3.14159,0,0 for a robot on the ceiling.
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
        """Pose of the sensor, six numbers [m, rad].

        Raises:
            ModelError: The text is not six numbers.
        """
        try:
            return [float(x) for x in self.sensor_pose.split()] or [0.0] * 6
        except ValueError as err:
            raise ModelError(
                f"--sensor-pose '{self.sensor_pose}' is not six numbers.",
                remedy="Give x y z roll pitch yaw (m, rad).",
            ) from err


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """Columns of a table with a wrench; columns that are not specified are recognised by their
    names.

    Attributes:
        wrench_columns: Wrench columns of a table: six, force then torque, separated by commas.
        joint_columns: Position columns of a table, in the order of the robot's joints.
        pose_columns: Pose columns of a table without a robot: the sensor in a base frame with z
            upwards, as x,y,z and a rotation, the rotation alone (quaternion or 3x3 matrix), or a
            4x4 matrix.
        rotation: Format of the rotation columns: auto, xyzw, wxyz, rotvec, rpy, matrix.
        time_column: Time column of a table.
        rate: Sampling rate of a table without a time column [rows/s].
        still: Table of static postures, one per row.
        wrench_axes: Axes of the wrench: sensor, base (UR's TCP force), or auto.
        wrench_units: Units of force and torque in a table, such as 'N, N mm', if the names of its
            columns contain none.
    """

    wrench_columns: str = ""
    joint_columns: str = ""
    pose_columns: str = ""
    rotation: str = "auto"
    time_column: str = ""
    rate: float = 0.0
    still: bool = False
    wrench_axes: str = "auto"
    wrench_units: str = ""


@dataclass(frozen=True, kw_only=True)
class WeighSettings:
    """Settings of the estimation of a payload from a file with force-torque readings.

    Attributes:
        sensor_frame: Frame of the force-torque sensor.
        shape: Shape of the object in the sensor frame: 'box 0.2 0.3 0.05', 'cylinder R L', 'sphere
            R', 'gripper OPENING' (its width only, fingers along y; metres), each followed by 'at X
            Y Z' if it is not centred at the sensor origin; a mesh or point cloud ('[hull] FILE
            [scale 0.001]'), or a YAML file (see config/shapes). Without a shape, the inertia is
            less accurate.
        shape_sd: Relative standard deviation of the shape's lengths; default: 0 (exact) for a mesh,
            0.5 (approximate) for a shape given by its dimensions.
        sensor_robot: Options that describe the robot and the force-torque sensor.
        table: Options that describe the columns of a table.
        method: Estimator: map, map-running, pmd, pmd-squared, ols, rtls, geo, lmi, homogeneous.
        sensor: Quality of the sensor: ordinary, or calibrated (accurate gains, delay and axes).
        calibration: Sensor calibration from an earlier tare.
        clock: Treatment of the time stamps of the wrench: estimate (estimates offset and drift
            relative to the clock of the joints, and corrects them above 5 ms) or as-stamped.
        flange_frame: Frame to which the controller's payload setting refers; default: the sensor
            frame.
        load_diagram: Permissible masses by distance of the centre of mass from the flange, from the
            manual of the robot: corners 'DISTANCE:MASS,...' [m, kg], such as 0:5,0.3:5,0.6:2.5.
        truth: YAML file with the true parameters `pi` (ten numbers) for comparison.
        compare: Also estimate the payload with every other method, and compare the results in the
            report.
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
    load_diagram: str = ""
    truth: Path | None = None
    compare: bool = True

    def __post_init__(self) -> None:
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
    """Settings of a tare: bias, tool and delay of a force-torque sensor from a recording.

    Attributes:
        recording: rosbag2 bag or table with at least three tilted postures of one second each, or a
            table with a posture in each row (--still).
        sensor_frame: Frame of the force-torque sensor.
        sensor: Options that describe the robot and the sensor.
        table: Options that describe the columns of a table.
        tool: Declare that the sensor carries only the tool. Later payload results then exclude the
            tool.
        calibrate: Also estimate gains, mounting, direction of gravity and drift; needs at least 8
            postures.
        dress_pack: Also estimate the pull of cables and hoses, with the empty gripper in at least 12 static
            postures over the workspace; implies tool.
        check: Stored calibration to check: only its bias is estimated again, from one or more static
            postures without a load.
        temperature: Temperature of the sensor [°C], stored with the tare.
        bare: Declare that the sensor carries no load.
        expected_mass: Expected mass on the sensor [kg]; with --calibrate, the exact mass; 0:
            unknown.
        force_range: Full scale of the forces [N]; 0: unknown.
        torque_range: Full scale of the torques [N m]; 0: unknown.
    """

    recording: Path
    sensor_frame: str = ""
    sensor: SensorSettings = field(default_factory=SensorSettings)
    table: TableSettings = field(default_factory=TableSettings)
    tool: bool = False
    calibrate: bool = False
    dress_pack: bool = False
    check: Path | None = None
    temperature: float = float("nan")
    bare: bool = False
    expected_mass: float = 0.0
    force_range: float = 0.0
    torque_range: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ServoFiles:
    """Files with recorded commands and positions.

    Attributes:
        recordings: SAGE folders, LeRobot datasets, rosbag2 bags, CSV, NPZ or JSON; or folders of them.
        motions: Names of the motions (episodes) to use, separated by commas; default: all.
        joints: Joint names of the columns, separated by commas, if the files do not contain them.
        degrees: Declare that the angles are in degrees instead of radians.
        percent: Declare that the angles are LeRobot's normalised values: -100 to 100 between the
            URDF limits of each joint, and 0 to 100 for grippers.
        calibration: LeRobot's calibration (JSON) with the ranges of the joints; implies --percent.
        columns: Column map of a table whose column names are not recognised (`sysid init --driver
            servos`).
    """

    recordings: tuple[Path, ...]
    motions: str = ""
    joints: str = ""
    degrees: bool = False
    percent: bool = False
    calibration: Path | None = None
    columns: Path | None = None

    def read(self) -> tuple[ServoRecording, ...]:
        """Read all motions of the files.

        Raises:
            SignalError: A file cannot be read, or does not contain a requested motion.
        """
        return self._read(self.recordings, words(self.motions))

    def read_others(self, paths: tuple[Path, ...]) -> tuple[ServoRecording, ...]:
        """Read all motions of further files, in the format of the first file."""
        return self._read(paths, ())

    def _read(
        self, paths: tuple[Path, ...], motions: tuple[str, ...]
    ) -> tuple[ServoRecording, ...]:
        from sysid_core.servos import read_recordings

        return read_recordings(
            paths,
            motions=motions,
            joints=words(self.joints),
            degrees=self.degrees,
            percent=self.percent,
            calibration=self.calibration,
            columns=self.columns,
        )


@dataclass(frozen=True, kw_only=True)
class ServoSettings:
    """Settings of the identification of position servos from files.

    Attributes:
        files: Options that describe the recordings.
        robot: URDF file, or a robot of example-robot-data.
        gravity: Gravity X,Y,Z in the base frame [m/s^2], if the base is not mounted as in the URDF.
        mount: Orientation ROLL,PITCH,YAW of the base in the world [rad], instead of gravity:
            3.14159,0,0 for a robot on the ceiling.
        gain: JOINT=K: known stiffness K of the joint's servo [N m/rad]; may be repeated.
        ground: Height of the table above the origin of the base [m]; default: estimated if the
            robot touched the table.
        stops: JOINT=LOW:HIGH: lower and upper mechanical stop of a joint [rad], one of which may be
            left out; may be repeated; default: estimated if the motions show them.
        unseen: Recording of held-out motions, which are simulated in the report; may be repeated.
    """

    files: ServoFiles
    robot: str
    gravity: str = ""
    mount: str = ""
    gain: tuple[str, ...] = ()
    ground: float | None = None
    stops: tuple[str, ...] = ()
    unseen: tuple[Path, ...] = field(default=())

    @property
    def gains(self) -> dict[str, float]:
        """Known stiffness by joint [N m/rad].

        Raises:
            SysIdError: A stiffness is not a positive number.
        """
        gains = {}
        for text in self.gain:
            name, _, value = text.partition("=")
            try:
                gains[name] = float(value)
            except ValueError:
                gains[name] = 0.0
            if not 0.0 < gains[name] < float("inf"):
                raise SysIdError(
                    f"'{text}' is no gain.", remedy="Write JOINT=K with the stiffness K in N m/rad."
                )
        return gains

    @property
    def ends(self) -> dict[str, tuple[float, float]]:
        """Known mechanical stops by joint [rad].

        Raises:
            SysIdError: Stops are not two ascending numbers.
        """
        ends = {}
        for text in self.stops:
            name, _, values = text.partition("=")
            low, both, high = values.partition(":")
            try:
                ends[name] = float(low or "-inf"), float(high or "inf" if both else "nan")
            except ValueError:
                ends[name] = 0.0, 0.0
            if not ends[name][0] < ends[name][1]:
                raise SysIdError(
                    f"'{text}' states no stops.",
                    remedy="Write JOINT=LOW:HIGH with positions in rad, such as wrist_roll=-1.03:.",
                )
        return ends
