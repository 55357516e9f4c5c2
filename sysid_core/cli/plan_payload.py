"""`sysid plan payload`: a motion that tells what a robot holds."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.cli import motion_limits as options
from sysid_core.cli.app import console, errors, plan

if TYPE_CHECKING:
    from sysid_core.excitation import MotionLimits, PayloadPlan


@plan.command("payload")
def plan_payload(
    robot: Annotated[str, typer.Argument(help="URDF file, or a robot of example-robot-data.")],
    out: Annotated[Path, typer.Option(help="Folder for trajectory, result and report.")] = Path(
        "payload_motion"
    ),
    speed: Annotated[
        float, typer.Option(min=0.01, help="Mean angular speed of the last link [rad/s].")
    ] = 1.0,
    duration: Annotated[float, typer.Option(min=1.0, help="Of the oscillation [s].")] = 15.0,
    amplitude_deg: Annotated[
        float, typer.Option(min=1.0, max=180.0, help="Of the three wrist joints.")
    ] = 45.0,
    tare: Annotated[
        int, typer.Option(min=0, help="Static postures before it (0, or 3 and more).")
    ] = 4,
    still: Annotated[float, typer.Option(min=0.1, help="Each still phase [s].")] = 1.0,
    posture: Annotated[
        str, typer.Option(help="Centre, one number per joint with commas [rad]; default: chosen.")
    ] = "",
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
    """Plan a payload motion: static postures, then an oscillation of the last three joints.

    Nothing is written unless the motion passes every check.
    """
    from rich.progress import Progress

    from sysid_core.excitation import MotionChecker, export_trajectory, plan_payload_motion
    from sysid_core.report import motion_report
    from sysid_core.robot import load_robot

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
    centre = options.numbers(posture, (model.nv,), "--posture") if posture else None
    with Progress(console=errors, transient=True) as progress:
        task = progress.add_task(f"planning for {model.name}", total=1.0)
        found = plan_payload_motion(
            model,
            limits,
            posture=centre,
            mean_angular_speed=speed,
            duration=duration,
            amplitude=math.radians(amplitude_deg),
            n_tare=tare,
            still=still,
            rate_hz=rate_hz,
            seed=seed,
            progress=lambda share: progress.update(task, completed=share),
        )
        out.mkdir(parents=True, exist_ok=True)
        export_trajectory(model, found.trajectory, limits, out / "trajectory.npz")
        result = plan_dict(found, limits)
        motion_report(
            MotionChecker(model, limits),
            found.trajectory,
            found.check,
            title=f"Payload motion for {model.name}",
            facts={
                "duration": f"{found.trajectory.duration:.1f} s",
                "oscillating joints": ", ".join(found.wrist_joints),
                "frequencies": ", ".join(f"{f:.3f} Hz" for f in found.frequencies_hz),
                "amplitude": f"{amplitude_deg:g}°",
                "mean angular speed of the last link": f"{speed:g} rad/s",
                "posture [rad]": ", ".join(f"{x:.3f}" for x in found.posture),
                "seed": seed,
            },
            remarks=[
                "The static postures separate the sensor's bias from the load's weight; the"
                " oscillation (Nadeau, Giamou and Kelly 2022) tells its inertia.",
            ],
        ).save(out / "report.html")
    text = json.dumps(result, indent=2)
    (out / "plan.json").write_text(text + "\n", encoding="utf-8")
    if json_path == "-":
        sys.stdout.write(text + "\n")
        return
    if json_path:
        Path(json_path).write_text(text + "\n", encoding="utf-8")
    console.print(
        f"{found.trajectory.duration:.1f} s, safe:"
        f" {', '.join(f'{kind} {100 * share:.0f} %' for kind, share in found.check.usage.items())}"
        " of the limits",
        highlight=False,
        soft_wrap=True,
    )
    for note in found.check.notes:
        console.print(f"[yellow]note:[/] {note}", highlight=False, soft_wrap=True)
    console.print(f"trajectory, plan and report in {out}", highlight=False)


def plan_dict(found: PayloadPlan, limits: MotionLimits) -> dict[str, object]:
    """The plan as plain numbers and words, for JSON."""
    trajectory = found.trajectory
    return {
        "schema": "robot_sysid/payload_plan/1",
        "robot": trajectory.robot,
        "urdf_hash": trajectory.urdf_hash,
        "joint_names": list(trajectory.joint_names),
        "duration": trajectory.duration,
        "posture": found.posture.tolist(),
        "wrist_joints": list(found.wrist_joints),
        "frequencies_hz": list(found.frequencies_hz),
        "mean_angular_speed": found.mean_angular_speed,
        "seed": trajectory.seed,
        "segments": [
            {"label": s.label, "start": s.start, "end": s.end} for s in trajectory.segments
        ],
        "usage": dict(found.check.usage),
        "notes": list(found.check.notes),
        "limits": limits.as_dict(),
    }
