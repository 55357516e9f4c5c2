# SPDX-License-Identifier: Apache-2.0
"""Recognition of known loads: decided from 0.3 s, with correct probabilities."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import SysIdError
from sysid_core.estimation.payload_live import load_parts
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.signals.wrench import SensorCalibration

BIAS = np.array([2.0, -1.0, 3.0, 0.05, 0.0, -0.1])
PARTS = """
parts:
  bracket: {mass: 1.2, mass_sd: 0.01, com: [0, 0, 0.06], com_sd: 0.005, size: 0.1}
  lid: {mass: 1.2, mass_sd: 0.01, com: [0.05, 0, 0.06], com_sd: 0.005, size: 0.1}
  bolt: {mass: 0.3, mass_sd: 0.01, com: [0, 0, 0.05], com_sd: 0.005, size: 0.05}
  two brackets: {of: [bracket, bracket], com_sd: 0.03}
"""
LOADS = {
    "bracket": [(1.195, 0.003, 0.062)],
    "lid": [(1.2, 0.052, 0.06)],
    "bolt": [(0.3, 0.0, 0.05)],
    "two brackets": [(1.2, 0.02, 0.06), (1.2, -0.02, 0.06)],
    "empty": [],
    "unknown": [(0.7, 0.0, 0.04)],
}


def decided(folder: Path, load: str, expect: str, still: bool, seed: int) -> tuple[int, dict]:
    """Exit status and probabilities of 0.3 s of a UR5 that was tared, 1 % off in each axis."""
    robot, rng = RobotModel.from_urdf("ur5"), np.random.default_rng(seed)
    time = np.arange(0.0, 0.3, 0.01)
    rate = np.zeros(6) if still else 2.0 * np.pi * np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    phase = np.outer(time, rate) + rng.uniform(0, 6, 6)
    q = np.array([0.3, -1.2, 1.4, -0.6, -1.3, 0.2]) + 0.3 * np.sin(phase)
    a = -0.3 * rate**2 * np.sin(phase)
    motion = robot.frame_motion("tool0", q, 0.3 * rate * np.cos(phase), a)
    pi = sum(
        (pi_from_mass_com_inertia(m, [x, 0, z], 1e-3 * m * np.eye(3)) for m, x, z in LOADS[load]),
        start=np.zeros(10),
    )
    net = wrench_regressor(motion.a, motion.omega, motion.alpha) @ pi
    noise = np.repeat([0.1, 0.005], 3) * rng.normal(size=net.shape)
    wrench = net * (1.0 + 0.01 * rng.normal(size=6)) + BIAS + noise
    q = q + 1e-4 * rng.normal(size=q.shape)
    np.savez(folder / "pick.npz", time=time, q=q, wrench=wrench)
    (folder / "ur5.urdf").write_text(robot.urdf_xml)
    (folder / "parts.yaml").write_text(PARTS)
    sd = np.diag(np.square([0.005, *[0.02] * 3, *[0.02] * 3, *[0.001] * 3]))
    SensorCalibration("tool0", BIAS, np.zeros(4), sd).save(folder / "tare.yaml")
    words = ["payload", "pick.npz", "--robot", "ur5.urdf", "--sensor-frame", "tool0"]
    words += ["--calibration", "tare.yaml", "--parts", "parts.yaml", "--expect", expect]
    files = {"pick.npz", "ur5.urdf", "tare.yaml", "parts.yaml"}
    words = [str(folder / word) if word in files else word for word in words]
    done = CliRunner().invoke(app, [*words, "--json", str(folder / "found.json")])
    assert done.exit_code in (0, 1, 3), done.output + repr(done.exception)
    return done.exit_code, json.loads((folder / "found.json").read_text())["probabilities"]


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("still", [True, False], ids=["still", "moving"])
def test_three_tenths_of_a_second_tell_known_loads_apart(load, still, tmp_path):
    status, found = decided(tmp_path, load, "bracket", still, seed=7)
    assert next(iter(found)) == load
    assert sum(found.values()) == pytest.approx(1.0)
    assert status == (0 if load == "bracket" else 1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("parts: {a: {mass: 1.0}}", "lacks one of"),
        ("parts: {empty: {mass: 1.0}}", "always among"),
        ("parts: {a: {of: [b, b]}}", "not defined before"),
    ],
)
def test_a_file_of_parts_that_lacks_something_is_refused_by_name(text, why, tmp_path):
    (tmp_path / "parts.yaml").write_text(text)
    with pytest.raises(SysIdError, match=why):
        load_parts(tmp_path / "parts.yaml")
