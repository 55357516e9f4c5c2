# SPDX-License-Identifier: Apache-2.0
"""The steps and options of every `sysid plan` command: robot and limits, search, files, summary."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_cli.app import console, copy_json, errors, require_folder
from sysid_cli.settings import GravityOption, JsonPathOption, MountOption, mounted
from sysid_cli.tables import print_table
from sysid_core.errors import ExcitationError

if TYPE_CHECKING:
    from rich.table import Table

    from sysid_core.planning import MotionCheck, MotionLimits, Trajectory
    from sysid_core.report import Figure
    from sysid_core.robot import RobotModel

PlanRobotArgument = Annotated[
    str, typer.Argument(help="URDF file, reference robot, or a robot of example-robot-data.")
]
PlanOutOption = Annotated[Path, typer.Option(help="Folder for trajectory, result and report.")]
StillOption = Annotated[float, typer.Option(min=0.1, help="Each still phase [s].")]
VelocityShareOption = Annotated[
    float, typer.Option(min=0.001, max=1.0, help="Share of the URDF's velocity limits to use.")
]


@dataclass(frozen=True, kw_only=True)
class PlanSettings:
    """Samples, robot and limits of a planned motion."""

    rate_hz: Annotated[float, typer.Option(min=10.0, help="Rate of the samples.")] = 100.0
    seed: Annotated[int, typer.Option(help="Same seed, same motion.")] = 0
    lock: Annotated[
        list[str], typer.Option(metavar="JOINT", help="Joint to hold still; may be repeated.")
    ] = field(default_factory=list)
    gravity: GravityOption = ""
    mount: MountOption = ""
    limits_file: Annotated[
        Path | None,
        typer.Option(
            "--limits",
            metavar="FILE",
            help="Limits of the robot and its cell, in place of the options below: a file of"
            " `sysid limits init`, the bringup file, or MoveIt's joint_limits.yaml.",
        ),
    ] = None
    tcp_frame: Annotated[
        str,
        typer.Option(
            metavar="LINK", help="Link whose speed is limited; default: the last that moves."
        ),
    ] = ""
    tcp_speed: Annotated[float, typer.Option(min=0.001, help="TCP speed limit [m/s].")] = 0.25
    acceleration: Annotated[
        float,
        typer.Option(min=0.001, help="Limit for every joint [rad/s² or m/s²]; URDFs have none."),
    ] = 5.0
    jerk: Annotated[
        float | None, typer.Option(min=0.001, help="Limit for every joint [rad/s³ or m/s³].")
    ] = None
    velocity_share: VelocityShareOption = 1.0
    effort_share: Annotated[
        float,
        typer.Option(
            min=0.001, max=1.0, help="Share of the URDF's effort limits for the bare robot."
        ),
    ] = 0.8
    position_margin: Annotated[
        float, typer.Option(min=0.0, help="Kept from the URDF's position limits [rad or m].")
    ] = 0.02
    ground: Annotated[
        float | None,
        typer.Option(help="Height of the ground in the base frame [m]; default: none."),
    ] = None
    workspace: Annotated[
        str,
        typer.Option(
            metavar="X0,Y0,Z0,X1,Y1,Z1",
            help="Box in the base frame that holds the moving robot [m].",
        ),
    ] = ""
    held: Annotated[
        str,
        typer.Option(
            metavar="DX,DY,DZ[,X,Y,Z]",
            help="Size of what the robot holds, and its centre in the TCP frame [m].",
        ),
    ] = ""
    held_mass: Annotated[
        float,
        typer.Option(min=0.0, help="Its mass, which the torques' limits then allow for [kg]."),
    ] = 0.0
    json_path: JsonPathOption = ""

    def prepared(self, model: RobotModel) -> RobotModel:
        """The robot with locked joints held, mounted as the options say."""
        if self.lock:
            model = model.with_locked(self.lock)
        return mounted(model, self.gravity, self.mount)

    def limits_of(self, model: RobotModel) -> MotionLimits:
        """Limits of the file, or else of the options.

        Raises:
            ExcitationError: A box isn't one.
        """
        from sysid_core.planning import MotionLimits, read_limits

        held, workspace = self._held_box(), self._workspace_corners()
        if self.limits_file:
            limits = read_limits(self.limits_file, model)
            return limits if held is None else limits.replace(held=held)
        return MotionLimits.from_model(
            model,
            acceleration=self.acceleration,
            jerk=self.jerk,
            velocity_share=self.velocity_share,
            effort_share=self.effort_share,
            position_margin=self.position_margin,
            tcp_frame=self.tcp_frame or None,
            tcp_speed=self.tcp_speed,
            workspace=workspace,
            ground_height=self.ground,
            held=held,
        )

    def _held_box(self) -> Any:
        from sysid_core.planning import HeldBox

        if not self.held:
            if self.held_mass:
                raise ExcitationError(
                    "--held-mass says not where the mass is.", remedy="Give its box, too: --held."
                )
            return None
        x, y, z, *centre = numbers(self.held, (3, 6), "--held")
        where = (centre[0], centre[1], centre[2]) if centre else (0.0, 0.0, 0.0)
        return HeldBox((x, y, z), where, self.held_mass)

    def _workspace_corners(self) -> Any:
        if not self.workspace:
            return None
        w = numbers(self.workspace, (6,), "--workspace")
        if not all(low < high for low, high in zip(w[:3], w[3:], strict=True)):
            raise ExcitationError(
                f"--workspace {self.workspace}: the first corner must lie below the second on all"
                " axes.",
                remedy="Write X0,Y0,Z0,X1,Y1,Z1 with X0 < X1, Y0 < Y1 and Z0 < Z1.",
            )
        return (w[0], w[1], w[2]), (w[3], w[4], w[5])


def numbers(text: str, counts: tuple[int, ...], option: str) -> list[float]:
    """Numbers with commas between them.

    Raises:
        ExcitationError: Another count, or not numbers.
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError as err:
        raise ExcitationError(
            f"{option} '{text}' is not a list of numbers.",
            remedy="Write them with commas between: 0.1,0.2,0.3.",
        ) from err
    if len(values) not in counts:
        wanted = " or ".join(map(str, counts))
        raise ExcitationError(
            f"{option} has {len(values)} numbers, expected {wanted}.",
            remedy="Write them with commas between: 0.1,0.2,0.3.",
        )
    return values


