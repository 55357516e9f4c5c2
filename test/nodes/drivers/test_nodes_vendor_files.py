# SPDX-License-Identifier: Apache-2.0
"""The vendors' bringup files as shipped, launched by `ros2 launch` against emulated drivers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import Start
from diagnostic_msgs.msg import DiagnosticArray
from emulated import armed, cause, pause, truth
from grippers import with_gripper
from robot_sysid.msg import FilteredJointState, FilteredWrench, Identifiability
from robot_sysid.srv import Arm
from sensor_msgs.msg import JointState

from sysid_core.robot import RobotModel
from sysid_nodes.client import LiveClient, LiveError
from sysid_nodes.lifecycle import ERROR

ROOT = Path(__file__).resolve().parents[3]
DRIVERS = ROOT / "test" / "drivers"
pytestmark = [
    pytest.mark.ros,
    pytest.mark.patient,
    pytest.mark.slow,
    pytest.mark.skipif(not (DRIVERS / "driver.py").is_file(), reason="needs the emulated drivers"),
]
# Each with a gripper. example-robot-data has the Panda, whose links and joints are called otherwise
# than the FR3's.
ROBOTS = {"ur": (6, {}), "franka": (7, {"fr3_": "panda_"}), "xarm": (7, {})}


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
def process(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own that is interrupted, and ends, with the block."""
    with log.open("wb") as output:
        running = subprocess.Popen(
            command, stdout=output, stderr=output, env=dict(os.environ), start_new_session=True
        )
    try:
        yield running
    finally:
        running.send_signal(signal.SIGINT)
        try:
            running.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)


@pytest.mark.parametrize("vendor", list(ROBOTS))
def test_a_vendors_file_works_as_shipped_and_nothing_moves_on_launch(
    vendor: str, in_real_ros: None, start_nodes: Start, tmp_path: Path
) -> None:
    n_joints, names = ROBOTS[vendor]
    robot = "panda" if vendor == "franka" else with_gripper(vendor, tmp_path / "robot.urdf")
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
    launch = ["ros2", "launch", "robot_sysid", "bringup.launch.py", f"config:={config}"]
    log = tmp_path / "launch.log"
    with process(driver, tmp_path / "driver.log"), process(launch, log) as launched:
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
        pause(client, 10.0)
        happened = truth(client, tmp_path / "truth.npz")
        assert not moved or max(moved) < 0.02, "nothing moves on launch"
        assert not len(happened.steps) and not np.ptp(happened.command, axis=0).any(), (
            "zero commands in ten seconds of launch"
        )
        said = [s for array in health for s in array.status if s.level == ERROR]
        assert not said, [(s.name, s.message) for s in said]
        assert armed(client)
        cause(client, protective_stop=True)
        field = STOPPED[vendor]
        client.wait_until(lambda: field in refusal(client), 15.0, field)
        cause(client, protective_stop=False)
        assert armed(client)
        assert launched.poll() is None
        output = log.read_text()
    assert "Traceback" not in output and "process has" not in output, output[-3000:]
    assert len(RobotModel.from_urdf(robot).joint_names) > n_joints and "Joints held" in output
