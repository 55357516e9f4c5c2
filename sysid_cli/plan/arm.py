# SPDX-License-Identifier: Apache-2.0
"""`sysid plan arm`: a motion after which all that an arm's dynamics can show is known best."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_cli.app import errors, plan
from sysid_cli.plan.run import (
    Planned,
    Planning,
    PlanOutOption,
    PlanRobotArgument,
    PlanSettings,
    StillOption,
    VelocityShareOption,
    numbers,
    run_plan,
)
from sysid_cli.settings import ClusterOption, WorkersOption, command
from sysid_core.errors import ExcitationError
from sysid_core.workflows import load_recording

if TYPE_CHECKING:
    from sysid_core.planning import ArmPlan, Trajectory, Unknowns
    from sysid_core.report import Figure
    from sysid_core.robot import RobotModel

# Shares of the search: random motions are drawn; the end can be foreseen.
DRAWN, FORECAST_AT = 0.1, 0.35
REPORT_S = 5.0  # that check and report take [s]
HELD_STILL = "finger", "gripper", "knuckle"


@dataclass(frozen=True, kw_only=True)
class FastPlanSettings(PlanSettings):
    """Nearly all of the velocity limits is used."""

    velocity_share: VelocityShareOption = 0.9


@dataclass(frozen=True, kw_only=True)
class ArmPlanSettings:
    """Everything that `sysid plan arm` is given."""

    robot: PlanRobotArgument
    out: PlanOutOption = Path("arm_motion")
    period: Annotated[float, typer.Option(min=1.0, help="Period of the Fourier series [s].")] = 20.0
    harmonics: Annotated[
        int,
        typer.Option(min=0, max=60, help="Harmonics of the series; 0: as many as lie below 2 Hz."),
    ] = 0
    spans: Annotated[
        int,
        typer.Option(min=0, max=200, help="Knot intervals of a B-spline instead of the series."),
    ] = 0
    periods: Annotated[int, typer.Option(min=1, help="How often it is repeated.")] = 1
    criterion: Annotated[
        str,
        typer.Option(
            help="d (volume of the covariance), mean (geometric mean of the deviations), a (mean"
            " variance), worst, condition, condition-si, or target."
        ),
    ] = "d"
    target: Annotated[
        list[str],
        typer.Option(
            metavar="PARAMETER|FILE",
            help="Base parameters, or a trajectory whose torques matter: --criterion target.",
        ),
    ] = field(default_factory=list)
    friction: Annotated[
        str, typer.Option(help="Terms to be estimated: usual, none, or a list with commas.")
    ] = "usual"
    effort_sd: Annotated[
        str,
        typer.Option(
            metavar="X[,X…]",
            help="Noise of the efforts, one for all or one per joint [N m]; default: 1 % of the"
            " limits.",
        ),
    ] = ""
    after: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="What is known already: estimate.yaml, a trajectory that was played, or a"
            " recording; plans what is missing. May be repeated.",
        ),
    ] = field(default_factory=list)
    columns: Annotated[
        Path | None, typer.Option(help="Column map of recordings given by --after.")
    ] = None
    validation: Annotated[
        bool, typer.Option("--validation", help="Plan a different motion for validation too.")
    ] = False
    candidates: Annotated[int, typer.Option(min=1, help="Random motions to start from.")] = 60
    starts: Annotated[int, typer.Option(min=0, help="How many of them are improved.")] = 6
    iterations: Annotated[int, typer.Option(min=1, help="Iterations of each improvement.")] = 300
    workers: WorkersOption = 0
    cluster: ClusterOption = ""
    still: StillOption = 1.0
    common: FastPlanSettings


@command(plan, "arm", example="sysid plan arm ur5 --validation --out plan")
def plan_arm(settings: ArmPlanSettings) -> None:
    """Plan the Fourier motion after which an arm's base parameters will be known best.

    Ctrl-C ends the search and keeps the best motion so far. Nothing is written unless the motion
    passes every check.
    """
    run_plan(settings.robot, settings.out, settings.common, lambda p: _plan(settings, p))


def _plan(settings: ArmPlanSettings, planning: Planning) -> Planned:
    unknowns = _unknowns(settings, planning.model)
    found = _search(settings, planning, unknowns)
    others = {}
    if settings.validation:
        others["validation"] = _other_motion(settings, planning, found)
    return planned_motion(found, unknowns, f"{found.basis}, {settings.periods} ×", others)


def _unknowns(settings: ArmPlanSettings, model: RobotModel) -> Unknowns:
    """What is to be known, after what is known already."""
    from sysid_core.planning import Unknowns
    from sysid_core.workflows import friction_terms

    refuse_fingers(model)
    sd = numbers(settings.effort_sd, (1, model.nv), "--effort-sd") if settings.effort_sd else None
    terms = friction_terms(settings.friction) if settings.friction != "none" else ()
    unknowns = Unknowns.of_arm(model, terms=terms, effort_sd=sd)
    for path in settings.after:
        unknowns = known_before(unknowns, path, settings.columns)
    return unknowns


def _search(settings: ArmPlanSettings, planning: Planning, unknowns: Unknowns) -> ArmPlan:
    from sysid_core.batch import Engine
    from sysid_core.planning import plan_arm_motion

    model, s = planning.model, settings
    names, task = _targets(model, s.target)
    return plan_arm_motion(
        model,
        planning.limits,
        unknowns=unknowns,
        criterion="target" if s.target and s.criterion == "d" else s.criterion,
        targets=names,
        task=task,
        period=s.period,
        n_harmonics=s.harmonics or None,
        n_spans=s.spans or None,
        n_periods=s.periods,
        seed=planning.seed,
        n_candidates=s.candidates,
        n_starts=s.starts,
        n_iterations=s.iterations,
        engine=Engine(s.workers, s.cluster),
        still=s.still,
        rate_hz=planning.rate_hz,
        progress=_with_forecast(planning.progress),
    )


def _with_forecast(progress: Callable[[float, str], None]) -> Callable[[float, str], None]:
    """The same, and a line that says how long the rest takes, by how long a part of it took."""
    begun: tuple[float, float] | None = None  # share and time
    said = False

    def report(share: float, text: str) -> None:
        nonlocal begun, said
        if begun is None and share > DRAWN:
            begun = share, time.monotonic()
        elif begun is not None and share >= FORECAST_AT and not said:
            said = True
            rate = (share - begun[0]) / (time.monotonic() - begun[1])
            left = (1.0 - share) / max(rate, 1e-6) + REPORT_S
            errors.print(f"About {left:.0f} s left; Ctrl-C keeps the best so far.", highlight=False)
        progress(share, text)

    return report


def _other_motion(settings: ArmPlanSettings, planning: Planning, found: ArmPlan) -> Trajectory:
    from sysid_core.planning import plan_validation_motion

    planning.progress(0.95, "planning the motion for validation")
    return plan_validation_motion(
        planning.model,
        planning.limits,
        found.trajectory,
        still=settings.still,
        rate_hz=planning.rate_hz,
    )


def refuse_fingers(model: RobotModel) -> None:
    """Refuse grippers' joints, which no arm's motion excites, and wheels, with what locks them.

    Raises:
        ExcitationError: With the joints.
    """
    from sysid_core.planning import turning_beside_tool

    fingers = [
        name for name in model.joint_names if any(word in name.lower() for word in HELD_STILL)
    ]
    if fingers:
        raise ExcitationError(
            f"The joints {fingers} of '{model.name}' are a gripper's: they have no room to move.",
            remedy=f"Hold them still: --lock {' --lock '.join(fingers)}.",
        )
    wheels = turning_beside_tool(model)
    if wheels:
        raise ExcitationError(
            f"The joints {wheels} of '{model.name}' turn without end and don't carry the tool: wheels,"
            " on which the robot would drive.",
            remedy=f"Hold them still: --lock {' --lock '.join(wheels)}.",
        )


def _targets(model: RobotModel, given: list[str]) -> tuple[tuple[str, ...], Any]:
    """Names of parameters, or the motion of a file."""
    from sysid_core.planning import Trajectory

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


RATE_HZ = 50.0  # of a trajectory's samples whose information is counted
MOVING = 0.01  # [rad/s or m/s], slower is standing still


def known_before(unknowns: Unknowns, path: Path, columns: Path | None = None) -> Unknowns:
    """The unknowns, once what a file shows is known.

    Args:
        unknowns: Before.
        path: `estimate.yaml` (its covariance counts), a trajectory that was played, or a recording
            (the information of the motion in it counts).
        columns: Column map, for recordings that are tables.

    Raises:
        ExcitationError: It is nothing of these, or about other parameters.
    """
    import numpy as np

    from sysid_core.diagnosis import RecordedMotion
    from sysid_core.estimation import Estimate
    from sysid_core.planning import Trajectory
    from sysid_core.signals import ColumnMap

    model = unknowns.model
    if path.suffix in (".yaml", ".yml") and not path.is_dir():
        estimate = Estimate.load(path)
        return unknowns.after(estimate.names, estimate.covariance)
    if path.suffix == ".npz":
        played = Trajectory.load(path)
        played.belongs_to(model)
        time = np.arange(played.time[0], played.time[-1], 1.0 / RATE_HZ)
        states = np.array([played.at(t) for t in time])
        states = states[:, :, model.columns_from(played.joint_names)]
        states = states[np.any(np.abs(states[:, 1]) > MOVING, axis=1)]
        q, v, a, duration = *np.moveaxis(states, 1, 0), len(states) / RATE_HZ
    else:
        run = load_recording(path, ColumnMap.load(columns) if columns else None)
        motion = RecordedMotion.of(model, run.joints)
        q, v, a, duration = motion.q, motion.v, motion.a, motion.duration
    if not len(q):
        raise ExcitationError(f"Nothing moves in '{path}'.", remedy="Leave it out of --after.")
    return unknowns.after_information(unknowns.information(q, v, a, duration))


def planned_motion(
    found: ArmPlan, unknowns: Unknowns, series: str, others: Mapping[str, Trajectory]
) -> Planned:
    """The plan as the command shows and writes it.

    Args:
        found: The motion and what it will show.
        unknowns: What was to be known.
        series: The series in words.
        others: Further motions, by name of their file.
    """
    expectation = found.expectation
    random = _random_deviation(found)
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/arm_plan/2",
        result=_result(found, unknowns),
        title="Exciting motion",
        facts={
            "excitation": str(found.conditioning),
            "series": series,
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


def _result(found: ArmPlan, unknowns: Unknowns) -> dict[str, object]:
    """What plan.json says of this kind of motion."""
    excitation, expectation = found.conditioning.excitation, found.expectation
    return {
        "criterion": found.criterion.value,
        "rank": excitation.rank,
        "structural_rank": excitation.structural_rank,
        "maximally_exciting": excitation.maximally_exciting,
        "condition_number": found.conditioning.unit,
        "eigenvalue_ratio": found.conditioning.eigenvalue_ratio,
        "mean_deviation": expectation.mean_deviation,
        "mean_friction_deviation": expectation.mean_friction_deviation,
        "random_mean_deviation": _random_deviation(found),
        "base_parameters": [
            {"name": n, "before": before, "after": later, "known": word}
            for n, before, later, word in expectation.rows()
        ],
        "effort_sd": unknowns.effort_sd.tolist(),
        "period": found.basis.period,
        found.basis.size_name: found.basis.size,
        "centre": found.centre.tolist(),
        "coefficients": found.coefficients.tolist(),
    }


def _random_deviation(found: ArmPlan) -> float:
    """Mean deviation after the best of a few random motions."""
    return found.random.mean_deviation if found.random else float("nan")


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


def progress_figure(found: ArmPlan) -> Figure:
    """Criterion over the iterations of the run that won."""
    from sysid_core.report import curves

    name = f"criterion '{found.criterion.value}'"
    return curves(
        {name: {name: (range(len(found.history)), found.history)}}, xlabel="iteration", height=220
    )
