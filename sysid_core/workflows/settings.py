# SPDX-License-Identifier: Apache-2.0
"""Settings of identifications and validations: what is read, and how it is fitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sysid_core.errors import EstimationError

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
    """What only `--method sequential` uses.

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
    """How recordings are fitted; what is left open is chosen on held-out parts of them.

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
        _require_at_least(
            self,
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
        _require_at_least(
            self, gain_sd=0.0, reach=1e-3, size=1e-3, rate_hz=1.0, motion_cutoff_hz=0.1
        )


def _require_at_least(settings: object, **least: float) -> None:
    """Refuse settings below their bounds, and NaN.

    Raises:
        EstimationError: With the first of them.
    """
    for name, bound in least.items():
        value = getattr(settings, name)
        if value is not None and not value >= bound:
            raise EstimationError(f"{name} is {value:g}.", remedy=f"It must be at least {bound:g}.")
