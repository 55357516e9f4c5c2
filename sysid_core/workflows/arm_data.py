# SPDX-License-Identifier: Apache-2.0
"""Input data of an identification: recordings, robot and drives, which are read and checked for
faults.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sysid_core.diagnosis import (
    Examination,
    GravityEstimate,
    collect_samples,
    estimate_gravity,
    examine,
    require_fit,
    require_joints,
)
from sysid_core.errors import EstimationError, ModelError, SignalError
from sysid_core.estimation.arm import Processing
from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.estimation.loaded_arm import KnownLoad
from sysid_core.planning import Trajectory
from sysid_core.progress import Progress, Step, silent
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm, RobotModel
from sysid_core.robot.loops import ClosedChain, DrivenRobot, load_closed_chain
from sysid_core.settings import numbers
from sysid_core.signals import (
    ColumnMap,
    EffortKind,
    JointStream,
    Recording,
    interpolate_at,
    read_table,
)
from sysid_core.signals.bags import read_bag
from sysid_core.workflows.settings import ESTIMATE, IdentifySettings, LoadSettings

_GRAVITY_SAMPLES = 800  # the fit of three numbers takes no more


def samples_key(run: Recording) -> str:
    """Return the hash of a recording's positions and efforts, independent of its file."""
    found = hashlib.sha256()
    for values in (run.joints.q, run.joints.effort):
        found.update(np.ascontiguousarray(0.0 if values is None else values + 0.0).tobytes())
    return found.hexdigest()


def require_unseen(judging: Iterable[Recording], fitted: Mapping[str, str]) -> None:
    """Raise an error if a validation recording was used in the fit, even under another file name.

    Args:
        judging: Recordings used for validation.
        fitted: Sources of the fitted recordings, by `samples_key`.

    Raises:
        EstimationError: A recording was used in the fit; the message contains the first one.
    """
    for run in judging:
        source = fitted.get(samples_key(run))
        if source is not None:
            raise EstimationError(
                f"'{run.source}' holds the samples of '{source}', which was fitted: it cannot be"
                " used for validation.",
                remedy="Give a recording of another motion, or omit it.",
            )


def _read_loop_bag(
    path: str | Path, chain: ClosedChain, effort_kind: EffortKind | None
) -> Recording:
    """Recording of the driven joints of a bag, and of those passive joints that have an encoder,
    mapped by name.

    The efforts of passive joints in the bag (NaN, zero or none) are ignored. If the passive joints
    are published in other messages than the driven joints, their positions are interpolated.

    Args:
        path: rosbag2 folder or file.
        chain: The mechanism.
        effort_kind: Kind of the efforts, as in `read_bag`.

    Raises:
        SignalError: There is no bag, or joints are missing.
    """
    driven = read_bag(path, joints=chain.actuated, effort_kind=effort_kind)
    if not chain.measured:
        return driven
    a, b = driven.joints, read_bag(path, joints=chain.measured, effort_kind=effort_kind).joints
    gap = Processing().max_gap_s
    q, known = interpolate_at(a.stamps_ns, b.stamps_ns, b.q, max_gap_s=gap)
    v = None
    if a.v is not None and b.v is not None:
        v = np.hstack([a.v, interpolate_at(a.stamps_ns, b.stamps_ns, b.v, max_gap_s=gap)[0]])
    joints = JointStream(
        names=(*chain.actuated, *chain.measured),
        stamps_ns=a.stamps_ns,
        q=np.hstack([a.q, q]),
        v=v,
        effort=None if a.effort is None else np.hstack([a.effort, np.zeros_like(q)]),
        effort_kind=a.effort_kind,
    )
    return replace(driven, joints=joints.select(known))


def _kind(text: str) -> EffortKind:
    try:
        return EffortKind(text)
    except ValueError as err:
        raise SignalError(
            f"Effort kind '{text}' is unknown.",
            remedy=f"Choose one of {', '.join(k.value for k in EffortKind)}.",
        ) from err


def _examined(
    model: RobotModel,
    drives: DriveTrain,
    runs: Sequence[Recording],
    others: Sequence[Recording],
    gains_known: bool = True,
) -> Examination:
    """Examination of the fitted recordings. All other recordings must belong to this robot; if
    there are no failures, their positions must also be plausible for its limits.
    """
    found = examine(model, runs, drives, gains_known=gains_known)
    for run in others:
        require_fit(model, run, near=not found.verdict.failures)
    return found


