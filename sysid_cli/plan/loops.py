# SPDX-License-Identifier: Apache-2.0
"""`sysid plan loops`: motions of a mechanism with closed loops that show its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import plan
from sysid_cli.plan.run import Planned, Planning, PlanOutOption, PlanSettings, StillOption, run_plan
from sysid_cli.settings import command


@dataclass(frozen=True, kw_only=True)
class LoopsPlanSettings:
    """Everything that `sysid plan loops` is given."""

    robot: Annotated[
        str, typer.Argument(help="Loops file (YAML), or a reference robot with loops: own-leg.")
    ]
    out: PlanOutOption = Path("loops_motion")
    urdf: Annotated[str, typer.Option(help="URDF, where the loops file names none.")] = ""
    motions: Annotated[int, typer.Option(min=1, help="One after another.")] = 2
    duration: Annotated[
        float, typer.Option(min=2.0, help="Duration of each motion, about [s].")
    ] = 20.0
    harmonics: Annotated[
        int, typer.Option(min=3, max=20, help="Harmonics of each joint's series.")
    ] = 10
    velocity: Annotated[
        float, typer.Option(min=0.01, help="Largest speed of the driven joints [rad/s].")
    ] = 1.5
    fill: Annotated[
        float, typer.Option(min=0.05, max=1.0, help="Share of the region that assembles.")
    ] = 0.7
    drives_only: Annotated[
        bool,
        typer.Option("--drives-only", help="For friction and drive alone, inertials known."),
    ] = False
    candidates: Annotated[int, typer.Option(min=2, help="Motions per generation.")] = 12
    generations: Annotated[int, typer.Option(min=1, help="Generations of the search.")] = 4
    still: StillOption = 1.0
    common: PlanSettings


@command(plan, "loops", example="sysid plan loops own-leg --duration 30 --out plan")
def plan_loops(settings: LoopsPlanSettings) -> None:
    """Plan Fourier motions of a closed chain's driven joints; the others follow.

    Slowed down until the limits of speed and acceleration hold. Nothing is written unless the
    motion passes every check.
    """
    from sysid_core.robot.loops import load_closed_chain

    run_plan(
        settings.robot,
        settings.out,
        settings.common,
        lambda planning: _search(settings, planning),
        load=lambda robot: load_closed_chain(robot, settings.urdf or None).model,
    )


def _search(settings: LoopsPlanSettings, planning: Planning) -> Planned:
    from sysid_core.planning.closed_chain import LoopExcitation, plan_loop_motion
    from sysid_core.robot.loops import load_closed_chain

    s = settings
    chain = load_closed_chain(planning.robot, s.urdf or None)
    config = LoopExcitation(
        duration=s.duration,
        harmonics=s.harmonics,
        fill=s.fill,
        velocity=s.velocity,
        population=s.candidates,
        generations=s.generations,
        inertials=not s.drives_only,
        rate_hz=planning.rate_hz,
    )
    trajectory, check = plan_loop_motion(
        chain,
        planning.limits,
        config,
        n_motions=s.motions,
        still=s.still,
        seed=planning.seed,
        progress=lambda share: planning.progress(share, "searching for exciting motions"),
    )
    return Planned(
        trajectory,
        check,
        schema="robot_sysid/loop_plan/1",
        result={
            "actuated": list(chain.actuated),
            "passive": list(chain.passive),
            "remarks": list(trajectory.notes),
        },
        title="Exciting motion",
        facts={
            "driven joints": ", ".join(chain.actuated),
            "joints that follow": ", ".join(chain.passive),
            "motions": f"{s.motions} of {s.duration:g} s, {s.harmonics} harmonics",
        },
        lines=list(trajectory.notes),
    )
