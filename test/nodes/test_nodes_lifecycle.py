# SPDX-License-Identifier: Apache-2.0
"""A configuration that is taken back while the node is being asked; a process that can't end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from busy_machine import patience
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from live_nodes import Start
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.parameter import Parameter
from robot_sysid.action import ExecuteTrajectory
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from sysid_core.robot import RobotModel
from sysid_nodes.bringup import NodeSpec
from sysid_nodes.client import LiveClient, LiveError
from sysid_nodes.lifecycle import qos

pytestmark = pytest.mark.ros
NODE = "trajectory_executor"


def change(client: LiveClient, *steps: int) -> None:
    for step in steps:
        request = ChangeState.Request()
        request.transition.id = step
        client.call(ChangeState, f"{NODE}/change_state", request)


def test_a_node_that_was_started_with_sigint_ignored_ends_at_sigint(
    start_nodes: Start, tmp_path: Path
) -> None:
    """As `nohup`, or the background of a script, starts it."""
    client, _ = start_nodes([])
    command = [sys.executable, "-m", "sysid_nodes", NODE]
    process = subprocess.Popen(
        command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )
    try:
        client.wait_for_active(NODE)
        process.send_signal(signal.SIGINT)
        assert process.wait(20.0 * client.patience) == 0
    finally:
        process.kill()


def test_a_description_that_is_refused_while_a_goal_waits_leaves_the_executor_alive(
    start_nodes: Start, tmp_path: Path
) -> None:
    model = RobotModel.from_urdf("ur5")
    client, nodes = start_nodes([NodeSpec(NODE, NODE, parameters={"tcp_frame": "nowhere"})])
    states = client.node.create_publisher(JointState, "joint_states", 10)
    state = JointState(name=model.joint_names, position=[0.0] * 6, velocity=[0.0] * 6)
    client.node.create_timer(0.01, lambda: states.publish(state))
    description = client.node.create_publisher(String, "robot_description", qos.LATCHED)
    client.wait_for_active(NODE)
    action = ActionClient(client.node, ExecuteTrajectory, f"{NODE}/execute")
    client.wait_until(action.server_is_ready, 20.0, "the executor")

    def log() -> str:
        return (tmp_path / "logs" / f"{NODE}.log").read_text()

    for attempt in (1, 2):
        goal = ExecuteTrajectory.Goal(trajectory_file="none", check_only=True)
        sent = action.send_goal_async(goal)
        client.wait_until(sent.done, 20.0, "an answer")
        assert sent.result().accepted
        result = sent.result().get_result_async()
        for text in ("<robot name='broken'>", model.urdf_xml):
            description.publish(String(data=text))
            client.wait_until(
                lambda: description.get_subscription_count() > 0, 20.0, "a subscription"
            )
        words = "has no frame 'nowhere'"
        client.wait_until(lambda: log().count(words) >= attempt, 20.0, words)  # noqa: B023
        client.wait_until(result.done, 20.0, "the result")
        ended = result.result().result
        # Whichever comes first: the node's fall, or the goal's own turn.
        endings = ("Cancelled before it began", "The trajectory 'none' is neither a file")
        assert not ended.success and ended.message.startswith(endings), ended.message
        nodes.check()
        if attempt == 1:
            change(client, Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
    with pytest.raises(LiveError, match=words):  # at once, not at the end of the wait
        client.wait_for_active(NODE)
    new = Parameter("tcp_frame", value="").to_parameter_msg()
    client.call(SetParameters, f"{NODE}/set_parameters", SetParameters.Request(parameters=[new]))
    change(client, Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
    client.wait_until(lambda: "Limits in force" in log(), 20.0, "the limits in force")
    client.wait_for_active(NODE)
    nodes.check()


PARENT = """
import os, subprocess, sys, time
from sysid_nodes.lifecycle.run import die_with_parent

parent = os.getpid()

def begin():
    print("born", flush=True)
    time.sleep(1.0)
    die_with_parent(parent)

subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], preexec_fn=begin)
"""


def test_a_child_whose_parent_is_killed_before_it_watches_it_ends() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], env=dict(os.environ), text=True, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "born\n"
        process.kill()
        process.communicate(timeout=20.0 * patience())  # until the child, too, has closed it


STUCK = """
import sysid_nodes.lifecycle.run as run
from sysid_nodes.data_logger.node import DataLoggerNode

class Stuck(DataLoggerNode):
    def __init__(self):
        super().__init__()
        print("up", flush=True)

    def destroy_node(self):
        while True:
            pass

run._ENDING_S = 0.5
run.run_node(Stuck)
"""


def test_a_process_that_ros_holds_up_ends_and_says_where(tmp_path: Path) -> None:
    """Fast DDS was seen to spin for ever in the destructor of its participant."""
    with subprocess.Popen(
        [sys.executable, "-c", STUCK], cwd=tmp_path, env=dict(os.environ), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.terminate()
        _, errors = process.communicate(timeout=60 * patience())
    assert process.returncode == 1
    assert "destroy_node" in errors
