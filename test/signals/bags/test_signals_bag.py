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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.rosbag2 import Reader, ReaderError, StoragePlugin, Writer

from sysid_core.errors import SignalError
from sysid_core.signals import EffortKind, Recording
from sysid_core.signals.bags import (
    BagWriter,
    OfferedQos,
    build_typestore,
    message_decoder,
    message_definitions,
    open_bag,
    read_bag,
    recover_bag,
)
from sysid_core.signals.filters import filter_joints

ROOT = Path(__file__).resolve().parents[3]
DEFINITIONS = message_definitions(ROOT / "msg", "robot_sysid")
STORE = build_typestore(DEFINITIONS)
T0 = 1_700_000_000_123_456_789
NAMES = ["shoulder", "elbow", "wrist"]
JOINTS, WRENCH, MARKS, URDF = "/joint_states", "/ft/wrench", "/logger/marks", "/robot_description"
JOINT_STATE, STRING = "sensor_msgs/msg/JointState", "std_msgs/msg/String"


def message(type_name: str, **fields: object) -> bytes:
    return bytes(STORE.serialize_cdr(STORE.types[type_name](**fields), type_name))


def stamp(t_ns: int) -> object:
    seconds, nanoseconds = divmod(t_ns, 10**9)
    return STORE.types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds)


def header(t_ns: int, frame: str = "") -> object:
    return STORE.types["std_msgs/msg/Header"](stamp=stamp(t_ns), frame_id=frame)


def joint_state(
    t_ns: int,
    q: np.ndarray,
    names: list[str] = NAMES,
    v: np.ndarray | None = None,
    effort: np.ndarray | None = None,
) -> bytes:
    return message(
        JOINT_STATE,
        header=header(t_ns),
        name=names,
        position=np.asarray(q, dtype=float),
        velocity=np.zeros(0) if v is None else np.asarray(v, dtype=float),
        effort=np.zeros(0) if effort is None else np.asarray(effort, dtype=float),
    )


def wrench_stamped(t_ns: int, values: np.ndarray, frame: str = "ft") -> bytes:
    vector = STORE.types["geometry_msgs/msg/Vector3"]
    wrench = STORE.types["geometry_msgs/msg/Wrench"](
        force=vector(*values[:3]), torque=vector(*values[3:])
    )
    return message("geometry_msgs/msg/WrenchStamped", header=header(t_ns, frame), wrench=wrench)


def write(path: Path, count: int = 500, **options: object) -> tuple[np.ndarray, np.ndarray]:
    """A bag as the logger writes it; returns the joint stamps and positions."""
    t = T0 + 2_000_000 * np.arange(count)
    q = np.sin(1e-2 * np.arange(count))[:, None] * [1.0, 2.0, 3.0]
    with BagWriter(path, definitions=DEFINITIONS, **options) as writer:
        writer.add_topic(JOINTS, JOINT_STATE, OfferedQos("best_effort", depth=10))
        writer.add_topic(WRENCH, "geometry_msgs/msg/WrenchStamped")
        writer.add_topic(MARKS, "robot_sysid/msg/Mark")
        writer.add_topic(URDF, STRING, OfferedQos(durability="transient_local", depth=1))
        writer.write(URDF, message(STRING, data="<robot name='arm'/>"), T0)
        for k in range(count):
            now = int(t[k])
            writer.write(JOINTS, joint_state(now, q[k], v=q[k] + 1, effort=q[k] + 2), now + 300_000)
            writer.write(WRENCH, wrench_stamped(now, np.arange(6.0) + k), now + 300_000)
            if k in (100, 200):
                label = f"mark {k}"
                mark = message("robot_sysid/msg/Mark", stamp=stamp(now), label=label)
                writer.write(MARKS, mark, now + 5_000_000)
    return t, q


def write_joints(path: Path, messages: list[bytes], **options: object) -> Path:
    with BagWriter(path, **options) as writer:
        writer.add_topic(JOINTS, JOINT_STATE)
        for k, data in enumerate(messages):
            writer.write(JOINTS, data, T0 + k)
    return path


def only_file(path: Path) -> Path:
    (file,) = path.glob("*.mcap")
    return file


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bags") / "run"
    write(path, custom_data={"effort_kind": "link_torque", "operator": "me"})
    return path


def assert_same(a: Recording, b: Recording) -> None:
    for key in ("stamps_ns", "q", "v", "effort"):
        assert_array_equal(getattr(a.joints, key), getattr(b.joints, key))
    assert a.wrench is not None and b.wrench is not None
    assert_array_equal(a.wrench.wrench, b.wrench.wrench)
    assert (a.marks, a.urdf_xml, a.joints.effort_kind) == (
        b.marks,
        b.urdf_xml,
        b.joints.effort_kind,
    )


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
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], timeout=120)
    assert done.returncode == -signal.SIGKILL
    stored = open_bag(tmp_path / "killed")
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
    stored = recover_bag(tmp_path / "cut.mcap", tmp_path / "good")
    assert stored.damage == ()
    assert_same(read_bag(tmp_path / "good"), read_bag(tmp_path / "cut.mcap"))
    with Reader(tmp_path / "good") as reader:
        assert reader.message_count == stored.count
        (latched,) = reader.topics[URDF].connections[0].ext.offered_qos_profiles
        assert latched.durability is QosDurability.TRANSIENT_LOCAL
    assert open_bag(tmp_path / "good").custom_data["operator"] == "me"


def test_what_runs_live_runs_from_a_bag_with_the_same_result(bag: Path) -> None:
    first, _ = filter_joints(read_bag(bag).joints)
    again, _ = filter_joints(read_bag(bag).joints)
    for key in ("q", "v", "a", "a_sd", "effort"):
        assert_array_equal(getattr(first, key), getattr(again, key))


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
    assert "'run_1.mcap' is listed" in open_bag(path).damage[0]


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
    assert any("declare `effort_kind`" in note for note in recording.notes)
    declared = read_bag(tmp_path / "plain", effort_kind="motor_current")
    assert declared.joints.effort_kind is EffortKind.MOTOR_CURRENT and declared.notes == ()
    contradicted = read_bag(bag, effort_kind=EffortKind.MOTOR_CURRENT)
    assert contradicted.joints.effort_kind is EffortKind.MOTOR_CURRENT
    assert any("says that effort is link_torque" in note for note in contradicted.notes)
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
    with pytest.raises(SignalError, match=r"Nothing can be read.*doesn't begin as an MCAP file"):
        read_bag(tmp_path / "noise.mcap")
    (tmp_path / "table.csv").write_text("1,2,3\n")
    with pytest.raises(SignalError, match=r"table\.csv' is no bag"):
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
