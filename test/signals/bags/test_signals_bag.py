# SPDX-License-Identifier: Apache-2.0
"""Bags: what is written is read back, by us and by rosbags; what is cut off is recovered."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from bag_messages import (
    JOINT_STATE,
    JOINTS,
    MARKS,
    NAMES,
    STORE,
    T0,
    URDF,
    assert_same,
    header,
    joint_state,
    message,
    only_file,
    write,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.rosbag2 import Reader, ReaderError, StoragePlugin, Writer

from sysid_core.signals import EffortKind
from sysid_core.signals.bags import BagWriter, OfferedQos, StoredBag, read_bag
from sysid_core.signals.filters import JointFilter

TF = "tf2_msgs/msg/TFMessage"


def static_transform(parent: str, child: str, z: float) -> bytes:
    stamped = STORE.types["geometry_msgs/msg/TransformStamped"](
        header=header(T0, parent),
        child_frame_id=child,
        transform=STORE.types["geometry_msgs/msg/Transform"](
            translation=STORE.types["geometry_msgs/msg/Vector3"](0.0, 0.0, z),
            rotation=STORE.types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0),
        ),
    )
    return message(TF, transforms=[stamped])


def test_static_transforms_are_read_also_from_a_recovered_bag_and_never_another_robots(
    tmp_path: Path,
) -> None:
    with BagWriter(tmp_path / "bag") as writer:
        writer.add_topic(JOINTS, JOINT_STATE)
        for topic in ("/tf_static", "/left/tf_static"):
            writer.add_topic(topic, TF, OfferedQos(durability="transient_local", depth=1))
            for z in (0.1, 0.2):  # what comes last counts
                writer.write(topic, static_transform("wrist", "ft", z + len(topic)), T0)
        writer.write("/tf_static", static_transform("/ft", "adapter", 0.3), T0)
        for k in range(100):
            now = T0 + 10_000_000 * k
            writer.write(JOINTS, joint_state(now, np.zeros(3)), now)
    BagWriter.recover(tmp_path / "bag", tmp_path / "recovered")
    for name in ("bag", "recovered"):
        recording = read_bag(tmp_path / name)
        assert [(t.parent, t.child, t.translation[2]) for t in recording.transforms] == [
            ("wrist", "ft", 0.2 + len("/tf_static")),
            ("ft", "adapter", 0.3),
        ]
        assert any("/left/tf_static" in note for note in recording.notes)


def test_everything_written_is_read_back(bag: Path, tmp_path: Path) -> None:
    t, q = write(tmp_path / "again", custom_data={"effort_kind": "link_torque"})
    recording = read_bag(bag)
    assert recording.joints.names == tuple(NAMES)
    assert_array_equal(recording.joints.stamps_ns, t)
    assert_array_equal(recording.joints.q, q)
    assert_array_equal(recording.joints.v, q + 1)
    assert_array_equal(recording.joints.effort, q + 2)
    assert recording.joints.effort_kind is EffortKind.LINK_TORQUE
    assert recording.wrench is not None and recording.wrench.frame == "ft"
    assert_array_equal(recording.wrench.wrench, np.arange(500.0)[:, None] + np.arange(6.0))
    assert [(m.label, m.stamp_ns) for m in recording.marks] == [
        ("mark 100", t[100]),
        ("mark 200", t[200]),
    ]
    assert recording.urdf_xml == "<robot name='arm'/>"
    assert recording.notes == ()


@pytest.mark.parametrize("offered", [None, OfferedQos()])
def test_a_description_is_replayed_latched_whatever_the_bag_says(tmp_path: Path, offered) -> None:
    """All nodes ask for it so: those of a volatile publisher never got the robot."""
    with BagWriter(tmp_path / "bag") as writer:
        for name in (URDF, "/notes"):
            writer.add_topic(name, "std_msgs/msg/String", offered)
    found = {t.name: OfferedQos.of(t).durability for t in StoredBag.open(tmp_path / "bag").topics}
    assert found == {URDF: "transient_local", "/notes": "volatile"}


def test_rosbags_reads_the_bag_with_its_types_counts_and_qos(bag: Path) -> None:
    with Reader(bag) as reader:
        assert reader.message_count == 1003
        topics = reader.topics
        assert topics[JOINTS].msgcount == 500 and topics[JOINTS].msgtype == JOINT_STATE
        (profile,) = topics[JOINTS].connections[0].ext.offered_qos_profiles
        assert profile.reliability is QosReliability.BEST_EFFORT and profile.depth == 10
        (latched,) = topics[URDF].connections[0].ext.offered_qos_profiles
        assert latched.durability is QosDurability.TRANSIENT_LOCAL
        assert reader.storage.metadata.custom["effort_kind"] == "link_torque"
        assert sum(1 for _ in reader.messages()) == 1003
    with AnyReader([bag]) as reader:  # decodes by the definitions in the bag alone
        marks = [c for c in reader.connections if c.topic == MARKS]
        labels = [reader.deserialize(raw, c.msgtype).label for c, _, raw in reader.messages(marks)]
    assert labels == ["mark 100", "mark 200"]


def test_metadata_has_the_fields_of_rosbags_own_writer(bag: Path, tmp_path: Path) -> None:
    with Writer(tmp_path / "theirs", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(JOINTS, JOINT_STATE, typestore=STORE)
        writer.write(connection, T0, joint_state(T0, np.zeros(3)))
    ours, theirs = (
        yaml.safe_load((path / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
        for path in (bag, tmp_path / "theirs")
    )
    assert set(ours) == set(theirs)
    topic, their_topic = (info["topics_with_message_count"][0] for info in (ours, theirs))
    assert set(topic["topic_metadata"]) == set(their_topic["topic_metadata"])
    key = "type_description_hash"
    assert topic["topic_metadata"][key] == their_topic["topic_metadata"][key]
    assert set(ours["files"][0]) == set(theirs["files"][0])


def test_bags_of_other_writers_are_read(tmp_path: Path) -> None:
    for plugin in (StoragePlugin.MCAP, StoragePlugin.SQLITE3):
        path = tmp_path / plugin.name
        with Writer(path, version=9, storage_plugin=plugin) as writer:
            connection = writer.add_connection(JOINTS, JOINT_STATE, typestore=STORE)
            for k in range(10):
                writer.write(connection, T0 + k, joint_state(T0 + k, np.full(3, k)))
        recording = read_bag(path)
        assert_array_equal(recording.joints.q[:, 0], np.arange(10.0))
        assert recording.notes == ()
        assert_array_equal(read_bag(next(path.glob("*.[md]*[pb3]"))).joints.q, recording.joints.q)


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(share=st.floats(0.15, 0.999))
def test_a_bag_cut_anywhere_is_read_up_to_its_last_whole_chunk(
    bag: Path, tmp_path: Path, share: float
) -> None:
    whole_stamps = T0 + 2_000_000 * np.arange(500)
    data = only_file(bag).read_bytes()
    cut = tmp_path / f"cut_{share}"
    cut.mkdir(exist_ok=True)
    # The end of the file is index and footer; cuts there lose no message.
    (cut / "run_0.mcap").write_bytes(data[: int(share * len(data))])
    recording = read_bag(cut)
    n = len(recording.joints)
    assert_array_equal(recording.joints.stamps_ns, whole_stamps[:n])
    assert recording.joints.effort_kind is EffortKind.LINK_TORQUE
    assert any("cut off" in note for note in recording.notes) or n == 500
    assert any("metadata.yaml" in note for note in recording.notes)


KILLED = """
import os, signal, sys
from sysid_core.signals.bags import BagWriter
data = open(sys.argv[2], "rb").read()
writer = BagWriter(sys.argv[1], chunk_bytes=4096)
writer.add_topic("/joint_states", "sensor_msgs/msg/JointState")
for k in range(1000):
    writer.write("/joint_states", data, k)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_loses_no_more_than_a_chunk(tmp_path: Path) -> None:
    data = joint_state(T0, np.zeros(3))
    (tmp_path / "message").write_bytes(data)
    arguments = [str(tmp_path / "killed"), str(tmp_path / "message")]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments])
    assert done.returncode == -signal.SIGKILL
    stored = StoredBag.open(tmp_path / "killed")
    assert 0 <= 1000 - stored.count <= 4096 / len(data) + 1
    assert any("cut off" in text for text in stored.damage)
    with pytest.raises(ReaderError):  # what readers make of it that need the index
        Reader(tmp_path / "killed" / "killed_0.mcap").open()


