# SPDX-License-Identifier: Apache-2.0
"""The four real processes over DDS: from a motion to a payload, and every way to be interrupted."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from lifecycle_msgs.srv import ChangeState
from live_nodes import EXECUTOR, FRAME, PAYLOAD, Start, simulated
from rclpy.action import ActionClient
from robot_sysid.action import ExecuteTrajectory, RunPlan
from robot_sysid.msg import ExecutorState, Identifiability, InertialEstimate, PayloadEstimate
from robot_sysid.srv import Arm, MarkRecording, SaveResult
from rosgraph_msgs.msg import Clock
from scipy.interpolate import BPoly
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from sysid_core.estimation import Estimate
from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession
from sysid_core.planning import Trajectory
from sysid_core.planning.payload.plan import PayloadPlan
from sysid_core.robot import RobotModel
from sysid_core.robot.shapes import load_shape
from sysid_core.signals import EffortKind
from sysid_core.signals.bags import read_bag
from sysid_nodes.bringup import NodeSpec, demo_graph
from sysid_nodes.client import LiveClient, LiveError
from sysid_nodes.conversions import (
    estimate_from_message,
    ns_from_stamp,
    stamp_from_ns,
    trajectory_arrays,
)

pytestmark = [pytest.mark.ros, pytest.mark.slow]
SHAPE = "box 0.2 0.2 0.16"
IN_SIMULATED_TIME = {"use_sim_time": True}


def test_a_motion_becomes_a_payload_on_a_topic_and_the_bag_gives_the_same(
    start_nodes: Start, short_plan: tuple[Path, PayloadPlan], tmp_path: Path
) -> None:
    file, plan = short_plan
    known = f"mass: {PAYLOAD[0]}, mass_sd: 0.02, com: {(PAYLOAD[1:4] / PAYLOAD[0]).tolist()}, com_sd: 0.005"
    (tmp_path / "parts.yaml").write_text(f"parts: {{part: {{{known}, size: 0.15}}}}")
    of_part = {"parts": str(tmp_path / "parts.yaml"), "expected_part": "part"}
    specs = demo_graph(
        namespace="left_arm",
        robot=simulated(plan.trajectory, clock=True),  # a busy machine slows everything alike
        executor={**EXECUTOR, **IN_SIMULATED_TIME},
        logger={"effort_kind": "actuator_torque", **IN_SIMULATED_TIME},
        estimator={"sensor_frame": FRAME, "shape": SHAPE, **of_part, **IN_SIMULATED_TIME},
    )
    runner = NodeSpec("runner", "runner", "left_arm", IN_SIMULATED_TIME)
    specs = (*specs, runner)
    client, nodes = start_nodes(specs, "left_arm")
    client.follow(Identifiability, "estimator/identifiability")
    client.follow(PayloadEstimate, "estimator/payload_estimate")
    for spec in specs:
        client.wait_for_active(spec.name)
    assert client.wait_for("estimator/identifiability").n_base == 43
    bag = client.start_recording(str(tmp_path / "bag"))
    client.call(MarkRecording, "data_logger/mark", MarkRecording.Request(label="grasped"))
    feedback: list[str] = []
    result = client.execute(str(file), lambda f: feedback.append(f.state), timeout_s=90.0)
    assert result.final_state == "done" and {"moving_to_start", "executing"} <= set(feedback)
    client.wait_until_settled("estimator/payload_estimate", 3.0, 60.0)
    decided: list[DiagnosticArray] = []
    client.node.create_subscription(DiagnosticArray, "estimator/part", decided.append, 1)

    def part_is_known() -> (
        bool
    ):  # an estimator that is still catching up says that its samples are old
        return bool(decided) and decided[-1].status[0].level == DiagnosticStatus.OK

    client.wait_until(part_is_known, 20.0, "a known part")
    assert decided[-1].status[0].values[0].key == "part", decided[-1].status[0].message
    which = client.call(Trigger, "estimator/which_part", Trigger.Request())
    assert which.success, which.message
    client.stop_recording()
    saved = client.call(SaveResult, "estimator/save", SaveResult.Request(directory="saved"))
    client.follow(
        InertialEstimate, "estimator/payload_parameters"
    )  # latched: a late subscriber gets it
    client.follow(InertiaStamped, "estimator/payload")
    live = estimate_from_message(client.wait_for("estimator/payload_parameters"))
    assert client.wait_for("estimator/payload").inertia.m == pytest.approx(live.values[0])
    assert np.array_equal(Estimate.load(saved.path).values, live.values)
    assert abs(live.values[0] - PAYLOAD[0]) < 0.02 * PAYLOAD[0]
    assert live.physically_consistent
    running = client.latest["estimator/payload_estimate"]
    assert running.urdf_hash == RobotModel.from_urdf("xarm7").urdf_hash and running.robot
    assert running.inertia.m == pytest.approx(live.values[0])
    assert 0 < running.inertia_sd.m < 0.1 * running.inertia.m

    recording = read_bag(bag)
    began_s = (ns_from_stamp(running.valid_from) - recording.joints.stamps_ns[0]) * 1e-9
    assert 0.0 < began_s < recording.joints.time[-1], "the first sample used, not the last"
    assert recording.joints.effort_kind is EffortKind.ACTUATOR_TORQUE
    assert "grasped" in [mark.label for mark in recording.marks]
    model = RobotModel.from_urdf(recording.urdf_xml)
    session = PayloadSession(model, FRAME, OnlinePayload(load_shape(SHAPE)))
    session.replay(recording)
    assert session.online.n_samples == live.n_samples
    np.testing.assert_allclose(session.online.estimate().values, live.values, rtol=1e-6, atol=1e-9)
    refused = ran(client, file, [])
    assert "armed" in refused.message and not refused.success and not refused.recording
    steps: list[str] = []
    for _ in range(3):  # feedback that is sent before its topic is discovered is lost
        token = client.call(Arm, "runner/arm", Arm.Request()).token
        refused = ran(client, tmp_path / "bag", steps, token)
        assert refused.message.startswith("checking: ") and not refused.recording
        if steps:
            break
    assert set(steps) == {"checking"}
    assert set(nodes.stop().values()) == {0}


def ran(client: LiveClient, file: Path, steps: list[str], token: str = "") -> RunPlan.Result:
    """The result of `~/run` without a first pass."""
    action = ActionClient(client.node, RunPlan, "runner/run")
    client.wait_until(action.server_is_ready, 30.0, "the action")
    goal = RunPlan.Goal(trajectory_file=str(file), method="payload", token=token)
    sent = action.send_goal_async(goal, feedback_callback=lambda m: steps.append(m.feedback.step))
    client.wait_until(sent.done, 20.0, "acceptance")
    ended = sent.result().get_result_async()
    client.wait_until(ended.done, 150.0, "the end of the run")
    return ended.result().result


def test_a_killed_logger_leaves_a_bag_that_can_be_read(start_nodes: Start, tmp_path: Path) -> None:
    specs = demo_graph(robot=simulated(), logger={"effort_kind": "actuator_torque"})
    client, nodes = start_nodes([s for s in specs if s.name in ("simulated_robot", "data_logger")])
    client.wait_for_active("data_logger")
    bag = Path(client.start_recording(str(tmp_path / "bag")))
    begin = client.node.get_clock().now().nanoseconds
    client.wait_until(
        lambda: client.node.get_clock().now().nanoseconds - begin > 2_000_000_000,
        10.0,
        "two seconds",
    )
    nodes.processes["data_logger"].send_signal(signal.SIGKILL)
    nodes.processes["data_logger"].wait(10)
    assert not (bag / "metadata.yaml").exists()
    recording = read_bag(bag)
    assert len(recording.joints) > 100 and recording.wrench is not None
    assert recording.joints.time[-1] > 1.5
    assert any("cut off" in note or "truncated" in note for note in recording.notes)


def test_a_lost_robot_aborts_the_motion_and_closes_the_bag(
    start_nodes: Start, wave: tuple[Path, Trajectory], tmp_path: Path
) -> None:
    file, motion = wave
    graph = demo_graph(robot=simulated(motion, clock=True), executor=EXECUTOR)[:3]
    specs = [spec.in_simulated_time() for spec in graph]
    client, nodes = start_nodes(specs)
    client.node.create_subscription(ExecutorState, "trajectory_executor/state", lambda _: None, 10)
    for spec in specs:
        client.wait_for_active(spec.name)
    bag = Path(client.start_recording(str(tmp_path / "bag")))
    clock = client.node.create_publisher(Clock, "/clock", 10)
    times: list[int] = []
    client.node.create_subscription(
        Clock, "/clock", lambda message: times.append(ns_from_stamp(message.clock)), 10
    )

    def pull_the_plug(feedback: Any) -> None:
        robot = nodes.processes["simulated_robot"]
        if feedback.state == "executing" and feedback.progress > 0.5 and robot.poll() is None:
            robot.send_signal(signal.SIGKILL)
            robot.wait()
            client.node.create_timer(0.02, time_goes_on)

    def time_goes_on() -> None:  # it was the robot's
        clock.publish(Clock(clock=stamp_from_ns(times[-1] + 20_000_000)))

    with pytest.raises(LiveError, match="stale state"):
        client.execute(str(file), pull_the_plug, timeout_s=60.0)
    client.wait_until((bag / "metadata.yaml").exists, 10.0, "the logger to close its bag")
    assert len(read_bag(bag).joints) > 100


def test_a_cancel_stops_smoothly_inside_the_acceleration_limit(
    start_nodes: Start, short_plan: tuple[Path, PayloadPlan], tmp_path: Path
) -> None:
    file, plan = short_plan
    quiet = {"position_noise": 0.0, "velocity_noise": 0.0}
    specs = demo_graph(
        robot=simulated(plan.trajectory, clock=True, **quiet),
        executor={**EXECUTOR, **IN_SIMULATED_TIME},
    )[:2]
    client, _ = start_nodes(specs)
    for spec in specs:
        client.wait_for_active(spec.name)
    states: list[JointState] = []
    client.node.create_subscription(JointState, "joint_states", states.append, 200)
    sent_to_robot: list[JointTrajectory] = []
    client.node.create_subscription(JointTrajectory, "joint_trajectory", sent_to_robot.append, 10)
    action = ActionClient(client.node, ExecuteTrajectory, "trajectory_executor/execute")
    client.wait_until(action.server_is_ready, 20.0, "the executor")
    moving: list[bool] = []
    sent = action.send_goal_async(
        ExecuteTrajectory.Goal(
            trajectory_file=str(file),
            speed_scale=0.3,  # a transfer lasts longer than a stop takes to begin
            token=client.call(Arm, "trajectory_executor/arm", Arm.Request()).token,
        ),
        feedback_callback=lambda m: moving.append(
            m.feedback.state == "executing" and m.feedback.segment == "transfer"
        ),
    )
    client.wait_until(sent.done, 10.0, "the goal")
    result = sent.result().get_result_async()

    def under_way() -> bool:
        return any(moving[-1:]) and bool(np.abs(states[-1].velocity).max() > 0.1)

    client.wait_until(lambda: under_way() or result.done(), 60.0, "speed in a transfer")
    assert not result.done(), result.result().result.message
    client.wait_until(sent.result().cancel_goal_async().done, 10.0, "the cancel")
    client.wait_until(result.done, 10.0, "the end")
    assert result.result().result.final_state == "aborted"
    assert "operator" in result.result().result.message
    client.wait_until(lambda: np.abs(states[-1].velocity).max() < 1e-3, 10.0, "rest")

    # What was sent: the stop begins where the motion under way is at that instant, and brakes
    # inside the limit (5 rad/s^2) to rest.
    motion, stop = sent_to_robot[-2:]
    names = plan.trajectory.joint_names
    t, q, v, a = trajectory_arrays(motion, names)
    t_stop, q_stop, v_stop, _ = trajectory_arrays(stop, names)
    begin = (ns_from_stamp(stop.header.stamp) - ns_from_stamp(motion.header.stamp)) * 1e-9
    path = BPoly.from_derivatives(t, np.stack([q, v, a], axis=1))
    np.testing.assert_allclose(q_stop[0], path(begin), atol=2e-3)
    np.testing.assert_allclose(v_stop[0], path(begin, 1), atol=0.05)
    assert np.abs(v_stop[0]).max() > 0.05  # it was under way
    assert np.abs(np.diff(v_stop, axis=0) / np.diff(t_stop)[:, None]).max() < 5.01
    assert not v_stop[-1].any()


def test_what_can_be_refused_is_refused_before_anything_moves(
    start_nodes: Start, tmp_path: Path
) -> None:
    specs = demo_graph(robot=simulated(), executor=EXECUTOR)[:2]
    client, _ = start_nodes(specs)
    for spec in specs:
        client.wait_for_active(spec.name)
    with pytest.raises(LiveError, match=r"nothing.npz. is neither a file nor a folder"):
        client.execute(str(tmp_path / "nothing.npz"), lambda _: None, timeout_s=20.0)


def test_a_bad_parameter_fails_the_configuration_and_says_so(
    start_nodes: Start, tmp_path: Path
) -> None:
    specs = [NodeSpec("data_logger", "data_logger", parameters={"effort_kind": "guess"})]
    client, nodes = start_nodes(specs)
    log = tmp_path / "logs" / "data_logger.log"
    client.wait_until(lambda: "effort_kind" in log.read_text(), 20.0, "the message")
    assert "Choose one of: link_torque" in log.read_text()
    # The node is still there, unconfigured, and can be configured once the parameter is right.
    change = client.node.create_client(ChangeState, "data_logger/change_state")
    client.wait_until(change.service_is_ready, 10.0, "the lifecycle service")
    assert nodes.processes["data_logger"].poll() is None
    assert rclpy.ok()