@dataclass(frozen=True, eq=False)
class ArmData:
    """Input data of an identification, of an open or closed chain.

    Attributes:
        model: The robot with its actual direction of gravity.
        runs: Recordings to be fitted.
        friction: Friction terms and drives.
        examination: Detected faults of recordings and description.
        loaded: Recordings with the known load; empty: none.
        others: Recordings for prediction only; empty: none.
        load: Known load; None: none.
        columns: Column map of the tables; None: no column map.
        columns_path: Path of the column map; None: no column map.
        gravity: Gravity estimated from the recordings; None: not requested.
        plan: Executed sequential motion; None: unknown.
        unexcited: Treatment of minimal constants (base parameters) that no step of the sequential
            method excites: 'refuse' or 'prior'.
    """

    model: RobotModel
    runs: tuple[Recording, ...]
    friction: FrictionModel
    examination: Examination
    loaded: tuple[Recording, ...] = ()
    others: tuple[Recording, ...] = ()
    load: KnownLoad | None = None
    columns: ColumnMap | None = None
    columns_path: Path | None = None
    gravity: GravityEstimate | None = None
    plan: Trajectory | None = None
    unexcited: str = "refuse"

    @classmethod
    def of(
        cls,
        model: RobotModel,
        runs: Sequence[Recording],
        drives: DriveTrain,
        settings: FitSettings,
        *,
        others: Sequence[Recording] = (),
        plan: Trajectory | None = None,
        progress: Progress = silent,
    ) -> ArmData:
        """Return the input data from objects in memory.

        Args:
            model: The robot as mounted.
            runs: Recordings that are fitted together.
            drives: Drives with gains and couplings.
            settings: Settings of the fit, from which the friction terms are taken.
            others: Recordings for prediction only.
            plan: Executed sequential motion; None: unknown.
            progress: Function called with each step.

        Raises:
            SysIdError: A recording cannot be used with this robot.
        """
        terms = FrictionTerm.listed("usual" if settings.friction == "auto" else settings.friction)
        for run in (*runs, *others):
            require_fit(model, run, near=False)
        progress(Step.FAULTS)
        return cls(
            model,
            tuple(runs),
            FrictionModel(drives, terms),
            _examined(model, drives, runs, others),
            others=tuple(others),
            plan=plan,
        )

    @classmethod
    def read(cls, settings: IdentifySettings, progress: Progress = silent) -> ArmData:
        """Read robot and recordings from files, estimate gravity if requested, and check for
        faults.

        Raises:
            SysIdError: A file cannot be read, or a recording does not belong to the robot.
        """
        progress(Step.READING)
        columns = None if settings.columns is None else ColumnMap.load(settings.columns)
        estimated = settings.gravity == ESTIMATE
        model = (
            chain_of(settings.robot, settings.loops)
            if settings.loops
            else ArmData.fixed_base(settings.robot, settings.lock)
        ).mounted(
            "" if estimated else settings.gravity,
            settings.mount,
            None if columns is None or estimated else columns.gravity,
        )
        load = known_load(model, settings.load)
        terms = FrictionTerm.listed(
            "usual" if settings.fit.friction == "auto" else settings.fit.friction
        )
        plan = settings.sequential.plan

        def read(paths: Sequence[Path]) -> tuple[Recording, ...]:
            return tuple(
                ArmData.recording(path, columns, settings.effort_kind, model) for path in paths
            )

        runs, loaded = read(settings.recordings), read(settings.load.loaded)
        others = read(settings.validate)
        for run in (*runs, *loaded, *others):
            require_fit(model, run, near=False)
        gains_known = load is None
        drives = ArmData.drives(model, columns, gains=gains_known)
        found = None
        if estimated:
            progress(Step.GRAVITY)
            samples = collect_samples(model, runs, drives, count=_GRAVITY_SAMPLES)
            found = estimate_gravity(samples)
            model = model.with_gravity(found.gravity)
        progress(Step.FAULTS)
        return cls(
            model,
            runs,
            FrictionModel(drives, terms),
            _examined(model, drives, runs, (*loaded, *others), gains_known),
            loaded=loaded,
            others=others,
            load=load,
            columns=columns,
            columns_path=settings.columns,
            gravity=found,
            plan=None if plan is None else Trajectory.load(plan),
            unexcited=settings.sequential.unexcited,
        )

    @property
    def fitted(self) -> dict[str, str]:
        """Names of all recordings that enter the fit, by the `samples_key` of their content."""
        return {samples_key(run): run.source for run in (*self.runs, *self.loaded)}

    @property
    def gain_sd(self) -> float:
        """Largest relative standard deviation of the drive gains; 0 if the parameters' deviations
        already include it.
        """
        known = None if self.columns is None else self.columns.gain_sd
        return 0.0 if known is None or self.load is not None else float(np.max(known))

    @staticmethod
    def is_bag(path: Path) -> bool:
        """Return True if a path is a rosbag2 recording rather than a table."""
        if path.is_dir():  # a killed logger leaves no metadata.yaml
            return (path / "metadata.yaml").exists() or any(path.glob("*.mcap"))
        return path.suffix in (".mcap", ".db3")

    @staticmethod
    def recording(
        path: Path,
        columns: ColumnMap | None,
        effort_kind: str = "",
        model: RobotModel | None = None,
    ) -> Recording:
        """Load a recording from a bag or a table.

        Args:
            path: Path of the bag or table, as given by the user.
            columns: Column map, required for tables; for bags, it may declare the effort kind.
            effort_kind: Effort kind from the command line, with priority for bags; empty: not given.
            model: The robot; of bags of a closed chain, only driven joints and encoders are read.

        Raises:
            SignalError: The recording cannot be read.
        """
        if not path.exists():
            raise SignalError(f"There is no recording '{path}'.", remedy="Check the path.")
        if ArmData.is_bag(path):
            kind: EffortKind | None = columns.effort_kind if columns else None
            if effort_kind:
                kind = _kind(effort_kind)
            if isinstance(model, DrivenRobot):
                return _read_loop_bag(path, model.chain, kind)
            run = read_bag(path, effort_kind=kind)
            return (
                run if columns is None else replace(run, joints=columns.without_unused(run.joints))
            )
        if columns is None:
            folder = path.is_dir()
            raise SignalError(
                f"'{path}' is a folder without a bag."
                if folder
                else f"'{path}' is a table and needs a column map.",
                remedy="Give a rosbag2 folder, a table, or a folder of tables with --columns MAP."
                if folder
                else "Give --columns MAP; `sysid init TABLE --robot URDF` writes a template.",
            )
        return read_table(path, columns)

    @staticmethod
    def drives(model: RobotModel, columns: ColumnMap | None, *, gains: bool = True) -> DriveTrain:
        """Return the drives in the order of the robot's joints; without a column map, efforts count as
        torques.

        Args:
            model: Robot model.
            columns: Column map with drive data; None: efforts are torques.
            gains: True if the gains must be known.

        Raises:
            SignalError: Gains are unknown, or a prismatic joint has an angular unit.
            ModelError: A joint of the robot is missing.
        """
        if columns is None:
            return DriveTrain.direct(model.joint_names)
        require_joints(model, columns.joints, "the column map")
        if gains and not columns.gains_known:
            raise SignalError(
                "The column map says that the drives' gains are unknown.",
                remedy="Estimate them from recordings with a known load: `sysid identify … --loaded"
                " RECORDING --load-mass KG --load-frame FRAME`.",
            )
        scales = np.broadcast_to(columns.position_scale, len(columns.joints))
        angles = [
            name
            for name in model.prismatic_joints
            if scales[columns.joints.index(name)] not in (1.0, 1e-3)
        ]
        if angles:
            raise SignalError(
                f"The prismatic joints {angles} have an angular unit in the column map.",
                remedy="Give `unit` as a list, such as [deg, deg, m], with one for each joint.",
            )
        return columns.drives.ordered(model.joint_names)

    @staticmethod
    def fixed_base(robot: str, lock: Sequence[str] = ()) -> RobotModel:
        """Return the robot with a fixed base, and with some joints locked.

        Args:
            robot: URDF file, or a robot of example-robot-data.
            lock: Joints to be locked: `JOINT` (at zero, or the nearest position within its limits) or
                `JOINT=POSITION` [rad or m].

        Raises:
            ModelError: A joint is unknown or has several degrees of freedom.
        """
        model = RobotModel.from_urdf(robot).holding(lock=lock)
        if wide := model.compound_joints:
            raise ModelError(
                f"Joints {wide} of '{model.name}' have several degrees of freedom: the robot has no"
                " fixed base.",
                remedy="Robots on a fixed base are identified: fix these joints in the URDF, or lock"
                f" them: {RobotModel.lock_options(wide)}.",
            )
        return model


