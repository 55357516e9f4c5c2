# SPDX-License-Identifier: Apache-2.0
"""A replayed bag gives the live nodes what the recording gives offline."""

from __future__ import annotations

import dataclasses
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from busy_machine import patience

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

import rclpy
from busy_machine import pace
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from live_nodes import FRAME, PAYLOAD, Start
from robot_sysid.msg import FilteredJointState, InertialEstimate
from rosbags.rosbag2 import StoragePlugin, Writer
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from sysid_core.estimation import Estimate
from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession
from sysid_core.robot import RobotModel, wrench_regressor
from sysid_core.signals.bags import BagWriter, build_typestore, read_bag
from sysid_core.signals.filters import JointFilter
from sysid_nodes.bringup import NodeSpec
from sysid_nodes.client import LiveClient
from sysid_nodes.conversions import estimate_from_message, ns_from_stamp
from sysid_nodes.data_logger.serialised import interface_definitions
from sysid_nodes.lifecycle import qos

pytestmark = pytest.mark.ros
JOINT_STATE, WRENCH = "sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped"
MARK = "robot_sysid/msg/Mark"
TYPES = {"/joint_states": JOINT_STATE, "/wrench": WRENCH, "/marks": MARK}
T0, HZ, HOUR_NS = 1_700_000_000_000_000_000, 100, 3_600_000_000_000
VENDOR = "uf_ft_sensor_raw_data", -1.0  # frame and sign of an xArm's sensor
TOOL = 0.3  # [kg] on the sensor from the beginning
SEGMENTS = {
    "tare_1": (0.1, 0.7),
    "tare_2": (0.9, 1.5),
    "tare_3": (1.7, 2.3),
    "oscillation": (2.4, 4.6),
}
TURN, PICK_UP, END = (0.7, 1.5), 2.35, 4.8  # [s] to the next posture; the load; the end


def smoothstep(s: np.ndarray) -> np.ndarray:
    """From 0 to 1 without a jump of velocity or acceleration: no robot jumps."""
    s = np.clip(s, 0.0, 1.0)
    return s**3 * (10 - 15 * s + 6 * s**2)


