# SPDX-License-Identifier: Apache-2.0
"""The executor with a motion guard: arms it, hands over each motion once, and stops it."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from emulated_guard import EmulatedGuard
from live_nodes import PATIENT, Start, pause
from rclpy.action import ActionClient
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.srv import Arm

from sysid_core.planning import MotionChecker, MotionLimits
from sysid_core.planning.payload.motion import oscillation
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.robot import RobotModel
from sysid_nodes.bringup import NodeSpec
from sysid_nodes.client import LiveClient

pytestmark = [pytest.mark.ros, pytest.mark.slow]
MODEL = RobotModel.from_urdf("ur5")
HOME = np.array([0.0, -1.2, 1.2, -1.2, -1.5, 0.0])
EXECUTOR = {"command_mode": "motion_guard", "tcp_speed": 1.0, "tracking_error": 0.5, **PATIENT}


@pytest.fixture
def motion(tmp_path: Path) -> str:
    limits = MotionLimits.from_model(MODEL, tcp_speed=1.0)
    builder = MotionBuilder(MotionChecker(MODEL, limits), HOME, rate_hz=100)
    builder.rest(0.2, "still")
    builder.play(*oscillation(HOME, [3, 4, 5], [0.3] * 3, 6.0, ramp=0.8, rate_hz=100), "wave")
    builder.rest(0.2, "still")
    MotionChecker(MODEL, limits).export(builder.build(), tmp_path / "motion.npz")
    return str(tmp_path / "motion.npz")


def begin(client: LiveClient, file: str, progress: list[float]):
    """The handle of the motion's goal, and the future of its result."""
    action = ActionClient(client.node, ExecuteTrajectory, "trajectory_executor/execute")
    client.wait_until(action.server_is_ready, 30.0, "the executor")
    token = client.call(Arm, "trajectory_executor/arm", Arm.Request()).token
    goal = ExecuteTrajectory.Goal(trajectory_file=file, speed_scale=1.0, token=token)

    def follow(message: ExecuteTrajectory.Impl.FeedbackMessage) -> None:
        if message.feedback.state == "executing":
            progress.append(message.feedback.progress)

    sent = action.send_goal_async(goal, feedback_callback=follow)
    client.wait_until(sent.done, 30.0, "an answer")
    return sent.result(), sent.result().get_result_async()


def test_the_executor_plays_stops_and_is_missed(
    start_nodes: Start, tmp_path: Path, motion: str
) -> None:
    spec = NodeSpec("trajectory_executor", "trajectory_executor", parameters=EXECUTOR)
    client, nodes = start_nodes([spec])
    guard = EmulatedGuard(client.node, MODEL, HOME + 0.01)
    client.wait_for_active("trajectory_executor")
    pause(client, 1.0)
    assert guard.began == 0  # nothing moves on launch

    progress: list[float] = []
    _, result = begin(client, motion, progress)
    client.wait_until(result.done, 120.0, "the end")
    assert result.result().result.success, result.result().result.message
    assert guard.began == 2 and guard.doing == "holding"  # to the start, and the motion
    # It is told where the guard is, which a busy machine slows.
    assert np.diff(progress).min() > -0.05 and progress[-1] > 0.9

    progress.clear()
    handle, result = begin(client, motion, progress)
    client.wait_until(lambda: bool(progress) and progress[-1] > 0.3, 120.0, "on the way")
    handle.cancel_goal_async()
    client.wait_until(result.done, 60.0, "the stop")
    assert "cancelled" in result.result().result.message
    client.wait_until(lambda: guard.doing == "holding", 10.0, "it stands")
    assert np.abs(guard.q - HOME).max() > 1e-3  # on the path, not at an end

    guard.refuse = "its joints are too fast"
    _, result = begin(client, motion, progress)
    client.wait_until(result.done, 60.0, "the refusal")
    assert guard.refuse in result.result().result.message

    guard.refuse, guard.deaf = "", True
    handle, result = begin(client, motion, progress)
    pause(client, 2.0)
    handle.cancel_goal_async()
    asked = time.monotonic()
    client.wait_until(result.done, 60.0, "the stop of what never began")
    assert time.monotonic() - asked < 3.0 * client.patience
    assert "cancelled" in result.result().result.message

    guard.deaf, began = False, guard.began
    progress.clear()
    begin(client, motion, progress)
    client.wait_until(lambda: bool(progress) and progress[-1] > 0.3, 120.0, "on the way")
    assert guard.began == began + 2
    nodes.processes["trajectory_executor"].send_signal(signal.SIGKILL)
    killed = time.monotonic()
    client.wait_until(lambda: "executor is silent" in guard.doing, 30.0, "it is missed")
    client.wait_until(lambda: guard.doing == "holding", 10.0, "it stands")
    print(f"stands {time.monotonic() - killed:.2f} s after kill -9")
    assert np.all(guard.v == 0.0)
