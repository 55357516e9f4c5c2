# SPDX-License-Identifier: Apache-2.0
"""The vendors' bringup files as shipped, started by `ros2 launch`, one of them by `sysid up`, with emulated drivers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from busy_machine import patience
from diagnostic_msgs.msg import DiagnosticArray
from emulated import armed, cause, pause, truth
from forked_python import Forked
from grippers import with_gripper
from live_nodes import Start
from real_ros import real_ros_environment
from robot_sysid.msg import FilteredJointState, FilteredWrench, Identifiability, Mark
from robot_sysid.srv import Arm, StartRecording, StopRecording
from sensor_msgs.msg import JointState

from sysid_core.robot import RobotModel
from sysid_core.signals.bags import read_bag
from sysid_core.signals.wrench import SensorFrame
from sysid_nodes.bringup import read_config
from sysid_nodes.bringup.processes import running, start_process
from sysid_nodes.client import LiveClient, LiveError
from sysid_nodes.lifecycle import Level

ROOT = Path(__file__).resolve().parents[3]
DRIVERS = ROOT / "test" / "drivers"
pytestmark = [
    pytest.mark.ros,
    pytest.mark.slow,
    pytest.mark.skipif(not (DRIVERS / "driver.py").is_file(), reason="needs the emulated drivers"),
]
# Each with a gripper or, Digit's leg, with rods and a sensor that only tf_static knows. example-robot-data has the Panda, whose links and joints are called otherwise
# than the FR3's.
ROBOTS = {"ur": (6, {}), "franka": (7, {"fr3_": "panda_"}), "xarm": (7, {}), "leg": (9, {})}
REFERENCE = ROOT / "sysid_core" / "robot" / "reference_robots"
LAUNCH_S, SOON_S = 10.0, 4.0  # watched: what `sysid up` starts, and the others


# What the executor says of a robot that has stopped by itself.
STOPPED = {"ur": "safety_mode mode is 3", "franka": "robot_mode is 4", "xarm": "err is 31"}


def refusal(client: LiveClient) -> str:
    """Why the executor can't be armed, or nothing."""
    try:
        client.call(Arm, "trajectory_executor/arm", Arm.Request())
    except LiveError as err:
        return str(err)
    return ""


@contextmanager
def process(
    command: list[str], log: Path, start: Callable[..., subprocess.Popen[bytes]] = start_process
) -> Iterator[Callable[[], None]]:
    """A process in its own session, interrupted at the end of the block; yields a check that it
    still runs.
    """
    with log.open("wb") as output:
        one = start(command, output, dict(os.environ))

    def check() -> None:
        assert one.poll() is None

    try:
        yield check
    finally:
        one.send_signal(signal.SIGINT)
        try:
            one.wait(20.0 * patience())
        except subprocess.TimeoutExpired:
            os.killpg(one.pid, signal.SIGKILL)


@contextmanager
def nodes_of(config: Path, logs: Path) -> Iterator[Callable[[], None]]:
    """The nodes of a launch file, forked; yields a check that they still run."""
    with running(read_config(config), logs, start=Forked) as nodes:
        yield nodes.check


def live_and_offline_find_the_sensor_by_tf(client: LiveClient, log: Path, folder: Path) -> None:
    """The estimator says where the sensor is; of the bag, the command line says the same."""
    words = "Sensor frame 'toe' is fixed to 'toe_roll_link', according to tf_static."
    client.wait_until(lambda: words in log.read_text(), 10.0, words)
    bag = client.call(StartRecording, "data_logger/start", StartRecording.Request()).path
    pause(client, 0.5)
    client.call(StopRecording, "data_logger/stop", StopRecording.Request())
    recording = read_bag(folder / bag)
    model = RobotModel.from_urdf(recording.urdf_xml).holding(measured=recording.joints.names)
    assert SensorFrame.mounted(model, "toe", recording.transforms).remark == words
    assert "_rod" not in str(recording.joints.names) and "_rod" in str(model.locked)


def a_tool_that_was_set_is_noticed(client: LiveClient, log: Path) -> None:
    """After a change of the tool, the wrench's frame differs from the flange; compared when a
    motion begins.
    """
    words = "150 mm and 0.0 degrees from 'tool0'"
    assert "degrees from 'tool0'" not in log.read_text()
    cause(client, tool=0.15)
    marks = client.node.create_publisher(Mark, "marks", 10)

    def noticed() -> bool:
        pause(client, 0.5)
        marks.publish(Mark(stamp=client.node.get_clock().now().to_msg(), label="motion:start"))
        return words in log.read_text()

    client.wait_until(noticed, 20.0, words)


