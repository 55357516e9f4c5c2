# SPDX-License-Identifier: Apache-2.0
"""Behaviour of the nodes on real faults: drivers, disks, operators."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from live_nodes import EXECUTOR, Start, pause, simulated
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from robot_driver import RobotDriver
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.msg import FilteredJointState
from robot_sysid.srv import Arm, StartRecording
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from sysid_core.planning import Trajectory
from sysid_core.signals.bags import StoredBag, read_bag
from sysid_nodes.bringup import NodeSpec, demo_graph
from sysid_nodes.client import LiveClient, LiveError
from sysid_nodes.conversions import trajectory_arrays

pytestmark = [pytest.mark.ros, pytest.mark.slow]


def alone(**executor: Any) -> list[NodeSpec]:
    """An executor for a robot that the test drives."""
    parameters = {**EXECUTOR, "robot": "xarm7", "use_sim_time": True, **executor}
    return [NodeSpec("trajectory_executor", "trajectory_executor", parameters=parameters)]


def logger() -> NodeSpec:
    """A logger in the robot's time."""
    parameters = {"robot": "xarm7", "use_sim_time": True}
    return NodeSpec("data_logger", "data_logger", parameters=parameters)


def send(client: LiveClient, file: Path) -> Any:
    """The handle of a goal, accepted or not."""
    action = ActionClient(client.node, ExecuteTrajectory, "trajectory_executor/execute")
    client.wait_until(action.server_is_ready, 20.0, "the executor")
    token = client.call(Arm, "trajectory_executor/arm", Arm.Request()).token
    goal = ExecuteTrajectory.Goal(trajectory_file=str(file), speed_scale=1.0, token=token)
    sent = action.send_goal_async(goal)
    client.wait_until(sent.done, 10.0, "an answer")
    return sent.result()


def result_of(client: LiveClient, handle: Any, timeout_s: float = 30.0) -> Any:
    future = handle.get_result_async()
    client.wait_until(future.done, timeout_s, "the result")
    return future.result().result


def change(client: LiveClient, name: str, transition: int) -> None:
    request = ChangeState.Request(transition=Transition(id=transition))
    client.call(ChangeState, f"{name}/change_state", request)


def test_a_driver_without_velocities_beside_a_gripper_is_recorded_and_moved(
    start_nodes: Start, wave: tuple[Path, Trajectory], tmp_path: Path
) -> None:
    file, motion = wave
    client, nodes = start_nodes([*alone(), logger()])
    names = motion.joint_names
    driver = RobotDriver(client.node, names, motion.q[0], velocities=False)
    filtered: list[FilteredJointState] = []
    client.node.create_subscription(
        FilteredJointState, "data_logger/filtered", filtered.append, 100
    )
    bag = client.start_recording(str(tmp_path / "bag"))
    result = client.execute(str(file), lambda _: None, timeout_s=60.0)
    client.stop_recording()
    assert result.success and result.max_tracking_error < 0.3
    np.testing.assert_allclose(driver.q, motion.q[-1], atol=1e-6)
    assert tuple(filtered[-1].name) == names and not filtered[-1].effort
    joints = read_bag(bag, joints=names).joints
    assert np.ptp(joints.q, axis=0).max() > 0.3 and joints.v is None and joints.effort is None
    assert set(nodes.stop().values()) == {0}


def test_joints_of_another_name_are_refused_and_named(
    start_nodes: Start, wave: tuple[Path, Trajectory]
) -> None:
    file, motion = wave
    client, _ = start_nodes([*alone(), logger()])
    other = [f"left_{name}" for name in motion.joint_names]
    RobotDriver(client.node, other, motion.q[0])
    client.wait_for_active("trajectory_executor")
    client.wait_for_active("data_logger")
    pause(client, 0.5)  # until both of the driver's messages came
    with pytest.raises(LiveError, match=r"(?s)No joint state.*left_joint1.*prefix"):
        client.execute(str(file), lambda _: None, timeout_s=20.0)
    with pytest.raises(LiveError, match=r"(?s)No joint state.*left_joint1"):
        client.call(StartRecording, "data_logger/start", StartRecording.Request(path="bag"))


