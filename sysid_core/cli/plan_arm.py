"""`sysid plan arm`: a motion that tells all that an arm's dynamics can show."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.cli import motion_limits as options
from sysid_core.cli.app import console, errors, plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sysid_core.excitation import ArmPlan, MotionLimits


@plan.command("arm")
def plan_arm(
    robot: Annotated[str, typer.Argument(help="URDF file, or a robot of example-robot-data.")],
    out: Annotated[Path, typer.Option(help="Folder for trajectory, result and report.")] = Path(
        "arm_motion"
    ),
    period: Annotated[float, typer.Option(min=1.0, help="Of the Fourier series [s].")] = 20.0,
    harmonics: Annotated[int, typer.Option(min=3, max=20, help="Of the series.")] = 5,
    periods: Annotated[int, typer.Option(min=1, help="How often it is repeated.")] = 1,
    candidates: Annotated[int, typer.Option(min=1, help="Random motions to start from.")] = 60,
    starts: Annotated[int, typer.Option(min=0, help="How many of them are improved.")] = 2,
    iterations: Annotated[int, typer.Option(min=1, help="Of each improvement.")] = 80,
    still: Annotated[float, typer.Option(min=0.1, help="Each still phase [s].")] = 1.0,
    rate_hz: Annotated[float, typer.Option(min=10.0, help="Rate of the samples.")] = 100.0,
    seed: Annotated[int, typer.Option(help="Same seed, same motion.")] = 0,
    lock: options.Lock = None,
    tcp_frame: options.TcpFrame = "",
    tcp_speed: options.TcpSpeed = 0.25,
    acceleration: options.Acceleration = 5.0,
    jerk: options.Jerk = None,
    velocity_share: options.VelocityShare = 0.9,
    effort_share: options.EffortShare = 0.8,
    position_margin: options.PositionMargin = 0.02,
    ground: options.Ground = None,
    workspace: options.Workspace = "",
    held: options.Held = "",
    json_path: Annotated[
        str, typer.Option("--json", metavar="FILE|-", help="Copy of plan.json; - prints it.")
    ] = "",
) -> None:
    """Plan the Fourier motion that tells most about all base parameters of an arm.

    Nothing is written unless the motion passes every check.
    """
    from rich.progress import Progress

    from sysid_core.excitation import MotionChecker, export_trajectory, plan_arm_motion
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
    with Progress(console=errors, transient=True) as progress:
        task = progress.add_task(f"planning for {model.name}", total=1.0)
        found = plan_arm_motion(
            model,
            limits,
            period=period,
            n_harmonics=harmonics,
            n_periods=periods,
            seed=seed,
            n_candidates=candidates,
            n_starts=starts,
            n_iterations=iterations,
            still=still,
            rate_hz=rate_hz,
            progress=lambda share, text: progress.update(task, completed=share, description=text),
        )
        out.mkdir(parents=True, exist_ok=True)
        export_trajectory(model, found.trajectory, limits, out / "trajectory.npz")
        motion_report(
            MotionChecker(model, limits),
            found.trajectory,
            found.check,
            title=f"Exciting motion for {model.name}",
            facts={
                "excitation": str(found.quality),
                "duration": f"{found.trajectory.duration:.1f} s",
                "series": f"{harmonics} harmonics, period {period:g} s, {periods} ×",
                "log-determinant": f"{found.quality.log_det:.1f}"
                f" (best random motion: {found.random_log_det:.1f})",
                "seed": seed,
            },
            remarks=["Friction is excited too: every joint moves both ways at changing speeds."],
            figures=[(progress_figure(found), "Log-determinant while the motion was improved.")]
            if found.history
            else [],
        ).save(out / "report.html")
    text = json.dumps(plan_dict(found, limits), indent=2)
    (out / "plan.json").write_text(text + "\n", encoding="utf-8")
    if json_path == "-":
        sys.stdout.write(text + "\n")
        return
    if json_path:
        Path(json_path).write_text(text + "\n", encoding="utf-8")
    used = ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in found.check.usage.items())
    for line in (
        str(found.quality),
        f"{found.trajectory.duration:.1f} s, safe: {used} of the limits",
        *(f"[yellow]note:[/] {note}" for note in found.check.notes),
        f"trajectory, plan and report in {out}",
    ):
        console.print(line, highlight=False, soft_wrap=True)


def plan_dict(found: ArmPlan, limits: MotionLimits) -> dict[str, object]:
    """The plan as plain numbers and words, for JSON."""
    trajectory, certificate = found.trajectory, found.quality.certificate
    return {
        "schema": "robot_sysid/arm_plan/1",
        "robot": trajectory.robot,
        "urdf_hash": trajectory.urdf_hash,
        "joint_names": list(trajectory.joint_names),
        "duration": trajectory.duration,
        "rank": certificate.numerical_rank,
        "structural_rank": certificate.structural_rank,
        "maximally_exciting": certificate.is_maximally_exciting,
        "condition_number": found.quality.condition_number,
        "log_det": found.quality.log_det,
        "random_log_det": found.random_log_det,
        "period": found.basis.period,
        "n_harmonics": found.basis.n_harmonics,
        "centre": found.centre.tolist(),
        "coefficients": found.coefficients.tolist(),
        "seed": trajectory.seed,
        "usage": dict(found.check.usage),
        "notes": list(found.check.notes),
        "limits": limits.as_dict(),
    }


def progress_figure(found: ArmPlan) -> Figure:
    """Log-determinant over the iterations of the run that won, and of the random motions."""
    from sysid_core.report import new_figure

    figure, (axis,) = new_figure(height=2.4)
    axis.plot(
        found.history, linewidth=1.0, label="while improving: soft limits first, then hard ones"
    )
    axis.axhline(found.random_log_det, linestyle="--", color="#D55E00", label="best random, safe")
    axis.axhline(found.quality.log_det, linestyle=":", color="#009E73", label="result, safe")
    axis.set_ylim(bottom=min(found.random_log_det, min(found.history[:1])) - 10)
    axis.set_xlabel("iteration", fontsize=8)
    axis.set_ylabel("log det", fontsize=8)
    axis.legend(fontsize=8, frameon=False)
    return figure
