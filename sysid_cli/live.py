# SPDX-License-Identifier: Apache-2.0
"""Commands that need ROS, which is imported only when they run: up, run, watch, robot, bag replay."""

from __future__ import annotations

import importlib
import re
import signal
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from sysid_cli.bag import PathArgument, bag
from sysid_cli.base import app, console, group
from sysid_cli.settings import command
from sysid_core.errors import SysIdError


def ros_module(name: str) -> Any:
    """Return the module of the ROS nodes, imported only on demand, so that all other commands work
    without ROS.

    SIGINT ends the running command, as with `ros2 launch`, even if the shell started the process
    with SIGINT ignored (`nohup`, or in the background of a script).

    Raises:
        SysIdError: ROS or the compiled interfaces are missing.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return importlib.import_module(name)
    except ImportError as err:
        raise SysIdError(
            f"The live commands need ROS 2 and the built interfaces ({err}).",
            remedy="Run `make setup` and `source scripts/env.sh`, or source your ROS 2 workspace;"
            " `sysid doctor` lists missing parts.",
        ) from err


_ROS_NAME = re.compile(r"(/?[a-z_]\w*(/[a-z_]\w*)*/?)?", re.ASCII | re.IGNORECASE)


def _ros_name(value: str) -> str:
    """Return a namespace or topic name that ROS accepts (callback of an option)."""
    if not _ROS_NAME.fullmatch(value):
        raise SysIdError(
            f"{value!r} is not a valid ROS name.",
            remedy="Use letters, digits and underscores, such as left_arm or /cell_1/left_arm; no"
            " part may begin with a digit.",
        )
    return value.rstrip("/")


_RosName = Annotated[str, typer.Option(callback=_ros_name)]


@command(app, example="sysid up demo --scenario leg")
def up(
    *,
    graph: Annotated[str, typer.Argument()],
    scenario: str = "payload",
    out: Path = Path("results/demo"),
    config: Path | None = None,
    namespace: _RosName = "",
    fast: Annotated[bool, typer.Option("--fast/--no-fast")] = False,
) -> None:
    """Start the nodes. `demo` runs a complete identification on a simulated robot.

    Args:
        graph: demo (simulated robot) or bringup (real robot).
        scenario: Scenario of the demo: payload or leg.
        out: Folder for bag, report and logs.
        config: Bringup file of the robot, see config/bringup_*.yaml.
        namespace: Namespace of all nodes.
        fast: Use a shorter motion.
    """
    if graph == "demo":
        status = ros_module("sysid_demos.run").run(scenario, out, namespace=namespace, fast=fast)
    elif graph == "bringup":
        status = ros_module("sysid_nodes.bringup").bring_up(config, out, namespace=namespace)
    else:
        raise SysIdError(f"No graph '{graph}'.", remedy="Choose demo or bringup.")
    raise typer.Exit(status)


@command(app, example="sysid run config/bringup_ur.yaml plan --out results/run")
def run(
    *,
    config: Path,
    plan: Path,
    out: Path = Path("results/run"),
    namespace: _RosName = "",
    slow: Annotated[float, typer.Option(min=0.0, max=1.0)] = 0.3,
    method: str = "lmi",
    calibration: Path | None = None,
    until: str = "",
    yes: bool = False,
) -> None:
    """Execute a plan slowly, then at full speed while recording; then estimate the parameters of
    the payload or of the arm.

    The driver of the robot must be running. The robot moves only after you confirm. Ctrl-C stops
    the robot smoothly.

    Args:
        config: Bringup file, see config/bringup_*.yaml.
        plan: Trajectory, or result folder of `sysid plan`.
        out: New folder for bag, results and logs.
        namespace: Namespace of all nodes.
        slow: Speed of a first, slow execution, relative to the planned speed; 0: no slow execution.
        method: Estimation method for plans of a whole arm, as in `sysid identify`; none: only record.
        calibration: Stored calibration of the sensor, for plans without a tare.
        until: Stop the motion smoothly as soon as this quantity of the payload is accurate enough:
            'mass', 'com' or 'inertia'.
        yes: Do not ask for confirmation before the robot moves.
    """
    module = ros_module("sysid_nodes.bringup")
    if out.exists() and any(out.iterdir()):
        raise SysIdError(f"'{out}' isn't empty.", remedy="Give another --out.")
    if until not in ("", "mass", "com", "inertia"):
        raise SysIdError(
            f"'{until}' is not a quantity of the payload.",
            remedy="Set --until to mass, com or inertia.",
        )
    if calibration is not None and not calibration.is_file():
        raise SysIdError(f"No file '{calibration}'.", remedy="`sysid tare` writes one.")
    status = module.run_plan(
        config,
        plan,
        out,
        lambda text: yes or typer.confirm(text),
        namespace=namespace,
        slow=slow,
        method=method,
        calibration=calibration,
        until=until,
    )
    raise typer.Exit(status)


@command(app, example="sysid watch --seconds 60")
def watch(
    *, namespace: _RosName = "", seconds: Annotated[float, typer.Option(min=0.0)] = 0.0
) -> None:
    """Show the running nodes in the terminal, with their topics, motion, payload and parameters.

    Example: `sysid watch --namespace left`. Exit status 1 if no node is running or one reports an
    error.

    Args:
        namespace: Namespace of the nodes.
        seconds: Duration [s]; 0: until Ctrl-C.
    """
    show = ros_module("sysid_monitor.watch").watch
    raise typer.Exit(show(namespace, seconds or float("inf")))


robot = group(
    "robot",
    "Save the description published by a running robot.",
    "sysid robot save robot.urdf",
)


@command(robot, example="sysid robot save robot.urdf")
def save(
    *,
    path: Path,
    topic: _RosName = "robot_description",
    namespace: _RosName = "",
    timeout: Annotated[float, typer.Option(min=0.1)] = 10.0,
    force: bool = False,
) -> None:
    """Save the published robot description as a URDF file, and print its hash.

    Args:
        path: URDF file to write.
        topic: Topic of the robot description (latched).
        namespace: Namespace of a relative topic.
        timeout: Timeout [s].
        force: Overwrite an existing file.
    """
    module = ros_module("sysid_nodes.client")
    raise typer.Exit(
        module.save_robot(path, topic=topic, namespace=namespace, timeout_s=timeout, force=force)
    )


@command(bag, example="sysid bag replay recording.mcap --rate 2 --clock")
def replay(
    *,
    path: PathArgument,
    rate: Annotated[float, typer.Option(min=0.01, max=1000.0)] = 1.0,
    start: Annotated[float, typer.Option(min=0.0)] = 0.0,
    loop: bool = False,
    clock: bool = False,
    wait: Annotated[float, typer.Option(min=0.0)] = 10.0,
    listeners: Annotated[list[str] | None, typer.Option("--for", metavar="NODE")] = None,
) -> None:
    """Publish the messages of a bag (needs ROS). The space bar pauses, and the key `s` publishes a
    single message.

    Args:
        rate: Replay rate, relative to real time.
        start: Start of the replay, relative to the start of the bag [s].
        loop: Repeat the bag.
        clock: Publish /clock, for nodes with use_sim_time.
        wait: Longest wait for subscribers [s].
        listeners: Node whose subscriptions the replay waits for; may be repeated; default: all
            subscribers.
    """
    module = ros_module("sysid_nodes.replay")
    sent = module.replay(
        path,
        rate=rate,
        start_s=start,
        loop=loop,
        clock=clock,
        wait_s=wait,
        listeners=listeners or (),
        say=console.print,
    )
    console.print(f"{sent} messages sent.")