@dataclass(frozen=True)
class Planning:
    """What a planning command starts from.

    Attributes:
        robot: As it was typed.
        model: The robot, with locked joints held.
        limits: That the motion must keep to.
        rate_hz: Rate of the samples.
        seed: Same seed, same motion.
        progress: Takes the share that is done and what is being done.
    """

    robot: str
    model: RobotModel
    limits: MotionLimits
    rate_hz: float
    seed: int
    progress: Callable[[float, str], None]


@dataclass(frozen=True)
class Planned:
    """What a planning command found.

    Attributes:
        trajectory, check: The motion, and that it is safe.
        schema: Schema of `result`.
        result: What is peculiar to this kind of motion, as plain numbers and words.
        title, facts, remarks, figures: Contents of the report.
        tables: Further tables of the report: heading, columns, rows.
        lines: Printed at the end.
        others: Further motions to check and write, by name of their file.
    """

    trajectory: Trajectory
    check: MotionCheck
    schema: str
    result: Mapping[str, object]
    title: str
    facts: Mapping[str, object]
    remarks: Sequence[str] = ()
    figures: Sequence[tuple[Figure, str]] = ()
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[object]]]] = ()
    lines: Sequence[str | Table] = field(default_factory=tuple)
    others: Mapping[str, Trajectory] = field(default_factory=dict)


def run_plan(
    robot: str,
    out: Path,
    settings: PlanSettings,
    search: Callable[[Planning], Planned],
    load: Callable[[str], RobotModel] | None = None,
) -> None:
    """Plan a motion, write trajectory, plan.json and report, and say what was found.

    Args:
        robot: As it was typed.
        out: Folder of the results.
        settings: Samples, robot and limits.
        search: Finds the motion.
        load: The robot from its name; default: `load_robot`.
    """
    from rich.progress import Progress

    from sysid_core.robot import load_robot

    require_folder(out)
    model = settings.prepared((load or load_robot)(robot))
    limits = settings.limits_of(model)
    with Progress(console=errors, transient=True) as progress:
        task = progress.add_task(f"planning for {model.name}", total=1.0)
        planning = Planning(
            robot,
            model,
            limits,
            settings.rate_hz,
            settings.seed,
            lambda share, text: progress.update(task, completed=share, description=text),
        )
        found = search(planning)
        out.mkdir(parents=True, exist_ok=True)
        trajectory = _write(planning, found, out)
    text = json.dumps(_result(planning, found, trajectory), indent=2) + "\n"
    (out / "plan.json").write_text(text, encoding="utf-8")
    if not copy_json(text, settings.json_path):
        _show(found, trajectory, out)


def _write(planning: Planning, found: Planned, out: Path) -> Trajectory:
    """Trajectories and report; returns the trajectory as it was exported."""
    from sysid_core.planning import MotionChecker, export_trajectory
    from sysid_core.report import motion_report, save_and_list

    model, limits = planning.model, planning.limits
    trajectory = export_trajectory(model, found.trajectory, limits, out / "trajectory.npz")
    for name, other in found.others.items():
        export_trajectory(model, other, limits, out / f"{name}.npz")
    report = motion_report(
        MotionChecker(model, limits),
        trajectory,
        found.check,
        title=f"{found.title}: {model.name}",
        facts={
            "duration": f"{trajectory.duration:.1f} s",
            **found.facts,
            "seed": planning.seed,
        },
        remarks=found.remarks,
        figures=found.figures,
    )
    for heading, columns, rows in found.tables:
        report.heading(heading)
        report.table(columns, rows)
    save_and_list(report, out / "report.html")
    return trajectory


def _result(planning: Planning, found: Planned, trajectory: Trajectory) -> dict[str, object]:
    """Contents of plan.json."""
    return {
        "schema": found.schema,
        "robot": trajectory.robot,
        "urdf_hash": trajectory.urdf_hash,
        "joint_names": list(trajectory.joint_names),
        "duration": trajectory.duration,
        "seed": planning.seed,
        **found.result,
        "usage": {kind: float(share) for kind, share in found.check.usage.items()},
        "notes": list(found.check.notes),
        "limits": planning.limits.as_dict(),
    }


def _show(found: Planned, trajectory: Trajectory, out: Path) -> None:
    used = ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in found.check.usage.items())
    for line in found.lines:
        if isinstance(line, str):
            console.print(line, highlight=False, soft_wrap=True)
        else:
            print_table(line)
    minutes, seconds = divmod(round(trajectory.duration), 60)
    for line in (
        f"{trajectory.duration:.1f} s, safe: {used} of the limits",
        *([f"The robot will move for {minutes} min {seconds} s."] if minutes else []),
        *(f"note: {note}" for note in found.check.notes),
        f"{', '.join(['trajectory', *found.others])}, plan and report in {out}",
    ):
        console.print(line, highlight=False, soft_wrap=True)
