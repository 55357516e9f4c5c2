# SPDX-License-Identifier: Apache-2.0
"""Demo of a whole arm: identifies all parameters of a Panda, and uses them in a controller."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from sysid_core.files import write_text
from sysid_core.planning import ArmPlan, MotionChecker, MotionLimits
from sysid_core.report import Report
from sysid_core.robot import Array, RobotModel
from sysid_demos.parts import (
    FRICTION,
    SET_POINTS,
    compare,
    demo,
    differing_arm,
    identification_graph,
    judge,
    show_comparison,
)
from sysid_demos.tracking import learn_and_track, show_tracking
from sysid_nodes.bringup import NodeSpec

ROBOT, FINGERS, TCP_SPEED = "panda", ("panda_finger_joint1", "panda_finger_joint2"), 1.0
SEED, LINK_ERROR = 5, 0.15
BANDWIDTH = 14.0  # of the feedback [rad/s]: low, so that the model matters and delays don't
TRACKING_RATIO = 2.0  # demanded for exit status 0


def arm_without_fingers() -> str:
    """Return the URDF of the Panda with fixed fingers."""
    root = ET.fromstring(RobotModel.from_urdf(ROBOT).urdf_xml)
    for joint in root.findall("joint"):
        if joint.get("name") in FINGERS:
            joint.set("type", "fixed")
            for mimic in joint.findall("mimic"):
                joint.remove(mimic)
    return ET.tostring(root, encoding="unicode")


def play(out: Path, *, namespace: str = "", fast: bool = False) -> int:
    """Run the demo.

    Returns:
        0 if torques are predicted nearly as well as with the true parameters, and the controller
        tracks better with the identified parameters; otherwise 1.
    """
    console = Console()
    console.rule("[bold]robot_sysid demo: all parameters of an arm")
    urdf = out / "panda_arm.urdf"
    out.mkdir(parents=True, exist_ok=True)
    write_text(urdf, arm_without_fingers())
    model = RobotModel.from_urdf(urdf)
    files = (out / "trajectory.npz", out / "validation.npz")
    start = _plan(console, model, files, fast=fast)
    with demo(_nodes(out, namespace, urdf, start), out, namespace, console) as client:
        before, after = learn_and_track(
            client, console, out, files, model.joint_names, method="lmi"
        )
    comparison = compare(out / "identification", out / "bag_nominal", model, LINK_ERROR, SEED)
    report = Report(
        "All parameters of an arm, live",
        f"simulated {model.name}",
        details="identification/report.html",
    )
    report.paragraph(
        "A Fourier motion was executed by computed_torque_controller, recorded, and identified with"
        " every link physically consistent. The controller started with the URDF's parameters, and"
        " changed to the identified ones at rest, on request."
    )
    ratio = show_tracking(console, report, before, after)
    show_comparison(console, report, comparison)
    checks = (
        *comparison.checks(),
        ("physically consistent", comparison.identified.physically_consistent, ""),
        (
            f"typical tracking error {TRACKING_RATIO:.0f} times smaller",
            ratio >= TRACKING_RATIO,
            f"{ratio:.1f}",
        ),
    )
    return judge(console, report, out, checks)


def _plan(console: Console, model: RobotModel, files: tuple[Path, Path], *, fast: bool) -> Array:
    """Plan, check and write both motions; return the start posture of the first."""
    limits = MotionLimits.from_model(model, tcp_speed=TCP_SPEED)
    plans = []
    with console.status("Planning and checking the motions") as status:
        for file, candidates, starts, period, seed in (
            (files[0], 20, 1, 10.0 if fast else 20.0, SEED),
            (files[1], 10, 0, 8.0, SEED + 1),
        ):
            plan = ArmPlan.of(
                model,
                limits,
                period=period,
                n_candidates=candidates,
                n_starts=starts,
                n_iterations=30,
                seed=seed,
                progress=lambda share, text: status.update(f"Planning: {text} {100 * share:.0f} %"),
            )
            plans.append(MotionChecker(model, limits).export(plan.trajectory, file))
            console.print(
                f"Planned {plan.trajectory.duration:.0f} s: {plan.conditioning}. Every check"
                " passed."
            )
    return plans[0].q[0]


def _nodes(out: Path, namespace: str, urdf: Path, start: Array) -> Sequence[NodeSpec]:
    """List of the nodes of the demo."""
    return identification_graph(
        out,
        namespace,
        robot={
            **differing_arm(str(urdf), start, LINK_ERROR, SEED),
            "command_timeout_s": 0.06,
        },
        executor={"tcp_speed": TCP_SPEED, **SET_POINTS},
        controller={"drive_inertia": FRICTION["I_a"], "bandwidth": BANDWIDTH},
    )
