# SPDX-License-Identifier: Apache-2.0
"""Messages of a bag: joints, efforts, marks and stamps as they are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from bag_messages import (
    JOINT_STATE,
    JOINTS,
    NAMES,
    STORE,
    STRING,
    T0,
    joint_state,
    message,
    only_file,
    write,
    write_joints,
)
from numpy.testing import assert_array_equal

from sysid_core.errors import SignalError
from sysid_core.signals import EffortKind
from sysid_core.signals.bags import BagWriter, StoredBag, read_bag
from sysid_core.signals.bags.layouts import message_decoder


def test_joints_are_mapped_by_name_whatever_their_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    messages = []
    for k in range(20):
        order = rng.permutation(3)
        q = np.array([1.0, 2.0, 3.0])
        messages.append(joint_state(T0 + k, q[order], [NAMES[i] for i in order]))
    messages.insert(0, joint_state(T0 - 50, [9.0], ["gripper"]))
    path = write_joints(tmp_path / "bag", messages)
    recording = read_bag(path, joints=["wrist", "shoulder"])
    assert_array_equal(recording.joints.q, np.tile([3.0, 1.0], (20, 1)))
    assert recording.joints.v is None and recording.joints.effort is None
    assert any("1 messages lack some of the joints" in note for note in recording.notes)


def test_of_several_drivers_on_a_topic_the_more_frequent_one_is_read(tmp_path: Path) -> None:
    messages = [joint_state(T0 + k, [1.0, 2.0, 3.0]) for k in range(20)]
    messages[::5] = [joint_state(T0 + 5 * k, [9.0], ["gripper"]) for k in range(4)]
    recording = read_bag(write_joints(tmp_path / "bag", messages))
    assert recording.joints.names == tuple(NAMES) and len(recording.joints) == 16
    assert any("4 messages lack some" in note for note in recording.notes)


def test_a_missing_file_of_a_split_bag_is_said(bag: Path, tmp_path: Path) -> None:
    path = tmp_path / "split"
    path.mkdir()
    (path / "run_0.mcap").write_bytes(only_file(bag).read_bytes())
    metadata = yaml.safe_load((bag / "metadata.yaml").read_text())
    metadata["rosbag2_bagfile_information"]["relative_file_paths"].append("run_1.mcap")
    (path / "metadata.yaml").write_text(yaml.safe_dump(metadata))
    assert "'run_1.mcap' is listed" in StoredBag.open(path).damage[0]


def test_bad_samples_are_dropped_and_counted(tmp_path: Path) -> None:
    ms = 1_000_000
    t = [0, 10, 10, 20, 15, 30, 40, 50]
    messages = [joint_state(T0 + k * ms, np.full(3, 0.1 * k)) for k in t]
    messages[5] = joint_state(T0 + 30 * ms, [0.0, np.nan, 0.0])
    recording = read_bag(write_joints(tmp_path / "bag", messages))
    assert_array_equal((recording.joints.stamps_ns - T0) / ms, [0, 10, 20, 40, 50])
    notes = " ".join(recording.notes)
    for text in ("1 samples with NaN", "1 samples with a repeated", "1 samples with a backward"):
        assert text in notes


def test_efforts_that_are_nan_throughout_are_not_efforts(tmp_path: Path) -> None:
    messages = [joint_state(T0 + k, np.zeros(3), effort=np.full(3, np.nan)) for k in range(5)]
    recording = read_bag(write_joints(tmp_path / "bag", messages))
    assert len(recording.joints) == 5 and recording.joints.effort is None
    assert any("efforts are NaN" in note for note in recording.notes)


def test_the_meaning_of_effort_is_declared_never_guessed(bag: Path, tmp_path: Path) -> None:
    write(tmp_path / "plain", count=20)
    recording = read_bag(tmp_path / "plain")
    assert recording.joints.effort_kind is EffortKind.UNKNOWN
    assert any("give `effort_kind`" in note for note in recording.notes)
    declared = read_bag(tmp_path / "plain", effort_kind="motor_current")
    assert declared.joints.effort_kind is EffortKind.MOTOR_CURRENT and declared.notes == ()
    contradicted = read_bag(bag, effort_kind=EffortKind.MOTOR_CURRENT)
    assert contradicted.joints.effort_kind is EffortKind.MOTOR_CURRENT
    assert any("kind of effort in the bag is link_torque" in note for note in contradicted.notes)
    with pytest.raises(SignalError, match="link_torque"):
        read_bag(bag, effort_kind="guess")


def test_messages_without_stamps_stand_at_their_reception(tmp_path: Path) -> None:
    path = write_joints(tmp_path / "bag", [joint_state(0, np.zeros(3)) for _ in range(5)])
    recording = read_bag(path)
    assert_array_equal(recording.joints.stamps_ns, T0 + np.arange(5))
    assert any("time of reception" in note for note in recording.notes)


def test_text_marks_stand_at_their_reception(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag") as writer:
        writer.add_topic(JOINTS, JOINT_STATE)
        writer.add_topic("/some/marks", STRING)
        writer.write(JOINTS, joint_state(T0, np.zeros(3)), T0)
        writer.write("/some/marks", message(STRING, data="grasped"), T0 + 7)
    (mark,) = read_bag(tmp_path / "bag").marks
    assert (mark.label, mark.stamp_ns) == ("grasped", T0 + 7)


def test_several_joint_topics_need_a_choice(tmp_path: Path) -> None:
    path = tmp_path / "bag"
    with BagWriter(path) as writer:
        for k, topic in enumerate(("/left/joint_states", "/right/joint_states")):
            writer.add_topic(topic, JOINT_STATE)
            writer.write(topic, joint_state(T0, np.full(3, k)), T0)
    with pytest.raises(SignalError, match="joint_topic") as error:
        read_bag(path)
    assert "/left/joint_states" in str(error.value)
    assert read_bag(path, joint_topic="/right/joint_states").joints.q[0, 0] == 1.0
    with pytest.raises(SignalError, match="/right/joint_states"):
        read_bag(path, joint_topic="/wrong")


def test_of_a_driver_and_who_repeats_it_slowly_the_driver_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bag"
    with BagWriter(path) as writer:
        for topic in ("/joint_states", "/xarm/joint_states"):
            writer.add_topic(topic, JOINT_STATE)
        for k in range(20):
            writer.write("/xarm/joint_states", joint_state(T0 + k, np.full(3, 1.0)), T0 + k)
            if k % 10 == 0:
                writer.write("/joint_states", joint_state(T0 + k, np.full(3, 2.0)), T0 + k)
    joints = read_bag(path).joints
    assert len(joints) == 20
    assert joints.q[0, 0] == 1.0


def test_what_is_no_usable_bag_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(SignalError, match="no bag at"):
        read_bag(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SignalError, match=r"neither \.mcap nor \.db3"):
        read_bag(tmp_path / "empty")
    (tmp_path / "zero.mcap").write_bytes(b"")
    with pytest.raises(SignalError, match="Nothing can be read"):
        read_bag(tmp_path / "zero.mcap")
    (tmp_path / "noise.mcap").write_bytes(b"no bag at all, but long enough to be one" * 10)
    with pytest.raises(SignalError, match=r"Nothing can be read.*does not begin like an MCAP file"):
        read_bag(tmp_path / "noise.mcap")
    (tmp_path / "table.csv").write_text("1,2,3\n")
    with pytest.raises(SignalError, match=r"table\.csv' is not a bag"):
        read_bag(tmp_path / "table.csv")
    path = write_joints(tmp_path / "bag", [joint_state(T0, np.zeros(3))])
    with pytest.raises(SignalError, match=r"Joints there: .*elbow"):
        read_bag(path, joints=["hip"])
    nameless = write_joints(tmp_path / "nameless", [joint_state(T0, np.zeros(0), [])])
    with pytest.raises(SignalError, match="has names"):
        read_bag(nameless)
    with BagWriter(tmp_path / "text") as writer:
        writer.add_topic("/chatter", STRING)
        writer.write("/chatter", message(STRING, data="hello"), T0)
    with pytest.raises(SignalError, match="no sensor_msgs/msg/JointState"):
        read_bag(tmp_path / "text")


def test_misuse_of_the_writer_is_named_with_the_remedy(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag")
    with pytest.raises(SignalError, match="exists already"):
        BagWriter(tmp_path / "bag")
    with pytest.raises(SignalError, match="definitions"):
        writer.add_topic("/x", "my_msgs/msg/Unheard")
    writer.add_topic(JOINTS, JOINT_STATE)
    with pytest.raises(SignalError, match="already"):
        writer.add_topic(JOINTS, JOINT_STATE)
    with pytest.raises(SignalError, match="wasn't added"):
        writer.write("/other", b"", T0)
    writer.close()
    writer.close()
    with pytest.raises(SignalError, match="closed"):
        writer.write(JOINTS, b"", T0)
    with pytest.raises(SignalError, match="can't be parsed"):
        BagWriter(tmp_path / "other", definitions={"a/msg/B": "float64["})
    assert not (tmp_path / "other").exists()
    incomplete = BagWriter(tmp_path / "part", definitions={"a/msg/B": "a/C part"})
    with pytest.raises(SignalError, match="a/msg/C"):
        incomplete.add_topic("/b", "a/msg/B")
    incomplete.close()


def test_padding_behind_a_message_is_left_alone(tmp_path: Path) -> None:
    """As `rclpy.serialization` leaves it behind an empty array."""
    with BagWriter(tmp_path / "bag") as writer:
        writer.add_topic(JOINTS, JOINT_STATE)
        for k in range(3):
            writer.write(JOINTS, joint_state(T0 + k * 10**6, np.ones(3)) + b"\x7f" * 4, T0 + k)
    joints = read_bag(tmp_path / "bag").joints
    assert len(joints) == 3 and joints.effort is None


@pytest.mark.parametrize("data", [b"", b"\x00\x01\x00\x00", joint_state(T0, np.ones(3))[:-20]])
def test_bytes_that_are_no_message_are_named(data: bytes) -> None:
    with pytest.raises(SignalError, match=r"JointState.*can't be decoded"):
        message_decoder(STORE, JOINT_STATE)(data)
