# SPDX-License-Identifier: Apache-2.0
"""Settings of the workflows, one frozen dataclass each; options of the command line are their fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sysid_core.errors import EstimationError, ModelError, SignalError
from sysid_core.settings import require_bounds

METHODS = ("auto", "ols", "wls", "irls", "lmi", "entropic", "sequential")
WITH_PRIOR = ("auto", "lmi", "entropic")
ESTIMATE = "estimate"  # gravity, from the recordings


@dataclass(frozen=True, kw_only=True)
class LoadSettings:
    """Runs with a load of known mass, and what is known of it.

    Attributes:
        loaded: Runs with a load of known mass: they give the drives' gains, too.
        load_mass: Mass of that load, in kg.
        load_frame: Frame that carries it, such as tool0; default: the last link.
        load_com: Its centre of mass in that frame, X,Y,Z in m; default: found as well.
    """

    loaded: tuple[Path, ...] = ()
    load_mass: float = 0.0
    load_frame: str = ""
    load_com: str = ""


@dataclass(frozen=True, kw_only=True)
class SequentialSettings:
    """Settings that only `--method sequential` uses.

    Attributes:
        plan: For sequential: the trajectory that `sysid plan sequential` wrote.
        unexcited: For sequential, what no step shows: 'refuse', or 'prior' (URDF).
        at_once: For sequential: runs of all joints, fitted by OLS as its rival.
    """

    plan: Path | None = None
    unexcited: str = "refuse"
    at_once: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings of a fit; open ones are chosen on held-out parts of the recordings.

    Attributes:
        method: One of auto, ols, wls, irls, lmi, entropic, sequential.
        friction: 'auto' (chosen on held-out parts of the recordings), or terms with commas: usual,
            geared (both stand for several), coulomb, viscous, inertia, offset, asymmetry, stribeck,
            play, load, saturation, thinning, breakaway, ripple, runout, speed_ripple, speed_runout.
        fix: Keep at the URDF's value: inertials, friction, a link, joint or name.
        prior_weight: Weight of the URDF, for lmi and entropic; 0: chosen on held-out parts.
        prior_sd: Declared tolerance of the URDF's inertial parameters, relative to the links' size
            (.05: 5 %): lmi and entropic then give deviations of parameters that show only in
            combination.
        rate_hz: Rate of the regressor.
        motion_cutoff_hz: Low-pass of the motion; 0: chosen on held-out parts.
        differentiate: Velocities and accelerations by 'filter', by the filter from 'positions' alone
            (measured velocities aren't used), or by 'spline'; 'auto': what predicts held-out parts
            best.
        torque_cutoff_hz: Low-pass of regressor and torque.
        delay: Delay of the efforts [s]; 'auto' corrects the estimated one where that predicts held-out
            parts no worse.
    """

    method: str = "auto"
    friction: str = "auto"
    fix: tuple[str, ...] = ()
    prior_weight: float = 0.0
    prior_sd: float | None = None
    rate_hz: float = 100.0
    motion_cutoff_hz: float = 0.0
    differentiate: str = "auto"
    torque_cutoff_hz: float = 8.0
    delay: str = "auto"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise EstimationError(
                f"Method '{self.method}' is unknown.", remedy=f"One of {', '.join(METHODS)}."
            )
        if self.method == "sequential" and self.fix:
            raise EstimationError(
                "--fix doesn't go with --method sequential.",
                remedy="Leave friction terms out with --friction, or use another method.",
            )
        require_bounds(
            self,
            EstimationError,
            rate_hz=1.0,
            motion_cutoff_hz=0.0,
            torque_cutoff_hz=0.1,
            prior_weight=0.0,
            prior_sd=1e-6,
        )


