# SPDX-License-Identifier: Apache-2.0
"""Settings of planned motions: the common ones, and one dataclass for each kind of motion."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from sysid_core.errors import ExcitationError
from sysid_core.settings import bounded, require_bounds


class _Bounded:
    """Base of the settings; their values must lie within the bounds of their fields."""

    def __post_init__(self) -> None:
        require_bounds(self, ExcitationError)


@dataclass(frozen=True, kw_only=True)
class PlanSettings(_Bounded):
    """Common settings of planned motions: samples, robot and limits.

    Attributes:
        rate_hz: Sampling rate of the motion [Hz].
        seed: Seed of the random numbers; the same seed gives the same motion.
        lock: Joint to be locked, JOINT or JOINT=POSITION; may be repeated.
        gravity: Gravity X,Y,Z in the base frame [m/s^2], if the base is not mounted as in the URDF.
        mount: Orientation ROLL,PITCH,YAW of the base in the world [rad], instead of gravity:
            3.14159,0,0 for a robot on the ceiling.
        limits: File with the limits of the robot and its cell (written by `sysid limits init`, a
            bringup file, or MoveIt's joint_limits.yaml); it replaces the options for limits.
        tcp_frame: Link whose speed is limited; default: the last moving link.
        tcp_speed: TCP speed limit [m/s].
        acceleration: Acceleration limit of every joint [rad/s² or m/s²], which URDFs do not
            contain.
        ground: Height of the ground in the base frame [m]; default: none.
        workspace: Box in the base frame that must contain all moving parts, X0,Y0,Z0,X1,Y1,Z1 [m].
        held: Size of the held object and its centre in the TCP frame: DX,DY,DZ,X,Y,Z [m].
        held_mass: Mass of the held object, included in the check of the torque limits [kg].
    """

    VELOCITY_SHARE: ClassVar[float] = 1.0  # of the description's limits

    rate_hz: float = bounded(100.0, 10.0)
    seed: int = 0
    lock: tuple[str, ...] = ()
    gravity: str = ""
    mount: str = ""
    limits: Path | None = None
    tcp_frame: str = ""
    tcp_speed: float = bounded(0.25, 0.001)
    acceleration: float = bounded(5.0, 0.001)
    ground: float | None = None
    workspace: str = ""
    held: str = ""
    held_mass: float = bounded(0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class FastPlanSettings(PlanSettings):
    """Settings of fast motions, whose velocities nearly reach the limits."""

    VELOCITY_SHARE = 0.9


@dataclass(frozen=True, kw_only=True)
class ArmPlanSettings(_Bounded):
    """Settings of a motion that determines all identifiable parameters of an arm with the smallest
    expected errors.

    Attributes:
        period: Period of the Fourier series [s].
        harmonics: Number of harmonics of the Fourier series; 0: all below 2 Hz.
        spans: Number of knot intervals of a B-spline instead of the Fourier series; 0: none.
        criterion: Criterion: d (volume of the covariance ellipsoid), mean (geometric mean of the
            standard deviations), a (mean variance), worst (largest variance), condition (condition
            number of the scaled regressor), condition-si (in SI units), or target.
        target: For --criterion target: base parameters to be estimated accurately, or a trajectory
            whose torques are to be predicted accurately.
        friction: Friction terms to be estimated: usual, none, or a list separated by commas.
        effort_sd: Standard deviation of the noise of the efforts, one for all joints or one per
            joint separated by commas [N m]; default: 1 % of the limits.
        after: Earlier data about the parameters: estimate.yaml, an executed trajectory, or a recording. The
            motion excites the parameters that are still uncertain. May be repeated.
        columns: Column map of recordings given by --after.
        validation: Also plan a second, different motion for validation.
        candidates: Number of random motions, the best of which become the initial motions.
        starts: Number of initial motions from which the optimisation starts.
        iterations: Number of iterations of each optimisation.
        workers: Number of processes on this machine; 0: one per core.
        still: Duration of each phase at rest [s].
        common: Options of all planners: sampling rate, robot and limits.
    """

    period: float = bounded(20.0, 1.0)
    harmonics: int = bounded(0, 0, 60)
    spans: int = bounded(0, 0, 200)
    criterion: str = "d"
    target: tuple[str, ...] = ()
    friction: str = "usual"
    effort_sd: str = ""
    after: tuple[Path, ...] = ()
    columns: Path | None = None
    validation: bool = False
    candidates: int = bounded(60, 1)
    starts: int = bounded(6, 0)
    iterations: int = bounded(300, 1)
    workers: int = bounded(0, 0)
    still: float = bounded(1.0, 0.1)
    common: FastPlanSettings = field(default_factory=FastPlanSettings)


@dataclass(frozen=True, kw_only=True)
class PayloadPlanSettings(_Bounded):
    """Settings of a payload motion: static postures, then an oscillation of the last three joints.

    Attributes:
        speed: Mean angular speed of the last link [rad/s]; default: 1 rad/s, or what the velocity
            and acceleration limits of the wrist joints allow.
        duration: Duration of the oscillation [s].
        amplitude_deg: Amplitude of the three wrist joints [deg].
        tare: Number of static postures before the motion (0, or at least 3).
        still: Duration of each phase at rest [s].
        posture: Centre posture, one number per joint separated by commas [rad]; default: optimised.
        common: Options of all planners: sampling rate, robot and limits.
    """

    speed: float | None = bounded(None, 0.01)
    duration: float = bounded(15.0, 1.0)
    amplitude_deg: float = bounded(45.0, 1.0, 180.0)
    tare: int = bounded(4, 0)
    still: float = bounded(1.0, 0.1)
    posture: str = ""
    common: PlanSettings = field(default_factory=PlanSettings)


@dataclass(frozen=True, kw_only=True)
class PosturePlanSettings(_Bounded):
    """Settings of a motion through static postures.

    Attributes:
        count: Number of postures to select.
        through: File of given postures (CSV) instead of selected ones, with a column per joint and
            a row per posture.
        still: Duration of each phase at rest [s].
        common: Options of all planners: sampling rate, robot and limits.
    """

    count: int = bounded(15, 2)
    through: Path | None = None
    still: float = bounded(1.0, 0.1)
    common: PlanSettings = field(default_factory=PlanSettings)


@dataclass(frozen=True, kw_only=True)
class SequentialPlanSettings(_Bounded):
    """Settings of single-joint swings in the most informative postures of the other joints.

    Attributes:
        moves: Number of single-joint swings; 0: five per joint.
        amplitude: Amplitude of the swings [rad]; for prismatic joints, a quarter of this number [m].
        candidates: Number of random postures per joint.
        start: Start and end posture, one number per joint separated by commas [rad or m].
        friction: Friction terms to be estimated, as in `sysid identify`.
        link_torque: Declare that torques are measured on the link side; the torques of joints at
            rest are then used as well.
        common: Options of all planners: sampling rate, robot and limits.
    """

    moves: int = bounded(0, 0)
    amplitude: float = bounded(0.6, 0.02, 3.0)
    candidates: int = bounded(20, 2)
    start: str = ""
    friction: str = "usual"
    link_torque: bool = False
    common: PlanSettings = field(default_factory=PlanSettings)


@dataclass(frozen=True, kw_only=True)
class ServoPlanSettings(_Bounded):
    """Settings of a motion for position servos, which consists of a slow and a fast pass.

    Attributes:
        period: Duration of the motion at full speed [s].
        slow: Speed of the first, slow pass, relative to full speed.
        candidates: Number of random motions to choose from.
        still: Duration of each phase at rest [s].
        common: Options of all planners: sampling rate, robot and limits.
    """

    period: float = bounded(20.0, 2.0)
    slow: float = bounded(0.25, 0.05, 0.9)
    candidates: int = bounded(40, 1)
    still: float = bounded(2.0, 0.1)
    common: FastPlanSettings = field(default_factory=FastPlanSettings)


@dataclass(frozen=True, kw_only=True)
class LoopsPlanSettings(_Bounded):
    """Settings of motions of a closed chain's driven joints, which also determine the motions of
    its passive joints.

    Attributes:
        urdf: URDF file, if the file of kinematic loops does not contain one.
        motions: Number of motions, which are planned one after the other.
        duration: Approximate duration of each motion [s].
        harmonics: Number of harmonics of each joint's Fourier series.
        velocity: Largest speed of the driven joints [rad/s].
        candidates: Number of motions in each generation of the search.
        generations: Number of generations of the search.
        still: Duration of each phase at rest [s].
        common: Options of all planners: sampling rate, robot and limits.
    """

    urdf: str = ""
    motions: int = bounded(2, 1)
    duration: float = bounded(20.0, 2.0)
    harmonics: int = bounded(10, 3, 20)
    velocity: float = bounded(1.5, 0.01)
    candidates: int = bounded(12, 2)
    generations: int = bounded(4, 1)
    still: float = bounded(1.0, 0.1)
    common: PlanSettings = field(default_factory=PlanSettings)


MotionSettings = (
    ArmPlanSettings
    | PayloadPlanSettings
    | PosturePlanSettings
    | SequentialPlanSettings
    | ServoPlanSettings
    | LoopsPlanSettings
)
PLANS: dict[str, type[MotionSettings]] = {
    "arm": ArmPlanSettings,
    "payload": PayloadPlanSettings,
    "postures": PosturePlanSettings,
    "sequential": SequentialPlanSettings,
    "servos": ServoPlanSettings,
    "loops": LoopsPlanSettings,
}  # kinds of motions that can be planned, with their settings
