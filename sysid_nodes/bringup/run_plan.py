# SPDX-License-Identifier: Apache-2.0
"""`sysid run CONFIG PLAN`: check, ask, play slowly, play and record, identify or weigh, report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from robot_sysid.action import Identify
from robot_sysid.msg import PayloadEstimate
from robot_sysid.srv import SaveResult

from sysid_core.errors import SysIdError
from sysid_core.planning import Trajectory
from sysid_nodes.bringup.config import read_config
from sysid_nodes.bringup.find_config import find_config
from sysid_nodes.bringup.graph import NodeSpec
from sysid_nodes.bringup.payload_known import PayloadKnown
from sysid_nodes.bringup.processes import running
from sysid_nodes.client import LiveClient, execute_watched, live_client

_OSCILLATION = "oscillation"  # segment of a payload motion
_SETTLED_S, _PATIENCE_S = 2.0, 60.0
_RUNNING = "payload_estimate"


@dataclass(frozen=True)
class RunOptions:
    """What a run is to do.

    Attributes:
        out: Folder for bag, results and logs.
        namespace: Namespace of the nodes.
        slow: Speed of the first pass as a share of the plan's; 0: no first pass.
        method: Estimator of `~/identify`, for plans that aren't of a payload.
        calibration: Kept calibration of the sensor; None: the bringup file's, or tare postures.
        until: Stop as soon as "mass", "com" or "inertia" is known; "": play all.
    """

    out: Path
    namespace: str = ""
    slow: float = 0.3
    method: str = "lmi"
    calibration: Path | None = None
    until: str = ""


def run_plan(config: Path, plan: Path, options: RunOptions, confirm: Callable[[str], bool]) -> int:
    """Do it on a live graph; the robot's driver must be running.

    Args:
        config: Bringup file of the robot.
        plan: Trajectory that `sysid plan` wrote, or the folder with it.
        options: What is wanted.
        confirm: Asked before anything moves; False ends the run.

    Returns:
        Exit status: 0 when all is done, 1 when it was declined.

    Raises:
        SysIdError: The plan is unsafe, a node ended, the motion was aborted, or nothing came out.
    """
    console, out = Console(), options.out.resolve()
    file = (plan / "trajectory.npz" if plan.is_dir() else plan).resolve()
    trajectory = Trajectory.load(file)
    out.mkdir(parents=True, exist_ok=True)
    weighing = any(segment.label == _OSCILLATION for segment in trajectory.segments)
    specs = _for_this_run(
        read_config(find_config(config), namespace=options.namespace),
        out,
        file,
        options.calibration,
    )
    with (
        running(specs, out / "logs") as nodes,
        live_client(options.namespace, nodes.check) as client,
    ):
        with console.status("Waiting for the nodes and the robot"):
            for spec in specs:
                client.wait_for_active(spec.name, _PATIENCE_S)
        with console.status("Checking the motion"):
            client.check(str(file))
        console.print("Every check of the motion has passed.")
        if not confirm(_question(trajectory, options.slow)):
            console.print("Nothing was moved.")
            return 1
        if options.slow:
            _play(client, console, file, trajectory.duration / options.slow, options.slow)
        client.follow(PayloadEstimate, f"estimator/{_RUNNING}")
        bag = Path(client.start_recording(""))
        known = (
            PayloadKnown(client, f"estimator/{_RUNNING}", options.until)
            if weighing and options.until
            else None
        )
        try:
            _play(client, console, file, trajectory.duration, 1.0, known)
        finally:
            client.stop_recording()
        console.print(f"Recorded in {bag}.", soft_wrap=True)
        if weighing:
            _weigh(client, console)
        else:
            _identify(client, console, bag, options.method)
    return 0


def _question(trajectory: Trajectory, slow: float) -> str:
    """What a person has to say yes to before anything moves."""
    first = f", after a first pass at {100 * slow:.0f} % speed" if slow else ""
    moving = f"{trajectory.robot} will move for about {trajectory.duration:.0f} s{first}."
    return f"{moving} Is the room clear, and the emergency stop at hand?"


def _for_this_run(
    specs: tuple[NodeSpec, ...], out: Path, file: Path, calibration: Path | None
) -> tuple[NodeSpec, ...]:
    """All that is written goes to the run's folder, and only its plan may be played."""
    kept = {} if calibration is None else {"calibration": str(calibration.resolve())}
    folders: dict[str, dict[str, Any]] = {
        "data_logger": {"directory": str(out)},
        "estimator": {"directory": str(out), "recordings": str(out), **kept},
        "trajectory_executor": {"trajectories": (str(file.parent),)},
    }
    return tuple(
        replace(spec, parameters={**spec.parameters, **folders.get(spec.executable, {})})
        for spec in specs
        if spec.executable != "payload_bridge"
    )


def _play(
    client: LiveClient,
    console: Console,
    file: Path,
    duration_s: float,
    scale: float,
    known: PayloadKnown | None = None,
) -> Any:
    result = execute_watched(
        client,
        console,
        file,
        timeout_s=3.0 * duration_s + 120.0,
        speed_scale=scale,
        enough=known or (lambda: False),
    )
    console.print(
        f"Played at {100 * scale:.0f} % in {result.duration:.0f} s, tracking error at most"
        f" {1e3 * result.max_tracking_error:.1f} mrad.",
        highlight=False,
    )
    return result


def _weigh(client: LiveClient, console: Console) -> None:
    topic = f"estimator/{_RUNNING}"
    try:
        client.wait_until_steady(topic, "samples_used", _SETTLED_S, _PATIENCE_S)
    except SysIdError as err:
        raise SysIdError(
            "No payload was estimated.",
            remedy="Are sensor_frame and shape set in the bringup file, and does the wrench come?"
            " The estimator's log says more; `sysid payload` reads the bag.",
        ) from err
    found = client.latest[topic]
    saved = client.call(SaveResult, "estimator/save", SaveResult.Request(directory="payload"))
    console.print(
        f"{found.inertia.m:.4f} ± {2 * found.inertia_sd.m:.4f} kg (2 sd) in frame"
        f" '{found.header.frame_id}'. {found.advice} Saved: {saved.path}",
        highlight=False,
        soft_wrap=True,
    )


def _identify(client: LiveClient, console: Console, bag: Path, method: str) -> None:
    folder = "identification"
    with console.status("Identifying") as status:
        goal = Identify.Goal(recording=bag.name, method=method, directory=folder)
        result = client.identify(goal, lambda f: status.update(f.step), timeout_s=3600.0)
    estimate = result.estimate
    console.print(
        f"Rank {estimate.rank} of {estimate.structural_rank} by {estimate.method}."
        f" Report: {result.report}",
        highlight=False,
        soft_wrap=True,
    )
