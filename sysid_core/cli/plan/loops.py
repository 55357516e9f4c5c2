# SPDX-License-Identifier: Apache-2.0
"""`sysid plan loops`: motions of a mechanism with closed loops that tell its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_core.cli.plan.options import Planned, Planning, planning_command

if TYPE_CHECKING:
    from sysid_core.robot import RobotModel


def _chain_model(robot: str, own: Mapping[str, Any]) -> RobotModel:
    from sysid_core.robot.loops import load_closed_chain

    return load_closed_chain(robot, own["urdf"] or None).model


@planning_command(
    "loops",
    example="sysid plan loops own-leg --duration 30 --out plan",
    robot="Loops file (YAML), or a reference robot with loops: own-leg.",
    load=_chain_model,
)
def plan_loops(
    planning: Planning,
    urdf: Annotated[str, typer.Option(help="URDF, where the loops file names none.")] = "",
    motions: Annotated[int, typer.Option(min=1, help="One after another.")] = 2,
    duration: Annotated[float, typer.Option(min=2.0, help="Of each motion [s].")] = 20.0,
    harmonics: Annotated[int, typer.Option(min=2, max=20, help="Of each joint's series.")] = 8,
    velocity: Annotated[
        float, typer.Option(min=0.01, help="Of the driven joints, at most [rad/s].")
    ] = 1.5,
    fill: Annotated[
        float, typer.Option(min=0.05, max=1.0, help="Share of the region that assembles.")
    ] = 0.7,
    drives_only: Annotated[
        bool,
        typer.Option("--drives-only", help="For friction and drive alone, inertials known."),
    ] = False,
    candidates: Annotated[int, typer.Option(min=2, help="Motions per generation.")] = 12,
    generations: Annotated[int, typer.Option(min=1, help="Of the search.")] = 4,
    still: Annotated[float, typer.Option(min=0.1, help="Each still phase [s].")] = 1.0,
) -> Planned:
    """Plan Fourier motions of a closed chain's driven joints; the others follow.

    Slowed down until the limits of speed and acceleration hold. Nothing is written unless the
    motion passes every check.
    """
    from sysid_core.excitation.closed_chain import LoopExcitation, plan_loop_motion
    from sysid_core.robot.loops import load_closed_chain

    chain = load_closed_chain(planning.robot, urdf or None)
    config = LoopExcitation(
        duration=duration,
        harmonics=harmonics,
        fill=fill,
        velocity=velocity,
        population=candidates,
        generations=generations,
        inertials=not drives_only,
        rate_hz=planning.rate_hz,
    )
    trajectory, check = plan_loop_motion(
        chain,
        planning.limits,
        config,
        n_motions=motions,
        still=still,
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
            "motions": f"{motions} of {duration:g} s, {harmonics} harmonics",
        },
        lines=list(trajectory.notes),
    )