def test_a_damaged_chunk_is_left_out_and_said_so(bag: Path, tmp_path: Path) -> None:
    data = bytearray(only_file(bag).read_bytes())
    middle = data.find(b"shoulder", len(data) // 3)
    data[middle : middle + 8] = b"XXXXXXXX"
    (tmp_path / "bad.mcap").write_bytes(bytes(data))
    recording = read_bag(tmp_path / "bad.mcap")
    assert 480 <= len(recording.joints) < 500
    assert recording.joints.names == tuple(NAMES)
    assert any("1 damaged chunks" in note for note in recording.notes)


def test_a_recovered_bag_is_whole_and_holds_the_same(bag: Path, tmp_path: Path) -> None:
    data = only_file(bag).read_bytes()
    (tmp_path / "cut.mcap").write_bytes(data[: len(data) // 2])
    stored = BagWriter.recover(tmp_path / "cut.mcap", tmp_path / "good")
    assert stored.damage == ()
    assert_same(read_bag(tmp_path / "good"), read_bag(tmp_path / "cut.mcap"))
    with Reader(tmp_path / "good") as reader:
        assert reader.message_count == stored.count
        (latched,) = reader.topics[URDF].connections[0].ext.offered_qos_profiles
        assert latched.durability is QosDurability.TRANSIENT_LOCAL
    assert StoredBag.open(tmp_path / "good").custom_data["operator"] == "me"


def test_what_runs_live_runs_from_a_bag_with_the_same_result(bag: Path) -> None:
    first, _ = JointFilter.filter_stream(read_bag(bag).joints)
    again, _ = JointFilter.filter_stream(read_bag(bag).joints)
    for key in ("q", "v", "a", "a_sd", "effort"):
        assert_array_equal(getattr(first, key), getattr(again, key))