def test_joints_renamed_in_motion_end_in_a_stop_not_in_a_crash(
    start_nodes: Start, wave: tuple[Path, Trajectory]
) -> None:
    file, motion = wave
    client, nodes = start_nodes(alone())
    names = motion.joint_names
    driver = RobotDriver(client.node, names, motion.q[0])

    def rename(feedback: Any) -> None:
        if feedback.state == "executing" and feedback.progress > 0.2:
            driver.names = ["x", *names[1:]]

    with pytest.raises(LiveError, match=r"wrong joint set.*joint1"):
        client.execute(str(file), rename, timeout_s=60.0)
    nodes.check()
    _, _, v, _ = trajectory_arrays(driver.trajectories[-1], names)
    assert not v[-1].any() and len(driver.trajectories) == 3  # way, motion, stop


def test_a_goal_cancelled_while_it_waits_never_moves_and_no_second_one_slips_in(
    start_nodes: Start, wave: tuple[Path, Trajectory]
) -> None:
    file, motion = wave
    client, _ = start_nodes(alone(use_sim_time=False))  # nobody gives a time yet
    client.wait_for_active("trajectory_executor")
    waiting = send(client, file)  # there is no robot yet
    assert waiting.accepted and not send(client, file).accepted
    client.wait_until(waiting.cancel_goal_async().done, 5.0, "the cancel")
    driver = RobotDriver(client.node, motion.joint_names, motion.q[0])
    result = result_of(client, waiting)
    assert result.final_state == "aborted" and "Cancelled" in result.message
    pause(client, 1.0)
    assert not driver.trajectories
    assert send(client, file).accepted  # and it is free again


def test_a_deactivated_executor_stops_smoothly_and_works_again(
    start_nodes: Start, wave: tuple[Path, Trajectory]
) -> None:
    file, motion = wave
    client, _ = start_nodes(alone())
    names = motion.joint_names
    driver = RobotDriver(client.node, names, motion.q[0])
    handle = send(client, file)
    client.wait_until(lambda: np.abs(driver.v).max() > 0.2, 30.0, "speed")
    change(client, "trajectory_executor", Transition.TRANSITION_DEACTIVATE)
    assert handle.accepted and len(driver.trajectories) == 3  # the stop has been sent
    _, _, v, _ = trajectory_arrays(driver.trajectories[-1], names)
    assert np.abs(v[0]).max() > 0.01 and not v[-1].any()
    client.wait_until(lambda: np.abs(driver.v).max() == 0.0, 5.0, "rest")
    change(client, "trajectory_executor", Transition.TRANSITION_ACTIVATE)
    pause(client, 0.5)
    result = client.execute(str(file), lambda _: None, timeout_s=60.0)
    assert result.success


def test_an_executor_that_is_interrupted_streams_its_stop_to_the_end(
    start_nodes: Start, wave: tuple[Path, Trajectory]
) -> None:
    # In simulated time, which waits for commands that a busy machine delays.
    file, motion = wave
    specs = demo_graph(
        robot=simulated(motion, clock=True),
        executor={**EXECUTOR, "command_mode": "position_stream", "use_sim_time": True},
    )[:2]
    client, nodes = start_nodes(specs)
    for spec in specs:
        client.wait_for_active(spec.name)
    commands: list[np.ndarray] = []
    client.node.create_subscription(
        Float64MultiArray, "position_commands", lambda m: commands.append(np.array(m.data)), 100
    )

    def speed() -> float:
        """Largest change of the last two commands [rad per command]."""
        return float(np.abs(commands[-1] - commands[-2]).max()) if len(commands) > 1 else 0.0

    send(client, file)
    client.wait_until(lambda: speed() > 5e-3, 40.0, "speed")
    before = len(commands)
    process = nodes.processes["trajectory_executor"]
    process.send_signal(signal.SIGINT)
    client.wait_until(lambda: process.poll() is not None, 10.0, "the executor to end")
    pause(client, 0.3)
    assert process.returncode == 0 and len(commands) > before + 5
    assert speed() < 1e-3  # the last step: 5 rad/s^2 for 10 ms


