# SPDX-License-Identifier: Apache-2.0
"""Messages written without ROS are read by ROS, and the other way round."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from robot_sysid.msg import FilteredJointState, FilteredWrench
from sensor_msgs.msg import JointState

from sysid_core.errors import SignalError
from sysid_core.signals.filters import JointFilter
from sysid_core.signals.wrench import WrenchFilter
from sysid_nodes.conversions import joint_arrays_from_message, ns_from_stamp, wrench_from_message
from sysid_nodes.data_logger.serialised import (
    JointStateReader,
    JointStateWriter,
    WrenchReader,
    WrenchWriter,
    message_types,
)

NAMES = ["a", "second_joint"]
STAMP = 1_795_175_277_606_274_339


def joint_state(**arrays: list[float]) -> JointState:
    message = JointState(name=[*NAMES, "gripper"], **arrays)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(STAMP, 10**9)
    message.header.frame_id = "base"
    return message


@pytest.mark.parametrize("frame", ["", "base", "some/longer_frame"])
def test_joint_states_are_read_as_ros_reads_them(frame: str) -> None:
    reader = JointStateReader(NAMES[::-1])
    for k in range(3):  # the layout is found once
        sent = joint_state(position=[0.1 + k, -2.0, 3.0], effort=[1.0, np.nan, 2.0])
        sent.header.frame_id = frame
        data = serialize_message(sent)
        assert reader.layout(data).stamp_ns(data) == STAMP
        q, v, effort = reader.arrays(reader.layout(data), data)
        assert q.tolist() == [-2.0, 0.1 + k] and v is None
        np.testing.assert_array_equal(effort, [np.nan, 1.0])
        np.testing.assert_array_equal(q, joint_arrays_from_message(sent, NAMES[::-1])[0])


def test_drivers_that_share_a_topic_are_read_in_turn() -> None:
    reader = JointStateReader(["a"])
    gripper = JointState(name=["gripper"], position=[0.5])
    for _ in range(3):
        assert reader.layout(serialize_message(gripper)).names == ("gripper",)
        data = serialize_message(joint_state(position=[0.1, 0.2, 0.3]))
        assert reader.arrays(reader.layout(data), data)[0].tolist() == [0.1]


def test_bytes_that_are_no_joint_state_are_refused() -> None:
    data = serialize_message(joint_state(position=[0.1, 0.2, 0.3]))
    for broken in (b"", data[:20], data[:-9], b"\x00\x07" + data[2:], data[:20] + b"\xff" * 40):
        with pytest.raises(SignalError, match="can't be decoded"):
            JointStateReader(NAMES).layout(broken)


@pytest.mark.parametrize("effort", [None, np.array([5.0, 6.0])])
def test_filtered_joints_are_what_ros_reads(effort: np.ndarray | None) -> None:
    writer = JointStateWriter(message_types(), NAMES, "motor_current", effort is not None)
    sample = JointFilter(2).update(STAMP, [0.1, 0.2], [0.3, 0.4], effort)
    message = deserialize_message(writer.rich(sample), FilteredJointState)
    plain = deserialize_message(writer.plain(sample), JointState)
    assert ns_from_stamp(message.header.stamp) == ns_from_stamp(plain.header.stamp) == STAMP
    assert message.name == plain.name == NAMES and message.effort_kind == "motor_current"
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
        if hasattr(plain, field):
            np.testing.assert_array_equal(getattr(plain, field), values, err_msg=field)


def test_filtered_wrenches_are_what_ros_reads() -> None:
    sent = WrenchStamped()
    sent.header.frame_id = "sensor"
    sent.header.stamp.sec, sent.header.stamp.nanosec = divmod(STAMP, 10**9)
    sent.wrench.force.z, sent.wrench.torque.x = -9.81, 0.5
    data = serialize_message(sent)
    layout = WrenchReader().layout(data)
    reading = layout.values(data, "wrench")
    np.testing.assert_array_equal(reading, [0.0, 0.0, -9.81, 0.5, 0.0, 0.0])
    assert layout.frame == "sensor" and layout.stamp_ns(data) == STAMP
    sample = WrenchFilter().update(STAMP, reading, np.zeros(6))
    writer = WrenchWriter(message_types(), "sensor", True)
    message = deserialize_message(writer.rich(sample, STAMP, reading), FilteredWrench)
    plain = deserialize_message(writer.plain(sample, STAMP), WrenchStamped)
    assert ns_from_stamp(message.header.stamp) == STAMP and message.tared
    assert message.header.frame_id == plain.header.frame_id == "sensor"
    np.testing.assert_array_equal(wrench_from_message(plain.wrench), sample.wrench)
    for field, values in (
        ("measured", reading),
        ("wrench", sample.measured),
        ("wrench_sd", sample.measured_sd),
        ("bias", sample.bias),
        ("bias_sd", sample.bias_sd),
    ):
        np.testing.assert_array_equal(wrench_from_message(getattr(message, field)), values)
