# SPDX-License-Identifier: Apache-2.0
"""What the `sysid plan` commands share: robot, limits, progress, files and the last words."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_core.cli.app import console, copy_json, errors, plan, require_folder
from sysid_core.cli.mounting import GravityOption, MountOption, mounted
from sysid_core.cli.recordings import JsonPathOption
from sysid_core.cli.tables import print_table
from sysid_core.errors import ExcitationError

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from rich.table import Table

    from sysid_core.excitation import MotionCheck, MotionLimits, Trajectory
    from sysid_core.robot import RobotModel


@dataclass(frozen=True)
class Planning:
    """What a planning command starts from.

    Attributes:
        robot: As it was typed.
        model: The robot, with locked joints held.
        limits: That the motion must keep to.
        rate_hz: Rate of the samples.
        seed: Same seed, same motion.
        progress: Told the share that is done and what is being done.
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
        schema: Of `result`.
        result: What is peculiar to this kind of motion, as plain numbers and words.
        title, facts, remarks, figures: Of the report.
        tables: Further tables of the report: heading, columns, rows.
        lines: Said at the end.
        others: Further motions to check and write, by name of their file.
    """

    trajectory: Trajectory
    check: MotionCheck
    schema: str
    result: Mapping[str, object]
    title: str
    facts: Mapping[str, object]
    remarks: Sequence[str] = ()
    figures: Sequence[tuple[go.Figure, str]] = ()
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[object]]]] = ()
    lines: Sequence[str | Table] = field(default_factory=tuple)
    others: Mapping[str, Trajectory] = field(default_factory=dict)


def planning_command(
    name: str,
    *,
    example: str,
    velocity_share: float = 1.0,
    robot: str = "URDF file, reference robot, or a robot of example-robot-data.",
    load: Callable[[str, Mapping[str, Any]], RobotModel] | None = None,
) -> Callable[[Callable[..., Planned]], Callable[..., Planned]]:
    """Make `sysid plan NAME` of a function that plans.

    Its first parameter is the `Planning`; the others are its own options, shown before those that
    all planning commands have.

    Args:
        name: Name of the command.
        example: Command line that its help ends with.
        velocity_share: Default of that option.
        robot: What the command's argument is, for its help.
        load: The robot from its name and the command's own options; default: `load_robot`.
    """
    defaults = {"out": Path(f"{name}_motion"), "velocity_share": velocity_share}

    def decorate(command: Callable[..., Planned]) -> Callable[..., Planned]:
        own = list(inspect.signature(command).parameters.values())[1:]
        names = {parameter.name for parameter in own}
        shared = [
            parameter.replace(default=defaults.get(parameter.name, parameter.default))
            for parameter in list(inspect.signature(_run, eval_str=True).parameters.values())[3:]
        ]
        hints = inspect.get_annotations(command, eval_str=True)
        own = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
        shared[0] = shared[0].replace(annotation=Annotated[str, typer.Argument(help=robot)])

        def run(**options: Any) -> None:
            mine = {key: options.pop(key) for key in names}
            _run(command, mine, load, **options)

        keyword = inspect.Parameter.KEYWORD_ONLY
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [p.replace(kind=keyword) for p in (shared[0], shared[1], *own, *shared[2:])]
        )
        run.__doc__ = command.__doc__
        plan.command(name, epilog=f"Example: {example}")(run)
        return command

    return decorate


def _run(
    command: Callable[..., Planned],
    own: Mapping[str, Any],
    load: Any,
    robot: str,
    out: Annotated[Path, typer.Option(help="Folder for trajectory, result and report.")],
    rate_hz: Annotated[float, typer.Option(min=10.0, help="Rate of the samples.")] = 100.0,
    seed: Annotated[int, typer.Option(help="Same seed, same motion.")] = 0,
    lock: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINT", help="Joint to hold still; may be repeated."),
    ] = None,
    gravity: GravityOption = "",
    mount: MountOption = "",
    limits_file: Annotated[
        Path | None,
        typer.Option(
            "--limits",
            metavar="FILE",
            help="Limits of the robot and its cell (`sysid limits init`), in place of the options"
            " below.",
        ),
    ] = None,
    tcp_frame: Annotated[
        str,
        typer.Option(
            metavar="LINK", help="Link whose speed is limited; default: the last that moves."
        ),
    ] = "",
    tcp_speed: Annotated[float, typer.Option(min=0.001, help="TCP speed limit [m/s].")] = 0.25,
    acceleration: Annotated[
        float,
        typer.Option(min=0.001, help="Limit for every joint [rad/s² or m/s²]; URDFs have none."),
    ] = 5.0,
    jerk: Annotated[
        float | None, typer.Option(min=0.001, help="Limit for every joint [rad/s³ or m/s³].")
    ] = None,
    velocity_share: Annotated[
        float, typer.Option(min=0.001, max=1.0, help="Share of the URDF's velocity limits to use.")
    ] = 1.0,
    effort_share: Annotated[
        float,
        typer.Option(
            min=0.001, max=1.0, help="Share of the URDF's effort limits for the bare robot."
        ),
    ] = 0.8,
    position_margin: Annotated[
        float, typer.Option(min=0.0, help="Kept from the URDF's position limits [rad or m].")
    ] = 0.02,
    ground: Annotated[
        float | None,
        typer.Option(help="Height of the ground in the base frame [m]; default: none."),
    ] = None,
    workspace: Annotated[
        str,
        typer.Option(
            metavar="X0,Y0,Z0,X1,Y1,Z1",
            help="Box in the base frame that holds the moving robot [m].",
        ),
    ] = "",
    held: Annotated[
        str,
        typer.Option(
            metavar="DX,DY,DZ[,X,Y,Z]",
            help="Size of what the robot holds, and its centre in the TCP frame [m].",
        ),
    ] = "",
    json_path: JsonPathOption = "",
) -> None:
    from rich.progress import Progress

    from sysid_core.excitation import (
        HeldBox,
        MotionChecker,
        MotionLimits,
        export_trajectory,
        read_limits,
    )
    from sysid_core.report import motion_report, save_and_list
    from sysid_core.robot import load_robot

    require_folder(out)
    model = load(robot, own) if load else load_robot(robot)
    if lock:
        model = model.with_locked(lock)
    model = mounted(model, gravity, mount)
    box = corners = None
    if held:
        x, y, z, *centre = numbers(held, (3, 6), "--held")
        box = (
            HeldBox((x, y, z), (centre[0], centre[1], centre[2])) if centre else HeldBox((x, y, z))
        )
    if workspace:
        w = numbers(workspace, (6,), "--workspace")
        if not all(low < high for low, high in zip(w[:3], w[3:], strict=True)):
            raise ExcitationError(
                f"--workspace {workspace}: the first corner must lie below the second on all axes.",
                remedy="Write X0,Y0,Z0,X1,Y1,Z1 with X0 < X1, Y0 < Y1 and Z0 < Z1.",
            )
        corners = ((w[0], w[1], w[2]), (w[3], w[4], w[5]))
    limits = (
        read_limits(limits_file, model)
        if limits_file
        else MotionLimits.from_model(
            model,
            acceleration=acceleration,
            jerk=jerk,
            velocity_share=velocity_share,
            effort_share=effort_share,
            position_margin=position_margin,
            tcp_frame=tcp_frame or None,
            tcp_speed=tcp_speed,
            workspace=corners,
            ground_height=ground,
            held=box,
        )
    )
    with Progress(console=errors, transient=True) as progress:
        task = progress.add_task(f"planning for {model.name}", total=1.0)
        found = command(
            Planning(
                robot,
                model,
                limits,
                rate_hz,
                seed,
                lambda share, text: progress.update(task, completed=share, description=text),
            ),
            **own,
        )
        out.mkdir(parents=True, exist_ok=True)
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
                "seed": seed,
            },
            remarks=found.remarks,
            figures=found.figures,
        )
        for heading, columns, rows in found.tables:
            report.heading(heading)
            report.table(columns, rows)
        save_and_list(report, out / "report.html")
    result = {
        "schema": found.schema,
        "robot": trajectory.robot,
        "urdf_hash": trajectory.urdf_hash,
        "joint_names": list(trajectory.joint_names),
        "duration": trajectory.duration,
        "seed": seed,
        **found.result,
        "usage": {kind: float(share) for kind, share in found.check.usage.items()},
        "notes": list(found.check.notes),
        "limits": limits.as_dict(),
    }
    text = json.dumps(result, indent=2) + "\n"
    (out / "plan.json").write_text(text, encoding="utf-8")
    if copy_json(text, json_path):
        return
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
