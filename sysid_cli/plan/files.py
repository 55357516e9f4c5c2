# SPDX-License-Identifier: Apache-2.0
"""`sysid plan check` checks an existing motion, `show` displays it, and `validation` plans a second
motion for the validation of the identified model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.base import console, errors, require_folder
from sysid_cli.plan import plan
from sysid_cli.settings import GravityOption, MountOption, command
from sysid_core.errors import ModelError

if TYPE_CHECKING:
    from sysid_core.planning import MotionLimits, Trajectory
    from sysid_core.robot import RobotModel

OWN_LIMITS = "For each joint, the stricter of the limits in the URDF and in the plan applies."
ALL_LIMITS = (
    "For each joint, the strictest of the limits in the file, the plan and the URDF applies."
)


@dataclass(frozen=True, kw_only=True)
class MotionSettings:
    """Existing motion, its robot and its limits."""

    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Trajectory (NPZ), table (CSV), or trajectory_msgs / MoveIt (YAML).",
        ),
    ]
    robot: Annotated[str, typer.Argument(help="URDF file, or a robot of example-robot-data.")]
    limits: Annotated[
        Path | None,
        typer.Option(
            "--limits",
            metavar="FILE",
            help="Limits file, such as that written by `sysid limits init`.",
        ),
    ] = None
    lock: Annotated[list[str], typer.Option(metavar="JOINT", help="Joint to be locked.")] = field(
        default_factory=list
    )
    gravity: GravityOption = ""
    mount: MountOption = ""

    def load(self) -> tuple[RobotModel, MotionLimits, Trajectory]:
        """Load the robot with its mounting, its limits, and the motion.

        The limits are the strictest of those in the description, in the limits file and in a
        planned motion, so that editing one of these sources never relaxes a limit set by another. A
        motion without limits and without a limits file uses the default limits.

        Raises:
            ModelError: The motion lacks joints of the robot that are not locked.
        """
        from sysid_core.planning import LimitsFile, read_motion
        from sysid_core.robot import RobotModel

        model = RobotModel.from_urdf(self.robot)
        model = LimitsFile.driven_robot(
            model, self.limits, lock=self.lock, gravity=self.gravity, mount=self.mount
        )
        motion = read_motion(self.file, model)
        missing = [name for name in model.joint_names if name not in motion.joint_names]
        if missing:
            raise ModelError(
                f"'{self.file}' does not contain the joints {missing} of '{model.name}'.",
                remedy=f"Lock them: {RobotModel.lock_options(missing)}; or specify the robot for which the motion was planned.",
                missing=missing,
            )
        return model, self._limits_of(model, motion), motion

    def _limits_of(self, model: RobotModel, motion: Trajectory) -> MotionLimits:
        from sysid_core.planning import LimitsFile, MotionLimits

        given = [LimitsFile.read(self.limits, model)] if self.limits else []
        own = MotionLimits.from_dict(motion.limits) if motion.limits else None
        if own is not None and own.joint_names == model.joint_names:
            given.append(own)
        if not given:
            return MotionLimits.initial(model)[0]
        strictest = given[0]
        for other in (*given[1:], MotionLimits.described(model)):
            strictest = strictest.stricter(other)
        said = ALL_LIMITS if self.limits else OWN_LIMITS
        notes = (n for n in strictest.notes if n not in (OWN_LIMITS, ALL_LIMITS))
        return strictest.replace(notes=(said, *notes))


@command(plan, example="sysid plan check plan/trajectory.npz robot.urdf --limits limits.yaml")
def check(*, given: MotionSettings, out: Path | None = None) -> None:
    """Check a motion against the limits of a robot; exit status 1 if a limit is violated.

    Args:
        out: File for the checked motion (NPZ), which the executor can play.
    """
    from sysid_core.planning import MotionChecker, check_motion

    model, bounds, motion = given.load()
    result = check_motion(model, motion, bounds)
    for kind, share in result.usage.items():
        console.print(f"{kind}: {100 * share:.1f} % of the limit", highlight=False)
    for line in (*motion.notes, *result.notes):
        console.print(f"note: {line}", highlight=False, markup=False, soft_wrap=True)
    for violation in result.violations:
        errors.print(f"violation: {violation}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"{motion.duration:.1f} s. {result.answer}", highlight=False, soft_wrap=True)
    if not result.is_safe:
        raise typer.Exit(1)
    if out is not None:
        MotionChecker(model, bounds).export(motion, out)


@command(plan, example="sysid plan show plan/trajectory.npz robot.urdf --out motion.html")
def show(*, given: MotionSettings, loops: str = "", out: Path = Path("motion.html")) -> None:
    """Write an interactive page of a motion: joint motion, use of the limits, animated robot.

    Args:
        loops: YAML file of the kinematic loops of a closed chain, or 'mimic' for the mimic joints of the URDF.
        out: Page to write (HTML).
    """
    from sysid_core.planning import MotionChecker
    from sysid_core.report import ReportIndex, motion_report
    from sysid_core.robot.loops import LoopsFile, load_closed_chain

    require_folder(out.parent)
    loops = loops or (given.robot if given.robot in LoopsFile.references() else "")
    model, bounds, motion = given.load()
    checker = MotionChecker(model, bounds)
    facts = {"file": given.file.name, "duration": f"{motion.duration:.1f} s"}
    page = motion_report(
        checker,
        motion,
        checker.check(motion),
        title=f"Motion of {model.name}",
        facts=facts,
        chain=load_closed_chain(loops, model.urdf_xml) if loops else None,
    )
    ReportIndex.add(page, out)
    console.print(f"{out}", highlight=False, markup=False)


@command(plan, example="sysid plan validation plan/trajectory.npz robot.urdf --out validation.npz")
def validation(*, given: MotionSettings, out: Path = Path("validation.npz")) -> None:
    """Plan a validation motion that differs from the given identification motion.

    Args:
        out: File to write (NPZ).
    """
    from sysid_core.planning import ArmPlan, MotionChecker

    model, bounds, motion = given.load()
    with errors.progress("planning another motion: about 10 s"):
        other = ArmPlan.validation_motion(model, bounds, motion)
        MotionChecker(model, bounds).export(other, out)
    console.print(f"{other.duration:.1f} s in {out}", highlight=False, markup=False)
