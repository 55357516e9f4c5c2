# SPDX-License-Identifier: Apache-2.0
"""Effects of real drivers on the nodes: unmeasured finger joints, frames that are no links."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from live_nodes import Start
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from robot_sysid.msg import FilteredJointState, Identifiability, Mark
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from sysid_core.robot import RobotModel
from sysid_core.signals.wrench import SensorCalibration
from sysid_nodes.bringup import NodeSpec
from sysid_nodes.client import LiveClient
from sysid_nodes.lifecycle import Level, qos

pytestmark = [pytest.mark.ros, pytest.mark.slow]


class Driver:
    """Publishes a description, joint states and a wrench as a robot's driver does."""

    def __init__(self, client: LiveClient, robot: str, joints: tuple[str, ...], frame: str) -> None:
        node = self.node = client.node
        self.joints, self.frame, self.client = joints, frame, client
        self.description = node.create_publisher(String, "robot_description", qos.LATCHED)
        self.description.publish(String(data=RobotModel.from_urdf(robot).urdf_xml))
        self.states = node.create_publisher(JointState, "joint_states", 50)
        self.wrenches = node.create_publisher(WrenchStamped, "wrench", 50)
        self.extra: list[JointState] = []
        self.timer = node.create_timer(0.01, self.tick)

    def tick(self) -> None:
        n = len(self.joints)
        stamp = self.node.get_clock().now().to_msg()
        state = JointState(name=self.joints, position=[0.1] * n, velocity=[0.0] * n)
        for message in (state, *self.extra):
            message.header.stamp = stamp
            self.states.publish(message)
        wrench = WrenchStamped()
        wrench.header.stamp, wrench.header.frame_id = stamp, self.frame
        wrench.wrench.force.z = float(np.random.default_rng().normal(-10.0, 0.1))
        self.wrenches.publish(wrench)


def log_of(tmp_path: Path, name: str) -> str:
    return (tmp_path / "logs" / f"{name}.log").read_text()


def test_a_hand_that_nobody_measures_is_held_and_said_once(
    start_nodes: Start, tmp_path: Path
) -> None:
    client, nodes = start_nodes(
        [NodeSpec("data_logger", "data_logger"), NodeSpec("estimator", "estimator")]
    )
    arm = tuple(f"panda_joint{i}" for i in range(1, 8))
    driver = Driver(client, "panda", arm, "panda_hand")
    driver.extra = [JointState(name=["panda_finger_joint1"], position=[0.02])]
    filtered: list[FilteredJointState] = []
    client.node.create_subscription(FilteredJointState, "data_logger/filtered", filtered.append, 10)
    client.wait_until(lambda: bool(filtered), 30.0, "filtered joint states")
    assert tuple(filtered[-1].name) == arm
    client.follow(Identifiability, "estimator/identifiability")
    assert client.wait_for("estimator/identifiability").n_parameters == 70
    for name in ("data_logger", "estimator"):
        text = log_of(tmp_path, name)
        assert text.count("Joints held") == 1
        assert "panda_finger_joint1 at 0.02, panda_finger_joint2 at 0" in text
    nodes.check()


ESTIMATOR = {"robot": "ur5", "sensor_frame": "tool0", "shape": "box 0.1 0.1 0.1"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "which is not a link of ur5"),
        ({"wrench_frames": ["other"]}, "accepted are ['tool0', 'other']"),
    ],
)
def test_a_frame_that_is_no_link_is_taken_unless_others_are_listed(
    start_nodes: Start, tmp_path: Path, more: dict, words: str
) -> None:
    client, nodes = start_nodes(
        [
            NodeSpec("data_logger", "data_logger", parameters={"robot": "ur5"}),
            NodeSpec("estimator", "estimator", parameters=ESTIMATOR | more),
        ]
    )
    driver = Driver(client, "ur5", RobotModel.from_urdf("ur5").joint_names, "tool0_controller")
    client.wait_until(lambda: words in log_of(tmp_path, "estimator"), 30.0, words)
    marks = client.node.create_publisher(Mark, "marks", 10)
    marks.publish(Mark(label="tare_1:start"))
    nodes.check()
    assert "Traceback" not in log_of(tmp_path, "estimator")
    driver.timer.cancel()


