# SPDX-License-Identifier: Apache-2.0
"""`sysid plan postures`: static postures for what gravity shows, or quintics through given ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import plan
from sysid_cli.plan.run import (
    Planned,
    Planning,
    PlanOutOption,
    PlanRobotArgument,
    PlanSettings,
    StillOption,
    run_plan,
)
from sysid_cli.settings import command
from sysid_core.errors import ExcitationError


@dataclass(frozen=True, kw_only=True)
class PosturePlanSettings:
    """Everything that `sysid plan postures` is given."""

    robot: PlanRobotArgument
    out: PlanOutOption = Path("postures_motion")
    count: Annotated[int, typer.Option(min=2, help="Postures to choose.")] = 15
    through: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV", help="Given postures instead: a column for each joint, a row for each."
        ),
    ] = None
    still: StillOption = 1.0
    common: PlanSettings


@command(plan, "postures", example="sysid plan postures ur5 --count 15 --out postures")
def plan_postures(settings: PosturePlanSettings) -> None:
    """Plan a motion from posture to posture, at rest in each: gravity only.

    Nothing is written unless the motion passes every check.
    """
    run_plan(settings.robot, settings.out, settings.common, lambda p: _plan(settings, p))


def _plan(settings: PosturePlanSettings, planning: Planning) -> Planned:
    from sysid_core.planning import MotionChecker, Unknowns
    from sysid_core.planning.postures import plan_static_postures, plan_through
    from sysid_core.robot import FrictionTerm

    checker = MotionChecker(planning.model, planning.limits)
    s = settings
    how = {"still": s.still, "rate_hz": planning.rate_hz, "seed": planning.seed}
    if s.through is not None:
        given = read_postures(s.through, planning.model.joint_names)
        trajectory = plan_through(checker, given, **how)  # type: ignore[arg-type]
        return Planned(
            trajectory,
            checker.check(trajectory),
            schema="robot_sysid/posture_plan/1",
            result={"postures": given},
            title="Motion through given postures",
            facts={"postures": len(given)},
        )
    unknowns = Unknowns.of_arm(planning.model, terms=(FrictionTerm.OFFSET,))
    found = plan_static_postures(
        checker,
        unknowns,
        s.count,
        progress=planning.progress,
        **how,  # type: ignore[arg-type]
    )
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/posture_plan/1",
        result={
            "postures": found.postures.tolist(),
            "base_parameters": [
                {"name": n, "before": before, "after": later, "known": word}
                for n, before, later, word in found.expectation.rows()
            ],
        },
        title="Static postures",
        facts={"postures": s.count, "expected": str(found.expectation)},
        remarks=["At rest only what gravity loads shows: masses times lengths, and offsets."],
        lines=[str(found.expectation)],
    )


def read_postures(path: Path, joint_names: tuple[str, ...]) -> list[list[float]]:
    """Postures of a table with a column for each joint, in the robot's order.

    Raises:
        ExcitationError: It can't be read, or a joint or number is missing.
    """
    import csv

    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return [[float(row[name]) for name in joint_names] for row in rows]
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError) as err:
        raise ExcitationError(
            f"'{path}' holds no postures: {type(err).__name__} {err}.",
            remedy=f"Write a first line {','.join(joint_names)} and a row for each posture.",
        ) from err
