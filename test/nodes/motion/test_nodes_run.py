# SPDX-License-Identifier: Apache-2.0
"""`sysid robot save` and `sysid run`, as a user types them, on a robot that is simulated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from busy_machine import patience
from live_nodes import FRAME, PATIENT, PAYLOAD, Start, simulated
from sensor_msgs.msg import JointState

from sysid_core.estimation import Estimate
from sysid_core.planning.payload.plan import PayloadPlan
from sysid_core.robot import RobotModel
from sysid_core.signals.bags import read_bag
from sysid_nodes.bringup import NodeSpec

pytestmark = [pytest.mark.ros, pytest.mark.slow]


def sysid(*words: str, answer: str = "", timeout: float = 240.0) -> subprocess.CompletedProcess:
    command, timeout = [sys.executable, "-m", "sysid_cli", *words], timeout * patience()
    return subprocess.run(
        command, input=answer, capture_output=True, text=True, timeout=timeout, env=dict(os.environ)
    )


def test_a_plan_is_checked_asked_for_played_recorded_and_weighed_in_one_command(
    start_nodes: Start, short_plan: tuple[Path, PayloadPlan], tmp_path: Path
) -> None:
    file, plan = short_plan
    robot = NodeSpec(
        "simulated_robot", "simulated_robot", parameters=simulated(plan.trajectory, clock=True)
    )
    client, _ = start_nodes([robot])
    client.wait_for_active("simulated_robot")

    saved = tmp_path / "robot.urdf"
    done = sysid("robot", "save", str(saved))
    assert done.returncode == 0, done.stderr
    model = RobotModel.from_urdf(saved)
    assert (
        model.urdf_hash == RobotModel.from_urdf("xarm7").urdf_hash
        and model.urdf_hash in done.stdout
    )
    assert sysid("robot", "save", str(saved)).returncode == 2, "is not overwritten"

    executor = {
        "tcp_frame": FRAME,
        "tcp_speed": 1.0,
        **PATIENT,
        "without_dead_man": True,
    }
    config = tmp_path / "bringup.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "common": {"use_sim_time": True},  # as beside any simulator
                "trajectory_executor": executor,
                "data_logger": {"effort_kind": "actuator_torque"},
                "estimator": {"sensor_frame": FRAME, "shape": "box 0.2 0.2 0.16"},
            }
        )
    )
    states: list[float] = []
    topic = client.node.create_subscription(
        JointState, "joint_states", lambda m: states.append(max(map(abs, m.velocity))), 200
    )
    words = ["run", str(config), str(file), "--slow", "0", "--until", "com"]
    declined = sysid(*words, "--out", str(tmp_path / "declined"), answer="n\n")
    assert declined.returncode == 1, declined.stdout + declined.stderr
    assert "Nothing was moved" in declined.stdout
    client.wait_until(lambda: len(states) > 50, 10.0, "joint states")
    assert max(states) < 0.02, "nothing moves before a yes"
    client.node.destroy_subscription(topic)

    out = tmp_path / "run"
    done = sysid(*words, "--out", str(out), "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    estimate = Estimate.load(out / "payload" / "estimate.yaml")
    assert abs(estimate.values[0] - PAYLOAD[0]) < 0.02 * PAYLOAD[0]
    assert "Report:" in done.stdout and (out / "weighed" / "report.html").is_file()
    (bag,) = (path.parent for path in out.glob("*/metadata.yaml"))
    recorded = read_bag(bag)
    assert len(recorded.joints) > 500
    labels = [mark.label for mark in recorded.marks]
    assert "oscillation:start" in labels, "it isn't stopped by what was known before"


@pytest.mark.usefixtures("start_nodes")  # a ROS domain of its own
def test_a_rehearsal_needs_no_robot(short_plan: tuple[Path, PayloadPlan], tmp_path: Path) -> None:
    done = sysid("init", "--driver", "simulated", "--robot", "xarm7", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    config = tmp_path / "bringup.yaml"
    raw = yaml.safe_load(config.read_text())
    raw["trajectory_executor"] |= {"tcp_speed": 1.0, "acceleration": 5.0, **PATIENT}
    config.write_text(yaml.safe_dump(raw))
    words = ["run", str(config), str(short_plan[0]), "--slow", "0", "--yes", "--method", "none"]
    done = sysid(*words, "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing was estimated." in done.stdout
    (bag,) = (path.parent for path in (tmp_path / "run").glob("*/metadata.yaml"))
    recorded = read_bag(bag)
    assert len(recorded.joints) > 500 and recorded.wrench is not None
