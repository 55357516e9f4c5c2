# SPDX-License-Identifier: Apache-2.0
"""From a vendor's own bag to numbers: weighing and identifying through the drivers' names, frames and signs."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner
from vendor_bags import Cell, record

from sysid_cli.app import app
from sysid_core.planning import ArmPlan, MotionLimits, Trajectory
from sysid_core.planning.payload import plan_payload_motion
from sysid_core.robot import RobotModel
from sysid_core.robot.shapes import Shape

SHAPE = Shape.box((0.1, 0.12, 0.08), centre=(0.01, 0.0, 0.06))
LOAD = tuple(SHAPE.homogeneous(1.3).tolist())
BOX = "box 0.1 0.12 0.08 at 0.01 0 0.06"
UR_GAINS = (12.0, 12.0, 10.0, 10.0, 10.0, 10.0)


@functools.cache
def payload_plan(robot: str, frame: str) -> Trajectory:
    model = RobotModel.from_urdf(robot)
    limits = MotionLimits.from_model(
        model, tcp_frame=frame, ground_height=0.0, acceleration=3.0, tcp_speed=0.5
    )
    return plan_payload_motion(
        model, limits, duration=5.0, n_tare=3, still=0.6, mean_angular_speed=0.8, n_candidates=20
    ).trajectory


def arm_plan(model: RobotModel, frame: str) -> Trajectory:
    limits = MotionLimits.from_model(model, tcp_frame=frame, acceleration=5.0, tcp_speed=1.0)
    return ArmPlan.of(
        model,
        limits,
        period=8.0,
        n_harmonics=5,
        n_starts=1,
        n_candidates=8,
        n_iterations=2,
        seed=1,
    ).trajectory


def sysid(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code in (0, 1), done.output + repr(done.exception)
    return done.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vendor", "robot", "frame", "on_sensor", "marked"),
    [
        ("ur", "ur5", "tool0", True, True),
        ("ur", "ur5", "tool0", False, False),
        ("xarm", "xarm7", "link_eef", True, True),
    ],
)
def test_a_vendors_wrench_weighs_the_load(
    tmp_path: Path, vendor: str, robot: str, frame: str, on_sensor: bool, marked: bool
) -> None:
    """In the driver's own frame, with either sign, from our logger or from `ros2 bag record`."""
    plan = payload_plan(robot, frame)
    cell = Cell(robot, frame, LOAD, on_sensor=on_sensor, gains=UR_GAINS if vendor == "ur" else ())
    record(tmp_path / "bag", vendor, cell, plan, marked=marked)
    sysid("payload", tmp_path / "bag", "--sensor-frame", frame, "--shape", BOX,
          "--out", tmp_path / "out")  # fmt: skip
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    found = {p["name"].split(".")[-1]: p for p in result["estimate"]["parameters"]}
    assert abs(found["m"]["value"] - LOAD[0]) < 3 * found["m"]["sd"] < 0.2
    for key, true in zip(("mx", "my", "mz"), LOAD[1:4], strict=True):
        assert abs(found[key]["value"] - true) < 3 * found[key]["sd"] < 0.015
    assert result["verdict"]["outcome"] in ("pass", "warn")


@pytest.mark.slow
def test_a_frankas_bag_identifies_its_arm(tmp_path: Path, rng) -> None:
    """Link torques at 1 kHz in addition to a slow merged topic, and unmeasured fingers."""
    fingers = ["panda_finger_joint1", "panda_finger_joint2"]
    whole = RobotModel.from_urdf("panda")
    model = whole.with_locked(fingers)
    cell = Cell("panda", "panda_hand", coulomb=0.4, viscous=0.3)
    true = record(tmp_path / "bag", "franka", cell, arm_plan(model, "panda_hand"))
    locks = [word for name in fingers for word in ("--lock", name)]
    sysid("identify", tmp_path / "bag", "--robot", "panda", "--effort-kind", "link_torque",
          "--friction", "usual", "--out", tmp_path / "out", *locks)  # fmt: skip
    found = RobotModel.from_urdf(tmp_path / "out" / "identified.urdf")
    q = rng.uniform(-1, 1, (200, 7)) + np.mean(model.position_limits, axis=0)
    v, a = rng.uniform(-1, 1, (2, 200, 7))
    expected = true.inverse_dynamics(q, v, a)
    error = found.inverse_dynamics(q, v, a) - expected
    nominal = model.inverse_dynamics(q, v, a) - expected
    assert np.linalg.norm(error) < 0.01 * np.linalg.norm(expected)
    assert np.linalg.norm(error) < 0.25 * np.linalg.norm(nominal)


@pytest.mark.slow
def test_a_urs_currents_weigh_its_load(tmp_path: Path) -> None:
    """Currents of motors that drive through gears with friction, compared with the same arm without
    the load.
    """
    plan = arm_plan(RobotModel.from_urdf("ur5"), "tool0")
    for name, load in (("empty", None), ("loaded", LOAD)):
        record(tmp_path / name, "ur", Cell("ur5", "tool0", load, gains=UR_GAINS), plan)
    columns = {
        "schema": "robot_sysid/columns/1",
        "joints": list(RobotModel.from_urdf("ur5").joint_names),
        "effort": {"kind": "motor_current"},
        "drives": {"gain": list(UR_GAINS), "source": "the simulated robot's"},
    }
    (tmp_path / "columns.yaml").write_text(yaml.safe_dump(columns))
    sysid("payload-torques", tmp_path / "loaded", "--unloaded", tmp_path / "empty", "--robot", "ur5",
          "--columns", tmp_path / "columns.yaml", "--frame", "tool0", "--gain-sd", 0.001,
          "--out", tmp_path / "out")  # fmt: skip
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    mass = result["estimate"]["parameters"][0]
    assert mass["name"] == "payload.m" and mass["sd"] < 0.05
    assert abs(mass["value"] - LOAD[0]) < 3 * mass["sd"]
