# SPDX-License-Identifier: Apache-2.0
"""`sysid up --config` starts the nodes for a real robot; `sysid run CONFIG PLAN` also runs an
experiment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from robot_sysid.action import Identify
from robot_sysid.msg import PayloadEstimate
from robot_sysid.srv import SaveResult

from sysid_core import workflows
from sysid_core.errors import SysIdError
from sysid_core.planning import Trajectory
from sysid_core.settings import build_settings
from sysid_core.signals import ColumnMap, EffortKind
from sysid_core.workflows import WeighSettings
from sysid_nodes.bringup.config import read_config
from sysid_nodes.bringup.graph import NodeSpec
from sysid_nodes.bringup.processes import live, running
from sysid_nodes.client import LiveClient, LiveError
from sysid_nodes.conversions import ns_from_stamp
from sysid_nodes.runner import ONLY_RECORD, PATIENCE_S, run_experiment
from sysid_nodes.trajectory_executor import CommandMode, follow_action

_INERTIA = {PayloadEstimate.INERTIA_KNOWN}
_COM = {PayloadEstimate.COM_KNOWN, PayloadEstimate.PRIOR_DOMINATED, *_INERTIA}
_STATES = {"mass": {PayloadEstimate.MASS_KNOWN, *_COM}, "com": _COM, "inertia": _INERTIA}


class PayloadKnown:
    """Test whether the payload estimate of the current motion is accurate enough in its mass,
    centre of mass or inertia.

    Args:
        client: Client that follows the topic.
        topic: Topic of the running payload estimate.
        until: "mass", "com" or "inertia".
    """

    def __init__(self, client: LiveClient, topic: str, until: str) -> None:
        self._client, self._topic, self._states = client, topic, _STATES[until]
        self._began_ns = client.node.get_clock().now().nanoseconds

    def __call__(self) -> bool:
        """Return True if the newest estimate is settled and uses only samples of this motion."""
        latest = self._client.latest.get(self._topic)
        if latest is None or ns_from_stamp(latest.valid_from) < self._began_ns:
            return False
        return latest.state in self._states


def bring_up(config: Path | None, out: Path, *, namespace: str = "") -> int:
    """Start the nodes and wait until interrupted."""
    if config is None:
        raise SysIdError(
            "A bringup needs a robot description.",
            remedy="Give --config; start from config/bringup_ur.yaml, _franka.yaml or _xarm.yaml.",
        )
    specs = _startable(config, namespace)
    console = Console()
    console.print(
        f"ROS_DOMAIN_ID={os.environ.get('ROS_DOMAIN_ID', '0')}: starting"
        f" {', '.join(spec.name for spec in specs)}. Nothing moves until a goal is sent to"
        " trajectory_executor/execute. Ctrl-C ends."
    )
    with running(specs, out / "logs") as nodes:
        try:
            while True:
                nodes.check()
                time.sleep(0.5)
        except KeyboardInterrupt:
            console.print("Stopping the nodes.")
    return 0


def _startable(config: Path, namespace: str) -> tuple[NodeSpec, ...]:
    """Nodes of a bringup file, after a check of their requirements (errors are shown in the
    terminal).

    Raises:
        SysIdError: The file is invalid, or the message types of the robot's controller are not
            installed.
    """
    specs = read_config(config, namespace=namespace)
    if any(spec.parameters.get("command_mode") == CommandMode.FOLLOW for spec in specs):
        follow_action()
    return specs


Result = TypeVar("Result")

_OSCILLATION = "oscillation"  # segment of a payload motion
_RUNNING = "estimator/payload_estimate"


def run_plan(
    config: Path,
    plan: Path,
    out: Path,
    confirm: Callable[[str], bool],
    *,
    namespace: str = "",
    slow: float = 0.3,
    method: str = "lmi",
    calibration: Path | None = None,
    until: str = "",
) -> int:
    """Execute a plan with running nodes; the driver of the robot must be running.

    Args:
        config: Bringup file of the robot.
        plan: Trajectory that `sysid plan` wrote, or the folder with it.
        out: Folder for bag, results and logs.
        confirm: Function that asks a person before anything moves; False ends the run.
        namespace: Namespace of the nodes.
        slow: Speed of the first, slow execution, relative to the planned speed; 0: no slow
            execution.
        method: Estimator of `~/identify`, for plans that are not payload motions; "none": only
            record.
        calibration: Calibration file of the sensor; None: the file named in the bringup file, or
            else the tare postures of the plan.
        until: Stop as soon as "mass", "com" or "inertia" is accurate enough; "": execute the whole
            motion.

    Returns:
        Exit status: 0 after a complete run, 1 if the person declined it.

    Raises:
        SysIdError: The plan is unsafe, a node ended, the motion was aborted, or there is no result.
    """
    console, out = Console(), out.resolve()
    file = Path(os.path.realpath(plan / "trajectory.npz" if plan.is_dir() else plan))
    trajectory = Trajectory.load(file)
    out.mkdir(parents=True, exist_ok=True)
    weighing = method != ONLY_RECORD and any(s.label == _OSCILLATION for s in trajectory.segments)
    specs = _for_this_run(
        _startable(config, namespace),
        out,
        file,
        trajectory,
        calibration,
    )
    if not weighing and method not in ("servos", ONLY_RECORD):
        require_usable_efforts(specs)
    with live(specs, out, namespace, console) as (_, client):
        client.follow(PayloadEstimate, _RUNNING)
        graph = _Graph(client, console, file, trajectory.duration, until if weighing else "")
        done = _run(
            run_experiment(
                graph,
                slow=slow,
                method="payload" if weighing else method,
                confirmed=lambda: confirm(_question(trajectory, slow)),
            )
        )
    if done is None:
        console.print("Nothing was moved.")
        return 1
    what = "Saved" if weighing else "Report"
    saved = f" {what}: {done.saved}" if done.saved else ""
    console.print(f"{done}{saved}", highlight=False, soft_wrap=True)
    if weighing:
        console.print(weighed_again(specs, graph.bag, out / "weighed"), soft_wrap=True)
    return 0


def require_usable_efforts(specs: Sequence[NodeSpec]) -> None:
    """Refuse efforts from which an arm cannot be identified, before it moves.

    Args:
        specs: Nodes of the run.

    Raises:
        SysIdError: The kind of the efforts is not declared, or they are motor currents and the
            gains of the drives are unknown.
    """
    logger, estimator = (_parameters(specs, name) for name in ("data_logger", "estimator"))
    columns, kind = estimator.get("columns", ""), EffortKind(logger.get("effort_kind", "unknown"))
    if logger.get("targets"):  # position servos, which need no efforts
        return
    if not (kind.is_torque or kind is EffortKind.MOTOR_CURRENT):
        raise SysIdError(
            f"The efforts of the robot are declared '{kind.value}': they cannot identify its arm.",
            remedy="Set effort_kind of data_logger in the bringup file (docs/vendors.md).",
        )
    known = ColumnMap.load(columns).gains_known if columns else kind.is_torque
    if not known:
        raise SysIdError(
            "The efforts are motor currents, and the gains of the drives are unknown.",
            remedy="Set columns of estimator in the bringup file to a column map with drives.gain."
            " To estimate the gains, record with and without a known load (`sysid run … --method"
            " none`), then use `sysid identify … --loaded RECORDING --load-mass KG --load-frame FRAME`.",
        )


def weighed_again(specs: Sequence[NodeSpec], bag: Path, folder: Path) -> str:
    """Weigh the recording with the settings of the running estimator, and write a report.

    Args:
        specs: Nodes of the run.
        bag: Recording.
        folder: Output folder, with the same files as from `sysid payload --out`.

    Returns:
        Sentence with the path of the report, or with the reason why there is none.
    """
    p = _parameters(specs, "estimator")
    given = {
        name: p[name] for name in ("robot", "sensor_frame", "sensor_parent", "shape") if name in p
    }
    given |= {
        "lock": p.get("lock"),
        "wrench_frame": p.get("wrench_frames"),
        "sensor_pose": " ".join(map(str, p.get("sensor_pose", ()))),
        "mount": ",".join(map(str, p.get("mount", ()))),
        "sensor": p.get("sensor_quality"),
        "calibration": Path(p["calibration"]) if p.get("calibration") else None,
    }
    try:
        workflows.WeighedRecording.from_file(bag, build_settings(WeighSettings, given)).write(
            folder
        )
    except (SysIdError, OSError, ValueError) as err:  # the run itself is over, and saved
        return f"No report: {err}"
    return f"Report: {folder / 'report.html'}"


def _parameters(specs: Sequence[NodeSpec], executable: str) -> Mapping[str, Any]:
    return next((spec.parameters for spec in specs if spec.executable == executable), {})


def _question(trajectory: Trajectory, slow: float) -> str:
    """Question that a person must confirm before the robot moves."""
    first = f", after a first pass at {100 * slow:.0f} % speed" if slow else ""
    moving = f"{trajectory.robot} will move for about {trajectory.duration:.0f} s{first}."
    return f"{moving} Is the workspace clear, and the emergency stop within reach?"


def _for_this_run(
    specs: tuple[NodeSpec, ...],
    out: Path,
    file: Path,
    trajectory: Trajectory,
    calibration: Path | None,
) -> tuple[NodeSpec, ...]:
    """Copy of the nodes that write all files to the folder of this run, and may play only its plan."""
    kept = {} if calibration is None else {"calibration": str(calibration.resolve())}
    folders: dict[str, dict[str, Any]] = {
        "data_logger": {"directory": str(out)},
        "estimator": {"directory": str(out), "recordings": str(out), **kept},
        "trajectory_executor": {"trajectories": (str(file.parent),)},
    }
    if "start" not in _parameters(specs, "simulated_robot"):  # a simulated robot waits at the start
        folders["simulated_robot"] = {"start": tuple(trajectory.q[0].tolist())}
    return tuple(
        replace(spec, parameters={**spec.parameters, **folders.get(spec.executable, {})})
        for spec in specs
        if spec.executable != "payload_bridge"
    )


def _run(blocking: Coroutine[Any, Any, Result]) -> Result:
    """Result of a coroutine that never waits, run without an event loop, because an event loop
    would intercept Ctrl-C.
    """
    try:
        blocking.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise RuntimeError("Calls of this graph block and must not be awaited.")


class _Graph:
    """Client of the nodes that shows the progress of each call."""

    def __init__(
        self, client: LiveClient, console: Console, file: Path, duration_s: float, until: str
    ) -> None:
        self._client, self._console, self._file = client, console, file
        self._duration_s, self._until = duration_s, until

    def now_ns(self) -> int:
        return int(self._client.node.get_clock().now().nanoseconds)

    async def check(self) -> None:
        with self._console.status("Checking the motion"):
            self._client.check(str(self._file))
        self._console.print("All checks of the motion have passed.")

    async def play(self, step: str, speed_scale: float) -> None:
        enough: Callable[[], bool] = lambda: False  # noqa: E731
        if self._until and speed_scale == 1.0:
            enough = PayloadKnown(self._client, _RUNNING, self._until)
        result = self._client.execute_watched(
            self._console,
            self._file,
            timeout_s=3.0 * self._duration_s / speed_scale + 120.0,
            speed_scale=speed_scale,
            enough=enough,
        )
        self._console.print(
            f"Played at {100 * speed_scale:.0f} % in {result.duration:.0f} s, tracking error at most"
            f" {1e3 * result.max_tracking_error:.1f} mrad.",
            highlight=False,
        )

    async def start_recording(self) -> str:
        self.bag = Path(self._client.start_recording(""))
        return self.bag.name

    async def stop_recording(self) -> None:
        self._client.stop_recording()
        self._console.print(f"Recorded in {self.bag}.", soft_wrap=True)

    async def payload(self, is_final: Callable[[PayloadEstimate | None], bool]) -> bool:
        def final() -> bool:
            return is_final(self._client.latest.get(_RUNNING))

        with suppress(LiveError):
            self._client.wait_until(final, PATIENCE_S, "a constant payload estimate")
        return final()

    async def save(self) -> str:
        request = SaveResult.Request(directory="payload")
        return str(self._client.call(SaveResult, "estimator/save", request).path)

    async def identify(self, recording: str, method: str) -> Any:
        goal = Identify.Goal(recording=recording, method=method, directory="identification")
        with self._console.status("Identifying") as status:
            return self._client.identify(goal, lambda f: status.update(f.step), timeout_s=3600.0)
