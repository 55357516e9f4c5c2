# SPDX-License-Identifier: Apache-2.0
"""`sysid tare` from a bag or table: bias, tool, delay, and refusals."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import SignalError
from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import PayloadSummary
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.signals import export_recording
from sysid_core.signals.bags import BagWriter, build_typestore, read_bag
from sysid_core.signals.wrench import SensorCalibration

STORE = build_typestore()
TOOL = pi_from_mass_com_inertia(0.9, [0.0, 0.01, 0.06], np.diag([2e-3, 2e-3, 1e-3]))
BIAS = np.array([3.0, -5.0, 12.0, 0.2, -0.15, 0.05])
NOISE = np.repeat([0.05, 0.0025], 3)
DELAY = 0.012  # [s]
STILL, MOVE = 1.2, 1.0  # [s]


def posture_at(t: np.ndarray, postures: np.ndarray) -> np.ndarray:
    """Hold each posture, then go to the next on a quintic."""
    period = STILL + MOVE
    k = np.clip((t // period).astype(int), 0, len(postures) - 1)
    s = np.clip((t - period * k - STILL) / MOVE, 0.0, 1.0)
    s = s**3 * (10 - 15 * s + 6 * s**2)
    following = postures[np.minimum(k + 1, len(postures) - 1)]
    return postures[k] + s[:, None] * (following - postures[k])


def write_run(path: Path, rng: np.random.Generator, sign: float = 1.0, count: int = 6) -> Path:
    """A bag of tilted postures; the wrench is late."""
    robot = RobotModel.from_urdf("xarm7")
    postures = rng.uniform(-1.2, 1.2, size=(count, robot.nv))
    t = np.arange(0.0, count * (STILL + MOVE), 0.01)
    h = 1e-3
    before, q_late, after = (posture_at(t - DELAY + d, postures) for d in (-h, 0.0, h))
    v, a = (after - before) / (2 * h), (after - 2 * q_late + before) / h**2
    motion = robot.frame_motion("link7", q_late, v, a)
    wrench = wrench_regressor(motion.a, motion.omega, motion.alpha) @ TOOL + BIAS
    wrench = sign * wrench + rng.normal(size=wrench.shape) * NOISE
    q = posture_at(t, postures) + rng.normal(size=(len(t), robot.nv)) * 1e-4
    types = STORE.types
    vector = types["geometry_msgs/msg/Vector3"]
    with BagWriter(path) as writer:
        writer.add_topic("/joint_states", "sensor_msgs/msg/JointState")
        writer.add_topic("/wrench", "geometry_msgs/msg/WrenchStamped")
        for k, now in enumerate((1_700_000_000_000_000_000 + t * 1e9).astype(np.int64).tolist()):
            stamp = types["builtin_interfaces/msg/Time"](sec=now // 10**9, nanosec=now % 10**9)
            header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="link7")
            joints = types["sensor_msgs/msg/JointState"](
                header=header,
                name=list(robot.joint_names),
                position=q[k],
                velocity=np.zeros(0),
                effort=np.zeros(0),
            )
            reading = types["geometry_msgs/msg/WrenchStamped"](
                header=header,
                wrench=types["geometry_msgs/msg/Wrench"](
                    force=vector(*wrench[k, :3]), torque=vector(*wrench[k, 3:])
                ),
            )
            for topic, message in (("/joint_states", joints), ("/wrench", reading)):
                data = STORE.serialize_cdr(message, message.__msgtype__)
                writer.write(topic, bytes(data), now)
    return path


def tare(bag: Path, out: Path, *options: str) -> object:
    command = ["tare", str(bag), "--robot", "xarm7", "--sensor-frame", "link7", "--out", str(out)]
    return CliRunner().invoke(app, [*command, *options])


def test_tare_of_a_bag_finds_bias_tool_and_delay(rng: np.random.Generator, tmp_path: Path) -> None:
    bag, out = write_run(tmp_path / "bag", rng), tmp_path / "sensor.yaml"
    done = tare(bag, out, "--tool", "--expected-mass", "0.9", "--json", "-")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["n_postures"] == 6
    assert result["mass"] == pytest.approx(0.9, abs=0.01)
    assert np.all(np.abs(result["bias"] - BIAS) < 5 * np.array(result["bias_sd"]) + 1e-3)
    assert abs(result["delay"] - DELAY) < 5 * result["delay_sd"] + 1e-3
    kept = SensorCalibration.load(out)
    assert kept.frame == "link7"
    np.testing.assert_allclose(kept.tool_pi[:4], TOOL[:4], atol=5e-3)


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_a_table_is_tared_as_its_bag(ending: str, rng: np.random.Generator, tmp_path: Path) -> None:
    bag = write_run(tmp_path / "bag", rng)
    export_recording(read_bag(bag), tmp_path / f"run.{ending}")
    found = []
    for recording in (bag, tmp_path / f"run.{ending}"):
        done = tare(recording, tmp_path / "sensor.yaml", "--tool")
        assert done.exit_code == 0, done.output
        found.append(SensorCalibration.load(tmp_path / "sensor.yaml"))
    np.testing.assert_allclose(found[1].bias, found[0].bias, atol=1e-6)
    np.testing.assert_allclose(found[1].tool_pi, found[0].tool_pi, atol=1e-6)
    assert found[0].stamp_ns > 0 == found[1].stamp_ns  # nobody knows when a table's 0 was


def test_axia80_is_tared_and_weighs_from_tables_of_still_postures_in_axes_of_the_base(
    shared_data: Path, tmp_path: Path
) -> None:
    """Its owner states 1.24 kg; the postures of tare and payload are different ones."""
    pose, wrench = (
        np.loadtxt(
            shared_data / "ft_ati_axia80" / f"recorded_messages_{name}_100.txt", delimiter=","
        )
        for name in ("pose", "wrench")
    )
    for half in (0, 1):
        np.savez(tmp_path / f"{half}.npz", pose=pose[half::2], wrench=wrench[half::2])
    out, columns = tmp_path / "sensor.yaml", ",".join(f"pose.{k}" for k in range(7))
    options = ["--pose-columns", columns, "--rotation", "xyzw", "--still"]
    done = CliRunner().invoke(app, ["tare", str(tmp_path / "0.npz"), *options, "--out", str(out)])
    assert "--wrench-axes base" in str(done.exception)
    options += ["--wrench-axes", "base"]
    done = CliRunner().invoke(app, ["tare", str(tmp_path / "0.npz"), *options, "--out", str(out)])
    assert done.exit_code == 0, done.output
    mass, sd = SensorCalibration.load(out).tare_mass
    assert abs(mass - 1.24) < 2.0 * sd
    weighed = ["payload", str(tmp_path / "1.npz"), *options, "--calibration", str(out)]
    done = CliRunner().invoke(app, [*weighed, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    payload = PayloadSummary.of(Estimate.load(tmp_path / "out" / "estimate.yaml"))
    assert abs(payload.mass - 1.24) < 2.0 * payload.mass_sd


def test_a_reversed_sensor_is_tared_and_its_readings_are_negated(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    """ATI's sensors and UR's give the load on the sensor: f = +m g."""
    bag, out = write_run(tmp_path / "bag", rng, sign=-1.0), tmp_path / "sensor.yaml"
    done = tare(bag, out)
    assert done.exit_code == 0, done.output
    assert "negated" in done.output
    found = SensorCalibration.load(out)
    assert np.array_equal(found.matrix, -np.eye(6))
    assert found.tare_mass[0] > 0


def test_calibrating_adds_gains_mounting_and_drift_with_deviations(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    bag, out = write_run(tmp_path / "bag", rng, count=10), tmp_path / "sensor.yaml"
    done = tare(bag, out, "--calibrate", "--expected-mass", "0.9", "--json", "-")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert np.all(np.abs(np.diag(result["gain"]) - 1) < 4 * np.diag(result["gain_sd"]) + 1e-3)
    assert np.all(np.abs(result["mounting"]) < 4 * np.array(result["mounting_sd"]) + 1e-3)
    assert result["confounded"]
    assert SensorCalibration.load(out).stamp_ns > 1_700_000_000_000_000_000
    few = tare(write_run(tmp_path / "few", rng), out, "--calibrate")
    assert "too few" in str(few.exception)


def test_a_kept_tare_gets_a_new_bias_from_still_postures_unless_something_is_held(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    bag, out = write_run(tmp_path / "bag", rng, count=3), tmp_path / "sensor.yaml"
    assert tare(bag, out, "--tool", "--temperature", "22").exit_code == 0
    kept = SensorCalibration.load(out)
    drifted = dataclasses.replace(kept, bias=kept.bias - [0.4, 0, 0, 0, 0, 0.01])
    drifted.save(tmp_path / "old.yaml")
    words = ("--check", str(tmp_path / "old.yaml"), "--temperature", "25", "--json", "-")
    done = tare(bag, tmp_path / "new.yaml", *words)
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    np.testing.assert_allclose(result["change"], [0.4, 0, 0, 0, 0, 0.01], atol=0.03)
    assert result["warmer"] == pytest.approx(3.0)
    renewed = SensorCalibration.load(tmp_path / "new.yaml")
    np.testing.assert_allclose(renewed.bias, kept.bias, atol=0.03)
    np.testing.assert_array_equal(renewed.tool_pi, kept.tool_pi)
    bare = dataclasses.replace(drifted, tool_pi=np.zeros(10))
    bare.save(tmp_path / "old.yaml")  # 0.9 kg hang there that the file doesn't know
    held = tare(bag, tmp_path / "new.yaml", *words)
    assert isinstance(held.exception, SignalError) and "not a drift" in str(held.exception)
