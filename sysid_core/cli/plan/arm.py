# SPDX-License-Identifier: Apache-2.0
"""`sysid plan arm`: a motion after which all that an arm's dynamics can show is known best."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_core.cli.app import errors
from sysid_core.cli.plan.known import known_before
from sysid_core.cli.plan.options import Planned, Planning, numbers, planning_command
from sysid_core.errors import ExcitationError

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from sysid_core.excitation import ArmPlan
    from sysid_core.robot import RobotModel

SMALL = 0.1  # of the median effort limit: such a joint is a finger's or a wheel's
HELD_STILL = "finger", "gripper", "knuckle"


@planning_command("arm", example="sysid plan arm ur5 --validation --out plan", velocity_share=0.9)
def plan_arm(
    planning: Planning,
    period: Annotated[float, typer.Option(min=1.0, help="Of the Fourier series [s].")] = 20.0,
    harmonics: Annotated[
        int, typer.Option(min=0, max=40, help="Of the series; 0: as many as lie below 0.5 Hz.")
    ] = 0,
    periods: Annotated[int, typer.Option(min=1, help="How often it is repeated.")] = 1,
    criterion: Annotated[
        str,
        typer.Option(
            help="d (volume of the covariance), a (mean variance), worst, condition,"
            " condition-si, or target."
        ),
    ] = "d",
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARAMETER|FILE",
            help="With --criterion target: base parameters, or a trajectory whose torques matter.",
        ),
    ] = None,
    friction: Annotated[
        str, typer.Option(help="Terms to be estimated: usual, none, or a list with commas.")
    ] = "usual",
    effort_sd: Annotated[
        str,
        typer.Option(
            metavar="X[,X…]",
            help="Noise of the efforts, one for all or one per joint [N m]; default: 1 % of the"
            " limits.",
        ),
    ] = "",
    after: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="What is known already: estimate.yaml, a trajectory that was played, or a"
            " recording; plans what is missing. May be repeated.",
        ),
    ] = None,
    columns: Annotated[
        Path | None, typer.Option(help="Column map of recordings given by --after.")
    ] = None,
    validation: Annotated[
        bool, typer.Option("--validation", help="Plan a different motion for validation too.")
    ] = False,
    candidates: Annotated[int, typer.Option(min=1, help="Random motions to start from.")] = 60,
    starts: Annotated[int, typer.Option(min=0, help="How many of them are improved.")] = 6,
    iterations: Annotated[int, typer.Option(min=1, help="Of each improvement.")] = 300,
    processes: Annotated[
        int, typer.Option(min=0, help="That improve at once; 0: one per processor.")
    ] = 0,
    still: Annotated[float, typer.Option(min=0.1, help="Each still phase [s].")] = 1.0,
) -> Planned:
    """Plan the Fourier motion after which an arm's base parameters will be known best.

    Ctrl-C ends the search and keeps the best motion so far. Nothing is written unless the motion
    passes every check.
    """
    from sysid_core.excitation import Unknowns, plan_arm_motion, plan_validation_motion
    from sysid_core.pipeline import friction_terms

    model = planning.model
    refuse_fingers(model)
    sd = numbers(effort_sd, (1, model.nv), "--effort-sd") if effort_sd else None
    unknowns = Unknowns.of_arm(
        model, terms=friction_terms(friction) if friction != "none" else (), effort_sd=sd
    )
    for path in after or ():
        unknowns = known_before(unknowns, path, columns)
    names, task = _targets(model, target or [])
    errors.print(
        f"Improving {starts} motions of {model.nv} joints: about"
        f" {max(1, round(starts * iterations * model.nv / 1400))} × 10 s of one processor.",
        highlight=False,
    )
    found = plan_arm_motion(
        model,
        planning.limits,
        unknowns=unknowns,
        criterion=criterion,
        targets=names,
        task=task,
        period=period,
        n_harmonics=harmonics or None,
        n_periods=periods,
        seed=planning.seed,
        n_candidates=candidates,
        n_starts=starts,
        n_iterations=iterations,
        processes=processes or os.cpu_count() or 1,
        still=still,
        rate_hz=planning.rate_hz,
        progress=planning.progress,
    )
    others = {}
    if validation:
        planning.progress(0.95, "planning the motion for validation")
        others["validation"] = plan_validation_motion(
            model, planning.limits, found.trajectory, still=still, rate_hz=planning.rate_hz
        )
    excitation, expectation = found.conditioning.excitation, found.expectation
    random = found.random.mean_deviation if found.random else float("nan")
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/arm_plan/2",
        result={
            "criterion": found.criterion.value,
            "rank": excitation.rank,
            "structural_rank": excitation.structural_rank,
            "maximally_exciting": excitation.maximally_exciting,
            "condition_number": found.conditioning.unit,
            "eigenvalue_ratio": found.conditioning.eigenvalue_ratio,
            "mean_deviation": expectation.mean_deviation,
            "mean_friction_deviation": expectation.mean_friction_deviation,
            "random_mean_deviation": random,
            "base_parameters": [
                {"name": n, "before": before, "after": later, "known": word}
                for n, before, later, word in expectation.rows()
            ],
            "effort_sd": unknowns.effort_sd.tolist(),
            "period": found.basis.period,
            "n_harmonics": found.basis.n_harmonics,
            "centre": found.centre.tolist(),
            "coefficients": found.coefficients.tolist(),
        },
        title="Exciting motion",
        facts={
            "excitation": str(found.conditioning),
            "series": f"{found.basis.n_harmonics} harmonics, period {period:g} s, {periods} ×",
            "expected": str(expectation),
            "mean expected deviation": f"{100 * expectation.mean_deviation:.2g} % of the natural"
            f" size (best of a few random motions: {100 * random:.2g} %)",
            "efforts": "noise "
            + ", ".join(f"{x:.3g}" for x in unknowns.effort_sd)
            + f" N m, correlated over {unknowns.correlation:g} s",
        },
        remarks=[
            "Deviations are expected standard deviations; well: below 10 % of the parameter's"
            " natural size (the URDF's mass and lengths), roughly: below 50 %."
        ],
        tables=[
            (
                "What will be known",
                ("base parameter", "sd before", "sd after", "known"),
                [(n, f"{b:.3g}", f"{a:.3g}", w) for n, b, a, w in expectation.rows()],
            ),
            ("Longer or faster", ("change", "mean deviation", "known well"), _curve(found)),
        ],
        figures=[(progress_figure(found), "Criterion while the motion was improved.")]
        if found.history
        else [],
        lines=[str(found.conditioning), str(expectation)],
        others=others,
    )


def refuse_fingers(model: RobotModel) -> None:
    """Refuse grippers' joints, which no arm's motion excites, with the options that lock them.

    Raises:
        ExcitationError: With the joints.
    """
    fingers = [
        name for name in model.joint_names if any(word in name.lower() for word in HELD_STILL)
    ]
    if fingers:
        raise ExcitationError(
            f"The joints {fingers} of '{model.name}' are a gripper's: they have no room to tell"
            " anything.",
            remedy=f"Hold them still: --lock {' --lock '.join(fingers)}.",
        )


def _targets(model: RobotModel, given: list[str]) -> tuple[tuple[str, ...], Any]:
    """Names of parameters, or the motion of a file."""
    from sysid_core.excitation import Trajectory

    files = [text for text in given if Path(text).suffix == ".npz"]
    if not files:
        return tuple(given), None
    if len(given) > 1:
        raise ExcitationError(
            "Give base parameters or one trajectory as --target, not both.",
            remedy="Leave one of the two out.",
        )
    task = Trajectory.load(files[0])
    task.belongs_to(model)
    step = max(1, len(task.time) // 500)
    columns = model.columns_from(task.joint_names)
    return (), tuple(x[::step, columns] for x in (task.q, task.v, task.a))


def _curve(found: ArmPlan) -> list[tuple[str, str, str]]:
    """What longer or faster motion of the same shape would bring."""
    rows = []
    for label, expectation in found.alternatives():
        well = int((expectation.relative <= 0.1).sum())
        rows.append(
            (
                label,
                f"{100 * expectation.mean_deviation:.2g} %",
                f"{well} of {len(expectation.names)}",
            )
        )
    return rows


def progress_figure(found: ArmPlan) -> go.Figure:
    """Criterion over the iterations of the run that won."""
    from sysid_core.report import curves

    name = f"criterion '{found.criterion.value}'"
    return curves(
        {name: {name: (range(len(found.history)), found.history)}}, xlabel="iteration", height=220
    )
