# SPDX-License-Identifier: Apache-2.0
"""`sysid plan check | show | validation`: what is done with motions that exist already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.cli.app import console, errors, example, plan, require_folder
from sysid_core.cli.mounting import GravityOption, MountOption, mounted

if TYPE_CHECKING:
    from sysid_core.excitation import MotionLimits, Trajectory
    from sysid_core.robot import RobotModel

Motion = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="Trajectory (NPZ), table (CSV), or trajectory_msgs / MoveIt (YAML)."
    ),
]
Robot = Annotated[str, typer.Argument(help="URDF file, or a robot of example-robot-data.")]
Limits = Annotated[
    Path | None,
    typer.Option("--limits", metavar="FILE", help="As `sysid limits init` writes them."),
]
Lock = Annotated[list[str] | None, typer.Option(metavar="JOINT", help="Joint that is held still.")]


@plan.command(
    epilog=example("sysid plan check plan/trajectory.npz robot.urdf --limits limits.yaml")
)
def check(
    file: Motion,
    robot: Robot,
    limits: Limits = None,
    lock: Lock = None,
    gravity: GravityOption = "",
    mount: MountOption = "",
    out: Annotated[
        Path | None, typer.Option(help="Write the checked motion here (NPZ), for the executor.")
    ] = None,
) -> None:
    """Check a motion against a robot's limits; exit status 1 if it breaks one."""
    from sysid_core.excitation import check_motion, export_trajectory

    model, bounds, motion = _load(file, robot, limits, lock, gravity, mount)
    result = check_motion(model, motion, bounds)
    for kind, share in result.usage.items():
        console.print(f"{kind}: {100 * share:.1f} % of the limit", highlight=False)
    for line in (*motion.notes, *result.notes):
        console.print(f"note: {line}", highlight=False, markup=False, soft_wrap=True)
    for violation in result.violations:
        errors.print(f"violation: {violation}", highlight=False, markup=False, soft_wrap=True)
    console.print(
        f"{motion.duration:.1f} s: {'safe' if result.is_safe else 'not safe'}, checked at"
        f" {result.samples} instants and {result.postures} postures",
        highlight=False,
    )
    if not result.is_safe:
        raise typer.Exit(1)
    if out is not None:
        export_trajectory(model, motion, bounds, out)


@plan.command(epilog=example("sysid plan show plan/trajectory.npz robot.urdf --out motion.html"))
def show(
    file: Motion,
    robot: Robot,
    limits: Limits = None,
    lock: Lock = None,
    gravity: GravityOption = "",
    mount: MountOption = "",
    out: Annotated[Path, typer.Option(help="Page to write (HTML).")] = Path("motion.html"),
) -> None:
    """Write an interactive page of a motion: joints, margins, path of the tool in space."""
    from sysid_core.excitation import MotionChecker
    from sysid_core.report import motion_report, save_and_list

    require_folder(out.parent)
    model, bounds, motion = _load(file, robot, limits, lock, gravity, mount)
    checker = MotionChecker(model, bounds)
    facts = {"file": file.name, "duration": f"{motion.duration:.1f} s"}
    page = motion_report(
        checker, motion, checker.check(motion), title=f"Motion of {model.name}", facts=facts
    )
    save_and_list(page, out)
    console.print(f"{out}", highlight=False, markup=False)


@plan.command(
    epilog=example("sysid plan validation plan/trajectory.npz robot.urdf --out validation.npz")
)
def validation(
    file: Motion,
    robot: Robot,
    limits: Limits = None,
    lock: Lock = None,
    gravity: GravityOption = "",
    mount: MountOption = "",
    out: Annotated[Path, typer.Option(help="File to write (NPZ).")] = Path("validation.npz"),
) -> None:
    """Plan a motion for validation that differs from the one identified from."""
    from sysid_core.excitation import export_trajectory, plan_validation_motion

    model, bounds, motion = _load(file, robot, limits, lock, gravity, mount)
    with errors.status("planning another motion: about 10 s"):
        other = plan_validation_motion(model, bounds, motion)
        export_trajectory(model, other, bounds, out)
    console.print(f"{other.duration:.1f} s in {out}", highlight=False, markup=False)


def _load(
    file: Path,
    robot: str,
    limits: Path | None,
    lock: list[str] | None,
    gravity: str,
    mount: str,
) -> tuple[RobotModel, MotionLimits, Trajectory]:
    from sysid_core.excitation import initial_limits, read_limits, read_motion
    from sysid_core.robot import load_robot

    model = load_robot(robot)
    if lock:
        model = model.with_locked(lock)
    model = mounted(model, gravity, mount)
    bounds = read_limits(limits, model) if limits else initial_limits(model)[0]
    return model, bounds, read_motion(file, model)
