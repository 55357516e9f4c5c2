# SPDX-License-Identifier: Apache-2.0
"""Input data of an identification: robot, recordings, drives, and their faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sysid_core.diagnosis import (
    Examination,
    GravityEstimate,
    collect_samples,
    estimate_gravity,
    examine,
    require_fit,
)
from sysid_core.errors import EstimationError, ModelError
from sysid_core.estimation.loaded_arm import KnownLoad
from sysid_core.planning import Trajectory
from sysid_core.robot import (
    DriveTrain,
    FrictionModel,
    RobotModel,
    hold_joints,
    mounted,
    with_gravity,
)
from sysid_core.robot.loops import DrivenRobot, load_closed_chain
from sysid_core.settings import numbers
from sysid_core.signals import ColumnMap, Recording
from sysid_core.workflows.choices import friction_terms
from sysid_core.workflows.progress import Progress, Step, silent
from sysid_core.workflows.recordings import drives_of, load_recording, samples_key
from sysid_core.workflows.settings import ESTIMATE, FitSettings, IdentifySettings, LoadSettings

_GRAVITY_SAMPLES = 800  # the fit of three numbers takes no more


@dataclass(frozen=True, eq=False)
class ArmData:
    """Input data of an identification, of an open or closed chain.

    Attributes:
        model: The robot, gravity as it is.
        runs: Recordings that are fitted.
        friction: Terms and drives.
        examination: Faults of data and description.
        loaded: Recordings with the known load.
        others: Recordings that are only predicted.
        load: Known load, if any.
        columns: Column map of tables, if any.
        columns_path: Its file.
        gravity: Gravity as the recordings show it, where that was asked for.
        plan: The sequential motion that was played, if it is known.
        unexcited: What the sequential method does with constants that no step shows.
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
        """Input data from objects in memory.

        Args:
            model: The robot as it is mounted.
            runs: Recordings that are fitted together.
            drives: Gains and couplings.
            settings: Friction terms are taken from them.
            others: Recordings that are only predicted.
            plan: The sequential motion that was played, if it is known.
            progress: Shows steps.

        Raises:
            SysIdError: Recordings that can't be used with this robot.
        """
        terms = friction_terms("usual" if settings.friction == "auto" else settings.friction)
        for run in (*runs, *others):
            require_fit(model, run)
        progress(Step.FAULTS)
        return cls(
            model,
            tuple(runs),
            FrictionModel(drives, terms),
            examine(model, runs, drives),
            others=tuple(others),
            plan=plan,
        )

    @classmethod
    def read(cls, settings: IdentifySettings, progress: Progress = silent) -> ArmData:
        """Read robot and recordings from files, estimate gravity if requested, and check for
        faults.

        Raises:
            SysIdError: A file can't be read, or a recording doesn't fit the robot.
        """
        progress(Step.READING)
        columns = None if settings.columns is None else ColumnMap.load(settings.columns)
        estimated = settings.gravity == ESTIMATE
        model = mounted(
            chain_of(settings.robot, settings.loops)
            if settings.loops
            else fixed_base(settings.robot, settings.lock),
            "" if estimated else settings.gravity,
            settings.mount,
            None if columns is None or estimated else columns.gravity,
        )
        load = known_load(model, settings.load)
        terms = friction_terms(
            "usual" if settings.fit.friction == "auto" else settings.fit.friction
        )
        plan = settings.sequential.plan

        def read(paths: Sequence[Path]) -> tuple[Recording, ...]:
            return tuple(
                load_recording(path, columns, settings.effort_kind, model) for path in paths
            )

        runs, loaded = read(settings.recordings), read(settings.load.loaded)
        others = read(settings.validate)
        for run in (*runs, *loaded, *others):
            require_fit(model, run)
        gains_known = load is None
        drives = drives_of(model, columns, gains=gains_known)
        found = None
        if estimated:
            progress(Step.GRAVITY)
            samples = collect_samples(model, runs, drives, count=_GRAVITY_SAMPLES)
            found = estimate_gravity(samples)
            model = with_gravity(model, found.gravity)
        progress(Step.FAULTS)
        return cls(
            model,
            runs,
            FrictionModel(drives, terms),
            examine(model, runs, drives, gains_known=gains_known),
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


def chain_of(robot: str, loops: str) -> DrivenRobot:
    """Mechanism from the file of its loops, as a robot of its driven joints.

    Args:
        robot: URDF; "" or the loops' own name where their file names one.
        loops: File, or the name of a reference robot with loops, or `mimic`.
    """
    return DrivenRobot.of(load_closed_chain(loops, None if robot in ("", loops) else robot))


def fixed_base(robot: str, lock: Sequence[str] = ()) -> RobotModel:
    """Robot with a fixed base, and with some joints locked.

    Args:
        robot: URDF file, or a robot of example-robot-data.
        lock: `JOINT` (locked at zero, or the nearest position inside its limits) or
            `JOINT=POSITION` [rad or m].

    Raises:
        ModelError: An unknown joint, or one with several degrees of freedom.
    """
    model = hold_joints(RobotModel.from_urdf(robot), lock=lock)
    wide = [
        name
        for name, nv in zip(model.joint_names, model.degrees_of_freedom, strict=True)
        if nv != 1
    ]
    if wide:
        raise ModelError(
            f"Joints {wide} of '{model.name}' have several degrees of freedom: the robot has no fixed base."
            "",
            remedy="Robots on a fixed base are identified: fix these joints in the URDF, or lock"
            f" them: --lock {' --lock '.join(wide)}.",
        )
    return model


def known_load(model: RobotModel, settings: LoadSettings) -> KnownLoad | None:
    """Known load from the settings; None if no run carries one.

    Raises:
        EstimationError: Settings that don't go together, or no numbers.
    """
    mass, frame, com = settings.load_mass, settings.load_frame, settings.load_com
    if not settings.loaded:
        if mass or frame or com:
            raise EstimationError(
                "A load is described, but no run carries it.",
                remedy="Give the runs with the load as --loaded RECORDING.",
            )
        return None
    if not mass > 0.0:
        raise EstimationError(
            "The loaded runs need the load's mass.", remedy="Weigh it: --load-mass KG."
        )
    centre = np.array(numbers(com, (3,), "--load-com", EstimationError)) if com else None
    load = KnownLoad(mass, frame or model.body_names[-1], centre)
    model.frame_id(load.frame)  # refuses an unknown frame before the work begins
    return load
