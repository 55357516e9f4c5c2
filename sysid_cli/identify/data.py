# SPDX-License-Identifier: Apache-2.0
"""What `sysid identify` reads before it fits: robot, recordings, drives, and their faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sysid_cli.identify.load import known_load
from sysid_cli.identify.settings import IdentifySettings
from sysid_cli.mounting import ESTIMATE, mounted
from sysid_cli.recordings import load_columns, load_fixed_base
from sysid_cli.verdict import with_gravity_found
from sysid_core.pipeline import estimator_from, friction_terms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.status import Status

    from sysid_core.diagnosis import Examination
    from sysid_core.estimation.loaded_arm import KnownLoad
    from sysid_core.robot import FrictionModel, FrictionTerm, RobotModel
    from sysid_core.signals import ColumnMap, Recording


@dataclass(frozen=True, eq=False)
class ArmSetup:
    """An arm as the options describe it, before any recording is read.

    Attributes:
        model: The robot, mounted, joints locked.
        columns: Column map of tables, if any.
        load: Known load that the loaded runs carry, if any.
    """

    model: RobotModel
    columns: ColumnMap | None
    load: KnownLoad | None

    @classmethod
    def of(cls, settings: IdentifySettings) -> ArmSetup:
        """Check the options and read the robot; bad names are refused before the work begins."""
        columns = load_columns(settings.columns)
        model = load_fixed_base(settings.robot, settings.lock)
        model = mounted(model, settings.gravity, settings.mount, columns)
        setup = cls(model, columns, known_load(model, settings.load))
        _terms(settings)
        if settings.method != "sequential":
            estimator_from(settings.method, settings.fix, 1.0)
        return setup


@dataclass(frozen=True, eq=False)
class ArmData:
    """What an arm is identified from.

    Attributes:
        model: The robot, gravity as it is.
        runs: That are fitted.
        loaded: That carry the known load.
        others: That aren't fitted.
        at_once: Runs of all joints for the sequential method's rival.
        friction: Terms and drives.
        load: Known load, if any.
        examination: Faults of data and description.
    """

    model: RobotModel
    runs: Sequence[Recording]
    loaded: Sequence[Recording]
    others: Sequence[Recording]
    at_once: Sequence[Recording]
    friction: FrictionModel
    load: KnownLoad | None
    examination: Examination

    @classmethod
    def read(cls, settings: IdentifySettings, setup: ArmSetup, status: Status) -> ArmData:
        """Read all recordings, find gravity if it is asked for, and look for faults.

        Raises:
            SysIdError: A recording can't be read, or doesn't fit the robot.
        """
        from sysid_core.diagnosis import examine, require_fit
        from sysid_core.pipeline import drives_of, load_recording
        from sysid_core.robot import FrictionModel

        def read(paths: Sequence[Path]) -> list[Recording]:
            return [load_recording(path, setup.columns, settings.effort_kind) for path in paths]

        model, gains_known = setup.model, setup.load is None
        runs, loaded = read(settings.recordings), read(settings.load.loaded)
        others = read(settings.validate)
        for run in (*runs, *loaded, *others):
            require_fit(model, run)
        drives = drives_of(model, setup.columns, gains=gains_known)
        if settings.gravity == ESTIMATE:
            status.update("looking for gravity")
            model = with_gravity_found(model, runs, drives)
        status.update("looking for faults of data and description")
        return cls(
            model,
            runs,
            loaded,
            others,
            read(settings.sequential.at_once) if settings.method == "sequential" else [],
            FrictionModel(drives, _terms(settings)),
            setup.load,
            examine(model, runs, drives, gains_known=gains_known),
        )


def _terms(settings: IdentifySettings) -> tuple[FrictionTerm, ...]:
    return friction_terms("usual" if settings.friction == "auto" else settings.friction)
