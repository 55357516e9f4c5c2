# SPDX-License-Identifier: Apache-2.0
"""Goals that the executor refuses before any motion, tested without starting it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from action_msgs.msg import GoalStatus, GoalStatusArray
from robot_sysid.action import ExecuteTrajectory
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from sysid_core.errors import SysIdError
from sysid_core.planning import Trajectory
from sysid_core.robot import RobotModel
from sysid_nodes.trajectory_executor.admission import Admission
from sysid_nodes.trajectory_executor.arming import Arming
from sysid_nodes.trajectory_executor.config import TrajectoryExecutorConfig
from sysid_nodes.trajectory_executor.drive import CommandMode, ControllerWatch
from sysid_nodes.trajectory_executor.inputs import RobotInputs, RobotState
from sysid_nodes.trajectory_executor.limits import limits_in_force, motion_limits
from sysid_nodes.trajectory_executor.safety_inputs import SafetyInputs

SCHEMA = TrajectoryExecutorConfig
UR5 = RobotModel.from_urdf("ur5")


def config(**values: Any) -> TrajectoryExecutorConfig:
    return SCHEMA(**values)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"command_mode": "follow_joint_trajectory"}, ""),
        ({"command_mode": "joint_trajectory", "speed_scaling_topic": "none"}, ""),
        ({"command_mode": "joint_trajectory"}, "executes its trajectory to the end"),
        ({"command_mode": "position_stream"}, "stops at once"),
        ({"command_mode": "setpoint_stream"}, ""),
    ],
)
def test_a_mode_without_a_dead_man_says_so(settings: dict[str, str], words: str) -> None:
    mode = CommandMode(settings["command_mode"])
    c = config(**{**settings, "command_mode": mode})
    assert words in c.no_dead_man and bool(words) == bool(c.no_dead_man)
    limits = motion_limits(c, UR5)
    assert any(words in line for line in limits_in_force(c, limits))
    if words:
        with pytest.raises(SysIdError, match="no dead-man function") as err:
            c.require_dead_man()
        assert "without_dead_man" in err.value.remedy
    else:
        c.require_dead_man()
    dataclasses.replace(c, without_dead_man=True).require_dead_man()


def refused(name: str, folders: tuple[str, ...], words: str) -> None:
    goal = ExecuteTrajectory.Goal(trajectory_file=name, check_only=True)
    nothing: Any = SimpleNamespace()
    admission = Admission(nothing, nothing, nothing)
    with pytest.raises(SysIdError, match=words):
        admission.admit(goal, UR5, config(trajectories=folders), 0.0)


NAMES = ["/etc/passwd", "../motion.npz", "a/../../b.npz", "--help", "~x", "", "a\0b"]


@pytest.mark.parametrize("name", NAMES)
def test_trajectories_are_confined_to_their_folders(tmp_path: Path, name: str) -> None:
    (tmp_path.parent / "motion.npz").touch()
    refused(name, (str(tmp_path), str(tmp_path / "other")), "is not permitted")
    refused(name, SCHEMA().trajectories, "is not permitted")


def test_a_trajectory_may_be_named_in_full_below_one_of_the_folders(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    file, folders = tmp_path / "plans" / "motion.npz", ("nowhere", str(tmp_path / "plans"))
    file.write_text("not a trajectory")
    for name in (str(file), "motion.npz"):
        refused(name, folders, "motion.npz")
    refused(str(tmp_path / "plans" / ".." / "plans2"), folders, "is not permitted")
    (tmp_path / "plans" / "link").symlink_to("/etc/passwd")
    refused("link", folders, "is not permitted")
    os.mkfifo(tmp_path / "plans" / "pipe")
    refused("pipe", folders, "neither a file nor a folder")
    refused("motion.npz", (), "no folder is")


def test_a_plan_of_the_whole_description_plays_without_the_fingers_that_are_held(
    tmp_path: Path,
) -> None:
    whole = RobotModel.from_urdf("panda")
    arm = whole.holding(joints=["panda_joint*"])
    t = np.linspace(0.0, 4.0, 401)
    q = np.tile([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02, 0.02], (401, 1))
    v, a = np.zeros_like(q), np.zeros_like(q)
    s = np.pi * t / 4.0
    q[:, 6] += 0.2 * np.sin(s) ** 3
    v[:, 6] = 0.6 * np.sin(s) ** 2 * np.cos(s) * np.pi / 4.0
    a[:, 6] = 0.6 * (2.0 * np.sin(s) * np.cos(s) ** 2 - np.sin(s) ** 3) * (np.pi / 4.0) ** 2
    motion = Trajectory("panda", whole.urdf_hash, whole.joint_names, t, q, v, a)
    motion.save(tmp_path / "motion.npz")
    goal = ExecuteTrajectory.Goal(trajectory_file="motion.npz", check_only=True)
    admission = Admission(SimpleNamespace(), None, None)
    settings = config(trajectories=(str(tmp_path),))
    admitted = admission.admit(goal, arm, settings, 0.0)
    assert admitted.trajectory.joint_names == arm.joint_names
    assert np.array_equal(admitted.trajectory.q, q[:, :7])
    q[:, 8] += 0.01 * np.sin(s) ** 3
    dataclasses.replace(motion, q=q).save(tmp_path / "motion.npz")
    with pytest.raises(SysIdError, match=r"panda_finger_joint2.*--lock panda_finger_joint2"):
        admission.admit(goal, arm, settings, 0.0)


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


def test_a_second_publisher_and_a_stale_safety_state_are_in_the_diagnostics() -> None:
    said: dict[str, str] = {}
    publishers = [SimpleNamespace(node_namespace="/", node_name=n) for n in ("driver", "gui")]
    line = "/mode std_msgs/msg/Int8 data in 1 within 0.5"
    node: Any = SimpleNamespace(
        config=config(safety_inputs=(line,)),
        now_ns=lambda: 10**9,
        get_clock=lambda: SimpleNamespace(ros_time_is_active=False),
        resolve_topic_name=lambda name: f"/{name}",
        get_publishers_info_by_topic=lambda topic: publishers,
        health=SimpleNamespace(
            say=lambda aspect, level, words: said.update({aspect: words}),
            forget=lambda aspect: said.pop(aspect, None),
        ),
    )
    gates: list[Any] = []
    node.clocks = SimpleNamespace(watch=lambda *new: gates.extend(new))
    inputs = RobotInputs(node)
    inputs.safety.inputs[0].seen, inputs.safety.inputs[0].stamp = 1, 0.0
    inputs.watch()
    assert "2 publishers (/driver, /gui)" in said["publishers"]
    assert "stale safety state" in said["safety"]
    joint1: Any = SimpleNamespace(joint_names=("joint1",), velocity_limits=np.ones(1))
    inputs.robot.of(joint1)
    inputs.robot.on_joints(JointState(name=["finger"], position=[0.1]))  # a gripper's driver
    inputs.safety.inputs[0].stamp = 0.9
    inputs.watch()
    assert not said
    ahead = JointState(name=["joint1"], position=[0.1], velocity=[0.0])
    ahead.header.stamp.sec = 3
    inputs.robot.on_joints(ahead)
    assert "joint_states (joint1) is ahead by 2 s" in "".join(gate.words for gate in gates)


def test_no_motion_begins_while_joint_states_contradict_each_other() -> None:
    """If the false one is the newest at the start, the robot would be sent to it."""
    now, home = [100.0], [0.0, -1.2, 1.2, -1.2, -1.5, 0.0]
    robot = RobotState(lambda: now[0], False)
    robot.of(UR5)
    admission = Admission(SimpleNamespace(begin=lambda: None), robot, SafetyInputs(()))

    def publish(*positions: list[float]) -> None:
        for q in positions:
            now[0] += 0.002
            names = list(UR5.joint_names)
            robot.on_joints(JointState(name=names, position=q, velocity=[0.0] * 6))

    settings = config(command_mode="follow_joint_trajectory")
    publish(home, home)
    admission._require_robot(UR5, settings, now[0])
    publish([0.0] * 6, home, home)
    with pytest.raises(SysIdError, match=r"jumps farther.*ros2 topic info"):
        admission._require_robot(UR5, settings, now[0])
    publish(*[home] * 600)
    admission._require_robot(UR5, settings, now[0])
    publish([0.0] * 6)
    assert robot.problem
    now[0] = 5.0  # simulated time begins again, and would have been refused until it was 101 s
    assert not robot.problem


def test_a_message_of_one_safety_input_does_not_judge_another_whose_message_still_waits() -> None:
    """After a long check, the first message of one of two inputs cancelled the motion."""
    inputs = SafetyInputs(
        tuple(f"/{name} std_msgs/msg/Bool data in true within 0.5" for name in "ab")
    )
    heard: list[Any] = []
    now, said = [0.0], []
    inputs.listen(lambda kind, topic, take: heard.append(take), lambda: now[0], said.append)
    for take in heard:
        take(Bool(data=True))
    now[0] = 1.0
    heard[0](Bool(data=True))
    assert not said and "stale" in inputs.problem(now[0])  # which is judged at each step
    heard[1](Bool(data=False))
    assert len(said) == 1 and "/b data is false" in said[0]


def test_nobody_voids_another_persons_token_by_arming(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("sysid_nodes.trajectory_executor.arming.time.monotonic", lambda: now[0])
    arming = Arming(30.0)
    mine = arming.arm()
    for _ in range(50):
        arming.arm()
    for wrong in ("", mine[:-1], "ключ"):
        with pytest.raises(SysIdError, match="is not armed"):
            arming.use(wrong)
    arming.require(mine)  # a goal that is refused for another reason leaves it good
    arming.use(mine)
    assert not arming.armed  # one motion, after which everybody looks anew
    with pytest.raises(SysIdError, match="is not armed"):
        arming.use(mine)
    late = arming.arm()
    now[0] += 31.0
    with pytest.raises(SysIdError, match="expired"):
        arming.use(late)
