# SPDX-License-Identifier: Apache-2.0
"""Bags of every make: compressed message by message, cut off, without metadata, ROS 1, two robots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bag_messages import wrench_stamped
from numpy.testing import assert_allclose, assert_array_equal
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from sysid_core.errors import SignalError
from sysid_core.signals import Recording, export_recording
from sysid_core.signals.bags import BagWriter, StoredBag, build_typestore, read_bag

STORE = build_typestore()
T0 = 1_700_000_000_000_000_000
JOINT_STATE, WRENCH = "sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped"
STRING = "std_msgs/msg/String"
COUNT = 3000
Q = np.sin(0.01 * np.arange(COUNT))[:, None] * [1.0, 2.0]


def content(store, t_ns: int, q: np.ndarray, names: list[str], **extra: object) -> object:
    stamp = store.types["builtin_interfaces/msg/Time"](sec=t_ns // 10**9, nanosec=t_ns % 10**9)
    return store.types[JOINT_STATE](
        header=store.types["std_msgs/msg/Header"](stamp=stamp, frame_id="", **extra),
        name=names,
        position=np.asarray(q, dtype=float),
        velocity=np.asarray(q, dtype=float) + 1.0,
        effort=np.zeros(0),
    )


def joint_state(t_ns: int, q: np.ndarray, names: list[str]) -> bytes:
    return bytes(STORE.serialize_cdr(content(STORE, t_ns, q, names), JOINT_STATE))


def string(text: str) -> bytes:
    return bytes(STORE.serialize_cdr(STORE.types[STRING](data=text), STRING))


def stamps(count: int = COUNT) -> list[int]:
    return [T0 + 2_000_000 * k for k in range(count)]


def write(path: Path, plugin: StoragePlugin, compression: str = "") -> Path:
    with_compression = Writer(path, version=9, storage_plugin=plugin)
    if compression:
        with_compression.set_compression(CompressionMode[compression], CompressionFormat.ZSTD)
    with with_compression as writer:
        connection = writer.add_connection("/joint_states", JOINT_STATE, typestore=STORE)
        for t, q in zip(stamps(), Q, strict=True):
            writer.write(connection, t, joint_state(t, q, ["a", "b"]))
    return path


def assert_read(recording: Recording, least: int = COUNT) -> None:
    joints = recording.joints
    assert joints.names == ("a", "b") and least <= len(joints) <= COUNT
    assert_array_equal(joints.q, Q[: len(joints)])
    assert joints.v is not None
    assert_array_equal(joints.v, Q[: len(joints)] + 1.0)
    assert_array_equal(joints.stamps_ns, stamps(len(joints)))


@pytest.mark.parametrize("compression", ["", "MESSAGE", "FILE", "STORAGE"])
@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_every_storage_and_compression_gives_the_same(
    tmp_path: Path, plugin: StoragePlugin, compression: str
) -> None:
    if (plugin, compression) == (StoragePlugin.SQLITE3, "STORAGE"):
        pytest.skip("SQLite has no compression of its own")
    assert_read(read_bag(write(tmp_path / "bag", plugin, compression)))


def test_a_folder_of_db3_files_needs_no_metadata(tmp_path: Path) -> None:
    path = write(tmp_path / "bag", StoragePlugin.SQLITE3)
    (path / "metadata.yaml").unlink()
    recording = read_bag(path)
    assert_read(recording)
    assert "has no metadata.yaml" in recording.notes[0]


@pytest.mark.parametrize(
    ("layout", "lost"),
    [("logger", 30), ("rosbag2", 10), ("zstd chunks", 800), ("zstd messages", 10)],
)
def test_twenty_random_cuts_of_each_layout_are_read_to_the_last_whole_message(
    tmp_path: Path, layout: str, lost: int
) -> None:
    """Our logger loses one chunk of 4 KiB at most; zstd gives whole blocks of 128 KiB."""
    if layout == "logger":
        path = tmp_path / "bag"
        with BagWriter(path, custom_data={"joint_topic": "/joint_states"}) as writer:
            writer.add_topic("/joint_states", JOINT_STATE)
            for k, stamp in enumerate(stamps()):
                writer.write("/joint_states", joint_state(stamp, Q[k], ["a", "b"]), stamp)
    else:
        compression = {"rosbag2": "", "zstd chunks": "STORAGE", "zstd messages": "MESSAGE"}
        path = write(tmp_path / "bag", StoragePlugin.MCAP, compression[layout])
    data = next(path.glob("*.mcap")).read_bytes()
    index = 0.6 if layout != "logger" else 0.9  # behind it stands the index
    (tmp_path / "cut").mkdir()
    cut = tmp_path / "cut" / "cut_0.mcap"
    for share in np.random.default_rng(6).uniform(0.35, index, 20):
        cut.write_bytes(data[: int(share * len(data))])
        recording = read_bag(cut)
        assert_read(recording, least=int(share * COUNT) - lost)
        assert "last whole message" in recording.notes[0]
    BagWriter.recover(cut, tmp_path / "whole")
    assert_read(read_bag(tmp_path / "whole"), least=len(recording.joints))


def test_ros_1_bags_are_read(tmp_path: Path) -> None:
    store = get_typestore(Stores.ROS1_NOETIC)
    with Ros1Writer(tmp_path / "old.bag") as writer:
        connection = writer.add_connection("/joint_states", JOINT_STATE, typestore=store)
        for k, (t, q) in enumerate(zip(stamps(), Q, strict=True)):
            message = content(store, t, q, ["a", "b"], seq=k)
            writer.write(connection, t, store.serialize_ros1(message, JOINT_STATE))
    recording = read_bag(tmp_path / "old.bag")
    assert_read(recording)
    assert "ROS 1" in recording.notes[0]


def test_each_of_two_robots_has_its_own_description_and_marks(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "two") as writer:
        for robot in ("left", "right"):
            writer.add_topic(f"/{robot}/joint_states", JOINT_STATE)
            writer.add_topic(f"/{robot}/wrench", WRENCH)
            for topic in ("robot_description", "marks"):
                writer.add_topic(f"/{robot}/{topic}", STRING)
            text = string(f"<robot name='{robot}'/>")
            writer.write(f"/{robot}/robot_description", text, T0)
            writer.write(f"/{robot}/marks", string(f"{robot}:start"), T0)
        for t in stamps(50):
            for robot in ("left", "right"):
                writer.write(f"/{robot}/joint_states", joint_state(t, np.zeros(1), ["a"]), t)
                force = np.full(6, float(len(robot)))
                writer.write(f"/{robot}/wrench", wrench_stamped(t, force), t)
    for robot, other in (("left", "right"), ("right", "left")):
        recording = read_bag(tmp_path / "two", joint_topic=f"/{robot}/joint_states")
        assert recording.urdf_xml == f"<robot name='{robot}'/>"
        assert [mark.label for mark in recording.marks] == [f"{robot}:start"]
        assert f"/{other}/robot_description" in recording.notes[0]
        assert recording.wrench is not None and recording.wrench.wrench[0, 0] == len(robot)


def test_arm_and_gripper_in_turn_on_one_topic_keep_their_order(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag") as writer:
        writer.add_topic("/joint_states", JOINT_STATE)
        for t, q in zip(stamps(), Q, strict=True):
            writer.write("/joint_states", joint_state(t, q, ["a", "b"]), t)
            writer.write("/joint_states", joint_state(t, [0.1], ["finger"]), t)
            writer.write("/joint_states", b"\x00\x01 rubbish", t)
    recording = read_bag(tmp_path / "bag")
    assert_read(recording)
    assert f"{COUNT} messages couldn't be deserialised" in recording.notes[0]
    finger = read_bag(tmp_path / "bag", joints=["finger"]).joints
    assert len(finger) == COUNT and (finger.q == 0.1).all()


def test_more_samples_than_memory_bears_become_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysid_core.signals.bags.reader.MOST_SAMPLES", 1000)
    recording = read_bag(write(tmp_path / "bag", StoragePlugin.MCAP))
    joints = recording.joints
    assert len(joints) == 1000 and "means of 3 consecutive samples" in recording.notes[0]
    assert_allclose(joints.q, Q.reshape(-1, 3, 2).mean(axis=1), atol=1e-12)
    assert_array_equal(joints.stamps_ns, np.array(stamps())[1::3])


def test_counts_are_those_of_the_messages(tmp_path: Path) -> None:
    assert StoredBag.open(write(tmp_path / "bag", StoragePlugin.MCAP, "MESSAGE")).count == COUNT


def test_exported_tables_hold_the_numbers(tmp_path: Path) -> None:
    recording = read_bag(write(tmp_path / "bag", StoragePlugin.MCAP))
    (file,) = export_recording(recording, tmp_path / "run.npz")
    with np.load(file) as arrays:
        assert_array_equal(arrays["joints.q.b"], Q[:, 1])
        assert_array_equal(arrays["joints.stamp_ns"], stamps())
    (file,) = export_recording(recording, tmp_path / "run.csv")
    head, first = file.read_text().splitlines()[:2]
    assert head == "stamp_ns,q.a,q.b,v.a,v.b" and first == f"{T0},0.0,0.0,1.0,1.0"
    with pytest.raises(SignalError, match="exists already"):
        export_recording(recording, tmp_path / "run.csv")
    with pytest.raises(SignalError, match="extension of the file selects"):
        export_recording(recording, tmp_path / "run.xlsx")
