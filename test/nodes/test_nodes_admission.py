# SPDX-License-Identifier: Apache-2.0
"""What the executor refuses before anything moves, without starting it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from action_msgs.msg import GoalStatus, GoalStatusArray
from robot_sysid.action import ExecuteTrajectory

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_nodes import execution
from sysid_nodes.execution import CommandMode, ControllerWatch

SCHEMA = execution.TrajectoryExecutorConfig
UR5 = RobotModel.from_urdf("ur5")


def config(**values: Any) -> execution.TrajectoryExecutorConfig:
    return SCHEMA(**values)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"command_mode": "follow_joint_trajectory"}, ""),
        ({"command_mode": "joint_trajectory", "speed_scaling_topic": "none"}, ""),
        ({"command_mode": "joint_trajectory"}, "plays its trajectory to the end"),
        ({"command_mode": "position_stream"}, "stops at once"),
        ({"command_mode": "setpoint_stream"}, ""),
    ],
)
def test_a_mode_without_a_dead_man_says_so(settings: dict[str, str], words: str) -> None:
    mode = CommandMode(settings["command_mode"])
    c = config(**{**settings, "command_mode": mode})
    assert words in c.without_dead_man and bool(words) == bool(c.without_dead_man)
    limits = execution.motion_limits(c, UR5)
    assert any(words in line for line in execution.limits_in_force(c, limits))


@pytest.mark.parametrize("name", ["/etc/passwd", "../motion.npz", "a/../../b.npz", "--help", "~x"])
def test_trajectories_are_confined_to_their_folder(tmp_path: Path, name: str) -> None:
    (tmp_path.parent / "motion.npz").touch()
    goal = ExecuteTrajectory.Goal(trajectory_file=name, check_only=True)
    nothing: Any = SimpleNamespace()
    admission = execution.Admission(nothing, nothing, nothing)
    with pytest.raises(SysIdError, match="isn't allowed"):
        admission.admit(goal, UR5, config(trajectories=str(tmp_path)), 0.0)


def test_a_controller_that_plays_somebody_elses_goal_is_noticed() -> None:
    heard: list[Any] = []
    node: Any = SimpleNamespace(
        create_subscription=lambda kind, topic, take, qos: heard.append(take)
    )
    watch = ControllerWatch(node, "arm_controller/follow_joint_trajectory")
    status = GoalStatus(status=GoalStatus.STATUS_EXECUTING)
    status.goal_info.goal_id.uuid = np.arange(16, dtype=np.uint8)
    heard[0](GoalStatusArray(status_list=[status]))
    assert watch.driven_by_others
    watch.ours(SimpleNamespace(goal_id=status.goal_info.goal_id))
    assert not watch.driven_by_others
    heard[0](GoalStatusArray())
    assert not watch.driven_by_others
