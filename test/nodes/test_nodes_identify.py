# SPDX-License-Identifier: Apache-2.0
"""The action `~/identify`: one goal at a time, cancelled, confined, and never an orphan."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from live_nodes import Start
from rclpy.action import ActionClient
from robot_sysid.action import Identify
from robot_sysid.msg import FilteredJointState
from robot_sysid.srv import SaveResult
from sensor_msgs.msg import JointState

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_nodes.bringup import NodeSpec
from sysid_nodes.client import LiveClient, LiveError
from sysid_nodes.estimator.identification import IdentificationJob
from sysid_nodes.security import existing_inside, new_inside
from sysid_nodes.security.confined import inside


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../x", "a/../../x", "-rf", "~/x", "a\0b", "a\nb", "link/x", "."]
    + ["x" * 300, "x/" * 3000, "{root}/../x", "{root}/link/x", "{root}-other/x", "{root}"],
)
def test_no_path_from_the_network_leaves_its_folder(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    (tmp_path / "root-other").mkdir()
    (tmp_path / "root-other" / "x").touch()
    name = name.replace(
        "{root}", str(root)
    )  # in full: only what lies below once links are followed
    with pytest.raises(SysIdError) as caught:
        inside(root, name, "The file")
    assert caught.value.remedy
    with pytest.raises(SysIdError, match="not permitted"):
        existing_inside(root, name, "The file")
    if name:
        with pytest.raises(SysIdError, match="not permitted"):
            new_inside(root, name, "The file")


def test_pipes_are_no_recordings_and_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bag").mkdir()
    with pytest.raises(SysIdError, match="neither a file nor a folder"):
        existing_inside(tmp_path, "pipe", "The recording")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(SysIdError, match="neither a file nor a folder"):
        existing_inside(tmp_path, "circle", "The recording")
    assert existing_inside(tmp_path, "bag", "The recording") == tmp_path.resolve() / "bag"
    monkeypatch.chdir(tmp_path.parent)  # as one sees it where the node was started
    seen = f"{tmp_path.name}/bag"
    assert existing_inside(tmp_path, seen, "The recording") == tmp_path.resolve() / "bag"
    assert existing_inside([str(tmp_path)], seen, "The plan") == tmp_path.resolve() / "bag"
    with pytest.raises(SysIdError, match="overwritten"):
        new_inside(tmp_path, "bag", "The folder")
    assert new_inside(tmp_path, "", "The folder").parent == tmp_path.resolve()


def test_the_gains_of_the_drives_reach_the_identification(tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    (tmp_path / "ur.yaml").write_text("schema: robot_sysid/columns/1")
    goal, model = Identify.Goal(recording="bag"), RobotModel.from_urdf("ur5")
    places = [str(path) for path in (tmp_path, tmp_path, tmp_path / "ur.yaml")]
    job = IdentificationJob(goal, model, *places)
    job.cancel()
    settings = json.loads((job.folder / "job.json").read_text())["settings"]
    assert settings["columns"] == {"path": str(tmp_path / "ur.yaml")}


def test_the_newest_result_is_saved() -> None:
    from sysid_nodes.estimator.node import EstimatorNode

    def newest(identified_ns: int, weighed_ns: int) -> Any:
        parts = {
            name: SimpleNamespace(latest=name if ns else None, latest_ns=ns)
            for name, ns in (("_identification", identified_ns), ("_payload", weighed_ns))
        }
        return EstimatorNode.latest.fget(SimpleNamespace(**parts))

    assert newest(0, 0) is None
    assert newest(2, 1) == newest(1, 0) == "_identification"
    assert newest(1, 2) == newest(0, 1) == "_payload"


def write_run(folder: Path, seconds: float) -> None:
    """A UR5's motion with its torques, as a bag."""
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    from sysid_core.signals.bags import BagWriter
    from sysid_nodes.conversions import stamp_from_ns

    model = RobotModel.from_urdf("ur5")
    t = np.arange(0.0, seconds, 0.01)[:, None]
    w = np.linspace(1.0, 2.3, 6)
    q, v, a = 0.5 * np.sin(w * t), 0.5 * w * np.cos(w * t), -0.5 * w**2 * np.sin(w * t)
    tau = model.inverse_dynamics(q, v, a) + 2.0 * np.tanh(v / 0.05) + 5.0 * v
    bag = BagWriter(
        folder, custom_data={"effort_kind": "actuator_torque", "joint_topic": "/joint_states"}
    )
    bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
    names = list(model.joint_names)
    for k in range(len(t)):
        ns = 1_000_000_000_000 + round(t[k, 0] * 1e9)
        message = JointState(
            name=names, position=q[k].tolist(), velocity=v[k].tolist(), effort=tau[k].tolist()
        )
        message.header.stamp = stamp_from_ns(ns)
        bag.write("/joint_states", serialize_message(message), ns)
    bag.close()


