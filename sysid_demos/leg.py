# SPDX-License-Identifier: Apache-2.0
"""Demo of a leg with closed loops: identifies its drives, and uses them in a controller."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import ArmEquations, Processing, TorqueDelay
from sysid_core.files import write_text
from sysid_core.planning import MotionChecker, MotionLimits
from sysid_core.planning.closed_chain import LoopExcitation
from sysid_core.report import Report
from sysid_core.robot import DriveTrain, FrictionModel
from sysid_core.robot.loops import ClosedChain, DrivenRobot, load_closed_chain
from sysid_core.signals.bags import read_bag
from sysid_demos.parts import PATIENCE, Check, demo, judge, show_rows
from sysid_demos.tracking import learn_and_track, show_tracking
from sysid_nodes.bringup import NodeSpec, demo_graph
from sysid_nodes.simulated_robot import differing_chain
from sysid_studies.constrained import torque_errors


def show_torques(
    console: Console,
    report: Report,
    bag: Path,
    estimate: Estimate,
    nominal: ClosedChain,
    truth: ClosedChain,
) -> float:
    """Show the RMS errors of the predicted torques on a held-out run; return the largest ratio to
    the errors with the true parameters.
    """
    friction = FrictionModel(DriveTrain.direct(nominal.actuated))
    equations = ArmEquations.build(DrivenRobot.of(nominal), [read_bag(bag)], friction, Processing())
    equations = equations.with_delay(TorqueDelay.of(equations).seconds)
    identified = nominal.with_parameters(estimate.names, estimate.values)
    errors = [torque_errors(equations, chain) for chain in (identified, nominal, truth)]
    rows: list[list[object]] = [[j, *(e[j].rms for e in errors)] for j in nominal.actuated]
    show_rows(
        console,
        report,
        "Predicted torques on a held-out motion, RMS [N m]",
        ("joint", "identified", "nominal", "truth"),
        rows,
    )
    return max(errors[0][j].rms / errors[2][j].rms for j in nominal.actuated)


def show_drives(console: Console, report: Report, estimate: Estimate, truth: ClosedChain) -> float:
    """Compare the estimates with the true parameters; return the largest friction error in standard
    deviations.

    Drive inertias are not judged, because short motions hardly separate them from the inertias of
    the links.
    """
    found = {
        name: (value, sd)
        for name, value, sd in zip(
            estimate.names, estimate.values, estimate.standard_deviations, strict=True
        )
    }
    rows: list[list[object]] = []
    worst = 0.0
    for symbol in ("F_c", "F_v", "I_a"):
        for joint in truth.actuated:
            true = float(getattr(truth.drive(joint), symbol))
            value, sd = found[f"{joint}.{symbol}"]
            if symbol != "I_a":
                worst = max(worst, abs(value - true) / sd)
            known = sd if np.isfinite(sd) else "not alone"
            rows.append([f"{joint}.{symbol}", value, known, true])
    columns = ("parameter", "estimate", "standard deviation", "truth")
    show_rows(console, report, "Friction and drive inertia", columns, rows)
    return worst


LOOPS, SEED = "own-leg", 2
LINK_ERROR, DRIVE_ERROR = 0.1, 0.5
BANDWIDTH = 10.0  # of the feedback [rad/s]: low, so that the model matters and delays don't
ACCELERATION, TCP_SPEED = 60.0, 5.0
# What the exit status demands. Set points at 50 Hz and delays between processes leave a tracking
# error that no parameters remove.
TRUTH_RATIO, TRACKING_RATIO, DEVIATIONS = 1.5, 1.5, 3.0


def play(out: Path, *, namespace: str = "", fast: bool = False) -> int:
    """Run the demo.

    Returns:
        0 if friction and drive parameters are found, torques are predicted, and the controller
        tracks better with the identified parameters; otherwise 1.
    """
    console = Console()
    console.rule("[bold]robot_sysid demo: a leg with closed loops")
    chain, urdf = _described(out)
    files = (out / "trajectory.npz", out / "validation.npz")
    start = _plan(console, chain, files, fast=fast)
    with demo(_nodes(out, namespace, urdf, start), out, namespace, console) as client:
        before, after = learn_and_track(
            client, console, out, files, chain.actuated, method="constrained", loops_file=LOOPS
        )
    report = Report(
        "A leg with closed loops, live",
        f"simulated {chain.name}",
        details="identification/report.html",
    )
    report.paragraph(
        "First, computed_torque_controller moved the leg with the nominal parameters. A motion was"
        " recorded, and the estimator's action identified the leg from it. The controller then"
        " changed to the identified parameters, on request and at rest. The tracking errors are"
        " those of a second motion, which was executed before and after this change."
    )
    ratio = show_tracking(console, report, before, after)
    estimate = Estimate.load(out / "identification" / "estimate.yaml")
    truth = differing_chain(chain, LINK_ERROR, DRIVE_ERROR, np.random.default_rng(SEED))
    worst = show_drives(console, report, estimate, truth)
    torque_ratio = show_torques(console, report, out / "bag_nominal", estimate, chain, truth)
    return judge(console, report, out, _checks(ratio, torque_ratio, worst, estimate))


def _described(out: Path) -> tuple[ClosedChain, Path]:
    """Leg with nominal parameters, and its URDF in a file for the nodes."""
    urdf = out / "robot.urdf"
    out.mkdir(parents=True, exist_ok=True)
    write_text(urdf, load_closed_chain(LOOPS).model.urdf_xml)
    return load_closed_chain(LOOPS, urdf), urdf


def _plan(
    console: Console, chain: ClosedChain, files: tuple[Path, Path], *, fast: bool
) -> list[float]:
    """Plan, check and write both motions; return their start postures."""
    limits = MotionLimits.from_model(chain.model, acceleration=ACCELERATION, tcp_speed=TCP_SPEED)
    config = LoopExcitation(
        duration=10.0 if fast else 20.0,
        fill=0.7,
        velocity=1.5,
        population=12,
        generations=4,
        inertials=True,
        rate_hz=100.0,
    )
    with console.status("Planning and checking the motions") as status:
        plans = config.plan(
            chain,
            np.random.default_rng(SEED),
            2,
            progress=lambda share: status.update(f"Planning: {100 * share:.0f} %"),
        )
        motions = [
            MotionChecker(chain.model, limits).export(plan.of_all_joints(chain), file)
            for plan, file in zip(plans, files, strict=True)
        ]
    console.print(
        f"Planned two motions of {motions[0].duration:.0f} s for {chain.n_actuated} driven joints;"
        f" {len(chain.passive)} more follow through {len(chain.loops)} loops. Every check passed."
    )
    return motions[0].q[0].tolist()


def _nodes(out: Path, namespace: str, urdf: Path, start: list[float]) -> Sequence[NodeSpec]:
    """List of the nodes of the demo."""
    return demo_graph(
        namespace=namespace,
        estimator={"recordings": str(out), "directory": str(out)},
        robot={
            "sensor_frame": "",
            "robot": str(urdf),
            "loops": LOOPS,
            "start": start,
            "link_error": LINK_ERROR,
            "drive_error": DRIVE_ERROR,
            "seed": SEED,
            "command_timeout_s": 0.06,  # held longer, the last effort of a stall would run away
        },
        executor={
            "acceleration": ACCELERATION,
            "tcp_speed": TCP_SPEED,
            "rate_hz": 50.0,
            "command_mode": "setpoint_stream",
            "tracking_error": 1.0,  # of a controller with nominal parameters, which tracks badly
            "start_tolerance": 0.4,
            **PATIENCE,
        },
        logger={"effort_kind": "actuator_torque"},
        controller={"loops": LOOPS, "bandwidth": BANDWIDTH, "state_timeout_s": 0.25},
    )


def _checks(
    tracking_ratio: float, torque_ratio: float, friction_error: float, estimate: Estimate
) -> Sequence[Check]:
    """Checks that determine the exit status."""
    return (
        (
            f"typical tracking error {TRACKING_RATIO} times smaller",
            tracking_ratio >= TRACKING_RATIO,
            f"{tracking_ratio:.1f}",
        ),
        (
            f"torque error of every joint at most {TRUTH_RATIO} times that of the true parameters",
            torque_ratio <= TRUTH_RATIO,
            f"{torque_ratio:.2f}",
        ),
        (
            f"every drive's friction within {DEVIATIONS:.0f} of its standard deviations",
            friction_error <= DEVIATIONS,
            f"{friction_error:.1f}",
        ),
        ("physically consistent", estimate.physically_consistent is True, ""),
    )
