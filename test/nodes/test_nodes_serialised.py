"""What is written without ROS messages is what ROS reads, and the other way round."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from robot_sysid.msg import FilteredJointState, FilteredWrench
from sensor_msgs.msg import JointState

from sysid_core.signals.filters import JointFilter
from sysid_core.signals.wrench import WrenchFilter
from sysid_nodes.conversions import joint_arrays_from_message, ns_from_stamp, wrench_from_message
from sysid_nodes.serialised import SerialisedStreams

NAMES = ["a", "second_joint"]
STAMP = 1_795_175_277_606_274_339


@pytest.fixture(scope="module")
def streams() -> SerialisedStreams:
    return SerialisedStreams()


def joint_state(**arrays: list[float]) -> JointState:
    message = JointState(name=[*NAMES, "gripper"], **arrays)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(STAMP, 10**9)
    message.header.frame_id = "base"
    return message


def test_joint_states_are_read_as_ros_reads_them(streams: SerialisedStreams) -> None:
    sent = joint_state(position=[0.1, -2.0, 3.0], effort=[1.0, np.nan, 2.0])
    message = streams.joint_state(serialize_message(sent))
    assert ns_from_stamp(message.header.stamp) == STAMP
    q, v, effort = joint_arrays_from_message(message, NAMES[::-1])
    assert q.tolist() == [-2.0, 0.1] and v is None
    np.testing.assert_array_equal(effort, [np.nan, 1.0])


@pytest.mark.parametrize("effort", [None, np.array([5.0, 6.0])])
def test_filtered_joints_are_what_ros_reads(
    streams: SerialisedStreams, effort: np.ndarray | None
) -> None:
    sample = JointFilter(2).update(STAMP, [0.1, 0.2], [0.3, 0.4], effort)
    data = streams.filtered_joints(sample, NAMES, "motor_current")
    message = deserialize_message(data, FilteredJointState)
    assert ns_from_stamp(message.header.stamp) == STAMP
    assert message.name == NAMES and message.effort_kind == "motor_current"
    for field, values in (
        ("position", sample.q),
        ("velocity", sample.v),
        ("acceleration", sample.a),
        ("position_sd", sample.q_sd),
        ("velocity_sd", sample.v_sd),
        ("acceleration_sd", sample.a_sd),
        ("effort", [] if effort is None else sample.effort),
        ("effort_sd", [] if effort is None else sample.effort_sd),
    ):
        np.testing.assert_array_equal(getattr(message, field), values, err_msg=field)


def test_filtered_wrenches_are_what_ros_reads(streams: SerialisedStreams) -> None:
    sent = WrenchStamped()
    sent.header.frame_id = "sensor"
    sent.wrench.force.z, sent.wrench.torque.x = -9.81, 0.5
    received = streams.wrench(serialize_message(sent))
    reading = wrench_from_message(received.wrench)
    np.testing.assert_array_equal(reading, [0.0, 0.0, -9.81, 0.5, 0.0, 0.0])
    sample = WrenchFilter().update(STAMP, reading, np.zeros(6))
    message = deserialize_message(
        streams.filtered_wrench(sample, received, STAMP, tared=True), FilteredWrench
    )
    assert ns_from_stamp(message.header.stamp) == STAMP and message.tared
    assert message.header.frame_id == "sensor"
    for field, values in (
        ("measured", reading),
        ("wrench", sample.measured),
        ("wrench_sd", sample.measured_sd),
        ("bias", sample.bias),
        ("bias_sd", sample.bias_sd),
    ):
        np.testing.assert_array_equal(wrench_from_message(getattr(message, field)), values)
