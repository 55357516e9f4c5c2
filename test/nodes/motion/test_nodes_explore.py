# SPDX-License-Identifier: Apache-2.0
"""The action `~/explore`: pieces until enough is known, and what becomes of a cancel and a fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from action_msgs.msg import GoalStatus
from live_nodes import Start, clocked
from rclpy.action import ActionClient
from robot_sysid.action import Explore
from robot_sysid.srv import Arm

from sysid_core.planning import LimitsFile, MotionLimits, Trajectory
from sysid_core.planning.design import Unknowns
from sysid_core.robot import RobotModel
from sysid_nodes.bringup import NodeSpec, demo_graph
from sysid_nodes.client import LiveClient

pytestmark = pytest.mark.ros
HOME = [0.0, -1.2, 1.2, -1.2, -1.4, 0.2]


def exploring(start_nodes: Start, folder: Path) -> tuple[LiveClient, ActionClient]:
    model = RobotModel.from_urdf("ur5")
    limits, _ = MotionLimits.initial(model, tcp_frame="tool0", tcp_speed=1.0)
    file = folder / "limits.yaml"
    file.write_text(LimitsFile.text(limits), encoding="utf-8")
    specs = [
        spec
        for spec in demo_graph(
            robot={"robot": "ur5", "start": HOME, "sensor_frame": "tool0", **clocked()},
            executor={"limits_file": str(file)},
            logger={"effort_kind": "actuator_torque"},
        )
        if spec.name != "estimator"
    ]
    parameters = {
        "robot": "ur5",
        "limits_file": str(file),
        "directory": str(folder / "pieces"),
        "period_s": 2.0,
        "iterations": 2,
    }
    specs.append(NodeSpec("explorer", "explorer", parameters=parameters))
    specs = [spec.in_simulated_time() for spec in specs]
    client, _ = start_nodes(specs)
    for spec in specs:
        client.wait_for_active(spec.name)
    action = ActionClient(client.node, Explore, "explorer/explore")
    client.wait_until(action.server_is_ready, 20.0, "the action")
    client.wait_until(
        lambda: client.call(Arm, "trajectory_executor/arm", Arm.Request()).success, 30.0, "arming"
    )
    return client, action


def sent(client: LiveClient, action: ActionClient, seen: list[Any], **fields: Any) -> Any:
    """The handle of a goal."""
    token = client.call(Arm, "explorer/arm", Arm.Request()).token
    goal = Explore.Goal(**{"token": token, "speed_scale": 1.0, "longest": 60.0, **fields})
    future = action.send_goal_async(goal, feedback_callback=lambda m: seen.append(m.feedback))
    client.wait_until(future.done, 20.0, "acceptance")
    assert future.result().accepted
    return future.result()


def ended(client: LiveClient, handle: Any) -> Any:
    future = handle.get_result_async()
    client.wait_until(future.done, 150.0, "the end")
    return future.result()


def test_an_exploration_ends_when_enough_is_known_or_is_cancelled_to_a_stop(
    start_nodes: Start, tmp_path: Path
) -> None:
    client, action = exploring(start_nodes, tmp_path)
    names = list(Unknowns.of_arm(RobotModel.from_urdf("ur5")).names)
    asked, seen = names[-1:], []
    answer = ended(client, sent(client, action, seen, deviation=0.5, parameters=asked))
    result = answer.result
    assert result.success and result.ending == "reached", result.message
    known = dict(zip(result.names, result.deviation, strict=True))
    assert all(known[name] <= 0.5 for name in asked) and result.pieces >= 1
    assert {feedback.state for feedback in seen} == {"planning", "playing"}
    pieces = [Trajectory.load(file) for file in sorted((tmp_path / "pieces").rglob("*.npz"))]
    assert len(pieces) == result.pieces
    assert 0.3 * pieces[0].duration < result.duration  # what was really played counts
    np.testing.assert_allclose(pieces[0].q[0], HOME, atol=0.01)

    # Cancelled while the robot moves: it stops, and what was played counts.
    moving: list[Any] = []
    handle = sent(client, action, moving, deviation=0.001, speed_scale=0.25)  # time to cancel
    client.wait_until(lambda: any(f.progress > 0.2 for f in moving), 120.0, "motion")
    client.wait_until(handle.cancel_goal_async().done, 20.0, "the cancel")
    answer = ended(client, handle)
    assert answer.status == GoalStatus.STATUS_CANCELED and not answer.result.success
    assert answer.result.pieces == 1 and "cancelled" in answer.result.message

    # Cancelled while it plans: nothing is played. A bad token, a misspelt name: refused in words.
    handle = sent(client, action, seen, deviation=0.001)
    client.wait_until(handle.cancel_goal_async().done, 20.0, "the cancel")
    answer = ended(client, handle)
    assert answer.status == GoalStatus.STATUS_CANCELED and answer.result.pieces == 0
    answer = ended(client, sent(client, action, seen, deviation=0.3, token="wrong"))
    assert answer.status == GoalStatus.STATUS_ABORTED and "armed" in answer.result.message
    answer = ended(client, sent(client, action, seen, deviation=0.3, parameters=["nothing"]))
    assert answer.result.ending == "aborted" and "nothing" in answer.result.message