@pytest.mark.parametrize(
    ("by_topic", "bad", "words"),
    [
        (True, {"sensor_frame": "uf_ft_sensor"}, "has no frame 'uf_ft_sensor'"),
        (False, {"shape": "bocks 1 1 1"}, "bocks"),
        (False, {"calibration": "/nowhere/tare.yaml"}, "tare.yaml"),
        (True, {"lock": ["elbow"]}, "'elbow' fits no joint"),
    ],
)
def test_a_bad_configuration_fails_at_configure_and_can_be_mended(
    start_nodes: Start, tmp_path: Path, by_topic: bool, bad: dict, words: str
) -> None:
    good = ESTIMATOR | {"calibration": "", "lock": [], "robot": "" if by_topic else "ur5"}
    client, nodes = start_nodes([NodeSpec("estimator", "estimator", parameters=good | bad)])
    driver = Driver(client, "ur5", RobotModel.from_urdf("ur5").joint_names, "tool0")
    client.wait_until(lambda: words in log_of(tmp_path, "estimator"), 30.0, words)

    def unconfigured() -> bool:
        answer = client.call(GetState, "estimator/get_state", GetState.Request())
        return bool(answer.current_state.id == State.PRIMARY_STATE_UNCONFIGURED)

    client.wait_until(unconfigured, 10.0, "unconfigured")
    (name,) = bad
    value = Parameter(name, Parameter.Type.STRING_ARRAY, []) if name == "lock" else None
    new = value or Parameter(name, value=good[name])
    request = SetParameters.Request(parameters=[new.to_parameter_msg()])
    answer = client.call(SetParameters, "estimator/set_parameters", request)
    assert answer.results[0].successful, answer.results[0].reason
    for step in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        change = ChangeState.Request()
        change.transition.id = step
        client.call(ChangeState, "estimator/change_state", change)
    client.follow(Identifiability, "estimator/identifiability")
    assert client.wait_for("estimator/identifiability").n_base > 0
    driver.timer.cancel()
    nodes.check()


def test_an_estimator_goes_on_with_its_tare_keeps_its_structure_and_notices_a_twin(
    start_nodes: Start, tmp_path: Path
) -> None:
    zero = np.zeros(6), np.zeros(4), 1e-6 * np.eye(10)
    calibration = SensorCalibration("tool0", *zero, stamp_ns=time.time_ns())
    calibration.save(tmp_path / "tare_of_estimator_tool0.yaml")
    client, nodes = start_nodes([NodeSpec("estimator", "estimator", parameters=ESTIMATOR)])
    words = "Using the stored tare"
    client.wait_until(lambda: words in log_of(tmp_path, "estimator"), 20.0, words)
    client.wait_for_active("estimator")

    def set_to(value: object, name: str = "shape") -> Any:
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        return client.call(SetParameters, "estimator/set_parameters", request).results[0]

    refused = set_to("sphere 0.1")
    assert not refused.successful and "while the node is configured" in refused.reason
    assert not set_to(1e9, "lag_s").successful
    assert not set_to(float("nan"), "rate_hz").successful
    assert not set_to(["j*"], "joints").successful

    arrays: list[DiagnosticArray] = []
    client.node.create_subscription(DiagnosticArray, "/diagnostics", arrays.append, 50)
    client.wait_until(lambda: len(arrays) >= 4, 20.0, "diagnostics of an idle node")
    stamps = [a.header.stamp.sec + a.header.stamp.nanosec * 1e-9 for a in arrays]
    assert 0.5 < np.median(np.diff(stamps)) < 1.5
    twin = rclpy.create_node("estimator")
    words = "Another node is called /estimator"
    client.wait_until(lambda: words in log_of(tmp_path, "estimator"), 20.0, words)
    client.wait_until(
        lambda: any(words in s.message and s.level == Level.ERROR for s in arrays[-1].status),
        10.0,
        "the diagnostic",
    )
    assert {s.hardware_id for s in arrays[-1].status} == {"ur5"}
    twin.destroy_node()
    nodes.check()