def chain_of(robot: str, loops: str) -> DrivenRobot:
    """Return the closed chain of a file of kinematic loops, as a robot of its driven joints.

    Args:
        robot: URDF; if empty or equal to `loops`, the URDF given in the file of kinematic loops.
        loops: File of kinematic loops, name of a reference robot with loops, or `mimic`.
    """
    return DrivenRobot.of(load_closed_chain(loops, None if robot in ("", loops) else robot))


def known_load(model: RobotModel, settings: LoadSettings) -> KnownLoad | None:
    """Return the known load from the settings; None if no recording contains one.

    Raises:
        EstimationError: Settings contradict each other or are not numbers.
    """
    mass, frame, com = settings.load_mass, settings.load_frame, settings.load_com
    if not settings.loaded:
        if mass or frame or com:
            raise EstimationError(
                "A load is described, but no recording with this load is specified.",
                remedy="Add the recordings with the load: --loaded RECORDING.",
            )
        return None
    if not mass > 0.0:
        raise EstimationError(
            "The mass of the load in the loaded recordings is missing.",
            remedy="Weigh the load, and give its mass: --load-mass KG.",
        )
    centre = np.array(numbers(com, (3,), "--load-com", EstimationError)) if com else None
    load = KnownLoad(mass, frame or model.body_names[-1], centre)
    model.frame_id(load.frame)  # refuses an unknown frame before the work begins
    return load