def payload_run(
    load: float = 1.0, begin_ns: int = T0, frame: str = FRAME, sign: float = 1.0
) -> list[tuple[str, int, bytes]]:
    """Topics, times and messages of a payload's identification, stamps with jitter; sign -1: the
    wrench of the load on the sensor, as most drivers have it.
    """
    store, rng, robot = build_typestore(interface_definitions()), np.random.default_rng(3), None
    robot, types = RobotModel.from_urdf("xarm7"), store.types
    t = np.arange(0, END, 1 / HZ)
    moving = np.maximum(t - 2.4, 0.0)
    rate = 2 * np.pi * np.array([0, 0, 0, 0, 0.4, 0.52, 0.64])
    q = np.array([0.0, -0.3, 0.0, 0.9, 0.2, 0.7, 0.1]) + 0.5 * (1 - np.cos(moving[:, None] * rate))
    q[:, 4:] += 0.5 * sum(smoothstep((t - at) / 0.2) for at in TURN)[:, None]
    v = np.gradient(q, t, axis=0)
    motion = robot.frame_motion(FRAME, q, v, np.gradient(v, t, axis=0))
    A = wrench_regressor(motion.a, motion.omega, motion.alpha)
    tool = TOOL * np.eye(10)[0]
    wrench = A @ tool + np.where(t < PICK_UP, 0.0, 1.0)[:, None] * (A @ (load * PAYLOAD))
    wrench = sign * wrench + 0.05 * rng.normal(size=wrench.shape)
    q = q + 1e-5 * rng.normal(size=q.shape)
    header, vector = types["std_msgs/msg/Header"], types["geometry_msgs/msg/Vector3"]

    def stamp(ns: int) -> Any:
        return types["builtin_interfaces/msg/Time"](sec=ns // 10**9, nanosec=ns % 10**9)

    out = []
    for k in range(len(t)):
        now = begin_ns + round(t[k] * 1e9) + int(rng.integers(0, 1_000_000))
        state = types[JOINT_STATE](
            header(stamp(now), ""), list(robot.joint_names), q[k], np.zeros(0), 10.0 * q[k]
        )
        f, m = vector(*wrench[k, :3]), vector(*wrench[k, 3:])
        reading = types[WRENCH](header(stamp(now), frame), types["geometry_msgs/msg/Wrench"](f, m))
        out.append(("/joint_states", now, bytes(store.serialize_cdr(state, JOINT_STATE))))
        out.append(("/wrench", now + 100_000, bytes(store.serialize_cdr(reading, WRENCH))))
    for label, edges in SEGMENTS.items():
        for edge, at in zip(("start", "end"), edges, strict=True):
            now = begin_ns + round(at * 1e9)
            mark = types[MARK](stamp(now), f"{label}:{edge}")
            out.append(("/marks", now, bytes(store.serialize_cdr(mark, MARK))))
    return sorted(out, key=lambda message: message[1])


def recorded(path: Path, layout: str, load: float = 1.0, begin_ns: int = T0) -> Path:
    """A bag as our logger writes it, or `ros2 bag record` beside an xArm's driver."""
    with ExitStack() as stack:
        if layout == "ours":
            writer = stack.enter_context(BagWriter(path, definitions=interface_definitions()))
            for name, type_name in TYPES.items():
                writer.add_topic(name, type_name)
            for topic, at, data in payload_run(load, begin_ns):
                writer.write(topic, data, at)
        else:
            store = build_typestore(interface_definitions())
            other = stack.enter_context(Writer(path, version=9, storage_plugin=StoragePlugin.MCAP))
            connections = {
                name: other.add_connection(name, type_name, typestore=store)
                for name, type_name in TYPES.items()
            }
            for topic, at, data in payload_run(load, begin_ns, *VENDOR):
                other.write(connections[topic], at, data)
    return path


def replaying(bag: Path, *options: str, **pipes: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sysid_cli", "bag", "replay", str(bag), *options]
    return subprocess.Popen(command, text=True, **pipes)


def has_all(got: list[Any], count: int) -> bool:
    return len(got) >= count


def begin_anew(client: LiveClient, name: str) -> None:
    """The node forgets what it has seen, as if it had been started again."""
    for transition in (
        Transition.TRANSITION_DEACTIVATE,
        Transition.TRANSITION_CLEANUP,
        Transition.TRANSITION_CONFIGURE,
        Transition.TRANSITION_ACTIVATE,
    ):
        request = ChangeState.Request(transition=Transition(id=transition))
        client.call(ChangeState, f"{name}/change_state", request, 60.0)


NODES = ("data_logger", "estimator")


@pytest.mark.parametrize("sim_time", [False, True])
def test_bags_that_are_replayed_one_after_another_give_the_offline_numbers(
    start_nodes: Start, tmp_path: Path, sim_time: bool
) -> None:
    """Bags of our logger and of rosbag2; the second with nodes as they are, or restarted."""
    robot = RobotModel.from_urdf("xarm7")
    parameters = {"robot": "xarm7", "use_sim_time": sim_time}
    specs = [
        NodeSpec("data_logger", "data_logger", parameters=parameters),
        NodeSpec(
            "estimator",
            "estimator",
            parameters={**parameters, "sensor_frame": FRAME, "wrench_frames": [VENDOR[0]]},
        ),
    ]
    client, _ = start_nodes(specs)
    got: list[FilteredJointState] = []
    weighed: list[InertialEstimate] = []
    client.node.create_subscription(
        FilteredJointState, "data_logger/filtered", got.append, qos.DATA
    )
    client.node.create_subscription(
        InertialEstimate, "estimator/payload_parameters", weighed.append, qos.LATCHED
    )
    clock = client.node.create_publisher(Clock, "/clock", 10) if sim_time else None
    for name in NODES:
        client.wait_for_active(name)
    for nth, layout in enumerate(("ours", "ros2 bag record")):
        # An older one: streams that stall for seconds would mix with those of a run just before.
        begin_ns = T0 - nth * HOUR_NS
        bag = recorded(tmp_path / str(nth), layout, 1.0 - 0.5 * nth, begin_ns)
        if nth and sim_time:  # the tare that the estimator has kept is replaced by the bag's
            for name in NODES:
                begin_anew(client, name)
        got.clear()
        weighed.clear()
        read = read_bag(bag)
        offline, _ = JointFilter.filter_stream(read.joints)
        assert read.wrench is not None and read.wrench.frame == (FRAME, VENDOR[0])[nth]
        in_frame = dataclasses.replace(read.wrench, frame=FRAME)
        session = PayloadSession(robot, FRAME, OnlinePayload(None))
        session.replay(dataclasses.replace(read, wrench=in_frame))
        expected = session.online.estimate()
        options = [
            "--rate",
            str(4.0 * pace()),
            "--wait",
            "60",
            *(f"--for={name}" for name in NODES),
        ]
        with replaying(bag, *options, *(["--clock"] if sim_time else [])) as process:
            client.wait_until(partial(has_all, got, len(offline)), 90.0, "all samples")
            client.wait_until(lambda: process.poll() is not None, 60.0, "the end of the replay")
            assert process.returncode == 0
        client.wait_until(
            partial(is_like, weighed, expected, clock, begin_ns),
            120.0,
            f"the offline estimate of {layout}",
        )
        assert [ns_from_stamp(m.header.stamp) for m in got] == offline.stamps_ns.tolist()
        for field, key in (("position", "q"), ("velocity", "v"), ("acceleration", "a")):
            live = np.array([getattr(m, field) for m in got])
            np.testing.assert_allclose(live, getattr(offline, key), rtol=0.0, atol=1e-9)
        # What was there at the tare counts.
        assert abs(expected.values[0] - (1.0 - 0.5 * nth) * PAYLOAD[0] - TOOL) < 0.05


def is_like(weighed: list[InertialEstimate], expected: Estimate, clock: Any, begin_ns: int) -> bool:
    """True if the last live estimate equals the offline one; simulated time continues meanwhile."""
    if clock is not None:
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(
            begin_ns + time.monotonic_ns(), 1_000_000_000
        )
        clock.publish(message)
    if not weighed:
        return False
    live = estimate_from_message(weighed[-1])
    same = np.allclose(live.values, expected.values, rtol=0.0, atol=1e-9)
    return bool(same and np.allclose(live.covariance, expected.covariance, rtol=0.0, atol=1e-9))


def test_a_replay_is_paused_and_stepped_by_service_and_keyboard_looped_and_interrupted(
    start_nodes: Start, tmp_path: Path
) -> None:
    bag = recorded(tmp_path / "bag", "ours")
    stamps = [at for topic, at, _ in payload_run() if topic == "/joint_states"]
    client, _ = start_nodes([])
    got: list[int] = []
    client.node.create_subscription(
        JointState, "/joint_states", lambda m: got.append(ns_from_stamp(m.header.stamp)), qos.DATA
    )
    keyboard, terminal = pty.openpty()

    def press(keys: bytes) -> None:
        os.write(keyboard, keys)

    def steps(step: Callable[[], object]) -> None:
        """Step through six messages of all topics, of which about one in three is a joint state."""
        client.wait_until(lambda: not client_gets(client, got), 20.0, "silence")
        before = len(got)
        for _ in range(6):
            step()
        client.wait_until(lambda: len(got) >= before + 2, 20.0, "single steps")
        client.wait_until(lambda: not client_gets(client, got), 20.0, "silence")
        assert before + 2 <= len(got) <= before + 4

    options = ("--loop", "--rate", "2", "--wait", "2")
    pipes = {"stdin": terminal, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with replaying(bag, *options, **pipes) as process:
        try:
            client.wait_until(lambda: len(got) > 50, 60.0, "messages")
            client.call(SetBool, "/bag_replay/pause", SetBool.Request(data=True))
            steps(lambda: client.call(Trigger, "/bag_replay/step", Trigger.Request()))
            press(b" ")
            client.wait_until(partial(has_all, got, len(got) + 50), 20.0, "messages after a pause")
            press(b" ")
            steps(lambda: press(b"s"))
            client.call(SetBool, "/bag_replay/pause", SetBool.Request(data=False))
            client.wait_until(lambda: got.count(stamps[100]) >= 2, 60.0, "the second round")
        finally:
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=20.0 * patience())
    assert process.returncode == 0, errors
    assert "Traceback" not in errors + output
    os.close(keyboard)
    os.close(terminal)
    first = got[: len(stamps)]
    begin = stamps.index(first[0])  # whoever is discovered late misses the beginning
    assert first == (2 * stamps)[begin:][: len(first)]


def client_gets(client: Any, got: list[int]) -> bool:
    """True if another message arrives within a while."""
    before, end = len(got), time.monotonic() + 0.5
    while time.monotonic() < end:
        rclpy.spin_once(client.node, timeout_sec=0.05)
    return len(got) > before
