# SPDX-License-Identifier: Apache-2.0
"""Demo of the sequential method: a UR5 moves one joint at a time, and all its minimal constants
(base parameters) are identified.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console

from sysid_core.planning import ArmPlan, MotionChecker, MotionLimits
from sysid_core.planning.sequential import SequentialPlan
from sysid_core.report import Report
from sysid_core.robot import DriveTrain, FrictionModel, RobotModel
from sysid_demos.parts import (
    PATIENCE,
    compare,
    demo,
    differing_arm,
    identification_graph,
    identify,
    judge,
    record,
    show_comparison,
)

ROBOT, TCP_SPEED = "ur5", 1.0
SEED, LINK_ERROR = 3, 0.1


def play(out: Path, *, namespace: str = "", fast: bool = False) -> int:
    """Run the demo.

    Returns:
        0 if a motion of all joints is predicted nearly as well as with the true parameters;
        otherwise 1.
    """
    console = Console()
    model = RobotModel.from_urdf(ROBOT)
    console.rule("[bold]robot_sysid demo: one joint at a time")
    file, other = out / "trajectory.npz", out / "validation.npz"
    plan = _plan(console, model, file, other, fast=fast)
    nodes = identification_graph(
        out,
        namespace,
        robot=differing_arm(ROBOT, plan.trajectory.q[0], LINK_ERROR, SEED),
        executor={"tcp_speed": TCP_SPEED, **PATIENCE},
    )
    with demo(nodes, out, namespace, console) as client:
        record(client, console, file, out / "bag")
        record(client, console, other, out / "bag_validation")
        identify(
            client,
            console,
            out / "identification",
            recording=out / "bag",
            validation=out / "bag_validation",
            method="sequential",
            trajectory_file=file,
        )
    comparison = compare(out / "identification", out / "bag_validation", model, LINK_ERROR, SEED)
    report = Report(
        "One joint at a time, live", f"simulated {model.name}", details="identification/report.html"
    )
    report.paragraph(
        f"{len(plan.moves)} swings, {plan.trajectory.duration:.0f} s in total, were executed and recorded."
        f" The {len(plan.constants)} parameters (minimal combinations of inertial parameters, and friction)"
        " were then identified one joint at a time, from the last joint to the first."
    )
    show_comparison(console, report, comparison)
    estimate = comparison.identified.estimate
    excited = (
        "every direction was excited",
        estimate.rank == estimate.structural_rank,
        f"{estimate.rank} of {estimate.structural_rank}",
    )
    return judge(console, report, out, (*comparison.checks(), excited))


def _plan(
    console: Console, model: RobotModel, file: Path, other: Path, *, fast: bool
) -> SequentialPlan:
    """Plan, check and write the single-joint motions, and a motion of all joints for validation."""
    limits = MotionLimits.from_model(model, tcp_speed=TCP_SPEED)
    with console.status("Planning and checking the motions") as status:
        plan = SequentialPlan.of(
            model,
            limits,
            FrictionModel(DriveTrain.direct(model.joint_names)),
            np.random.default_rng(SEED),
            candidates=10 if fast else 20,
            n_moves=12 if fast else None,
            seed=SEED,
            progress=lambda phase, share: status.update(f"Planning: {phase} {100 * share:.0f} %"),
        )
        plan.trajectory.save(file)  # `SequentialPlan.of` has checked it
        status.update("Planning the validation motion of all joints")
        all_joints = ArmPlan.of(model, limits, period=8.0, n_candidates=10, n_starts=0, seed=SEED)
        MotionChecker(model, limits).export(all_joints.trajectory, other)
    console.print(
        f"Planned {len(plan.moves)} swings, {plan.trajectory.duration:.0f} s, that determine"
        f" {len(plan.constants)} constants; largest condition number {plan.worst_condition:.0f}."
        " Every check passed."
    )
    return plan
