# SPDX-License-Identifier: Apache-2.0
"""Demo of a payload: an xArm 7 in MuJoCo identifies the mass, centre of mass and inertia of a
hammer.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rich.console import Console
from robot_sysid.msg import Identifiability, InertialEstimate, PayloadEstimate

from sysid_core import workflows
from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import PayloadSummary
from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession
from sysid_core.files import write_yaml
from sysid_core.planning import HeldBox, MotionChecker, MotionLimits, Trajectory
from sysid_core.planning.payload import plan_payload_motion
from sysid_core.report import Report, with_deviation
from sysid_core.robot import Array, RobotModel
from sysid_core.robot.shapes import load_shape
from sysid_core.settings import build_settings
from sysid_core.signals import bags
from sysid_core.workflows import WeighSettings
from sysid_demos.parts import PATIENCE, demo, judge, show_rows
from sysid_nodes.bringup import NodeSpec, demo_graph
from sysid_nodes.client import LiveClient
from sysid_nodes.conversions import estimate_from_message
from sysid_studies.payload import modular_objects

ROBOT, SENSOR_FRAME, OBJECT = "xarm7", "link_eef", "Hammer"
WRENCH_BIAS = (3.0, -2.0, 5.0, 0.15, -0.1, 0.05)  # [N, N m]
# What the exit status demands.
MASS_LIMIT, COM_LIMIT = 1.5, 3.0  # [%] of the mass, of the object's extent


def shape_file() -> Path:
    """Write the shape file of the object, as a user would."""
    here = Path(__file__).resolve().parent.parent / "config" / "shapes" / "modular_object.yaml"
    if here.is_file():
        return here
    from ament_index_python.packages import get_package_share_directory

    return Path(get_package_share_directory("robot_sysid")) / "config/shapes/modular_object.yaml"


def play(out: Path, *, namespace: str = "", fast: bool = False) -> int:
    """Run the demo.

    Returns:
        0 if mass, centre of mass, physical consistency and the replay pass their checks; otherwise
        1.
    """
    console = Console()
    model = RobotModel.from_urdf(ROBOT)
    truth = modular_objects()[OBJECT].pi
    shape = load_shape(shape_file())
    trajectory_file, bag = out / "trajectory.npz", out / "bag"
    shutil.rmtree(bag, ignore_errors=True)
    console.rule("[bold]robot_sysid demo: weighing a payload")
    with console.status("Planning and checking the motion"):
        box = HeldBox(tuple(shape.size), tuple((shape.lower + shape.upper) / 2))
        limits = MotionLimits.from_model(model, tcp_frame=SENSOR_FRAME, held=box)
        plan = plan_payload_motion(model, limits, duration=8.0 if fast else 15.0)
        MotionChecker(model, limits).export(plan.trajectory, trajectory_file)
    trajectory = plan.trajectory
    console.print(
        f"Planned {trajectory.duration:.0f} s: static tare postures, then an oscillation of the"
        f" last three joints at {plan.mean_angular_speed:.1f} rad/s. Every check passed."
    )
    specs = _nodes(out, namespace, trajectory, truth)
    began = time.monotonic()
    with demo(specs, out, namespace, console) as client:
        client.follow(Identifiability, "estimator/identifiability")
        client.follow(PayloadEstimate, "estimator/payload_estimate")
        answer = client.wait_for("estimator/identifiability")
        console.print(
            f"{len(specs)} nodes are up. Of {answer.n_parameters} inertial parameters of"
            f" {answer.robot}, {answer.n_base} combinations are identifiable; for a payload on a"
            " force-torque sensor, all 10 are."
        )
        client.start_recording(str(bag))
        _execute(client, console, trajectory_file, timeout_s=trajectory.duration + 60.0)
        client.wait_until_settled("estimator/payload_estimate", 1.5, 60.0)
        client.stop_recording()
        # Subscriptions that come late still get the latched result.
        client.follow(InertialEstimate, "estimator/payload_parameters")
        client.follow(InertiaStamped, "estimator/payload")
        parameters = client.wait_for("estimator/payload_parameters")
        payload = client.wait_for("estimator/payload")
    console.print(
        f"Read back from the topic: {payload.inertia.m:.4f} kg in frame"
        f" '{payload.header.frame_id}' ({time.monotonic() - began:.0f} s since the start)."
    )
    online = estimate_from_message(parameters)
    online.save(out / "live_estimate.yaml")
    offline = _weighed(console, out, bag, truth)
    session = PayloadSession(model, SENSOR_FRAME, OnlinePayload(shape))
    session.replay(bags.read_bag(bag))
    replayed = session.online.estimate()
    return _judge(console, out, online, replayed, offline, truth, shape.size)


def _nodes(out: Path, namespace: str, motion: Trajectory, truth: Array) -> Sequence[NodeSpec]:
    """List of the nodes of the demo; the robot starts near the start posture of the motion, but not
    exactly at it.
    """
    n = motion.q.shape[1]
    start = motion.q[0] + np.random.default_rng(7).uniform(-0.15, 0.15, n)
    return demo_graph(
        namespace=namespace,
        robot={
            "robot": ROBOT,
            "sensor_frame": SENSOR_FRAME,
            "payload": truth.tolist(),
            "start": start.tolist(),
            "wrench_bias": list(WRENCH_BIAS),
        },
        executor={"tcp_frame": SENSOR_FRAME, **PATIENCE},
        logger={"effort_kind": "actuator_torque"},
        estimator={"directory": str(out), "sensor_frame": SENSOR_FRAME, "shape": str(shape_file())},
    )


def _execute(client: LiveClient, console: Console, file: Path, timeout_s: float) -> None:
    """Send the motion as a goal, and show progress, state and the running estimate."""

    def describe(feedback: Any) -> str:
        latest = client.latest.get("estimator/payload_estimate")
        if latest is None:
            return f"{feedback.state} {feedback.segment}"
        return f"{feedback.segment}: {latest.inertia.m:.3f} ± {2 * latest.inertia_sd.m:.3f} kg"

    result = client.execute_watched(console, file, timeout_s=timeout_s, describe=describe)
    latest = client.wait_for("estimator/payload_estimate")
    console.print(
        f"Motion done in {result.duration:.0f} s, tracking error at most"
        f" {1e3 * result.max_tracking_error:.1f} mrad. {latest.advice}"
    )


def _weighed(console: Console, out: Path, bag: Path, truth: Array) -> Estimate:
    """Weigh from the same bag as `sysid payload` does, and write its report."""
    truth_file = out / "truth.yaml"
    write_yaml(truth_file, {"pi": truth.tolist()})
    given = {
        "robot": ROBOT,
        "sensor_frame": SENSOR_FRAME,
        "shape": str(shape_file()),
        "truth": truth_file,
    }
    with console.status("Weighing from the bag, as `sysid payload` does"):
        weighed = workflows.WeighedRecording.from_file(bag, build_settings(WeighSettings, given))
        weighed.write(out)
    return weighed.estimate


def _judge(
    console: Console,
    out: Path,
    online: Estimate,
    replayed: Estimate,
    offline: Estimate,
    truth: Array,
    size: Array,
) -> int:
    """Show estimate and true values; return 0 if the demo reached its goals, otherwise 1."""
    report = Report(f"Demo: a {OBJECT.lower()} on an xArm 7", "live, by the estimator's topic")
    report.paragraph(
        "The table shows the running estimate, as published on its topic. report.html, in the same"
        " folder, contains the evidence and the batch estimate from the recording"
        f" ({offline.values[0]:.4f} kg), whose motion is smoothed in both directions. Both allow"
        " for errors of the sensor gains, which this simulated sensor does not have."
    )
    show_rows(
        console,
        report,
        f"The {OBJECT.lower()} in the sensor frame: running estimate against truth",
        ("quantity", "unit", "estimate ± sd", "truth", "error", "verdict"),
        [
            [*row[:2], with_deviation(*row[2:4]), *row[4:]]
            for row in PayloadSummary.compared(online, truth)
        ],
    )
    errors = PayloadSummary.errors_percent(online.values, truth, size)
    difference = float(np.max(np.abs(replayed.values - online.values) / np.abs(truth).clip(1e-3)))
    checks = (
        (f"mass within {MASS_LIMIT} %", errors["mass"] <= MASS_LIMIT, f"{errors['mass']:.3f} %"),
        (
            f"centre of mass within {COM_LIMIT} % of the extent",
            errors["com_worst"] <= COM_LIMIT,
            f"{errors['com_worst']:.3f} %",
        ),
        ("physically consistent", online.physically_consistent is True, ""),
        ("live and offline agree to 1e-6", difference <= 1e-6, f"{difference:.1e}"),
    )
    status = judge(console, report, out, checks, "checks")
    console.print(
        f"Inertia error {errors['inertia']:.1f} % (not judged, because slow motion contains little"
        " information about it)."
    )
    console.print(f"Report: {out / 'report.html'}   bag: {out / 'bag'}", soft_wrap=True)
    return status
