# SPDX-License-Identifier: Apache-2.0
"""The executor on emulated vendors' drivers: what moves, how it stops, what it does when killed."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from emulated import (
    ACCELERATION,
    armed,
    cause,
    driver,
    executor_of,
    lively,
    pause,
    play,
    recover,
    remappings,
    truth,
)
from live_nodes import Start
from rclpy.action import ActionClient
from rclpy.task import Future
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.srv import Arm

from sysid_nodes.bringup import NodeSpec
from sysid_nodes.client import LiveClient, LiveError

pytestmark = [pytest.mark.ros, pytest.mark.slow]


def spec(vendor: str, **parameters: object) -> NodeSpec:
    return NodeSpec(
        "trajectory_executor",
        "trajectory_executor",
        parameters=executor_of(vendor, **parameters),
        remappings=remappings(vendor),
    )


def test_an_executor_that_is_killed_leaves_a_standing_robot(
    with_drivers: None, start_nodes: Start, tmp_path: Path
) -> None:
    vendor, log = "ur", tmp_path / "truth.npz"
    file = lively(vendor, tmp_path / "motion.npz")
    client, nodes = start_nodes([spec(vendor)])
    with driver(vendor, log):
        client.wait_for_active("trajectory_executor")
        cause(client)
        pause(client, 1.0)
        before = truth(client, log)
        assert before.standstill[0] == 0.0  # nothing moves on launch
        executor = nodes.processes["trajectory_executor"]
        _, when = play(
            client,
            file,
            lambda: executor.send_signal(signal.SIGKILL),
            over=lambda: executor.poll() is not None,
        )
        pause(client, 3.0)
        assert when > 0.0, (tmp_path / "logs" / "trajectory_executor.log").read_text()[-800:]
        time, distance = truth(client, log).since(when).standstill
        print(f"{vendor}: stands {time:.2f} s and {distance:.3f} rad after kill -9")
        assert 0.0 < time < 2.0 and distance < 1.5


def test_a_franka_with_its_hand_runs_stops_with_a_reflex_and_goes_on_when_recovered(
    with_drivers: None, start_nodes: Start, tmp_path: Path
) -> None:
    log = tmp_path / "truth.npz"
    file = lively("franka", tmp_path / "motion.npz")
    client, _ = start_nodes([spec("franka", dead_man_s=3.0)])
    with driver("franka", log):
        client.wait_for_active("trajectory_executor")
        result, when = play(client, file, lambda: cause(client, protective_stop=True), 0.2)
        assert "robot_mode is 4, not 1, 2" in result.message
        with pytest.raises(LiveError, match="robot_mode is 4"):
            armed(client, timeout_s=0.0)
        recover(client)
        result, _ = play(client, file)
        assert result.success, result.message
        assert "Joints held" in result.message and "panda_finger_joint1" in result.message
        assert "Joints held" in (tmp_path / "logs" / "trajectory_executor.log").read_text()
        assert truth(client, log).since(when + 1.0).acceleration.max() < 1.3 * ACCELERATION


def intruder(client: LiveClient, name: str, file: str, refusals: list[str]) -> Callable[[], None]:
    """A function that has another executor play a motion in any state of the robot; its message
    goes to `refusals`.
    """
    arm = client.node.create_client(Arm, f"{name}/arm")
    action = ActionClient(client.node, ExecuteTrajectory, f"{name}/execute")
    client.wait_until(lambda: arm.service_is_ready() and action.server_is_ready(), 20.0, name)

    def ended(future: Future) -> None:
        refusals.append(future.result().result.message)

    def accepted(future: Future) -> None:
        future.result().get_result_async().add_done_callback(ended)

    def send(future: Future) -> None:
        goal = ExecuteTrajectory.Goal(
            trajectory_file=file, speed_scale=1.0, token=future.result().token
        )
        action.send_goal_async(goal).add_done_callback(accepted)

    return lambda: arm.call_async(Arm.Request()).add_done_callback(send)


def test_a_speed_slider_is_followed_and_a_blocked_arm_is_let_go(
    with_drivers: None, start_nodes: Start, tmp_path: Path
) -> None:
    log = tmp_path / "truth.npz"
    file = lively("ur", tmp_path / "motion.npz")
    first = spec("ur", dead_man_s=3.0)
    second = replace(first, name="second_executor")
    client, _ = start_nodes([first, second])
    refusals: list[str] = []
    with driver("ur", log):
        for executor in (first, second):
            client.wait_for_active(executor.name)
        intrude = intruder(client, second.name, file, refusals)
        cause(client, scaling=0.8)
        pause(client, 1.0)
        result, _ = play(client, file, intrude)
        assert result.success, result.message
        assert len(refusals) == 1 and "executing a goal of another client" in refusals[0]
        moved = truth(client, log)
        assert moved.acceleration.max() < 1.3 * ACCELERATION
        result, _ = play(client, file, lambda: cause(client, blocked=True))
        # Whoever sees it first: the executor, or the robot's own controller.
        assert re.search("tracking error|path tolerance", result.message), result.message
        pause(client, 0.5)
        end = truth(client, log)
        assert abs(end.command[-1] - end.q[-1]).max() < 0.02  # nothing pushes any more


def test_a_paused_program_stops_and_nothing_goes_on_later(
    with_drivers: None, start_nodes: Start, tmp_path: Path
) -> None:
    log = tmp_path / "truth.npz"
    file = lively("ur", tmp_path / "motion.npz")
    client, _ = start_nodes([spec("ur", dead_man_s=3.0)])
    with driver("ur", log):
        client.wait_for_active("trajectory_executor")
        cause(client)
        pause(client, 1.0)
        result, _ = play(client, file, lambda: cause(client, program=False))
        # Whoever says it first: the program's state, or the speed scaling that goes with it.
        said = "robot_program_running data is false|speed scaling is 0"
        assert re.search(said, result.message), result.message
        pause(client, 1.0)
        cause(client, program=True)
        pause(client, 1.5)
        # After its release the robot stays where it stood.
        stopped = truth(client, log)
        last = stopped.since(stopped.t[-1] - 1.0)
        assert last.standstill[0] == 0.0
        cause(client, refuse=True)
        result, _ = play(client, file)
        assert "refused the trajectory" in result.message