def test_a_reactivated_logger_records_every_message_once(
    start_nodes: Start, tmp_path: Path
) -> None:
    specs = demo_graph(robot=simulated(), logger={"effort_kind": "actuator_torque"})
    client, _ = start_nodes([s for s in specs if s.name in ("simulated_robot", "data_logger")])
    client.wait_for_active("data_logger")
    change(client, "data_logger", Transition.TRANSITION_DEACTIVATE)
    change(client, "data_logger", Transition.TRANSITION_ACTIVATE)
    bag = client.start_recording(str(tmp_path / "bag"))
    pause(client, 1.0)
    client.stop_recording()
    assert not [note for note in read_bag(bag).notes if "repeated" in note or "duplicate" in note]
    stored = {topic.name: topic.count for topic in StoredBag.open(bag).topics}
    assert stored["/joint_states"] == len(read_bag(bag).joints)


def test_messages_that_come_faster_than_they_can_be_filtered_are_all_recorded(
    start_nodes: Start, tmp_path: Path
) -> None:
    # Three times what the logger's queue holds, in bursts of half a queue: what comes faster than a
    # machine can write is lost on every machine, somewhere. So a burst begins after the last one.
    count, burst = 12_000, 2_000
    patient = {"robot": "xarm7", "stale_s": 60.0}
    client, _ = start_nodes([NodeSpec("data_logger", "data_logger", parameters=patient)])
    recorded = [0]

    def hear(array: DiagnosticArray) -> None:
        found = (v.value for status in array.status for v in status.values if v.key == "messages")
        recorded.extend(int(value) for value in found)

    client.node.create_subscription(DiagnosticArray, "/diagnostics", hear, 50)
    states = client.node.create_publisher(JointState, "joint_states", QoSProfile(depth=count))
    names = [f"joint{k}" for k in range(1, 8)]
    message = JointState(name=names, position=[0.1] * 7, velocity=[0.0] * 7, effort=[1.0] * 7)
    ticks = client.node.create_timer(0.01, lambda: states.publish(message))
    bag = client.start_recording(str(tmp_path / "bag"))
    client.node.destroy_timer(ticks)
    for k in range(count):
        message.header.stamp.sec, message.header.stamp.nanosec = 1_000_000 + k // 1000, k % 1000
        states.publish(message)
        if k % burst == burst - 1:
            client.wait_until(lambda k=k: recorded[-1] > k, 40.0, f"message {k} in the bag")
    client.stop_recording()
    stored = {topic.name: topic.count for topic in StoredBag.open(bag).topics}
    assert stored["/joint_states"] >= count


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files of child processes can't grow beyond 200 kB, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_ends_the_recording_not_the_logger(
    small_files: None, start_nodes: Start, tmp_path: Path
) -> None:
    specs = demo_graph(robot=simulated(), logger={"effort_kind": "actuator_torque"})
    client, nodes = start_nodes([s for s in specs if s.name in ("simulated_robot", "data_logger")])
    bag = client.start_recording(str(tmp_path / "bag"))
    log = tmp_path / "logs" / "data_logger.log"
    client.wait_until(lambda: "can't be written" in log.read_text(), 30.0, "the disk to be full")
    with pytest.raises(LiveError, match="Nothing is being recorded"):
        client.stop_recording()
    recording = read_bag(bag)  # what was written before
    assert len(recording.joints) > 100
    nodes.check()
    for path, words in (("/dev/null/bag", "not permitted"), (bag, "is not overwritten")):
        with pytest.raises(LiveError, match=words):
            client.start_recording(path)
    for path in ("../bag", "a/../../bag", "--help", "~/.config/autostart/x"):
        request = StartRecording.Request(path=path)
        with pytest.raises(LiveError, match="not permitted"):
            client.call(StartRecording, "data_logger/start", request)
