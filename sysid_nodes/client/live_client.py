# SPDX-License-Identifier: Apache-2.0
"""Client of the nodes for a terminal: record, execute, identify."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from robot_sysid.action import ExecuteTrajectory, Identify
from robot_sysid.msg import FilteredJointState
from robot_sysid.srv import Arm, StartRecording, StopRecording

from sysid_nodes.client.node_client import NodeClient


class LiveClient(NodeClient):
    """Client of the nodes of this package."""

    @classmethod
    @contextlib.contextmanager
    def open(
        cls,
        namespace: str = "",
        check: Callable[[], None] = lambda: None,
        *,
        sim_time: bool = False,
    ) -> Iterator[LiveClient]:
        """Provide a client of the nodes; the signal handlers of Python stay in place.

        Args:
            namespace: Namespace of the nodes.
            check: Function that is called while waiting; it raises an error if something else failed.
            sim_time: True if the nodes take their time from /clock.
        """
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        client = cls(namespace, check, sim_time)
        try:
            yield client
        finally:
            client.node.destroy_node()
            rclpy.try_shutdown()

    def start_recording(self, path: str) -> str:
        """Start a bag of the data logger, as soon as joint states arrive.

        Args:
            path: Path of the bag below the folder of the data logger; empty: a name with date and
                time.
        """
        self.flowing = False

        def flows(_: Any) -> None:
            self.flowing = True

        topic = self.node.create_subscription(FilteredJointState, "data_logger/filtered", flows, 10)
        self.wait_until(lambda: self.flowing, 20.0, "filtered joint states")
        self.node.destroy_subscription(topic)
        request = StartRecording.Request(path=path and str(Path(path).absolute()))
        return str(self.call(StartRecording, "data_logger/start", request).path)

    def stop_recording(self) -> str:
        """Close the bag of the data logger."""
        return str(self.call(StopRecording, "data_logger/stop", StopRecording.Request()).path)

    def execute(
        self,
        trajectory_file: str,
        on_feedback: Callable[[Any], None],
        *,
        timeout_s: float,
        speed_scale: float = 1.0,
        enough: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Play a trajectory; Ctrl-C cancels it on the robot.

        Args:
            trajectory_file: Path of a file written by `sysid plan`, below the executor's folders.
            on_feedback: Function that is called with the executor's feedback.
            timeout_s: Longest time to wait for the end of the motion [s].
            speed_scale: Fraction of the planned speed.
            enough: Function that returns True to end the motion early, with the smooth stop of the
                executor.

        Raises:
            LiveError: The motion was refused or aborted; the message is that of the executor.
        """
        token = str(self.call(Arm, "trajectory_executor/arm", Arm.Request()).token)
        goal = ExecuteTrajectory.Goal(
            trajectory_file=_in_full(trajectory_file), speed_scale=speed_scale, token=token
        )
        return self.act(
            ExecuteTrajectory,
            "trajectory_executor/execute",
            goal,
            on_feedback,
            timeout_s,
            enough,
        )

    def check(self, trajectory_file: str, *, timeout_s: float = 120.0) -> None:
        """Let the executor check a trajectory without playing it.

        Raises:
            LiveError: A check failed; the message states which one.
        """
        goal = ExecuteTrajectory.Goal(
            trajectory_file=_in_full(trajectory_file), speed_scale=1.0, check_only=True
        )
        name = "trajectory_executor/execute"
        self.act(ExecuteTrajectory, name, goal, lambda _: None, timeout_s)

    def identify(
        self, goal: Any, on_feedback: Callable[[Any], None], *, timeout_s: float = 120.0
    ) -> Any:
        """Let the estimator identify a recording."""
        return self.act(Identify, "estimator/identify", goal, on_feedback, timeout_s)

    def execute_watched(
        self,
        console: Console,
        file: Path,
        *,
        timeout_s: float,
        speed_scale: float = 1.0,
        enough: Callable[[], bool] = lambda: False,
        describe: Callable[[Any], str] = lambda feedback: f"{feedback.state} {feedback.segment}",
    ) -> Any:
        """Execute a trajectory, show its progress, and return the result of the executor.

        Raises:
            LiveError: The motion was refused or aborted; the message is that of the executor.
        """
        columns = (
            TextColumn("{task.description:34}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("checking", total=1.0)

            def show(feedback: Any) -> None:
                progress.update(task, description=describe(feedback), completed=feedback.progress)

            return self.execute(
                str(file), show, timeout_s=timeout_s, speed_scale=speed_scale, enough=enough
            )


def _in_full(file: str) -> str:
    """Absolute path of a file on this computer; any other name is returned unchanged."""
    return str(Path(file).absolute()) if Path(file).exists() else file


@contextlib.contextmanager
def own_domain() -> Iterator[dict[str, str]]:
    """Provide environment variables for an unused ROS domain on the loopback interface.

    Fast DDS uses UDP in this domain, because its shared-memory ports are common to all domains, and
    an incomplete port of a killed process would block the nodes of this one.
    """
    with contextlib.ExitStack() as stack:
        try:
            from domain_coordinator import domain_id

            number = stack.enter_context(domain_id())
        except ImportError:
            number = 1 + time.time_ns() // 1_000_000 % 100
        yield {"ROS_DOMAIN_ID": str(number), **_loopback()}


def _loopback() -> dict[str, str]:
    if "fastrtps" not in os.environ.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp"):
        return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    profile = str(Path(__file__).with_name("loopback.xml"))
    # ROS's own "localhost" would add shared memory, whatever the profile says.
    old = os.environ.get("ROS_DISTRO") in ("humble", "iron", "jazzy")
    name = "FASTRTPS_DEFAULT_PROFILES_FILE" if old else "FASTDDS_DEFAULT_PROFILES_FILE"
    return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT", name: profile}
