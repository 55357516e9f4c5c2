# SPDX-License-Identifier: Apache-2.0
"""A run of the executor on an emulated driver, and what really happened."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from busy_machine import pace
from forked_python import Forked
from rclpy.action import ActionClient
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.srv import Arm
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from sysid_core.planning import MotionChecker, MotionLimits
from sysid_core.planning.payload.motion import oscillation
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.robot import RobotModel
from sysid_nodes.client import LiveClient, LiveError
from sysid_nodes.conversions import ns_from_stamp

DRIVERS = Path(__file__).resolve().parents[2] / "drivers"
sys.path.insert(0, str(DRIVERS))
from vendors import VENDORS  # noqa: E402

ROBOTS = {"ur": "ur5", "franka": "panda", "xarm": "xarm7", "digit": "panda"}
ACCELERATION = 5.0  # [rad/s^2]
# In a process of its own: this one lacks the driver's messages.
RECOVER = """
import rclpy
from rclpy.action import ActionClient
from franka_msgs.action import ErrorRecovery
rclpy.init()
node = rclpy.create_node("recover")
action = ActionClient(node, ErrorRecovery, "/action_server/error_recovery")
action.wait_for_server()
sent = action.send_goal_async(ErrorRecovery.Goal())
rclpy.spin_until_future_complete(node, sent)
ended = sent.result().get_result_async()
rclpy.spin_until_future_complete(node, ended)
assert ended.result().status == 4, ended.result()
"""


@dataclass
class Truth:
    """True motion of the robot, one row per control period; angles in rad, t in seconds of ROS
    time.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    command: np.ndarray
    steps: np.ndarray

    @classmethod
    def read(cls, path: Path) -> Truth:
        with np.load(path) as file:
            rows, steps = file["rows"], file["steps"]
        n = (rows.shape[1] - 2) // 4
        q, v, a, command = (rows[:, 2 + k * n : 2 + (k + 1) * n] for k in range(4))
        return cls(rows[:, 0], q, v, a, command, steps)

    def since(self, stamp: float) -> Truth:
        k = int(np.searchsorted(self.t, stamp))
        return Truth(self.t[k:], self.q[k:], self.v[k:], self.a[k:], self.command[k:], self.steps)

    @property
    def acceleration(self) -> np.ndarray:
        """Measured acceleration, averaged over 20 ms to exclude contact, stiction and single steps
        [rad/s^2].
        """
        dt = float(np.median(np.diff(self.t)))
        k = max(round(0.02 / dt), 1)
        return np.abs(self.v[k:] - self.v[:-k]) / (k * dt)

    @property
    def standstill(self) -> tuple[float, float]:
        """Time and joint travel until nothing moves any more [s, rad]."""
        moving = np.flatnonzero(np.max(np.abs(self.v), axis=1) > 5e-3)
        if not len(moving):
            return 0.0, 0.0
        k = int(moving[-1])
        return float(self.t[k] - self.t[0]), float(np.max(np.abs(self.q[k] - self.q[0])))


def lively(vendor: str, path: Path, seconds: float = 5.0) -> str:
    """A motion of some seconds for a vendor's robot, checked and written; the file's name."""
    whole = RobotModel.from_urdf(ROBOTS[vendor])
    v = VENDORS[vendor]
    model = whole.with_locked([n for n in whole.joint_names if not v.drives(n)])
    limits = MotionLimits.from_model(model, acceleration=ACCELERATION, tcp_speed=1.5)
    home = np.array(v.start[: model.nv])
    builder = MotionBuilder(MotionChecker(model, limits), home, rate_hz=100)
    builder.rest(0.2, "still")
    joints = [model.nv - 3, model.nv - 2, model.nv - 1]
    builder.play(*oscillation(home, joints, [0.28, 0.34, 0.36], seconds, ramp=0.8), "oscillation")
    MotionChecker(model, limits).export(builder.build(), path)
    return str(path)


