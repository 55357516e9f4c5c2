# SPDX-License-Identifier: Apache-2.0
"""`sysid plan sequential`: a motion that moves one joint at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import errors, plan
from sysid_cli.plan.run import (
    Planned,
    Planning,
    PlanOutOption,
    PlanRobotArgument,
    PlanSettings,
    numbers,
    run_plan,
)
from sysid_cli.settings import command

if TYPE_CHECKING:
    from rich.table import Table

    from sysid_core.planning.sequential import SequentialPlan

_COLUMNS = ("joint", "settles", "postpones", "condition")


@dataclass(frozen=True, kw_only=True)
class SequentialPlanSettings:
    """Everything that `sysid plan sequential` is given."""

    robot: PlanRobotArgument
    out: PlanOutOption = Path("sequential_motion")
    moves: Annotated[int, typer.Option(min=0, help="Single-joint swings; 0: five per joint.")] = 0
    amplitude: Annotated[
        float,
        typer.Option(
            min=0.02, max=3.0, help="Amplitude of the swings [rad]; prismatic: a quarter, in m."
        ),
    ] = 0.6
    candidates: Annotated[
        int, typer.Option(min=2, help="Random postures that are tried per joint.")
    ] = 20
    start: Annotated[
        str, typer.Option(help="Where it starts and ends, one number per joint with commas.")
    ] = ""
    friction: Annotated[
        str, typer.Option(help="Terms to be estimated, as in `sysid identify`.")
    ] = "usual"
    link_torque: Annotated[
        bool,
        typer.Option(
            "--link-torque",
            help="Torques are read behind the gears: joints at standstill show something too.",
        ),
    ] = False
    common: PlanSettings


@command(plan, "sequential", example="sysid plan sequential ur5 --moves 12 --out plan")
def plan_sequential(settings: SequentialPlanSettings) -> None:
    """Plan single-joint swings in the postures that show most, for sequential identification.

    Nothing is written unless the motion passes every check and shows every parameter.
    """
    run_plan(
        settings.robot,
        settings.out,
        settings.common,
        lambda planning: _planned(settings, _search(settings, planning)),
    )


def _search(settings: SequentialPlanSettings, planning: Planning) -> SequentialPlan:
    import numpy as np

    from sysid_core.planning.sequential import plan_sequential as plan_robot
    from sysid_core.robot import DriveTrain, FrictionModel
    from sysid_core.workflows import friction_terms

    model, s = planning.model, settings
    swings = s.moves or 5 * model.nv
    errors.print(
        f"Some {swings} swings of {model.nv} joints, and more where friction hides torques: about"
        f" {max(1, round(swings * 25 / 60))} min of motion on the robot (--moves says how many).",
        highlight=False,
    )
    return plan_robot(
        model,
        planning.limits,
        FrictionModel(DriveTrain.direct(model.joint_names), friction_terms(s.friction)),
        np.random.default_rng(planning.seed),
        locked_measured=s.link_torque,
        q_start=numbers(s.start, (model.nv,), "--start") if s.start else None,
        n_moves=s.moves or None,
        candidates=s.candidates,
        amplitude=s.amplitude,
        rate_hz=planning.rate_hz,
        seed=planning.seed,
        progress=lambda phase, share: planning.progress(share, phase),
    )


def _planned(settings: SequentialPlanSettings, found: SequentialPlan) -> Planned:
    """The plan as the command shows and writes it."""
    steps = [(s.name, s.n_settled, s.n_postponed, s.condition) for s in found.steps]
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/sequential_plan/1",
        result={
            "parameters": list(found.constants),
            "worst_condition": found.worst_condition,
            "steps": [dict(zip(_COLUMNS, step, strict=True)) for step in steps],
            "swings": [
                {
                    "label": m.label,
                    "joints": [found.trajectory.joint_names[i] for i in m.joints],
                    "amplitude": list(m.amplitude),
                    "posture": m.posture.tolist(),
                    "duration": m.duration,
                }
                for m in found.moves
            ],
            "remarks": list(found.remarks),
        },
        title="One joint at a time",
        facts={
            "swings": f"{len(found.moves)}, of which {found.n_pairs} with two joints",
            "parameters": len(found.constants),
            "worst condition of a step": f"{found.worst_condition:.3g}",
            "torques": "behind the gears" if settings.link_torque else "at the motors",
        },
        remarks=[
            "Sequential identification (Lin 1992): the last joint is solved first, and every"
            " step takes what was found before as known.",
            *found.remarks,
        ],
        tables=[
            ("Steps", _COLUMNS, steps),
            (
                "Swings",
                ("swing", "amplitude", "posture"),
                [(m.label, _radians(m.amplitude), _radians(m.posture)) for m in found.moves],
            ),
        ],
        lines=[
            _table(steps),
            f"{len(found.moves)} swings show all {len(found.constants)} parameters",
            *(f"note: {note}" for note in found.remarks),
        ],
    )


def _table(steps: list[tuple[str, int, int, float]]) -> Table:
    from rich.table import Table

    shown = Table(title="Steps, from the last joint to the first")
    for column in _COLUMNS:
        shown.add_column(column, justify="left" if column == "joint" else "right")
    for name, settled, postponed, condition in steps:
        shown.add_row(name, str(settled), str(postponed), f"{condition:.1f}")
    return shown


def _radians(q: object) -> str:
    import numpy as np

    return " ".join(f"{x:.2f}" for x in np.asarray(q))