def has_ended(pid: int) -> bool:
    """True if a process is gone, or waits only to be reaped by its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def send(client: LiveClient, **goal: str) -> tuple[Any, list[Identify.Feedback]]:
    feedback: list[Identify.Feedback] = []
    action = ActionClient(client.node, Identify, "estimator/identify")
    client.wait_until(action.server_is_ready, 20.0, "the action")
    sent = action.send_goal_async(
        Identify.Goal(**goal), feedback_callback=lambda m: feedback.append(m.feedback)
    )
    client.wait_until(sent.done, 10.0, "an answer")
    return sent.result(), feedback


def left_of_the_torques(client: LiveClient) -> float:
    """Largest residual torque that the estimator publishes of a motion with the run's friction [N m]."""
    model = RobotModel.from_urdf("ur5")
    q, v = np.full(6, 0.3), np.full(6, 0.6)
    zeros = np.zeros(6).tolist()
    tau = (
        model.inverse_dynamics(q[None], v[None], np.zeros((1, 6)))[0]
        + 2.0 * np.tanh(v / 0.05)
        + 5.0 * v
    )
    message = FilteredJointState(
        name=list(model.joint_names), position=q.tolist(), velocity=v.tolist(), acceleration=zeros,
        effort=tau.tolist(), position_sd=zeros, velocity_sd=zeros, acceleration_sd=zeros,
        effort_sd=zeros, effort_kind="actuator_torque",
    )  # fmt: skip
    filtered = client.node.create_publisher(FilteredJointState, "data_logger/filtered", 10)
    found: list[JointState] = []
    client.node.create_subscription(JointState, "estimator/torque_residuals", found.append, 10)

    def answered() -> bool:
        filtered.publish(message)
        return bool(found)

    client.wait_until(answered, 30.0, "residual torques")
    return float(np.abs(found[-1].effort).max())


@pytest.mark.ros
@pytest.mark.slow
def test_one_identification_at_a_time_with_progress_cancel_and_no_orphan(
    start_nodes: Start, tmp_path: Path
) -> None:
    write_run(tmp_path / "run", 12.0)
    (tmp_path / "robot.urdf").write_text("THE REAL ROBOT DESCRIPTION")
    client, nodes = start_nodes([NodeSpec("estimator", "estimator", parameters={"robot": "ur5"})])
    process = nodes.processes["estimator"]
    client.wait_for_active("estimator")
    for hostile in (
        {"recording": "--help"},
        {"recording": "/etc"},  # whole paths lie below the configured folder
        {"recording": "run", "directory": "../elsewhere"},
        {"recording": "run", "directory": "."},
        {"recording": "run", "loops_file": "/etc/passwd"},
    ):
        with pytest.raises(LiveError, match="not permitted"):
            client.identify(Identify.Goal(**hostile), lambda _: None)
    steps: list[Identify.Feedback] = []
    result = client.identify(
        Identify.Goal(recording="run", method="ols", directory="first"), steps.append
    )
    assert result.estimate.rank > 0 and len({f.step for f in steps}) >= 3, steps
    shares = [f.progress for f in steps]
    assert shares == sorted(shares) and shares[-1] == 1.0, shares
    assert result.estimate.valid_from.sec == 1000
    with pytest.raises(LiveError, match="not permitted"):
        client.call(SaveResult, "estimator/save", SaveResult.Request(directory="/tmp/x"))
    assert (tmp_path / "robot.urdf").read_text() == "THE REAL ROBOT DESCRIPTION"
    with pytest.raises(LiveError, match="overwritten"):
        client.identify(Identify.Goal(recording="run", directory="first"), lambda _: None)

    assert left_of_the_torques(client) < 2.0  # the URDF, without friction, leaves 5 N m

    handle, feedback = send(client, recording="run", method="lmi")
    client.wait_until(lambda: bool(feedback), 20.0, "progress")
    assert handle.accepted and not send(client, recording="run")[0].accepted
    assert children_of(process.pid)
    client.wait_until(handle.cancel_goal_async().done, 10.0, "the cancel")
    outcome = handle.get_result_async()
    client.wait_until(outcome.done, 20.0, "the end")
    assert not outcome.result().result.success
    client.wait_until(lambda: not children_of(process.pid), 10.0, "the job to end")

    handle, _ = send(client, recording="run", method="lmi")
    client.wait_until(lambda: bool(children_of(process.pid)), 10.0, "the next job")
    (job,) = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    client.wait_until(lambda: has_ended(job), 20.0, "the orphan to end")