@contextmanager
def driver(vendor: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The emulated driver's process; needs the environment of `driver_messages`."""
    command = [sys.executable, str(DRIVERS / "driver.py"), vendor, ROBOTS[vendor], str(log)]
    command.append(str(pace()))
    with log.with_suffix(".log").open("wb") as output:
        process = Forked(command, output, os.environ)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()


def cause(client: LiveClient, **fault: Any) -> None:
    """Tell the driver what goes wrong."""
    if not hasattr(client, "faults"):
        client.faults = client.node.create_publisher(String, "/driver/fault", 10)
        client.wait_until(lambda: client.faults.get_subscription_count() > 0, 20.0, "the driver")
    client.faults.publish(String(data=yaml.safe_dump(fault)))


def truth(client: LiveClient, log: Path) -> Truth:
    """True motion so far."""
    log.unlink(missing_ok=True)
    cause(client, dump=True)
    client.wait_until(log.exists, 20.0, "the driver's log")
    return Truth.read(log)


def pause(client: LiveClient, seconds: float) -> None:
    """Let time of the driver pass."""
    seconds /= pace()
    end = time.monotonic() + seconds
    client.wait_until(lambda: time.monotonic() > end, seconds + 5.0, "some time")


def armed(client: LiveClient, timeout_s: float = 15.0) -> str:
    """Token of `~/arm`, as soon as the executor has heard all its safety inputs."""
    end = time.monotonic() + timeout_s * client.patience
    while True:
        try:
            return str(client.call(Arm, "trajectory_executor/arm", Arm.Request()).token)
        except LiveError:
            if time.monotonic() > end:
                raise
            pause(client, 0.3)


def recover(client: LiveClient) -> None:
    """Call the Franka's error recovery, as a person does after a reflex."""
    command = [sys.executable, "-c", RECOVER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60.0 * client.patience)
    assert done.returncode == 0, done.stdout + done.stderr


def play(
    client: LiveClient,
    file: str,
    happen: Callable[[], None] = lambda: None,
    at_progress: float = 0.35,
    over: Callable[[], bool] = lambda: False,
) -> tuple[Any, float]:
    """Execute a motion during which something happens; its result (None: it ended before), and
    when.
    """
    state: dict[str, Any] = {"when": 0.0}

    def feedback(message: Any) -> None:
        f = message.feedback
        if f.state == "executing" and f.progress > at_progress and not state["when"]:
            state["when"] = ns_from_stamp(client.latest["/clock"].clock) * 1e-9
            happen()

    if "/clock" not in client.latest:
        client.node.create_subscription(
            Clock, "/clock", lambda message: client.latest.update({"/clock": message}), 10
        )
    client.wait_for("/clock")
    action = ActionClient(client.node, ExecuteTrajectory, "trajectory_executor/execute")
    client.wait_until(action.server_is_ready, 20.0, "the executor")
    token = armed(client)
    goal = ExecuteTrajectory.Goal(trajectory_file=file, speed_scale=1.0, token=token)
    sent = action.send_goal_async(goal, feedback_callback=feedback)
    client.wait_until(sent.done, 20.0, "an answer")
    result = sent.result().get_result_async()
    state["handle"] = sent.result()
    play.handle = sent.result()  # type: ignore[attr-defined]
    client.wait_until(lambda: result.done() or over(), 60.0, "the result")
    return result.result().result if result.done() else None, state["when"]


def executor_of(vendor: str, **more: Any) -> dict[str, Any]:
    """Parameters of the executor for a vendor's driver."""
    v = VENDORS[vendor]
    safety = [re.sub(r"within .*", "within 3.0", line) for line in v.safety_inputs]
    held = {} if ROBOTS[vendor] != "panda" else {"joints": ["panda_joint*"]}
    return {
        "robot": ROBOTS[vendor],
        "command_mode": "follow_joint_trajectory",
        "action_name": v.action,
        "acceleration": ACCELERATION,
        "tcp_speed": 1.5,
        "tracking_error": 0.4,  # a busy machine delays the emulated robot, too
        "use_sim_time": True,  # the driver's
        **held,
        **({"speed_scaling_topic": v.scaling_topic} if v.scaling_topic else {}),
        **({"safety_inputs": safety} if safety else {}),
        **more,
    }


def remappings(vendor: str) -> dict[str, str]:
    """Topics of the executor for a vendor's driver."""
    v = VENDORS[vendor]
    return {"joint_states": v.states[0].topic, "wrench": v.wrench_topic}
