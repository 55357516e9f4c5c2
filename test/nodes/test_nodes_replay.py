# SPDX-License-Identifier: Apache-2.0
"""A replayed bag gives the live nodes what the recording gives offline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from conftest import Start
from robot_sysid.msg import FilteredJointState
from rosbags.rosbag2 import StoragePlugin, Writer

from sysid_core.robot import load_robot
from sysid_core.signals.bags import build_typestore, read_bag
from sysid_core.signals.filters import filter_joints
from sysid_nodes import graph
from sysid_nodes.conversions import ns_from_stamp
from sysid_nodes.lifecycle import DATA

pytestmark = pytest.mark.ros
JOINT_STATE = "sensor_msgs/msg/JointState"
T0 = 1_700_000_000_000_000_000


def recorded(path: Path, names: tuple[str, ...], count: int = 600) -> Path:
    """A bag as `ros2 bag record` lays it out: 200 Hz with jitter."""
    store = build_typestore()
    rng = np.random.default_rng(3)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/joint_states", JOINT_STATE, typestore=store)
        for k in range(count):
            t = T0 + 5_000_000 * k + int(rng.integers(0, 1_000_000))
            stamp = store.types["builtin_interfaces/msg/Time"](sec=t // 10**9, nanosec=t % 10**9)
            q = np.sin(0.005 * k * np.arange(1, len(names) + 1)) + 1e-5 * rng.normal(
                size=len(names)
            )
            message = store.types[JOINT_STATE](
                header=store.types["std_msgs/msg/Header"](stamp=stamp, frame_id=""),
                name=list(names),
                position=q,
                velocity=np.zeros(0),
                effort=10.0 * q,
            )
            writer.write(connection, t + 200_000, bytes(store.serialize_cdr(message, JOINT_STATE)))
    return path


@pytest.mark.parametrize("sim_time", [False, True])
def test_live_filters_fed_by_replay_give_the_offline_numbers(
    start_nodes: Start, tmp_path: Path, sim_time: bool
) -> None:
    names = tuple(load_robot("xarm7").joint_names)
    bag = recorded(tmp_path / "bag", names)
    parameters = {"robot": "xarm7", "use_sim_time": sim_time}
    client, _ = start_nodes([graph.NodeSpec("data_logger", "data_logger", parameters=parameters)])
    client.wait_for_active("data_logger")
    got: list[FilteredJointState] = []
    client.node.create_subscription(FilteredJointState, "data_logger/filtered", got.append, DATA)
    offline, _ = filter_joints(read_bag(bag).joints)
    command = [sys.executable, "-m", "sysid_core.cli", "bag", "replay", str(bag), "--rate", "2"]
    with subprocess.Popen([*command, *(["--clock"] if sim_time else [])]) as process:
        client.wait_until(lambda: len(got) >= len(offline), 60.0, "all samples")
        assert process.wait(20.0) == 0
    assert [ns_from_stamp(m.header.stamp) for m in got] == offline.stamps_ns.tolist()
    for field, key in (("position", "q"), ("velocity", "v"), ("acceleration", "a")):
        live = np.array([getattr(m, field) for m in got])
        np.testing.assert_allclose(live, getattr(offline, key), rtol=0.0, atol=1e-9)