@dataclass(frozen=True, kw_only=True)
class IdentifySettings:
    """An identification from files.

    Attributes:
        recordings: Tables (CSV) or rosbag2 bags.
        robot: URDF file, or a robot of example-robot-data.
        columns: YAML: columns, units, effort kind, drive gains.
        lock: JOINT[=POSITION] that stays where it is (rad or m; default 0), such as a gripper's.
        load: Known load.
        loops: YAML of closed loops (or own-leg, or mimic): joints that aren't driven follow from them.
        validate: Runs that aren't fitted; may be repeated.
        fit: How it is fitted.
        gravity: X,Y,Z of gravity in the base frame [m/s^2], where the base isn't mounted as the URDF
            says; 'estimate' finds it in the recordings.
        mount: ROLL,PITCH,YAW of the base in the world instead [rad]: 3.14159,0,0 hangs from the
            ceiling.
        force: Write identified.urdf for a failed fit, too.
        sequential: What only the sequential method uses.
        effort_kind: What the efforts of a bag mean, where it doesn't say.
    """

    recordings: tuple[Path, ...]
    robot: str
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
                    f"{option} doesn't go with {alone}.", remedy="Leave one of them out."
                )

    @property
    def files(self) -> dict[str, tuple[Path, ...]]:
        """Files that are read, by role."""
        robot, loops = Path(self.robot), Path(self.loops)
        plan = self.sequential.plan
        return {
            "robot": (robot,) if robot.is_file() else (),
            "columns": () if self.columns is None else (self.columns,),
            "recordings": self.recordings,
            "validate": self.validate,
            "loaded": self.load.loaded,
            "loops": (loops,) if self.loops and loops.is_file() else (),
            "plan": () if plan is None else (plan,),
            "at_once": self.sequential.at_once,
        }


@dataclass(frozen=True, kw_only=True)
class ValidateSettings:
    """A validation from files.

    Attributes:
        identified: Folder that `sysid identify` wrote.
        recordings: Tables (CSV) or rosbag2 bags.
        robot: The URDF that was used for identification.
        columns: YAML: columns, units, effort kind, drive gains.
        loops: YAML of closed loops, where it was identified with one.
        effort_kind: What the efforts of a bag mean, where it doesn't say.
    """

    identified: Path
    recordings: tuple[Path, ...]
    robot: str
    columns: Path | None = None
    loops: str = ""
    effort_kind: str = ""


@dataclass(frozen=True, kw_only=True)
class TorqueWeighingSettings:
    """A payload weighed by joint torques, from files.

    Attributes:
        loaded: Tables (CSV) or rosbag2 bags.
        robot: URDF file, or a robot of example-robot-data.
        frame: Frame that carries the payload, such as tool0.
        unloaded: The same arm without payload; may be repeated. Without: the URDF's.
        arm: estimate.yaml of the unloaded arm (full parameters) instead.
        columns: YAML: columns, units, effort kind, drive gains.
        gain_sd: Relative standard deviation of each drive gain; default: the column map's `gain_sd`,
            or 0.05.
        target_current: Columns FIRST-LAST of the controller's desired currents; with
            --target-torque they replace the column map's gains.
        target_torque: Columns FIRST-LAST of its own model torques.
        friction: 'usual', 'geared', or terms with commas, as in `identify`.
        shape: Shape in the frame, as in `payload`: a prior on the inertia.
        reach: How far the centre of mass may be off the frame, in m.
        size: Radius of a ball as large as the payload, in m.
        rate_hz: Rate of the regressor.
        motion_cutoff_hz: Low-pass of the motion.
        effort_kind: What the efforts of a bag mean, where it doesn't say.
        gravity: X,Y,Z of gravity in the base frame [m/s^2], where the base isn't mounted as the URDF
            says.
        mount: ROLL,PITCH,YAW of the base in the world instead [rad]: 3.14159,0,0 hangs from the
            ceiling.
        true_mass: To compare with, in kg.
    """

    loaded: tuple[Path, ...]
    robot: str
    frame: str
    unloaded: tuple[Path, ...] = ()
    arm: Path | None = None
    columns: Path | None = None
    gain_sd: float | None = None
    target_current: str = ""
    target_torque: str = ""
    friction: str = "geared"
    shape: str = ""
    reach: float = 0.3
    size: float = 0.15
    rate_hz: float = 50.0
    motion_cutoff_hz: float = 8.0
    effort_kind: str = ""
    gravity: str = ""
    mount: str = ""
    true_mass: float = float("nan")

    def __post_init__(self) -> None:
        require_bounds(
            self,
            EstimationError,
            gain_sd=0.0,
            reach=1e-3,
            size=1e-3,
            rate_hz=1.0,
            motion_cutoff_hz=0.1,
        )


CLOCKS = ("estimate", "as-stamped")
PAYLOAD_METHODS = (
    "map", "map-running", "pmd", "pmd-squared", "ols", "rtls", "geo", "lmi", "homogeneous",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SensorSettings:
    """The robot that carries a force-torque sensor, with the settings of the live estimator.

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
