# SPDX-License-Identifier: Apache-2.0
"""The options of `sysid identify`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from sysid_cli.mounting import GravityOrEstimateOption, MountOption
from sysid_cli.recordings import (
    ColumnsOption,
    EffortKindOption,
    JsonPathOption,
    RecordingsArgument,
    RobotOption,
)
from sysid_cli.settings import options_of
from sysid_core.errors import EstimationError
from sysid_core.pipeline import METHODS


@dataclass(frozen=True, kw_only=True)
class LoadSettings:
    """Runs with a load of known mass, and what is known of it."""

    loaded: Annotated[
        list[Path],
        typer.Option(help="Runs with a load of known mass: they give the drives' gains, too."),
    ] = field(default_factory=list)
    load_mass: Annotated[
        float, typer.Option(help="Mass of that load, in kg.", show_default=False)
    ] = 0.0
    load_frame: Annotated[
        str, typer.Option(help="Frame that carries it, such as tool0; default: the last link.")
    ] = ""
    load_com: Annotated[
        str,
        typer.Option(
            metavar="X,Y,Z", help="Its centre of mass in that frame, in m; default: found as well."
        ),
    ] = ""


@dataclass(frozen=True, kw_only=True)
class SequentialSettings:
    """What only `--method sequential` uses."""

    plan: Annotated[
        Path | None,
        typer.Option(help="For sequential: the trajectory that `sysid plan sequential` wrote."),
    ] = None
    unexcited: Annotated[
        str, typer.Option(help="For sequential, what no step shows: 'refuse', or 'prior' (URDF).")
    ] = "refuse"
    at_once: Annotated[
        list[Path],
        typer.Option(help="For sequential: runs of all joints, fitted by OLS as its rival."),
    ] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ProcessingSettings:
    """Rates and filters of the regression."""

    rate_hz: Annotated[float, typer.Option(min=1.0, help="Rate of the regressor.")] = 100.0
    motion_cutoff_hz: Annotated[
        float,
        typer.Option(min=0.0, help="Low-pass of the motion; 0: chosen on held-out parts."),
    ] = 0.0
    differentiate: Annotated[
        str,
        typer.Option(
            help="Velocities and accelerations by 'filter', by the filter from 'positions' alone"
            " (measured velocities aren't used), or by 'spline'; 'auto': what predicts held-out"
            " parts best."
        ),
    ] = "auto"
    torque_cutoff_hz: Annotated[
        float, typer.Option(min=0.1, help="Low-pass of regressor and torque.")
    ] = 8.0


@dataclass(frozen=True, kw_only=True)
class IdentifySettings:
    """Everything that `sysid identify` is given."""

    recordings: RecordingsArgument
    robot: RobotOption
    out: Annotated[Path, typer.Option(help="Folder for estimate, result and report.")]
    columns: ColumnsOption = None
    lock: Annotated[
        list[str],
        typer.Option(
            metavar="JOINT[=POSITION]",
            help="Joint that stays where it is (rad or m; default 0), such as a gripper's.",
        ),
    ] = field(default_factory=list)
    load: LoadSettings
    loops: Annotated[
        str,
        typer.Option(help="YAML of closed loops (or own-leg, or mimic); efforts must be torques."),
    ] = ""
    validate: Annotated[
        list[Path], typer.Option(help="Runs that aren't fitted; may be repeated.")
    ] = field(default_factory=list)
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "auto"
    friction: Annotated[
        str,
        typer.Option(
            help="'auto' (chosen on held-out parts of RECORDING), or terms with commas: usual,"
            " geared (both stand for several), coulomb, viscous, inertia, offset,"
            " asymmetry, stribeck, play, load, saturation, thinning, breakaway, ripple, runout,"
            " speed_ripple, speed_runout."
        ),
    ] = "auto"
    fix: Annotated[
        list[str],
        typer.Option(help="Keep at the URDF's value: inertials, friction, a link, joint or name."),
    ] = field(default_factory=list)
    prior_weight: Annotated[
        float,
        typer.Option(
            min=0.0, help="Weight of the URDF, for lmi and entropic; 0: chosen on held-out parts."
        ),
    ] = 0.0
    prior_sd: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            help="Declared tolerance of the URDF's inertial parameters, relative to the links' size"
            " (.05: 5 %): lmi and entropic then give deviations of parameters that show only in"
            " combination.",
        ),
    ] = None
    gravity: GravityOrEstimateOption = ""
    mount: MountOption = ""
    force: Annotated[
        bool, typer.Option("--force", help="Write identified.urdf for a failed fit, too.")
    ] = False
    sequential: SequentialSettings
    processing: ProcessingSettings
    delay: Annotated[
        str, typer.Option(help="Delay of the efforts [s]; 'auto' corrects the estimated one.")
    ] = "0"
    effort_kind: EffortKindOption = ""
    json_path: JsonPathOption = ""

    def inputs(self) -> dict[str, Any]:
        """The `inputs` of result.json."""
        from sysid_core.pipeline import inputs_of

        loops = Path(self.loops)
        return inputs_of(
            robot=self.robot,
            recordings=self.recordings,
            validate=self.validate,
            loaded=self.load.loaded,
            columns=self.columns,
            others={
                "loops": [loops] if self.loops and loops.is_file() else [],
                "plan": [self.sequential.plan] if self.sequential.plan else [],
                "at_once": self.sequential.at_once,
            },
            settings={
                "effort_kind": self.effort_kind,
                "delay": self.delay,
                "fix": self.fix,
                "prior_sd": self.prior_sd,
            },
            options=options_of(self),
        )

    def require_compatible(self) -> None:
        """Refuse options that don't go together.

        Raises:
            EstimationError: With the first of them.
        """
        alone = "--loops" if self.loops else "--method sequential"
        if not self.loops and self.method != "sequential":
            return
        for option, given in (("--loaded", self.load.loaded), ("--lock", self.loops and self.lock)):
            if given:
                raise EstimationError(
                    f"{option} doesn't go with {alone}.", remedy="Leave one of them out."
                )
