"""`sysid plan sequential`: a motion that moves one joint at a time."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.cli import motion_limits as options
from sysid_core.cli.app import console, errors, plan

if TYPE_CHECKING:
    from sysid_core.excitation import MotionLimits, SequentialPlan


@plan.command("sequential")
def plan_sequential(
    robot: Annotated[
        str,
        typer.Argument(help="URDF file, reference robot, or a robot of example-robot-data."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for trajectory, result and report.")] = Path(
        "sequential_motion"
    ),
    moves: Annotated[int, typer.Option(min=0, help="Single-joint swings; 0: five per joint.")] = 0,
    amplitude: Annotated[
        float,
        typer.Option(min=0.02, max=3.0, help="Of the swings [rad]; prismatic: a quarter, in m."),
    ] = 0.6,
    candidates: Annotated[
        int, typer.Option(min=2, help="Random postures that are tried per joint.")
    ] = 20,
    start: Annotated[
        str, typer.Option(help="Where it starts and ends, one number per joint with commas.")
    ] = "",
    friction: Annotated[
        str, typer.Option(help="Terms to be estimated, as in `sysid identify`.")
    ] = "usual",
    link_torque: Annotated[
        bool,
        typer.Option(
            "--link-torque",
            help="Torques are read behind the gears: joints at standstill tell something too.",
        ),
    ] = False,
    rate_hz: Annotated[float, typer.Option(min=10.0, help="Rate of the samples.")] = 100.0,
    seed: Annotated[int, typer.Option(help="Same seed, same motion.")] = 0,
    lock: options.Lock = None,
    tcp_frame: options.TcpFrame = "",
    tcp_speed: options.TcpSpeed = 0.25,
    acceleration: options.Acceleration = 5.0,
    jerk: options.Jerk = None,
    velocity_share: options.VelocityShare = 1.0,
    effort_share: options.EffortShare = 0.8,
    position_margin: options.PositionMargin = 0.02,
    ground: options.Ground = None,
    workspace: options.Workspace = "",
    held: options.Held = "",
    json_path: Annotated[
        str, typer.Option("--json", metavar="FILE|-", help="Copy of plan.json; - prints it.")
    ] = "",
) -> None:
    """Plan single-joint swings in the postures that tell most, for sequential identification.

    Nothing is written unless the motion passes every check and shows every parameter.
    """
    import numpy as np
    from rich.progress import Progress

    from sysid_core.cli.identify import friction_terms
    from sysid_core.excitation import MotionChecker
    from sysid_core.excitation import plan_sequential as plan_robot
    from sysid_core.report import motion_report
    from sysid_core.robot import Drives, FrictionModel, load_robot

    model = load_robot(robot)
    if lock:
        model = model.with_locked(lock)
    limits = options.limits_from(
        model,
        tcp_frame=tcp_frame,
        tcp_speed=tcp_speed,
        acceleration=acceleration,
        jerk=jerk,
        velocity_share=velocity_share,
        effort_share=effort_share,
        position_margin=position_margin,
        ground=ground,
        workspace=workspace,
        held=held,
    )
    terms = friction_terms(friction)
    with Progress(console=errors, transient=True) as progress:
        task = progress.add_task("planning", total=1.0)
        found = plan_robot(
            model,
            limits,
            FrictionModel(Drives.direct(model.joint_names), terms),
            np.random.default_rng(seed),
            locked_measured=link_torque,
            q_start=options.numbers(start, (model.nv,), "--start") if start else None,
            n_moves=moves or None,
            candidates=candidates,
            amplitude=amplitude,
            rate_hz=rate_hz,
            seed=seed,
            progress=lambda phase, share: progress.update(task, description=phase, completed=share),
        )
        out.mkdir(parents=True, exist_ok=True)
        found.trajectory.save(out / "trajectory.npz")  # `plan_sequential` has checked it
        result = plan_dict(found, limits)
        report = motion_report(
            MotionChecker(model, limits),
            found.trajectory,
            found.check,
            title=f"One joint at a time: {model.name}",
            facts={
                "duration": f"{found.trajectory.duration:.0f} s",
                "swings": f"{len(found.moves)}, of which {found.n_pairs} with two joints",
                "parameters": len(found.constants),
                "worst condition of a step": f"{found.worst_condition:.3g}",
                "torques": "behind the gears" if link_torque else "at the motors",
                "seed": seed,
            },
            remarks=[
                "Sequential identification (Lin 1992): the last joint is solved first, and every"
                " step takes what was found before as known.",
                *found.remarks,
            ],
        )
        report.heading("Steps")
        report.table(["joint", "settles", "postpones", "condition"], step_table(found))
        report.heading("Swings")
        report.table(
            ["swing", "amplitude", "posture"],
            [
                [m.label, " ".join(f"{x:.2f}" for x in m.amplitude), _posture(m.posture)]
                for m in found.moves
            ],
        )
        report.save(out / "report.html")
    text = json.dumps(result, indent=2)
    (out / "plan.json").write_text(text + "\n", encoding="utf-8")
    if json_path == "-":
        sys.stdout.write(text + "\n")
        return
    if json_path:
        Path(json_path).write_text(text + "\n", encoding="utf-8")
    _show(found, out)


def step_table(found: SequentialPlan) -> list[list[object]]:
    """Joint, settled and postponed directions and condition of every step."""
    return [[s.name, s.n_settled, s.n_postponed, s.condition] for s in found.steps]


def plan_dict(found: SequentialPlan, limits: MotionLimits) -> dict[str, object]:
    """The plan as plain numbers and words, for JSON."""
    trajectory = found.trajectory
    return {
        "schema": "robot_sysid/sequential_plan/1",
        "robot": trajectory.robot,
        "urdf_hash": trajectory.urdf_hash,
        "joint_names": list(trajectory.joint_names),
        "duration": trajectory.duration,
        "seed": trajectory.seed,
        "parameters": list(found.constants),
        "worst_condition": found.worst_condition,
        "steps": [
            {
                "joint": s.name,
                "settled": s.n_settled,
                "postponed": s.n_postponed,
                "condition": s.condition,
            }
            for s in found.steps
        ],
        "swings": [
            {
                "label": m.label,
                "joints": [trajectory.joint_names[i] for i in m.joints],
                "amplitude": list(m.amplitude),
                "posture": m.posture.tolist(),
                "duration": m.duration,
            }
            for m in found.moves
        ],
        "remarks": list(found.remarks),
        "usage": {kind: float(share) for kind, share in found.check.usage.items()},
        "limits": limits.as_dict(),
        "notes": list(found.check.notes),
    }


def _posture(q: object) -> str:
    import numpy as np

    return " ".join(f"{x:.2f}" for x in np.asarray(q))


def _show(found: SequentialPlan, out: Path) -> None:
    from rich.table import Table

    table = Table(title="Steps, from the last joint to the first")
    for column in ("joint", "settles", "postpones", "condition"):
        table.add_column(column, justify="left" if column == "joint" else "right")
    for name, settled, postponed, condition in step_table(found):
        table.add_row(str(name), str(settled), str(postponed), f"{condition:.1f}")
    console.print(table)
    console.print(
        f"{len(found.moves)} swings in {found.trajectory.duration:.0f} s show all"
        f" {len(found.constants)} parameters; safe:"
        f" {', '.join(f'{kind} {100 * share:.0f} %' for kind, share in found.check.usage.items())}"
        " of the limits",
        highlight=False,
        soft_wrap=True,
    )
    for note in (*found.remarks, *found.check.notes):
        console.print(f"[yellow]note:[/] {note}", highlight=False, soft_wrap=True)
    console.print(f"trajectory, plan and report in {out}", highlight=False)
