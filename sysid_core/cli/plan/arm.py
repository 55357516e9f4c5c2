"""`sysid plan arm`: a motion that tells all that an arm's dynamics can show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.cli.plan.options import Planned, Planning, planning_command

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sysid_core.excitation import ArmPlan


@planning_command("arm", velocity_share=0.9)
def plan_arm(
    planning: Planning,
    period: Annotated[float, typer.Option(min=1.0, help="Of the Fourier series [s].")] = 20.0,
    harmonics: Annotated[int, typer.Option(min=3, max=20, help="Of the series.")] = 5,
    periods: Annotated[int, typer.Option(min=1, help="How often it is repeated.")] = 1,
    candidates: Annotated[int, typer.Option(min=1, help="Random motions to start from.")] = 60,
    starts: Annotated[int, typer.Option(min=0, help="How many of them are improved.")] = 2,
    iterations: Annotated[int, typer.Option(min=1, help="Of each improvement.")] = 80,
    still: Annotated[float, typer.Option(min=0.1, help="Each still phase [s].")] = 1.0,
) -> Planned:
    """Plan the Fourier motion that tells most about all base parameters of an arm.

    Nothing is written unless the motion passes every check.
    """
    from sysid_core.excitation import plan_arm_motion

    found = plan_arm_motion(
        planning.model,
        planning.limits,
        period=period,
        n_harmonics=harmonics,
        n_periods=periods,
        seed=planning.seed,
        n_candidates=candidates,
        n_starts=starts,
        n_iterations=iterations,
        still=still,
        rate_hz=planning.rate_hz,
        progress=planning.progress,
    )
    certificate = found.quality.certificate
    caption = "Log-determinant while the motion was improved."
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/arm_plan/1",
        result={
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
        },
        title="Exciting motion",
        facts={
            "excitation": str(found.quality),
            "series": f"{harmonics} harmonics, period {period:g} s, {periods} ×",
            "log-determinant": f"{found.quality.log_det:.1f}"
            f" (best random motion: {found.random_log_det:.1f})",
        },
        remarks=["Friction is excited too: every joint moves both ways at changing speeds."],
        figures=[(progress_figure(found), caption)] if found.history else [],
        lines=[str(found.quality)],
    )


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