UP = [sys.executable, "-m", "sysid_cli", "up", "bringup"]
LAUNCH = ["ros2", "launch", "robot_sysid", "bringup.launch.py"]


@pytest.mark.parametrize("vendor", list(ROBOTS))
def test_a_vendors_file_works_as_shipped_and_nothing_moves_at_the_start(
    vendor: str, with_drivers: None, start_nodes: Start, tmp_path: Path
) -> None:
    n_joints, names = ROBOTS[vendor]
    own = {"franka": "panda", "leg": str(REFERENCE / "own_leg.urdf")}
    robot = own.get(vendor) or with_gripper(vendor, tmp_path / "robot.urdf")
    text = (ROOT / f"config/bringup_{vendor}.yaml").read_text()
    for own, other in names.items():
        text = text.replace(own, other)
    config = tmp_path / f"bringup_{vendor}.yaml"
    config.write_text(text.replace("directory: recordings", f"directory: {tmp_path}"))
    client, _ = start_nodes([])
    driver = [
        sys.executable,
        str(DRIVERS / "driver.py"),
        vendor,
        robot,
        str(tmp_path / "truth.npz"),
    ]
    by_launch = real_ros_environment() is not None
    started, began = tmp_path / "launch.log", time.monotonic()
    if by_launch:
        launched = process([*LAUNCH, f"config:={config}"], started)
    elif vendor == "ur":  # as a user starts it; of the others, the file is the subject
        launched = process([*UP, "--config", str(config), "--out", str(tmp_path / "up")], started)
    else:
        launched = nodes_of(config, tmp_path / "up" / "logs")
    # `sysid up` gives every node a log of its own.
    log = started if by_launch else tmp_path / "up" / "logs" / "estimator.log"
    with process(driver, tmp_path / "driver.log", Forked), launched as check:
        filtered: list[FilteredJointState] = []
        wrenches: list[FilteredWrench] = []
        health: list[DiagnosticArray] = []
        moved: list[float] = []
        node = client.node
        node.create_subscription(FilteredJointState, "data_logger/filtered", filtered.append, 50)
        node.create_subscription(FilteredWrench, "data_logger/wrench", wrenches.append, 50)
        node.create_subscription(DiagnosticArray, "/diagnostics", health.append, 50)
        node.create_subscription(
            JointState, "joint_states", lambda m: moved.append(max(map(abs, m.velocity or [0]))), 50
        )
        for name in ("trajectory_executor", "data_logger", "estimator"):
            client.wait_for_active(name, 60.0)
        client.wait_until(lambda: bool(filtered and wrenches), 30.0, "filtered streams")
        assert len(filtered[-1].name) == n_joints, "the gripper is held"
        client.follow(Identifiability, "estimator/identifiability")
        assert client.wait_for("estimator/identifiability").n_parameters == 10 * n_joints
        pause(client, max(began + (LAUNCH_S if vendor == "ur" else SOON_S) - time.monotonic(), 1.0))
        happened = truth(client, tmp_path / "truth.npz")
        assert not moved or max(moved) < 0.02, "nothing moves on launch"
        assert not len(happened.steps) and not np.ptp(happened.command, axis=0).any(), (
            "no command at the launch"
        )
        said = [s for array in health for s in array.status if s.level == Level.ERROR]
        assert not said, [(s.name, s.message) for s in said]
        assert armed(client)
        if vendor in STOPPED:
            cause(client, protective_stop=True)
            field = STOPPED[vendor]
            client.wait_until(lambda: field in refusal(client), 15.0, field)
            cause(client, protective_stop=False)
            assert armed(client)
            if vendor == "ur":
                a_tool_that_was_set_is_noticed(client, log)
        else:
            live_and_offline_find_the_sensor_by_tf(client, log, tmp_path)
        check()
        logs = [*tmp_path.glob(started.name), *(tmp_path / "up" / "logs").glob("*.log")]
        output = "".join(path.read_text() for path in logs)
    assert "Traceback" not in output and "process has" not in output, output[-3000:]
    assert len(RobotModel.from_urdf(robot).joint_names) > n_joints and "Joints held" in output
