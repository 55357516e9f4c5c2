# SPDX-License-Identifier: Apache-2.0
"""An arm on position servos, live: plan, play, record, identify, and simulate what it did."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from live_nodes import Start, clocked
from robot_sysid.action import Identify
from std_msgs.msg import String

from sysid_core.files import write_yaml
from sysid_core.robot import RobotModel
from sysid_core.servos import Replay, ServoModel, Term, load_servos, read_recordings
from sysid_core.servos.model import JointServo
from sysid_core.workflows import (
    ServoFiles,
    ServoSettings,
    identify_servos,
    plan,
)
from sysid_core.workflows.plan_settings import FastPlanSettings, ServoPlanSettings
from sysid_nodes.bringup import demo_graph

pytestmark = [pytest.mark.ros, pytest.mark.slow]

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.15 0 0"/><mass value="0.6"/>
<inertia ixx="0.001" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.1 0 0"/><mass value="0.3"/>
<inertia ixx="0.0005" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="9" velocity="3"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="9" velocity="3"/></joint></robot>"""
TRUE = {  # stiffness 20 N m/rad
    "compliance": 0.05,
    "time_constant": 0.05,
    "friction": 0.015,
    "delay": 0.03,
    "inertia": 0.001,
    "backlash": 0.004,
}
TARGETS = "position_commands std_msgs/msg/Float64MultiArray"


def test_a_servo_arm_is_planned_for_moved_recorded_identified_and_simulated(
    start_nodes: Start, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tmp_path / "robot.urdf").write_text(URDF, encoding="utf-8")
    joints = [{"joint": name, "terms": TRUE} for name in ("lift", "elbow")]
    servos = {"schema": "robot_sysid/servos/1", "urdf": "robot.urdf", "joints": joints}
    write_yaml(tmp_path / "servos.yaml", servos, head="")
    limits = FastPlanSettings(tcp_speed=2.0, acceleration=10.0)
    settings = ServoPlanSettings(period=6.0, slow=0.5, candidates=6, still=1.0, common=limits)
    folder = tmp_path_factory.mktemp("plan")  # below the executor's folder
    found = plan(str(tmp_path / "robot.urdf"), settings)
    found.write(folder)
    start = found.found.trajectory.q[0].tolist()

    clock = {"use_sim_time": True}
    specs = demo_graph(
        robot={"servos": str(tmp_path), "start": start, "link_error": 0.0, **clocked()},
        executor={
            "command_mode": "position_stream",
            "tcp_speed": 2.5,
            "acceleration": 12.0,
            "tracking_error": 0.5,
            "start_tolerance": 0.2,
            **clock,
        },
        logger={"targets": TARGETS, **clock},
        estimator=clock,
    )
    client, nodes = start_nodes(specs)
    client.follow(String, "estimator/servos")
    for spec in specs:
        client.wait_for_active(spec.name)
    bag = client.start_recording(str(tmp_path / "bag"))
    done = client.execute(str(folder / "trajectory.npz"), lambda _: None, timeout_s=300.0)
    assert done.final_state == "done"
    client.stop_recording()
    goal = Identify.Goal(recording="bag", directory="live")
    result = client.identify(goal, lambda _: None, timeout_s=300.0)
    assert result.success and not result.estimate.names
    text = client.wait_for("estimator/servos").data
    assert text == (tmp_path / "live" / "servos.yaml").read_text(encoding="utf-8")
    assert set(nodes.stop().values()) == {0}

    (recording,) = read_recordings([bag])
    assert recording.joints == ("lift", "elbow")
    model = load_servos(tmp_path / "live")
    (again,) = Replay.all_of(model, [recording])
    missed, command = (Replay.overall([x], [1.0]) for x in (again.rms, again.command_rms))
    # On a busy machine, commands reach robot and bag at different times: the truth misses as much.
    truth = ServoModel(
        model.robot,
        tuple(JointServo(name, {Term(k): x for k, x in TRUE.items()}) for name in model.joints),
    )
    (best,) = Replay.all_of(truth, [recording])
    assert missed < max(0.1 * command, 1.1 * Replay.overall([best.rms], [1.0])), (missed, command)
    for servo in model.servos:
        off = abs(servo.values[Term.COMPLIANCE] - TRUE["compliance"])
        assert off < max(0.1 * TRUE["compliance"], 3 * servo.deviations[Term.COMPLIANCE]), servo

    files = ServoFiles(recordings=(Path(bag),))
    urdf = str(tmp_path / "live" / "robot.urdf")
    offline = identify_servos(ServoSettings(files=files, robot=urdf)).result.model
    for live, same in zip(model.servos, offline.servos, strict=True):
        assert np.array_equal(live.vector, same.vector)
    assert RobotModel.from_urdf(urdf).urdf_hash == model.robot.urdf_hash
