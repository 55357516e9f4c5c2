# SPDX-License-Identifier: Apache-2.0
"""`sysid loops`: commands for closed chains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_cli.base import console, copy_json, errors, group
from sysid_cli.settings import JsonPathOption, command

if TYPE_CHECKING:
    from sysid_core.identifiability import ConstrainedRanks
    from sysid_core.planning.closed_chain import AssemblyMap
    from sysid_core.robot.loops import ClosedChain, MotionBox

loops = group("loops", "Check descriptions of closed chains.", "sysid loops check own-leg")


@command(loops, example="sysid loops check own-leg --html results/own_leg.html")
def check(
    *,
    robot: Annotated[str, typer.Argument()],
    urdf: str = "",
    html_path: Annotated[Path, typer.Option("--html", metavar="FILE")] = Path("loops.html"),
    json_path: JsonPathOption = "",
    samples: Annotated[int, typer.Option(min=10, max=100000)] = 300,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Check in which postures the loops of a closed chain close, whether the solution is unique,
    and which parameters are identifiable.

    Args:
        robot: YAML file of the kinematic loops, or `own-leg` for the included example robot.
        urdf: URDF, if the file of kinematic loops names none.
        html_path: Report file (HTML).
        samples: Number of random postures.
        seed: Seed of the postures.
    """
    import numpy as np

    from sysid_core.identifiability import ConstrainedRanks
    from sysid_core.planning.closed_chain import AssemblyMap
    from sysid_core.reasons import Outcome
    from sysid_core.report import LoopsPage, ReportIndex
    from sysid_core.robot.loops import load_closed_chain

    chain = load_closed_chain(robot, urdf or None)
    rng = np.random.default_rng(seed)
    with errors.progress(f"closing the loops of {chain.name}"):
        box = AssemblyMap.motion_box(chain, rng)
        limits = AssemblyMap.of(chain, rng, samples)
        inside = AssemblyMap.of(chain, rng, samples, box=box)
        if not inside.assembled.any():
            chain.assemble(inside.q[:, chain.actuated_columns])  # names a loop and a posture
        ranks = ConstrainedRanks.of(chain, rng)
        page = LoopsPage(chain, limits, inside, box, ranks)
        ReportIndex.add(page.report(), html_path)
    checks = page.checks()
    numbers = _numbers(chain, limits, inside, box, ranks)
    if not copy_json(numbers, json_path):
        for outcome, sentence in checks:
            console.print(f"{outcome.value}: {sentence}", highlight=False, soft_wrap=True)
        for line in _lines(chain, limits, inside, ranks):
            console.print(line, highlight=False, soft_wrap=True)
        console.print(f"Report: {html_path}", highlight=False)
    raise typer.Exit(int(any(outcome is Outcome.FAIL for outcome, _ in checks)))


def _numbers(
    chain: ClosedChain,
    limits: AssemblyMap,
    inside: AssemblyMap,
    box: MotionBox,
    ranks: ConstrainedRanks,
) -> dict[str, Any]:
    """Data for the JSON file of `--json`."""
    return {
        "schema": "robot_sysid/loops_check/1",
        "robot": chain.name,
        "actuated": list(chain.actuated),
        "passive": list(chain.passive),
        "equations": chain.n_equations,
        "samples": len(limits.assembled),
        "assembled": int(limits.assembled.sum()),
        "assembled_within_limits": int(limits.within_limits.sum()),
        "assembled_in_box": int(inside.assembled.sum()),
        "unique": limits.unique and inside.unique,
        "residual": max(limits.residual, inside.residual),
        "largest_condition_in_box": float(inside.condition.max()),
        "box": dict(zip(box.names, box.half.tolist(), strict=True)),
        "ranks": {
            "open_tree": ranks.open_tree.rank,
            "inertial": ranks.inertial.rank,
            "with_drives": ranks.with_drives.rank,
            "with_all_joints": ranks.with_all_joints.rank,
        },
    }


def _lines(
    chain: ClosedChain, limits: AssemblyMap, inside: AssemblyMap, ranks: ConstrainedRanks
) -> list[str]:
    samples, residual = len(limits.assembled), max(limits.residual, inside.residual)
    return [
        f"{chain.name}: {len(chain.passive)} passive joints, {chain.n_equations} equations",
        f"loops close in {limits.assembled.sum()} of {samples} postures within the limits of the driven joints"
        f" ({limits.within_limits.sum()} of them also within the limits of the passive joints), and in"
        f" {inside.assembled.sum()} of {samples} postures in the recommended range; largest error"
        f" {residual:.1e} m",
        f"rank {ranks.inertial.rank} for {ranks.n_inertial} inertial parameters"
        f" ({ranks.open_tree.rank} without the loop closures), {ranks.with_drives.rank} including the drives,"
        f" and {ranks.with_all_joints.rank} including the friction of all joints",
    ]
