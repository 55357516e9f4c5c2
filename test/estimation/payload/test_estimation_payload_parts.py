# SPDX-License-Identifier: Apache-2.0
"""Recognition of known loads: decided from 0.3 s, with correct probabilities."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import SysIdError
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live import KnownLoads, Weighing, held_data
from sysid_core.estimation.payload_map import RunningMAP, SensorModel
from sysid_core.reasons import Reason, Severity
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.signals import JointStream, Recording, WrenchStream
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


TARE_SD = np.diag(np.square([0.005, *[0.02] * 3, *[0.02] * 3, *[0.001] * 3]))
TARED = SensorCalibration("tool0", BIAS, np.zeros(4), TARE_SD)


def load_of(bodies: list[tuple[float, float, float]]) -> np.ndarray:
    each = [pi_from_mass_com_inertia(m, [x, 0, z], 1e-3 * m * np.eye(3)) for m, x, z in bodies]
    return np.sum(each, axis=0) if each else np.zeros(10)


@pytest.fixture(scope="module")
def robot() -> RobotModel:
    return RobotModel.from_urdf("ur5")


@pytest.fixture
def parts(tmp_path: Path) -> KnownLoads:
    (tmp_path / "parts.yaml").write_text(PARTS)
    return KnownLoads.load(tmp_path / "parts.yaml")


def moment(robot: RobotModel, *loads: np.ndarray, still: bool, seed: int = 7) -> dict:
    """0.3 s of a UR5 whose sensor is 1 % off in each axis, with one load after the other."""
    rng = np.random.default_rng(seed)
    time = np.arange(0.0, 0.3, 0.01)
    rate = np.zeros(6) if still else 2.0 * np.pi * np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    phase = np.outer(time, rate) + rng.uniform(0, 6, 6)
    q = np.array([0.3, -1.2, 1.4, -0.6, -1.3, 0.2]) + 0.3 * np.sin(phase)
    motion = robot.frame_motion(
        "tool0", q, 0.3 * rate * np.cos(phase), -0.3 * rate**2 * np.sin(phase)
    )
    pi = np.repeat(loads, len(time) // len(loads), axis=0)
    net = np.einsum("kij,kj->ki", wrench_regressor(motion.a, motion.omega, motion.alpha), pi)
    noise = np.repeat([0.1, 0.005], 3) * rng.normal(size=net.shape)
    wrench = net * (1.0 + 0.01 * rng.normal(size=6)) + BIAS + noise
    q = q + 1e-4 * rng.normal(size=q.shape)
    return {"time": time, "q": q, "wrench": wrench, "motion": motion}


def probable(
    parts: KnownLoads, tared: SensorCalibration = TARED, **seen: np.ndarray
) -> dict[str, float]:
    """Probabilities of the moment's loads, from the motion as it was."""
    data = PayloadData.of(seen["time"], seen["wrench"] - tared.bias, seen["motion"])
    return parts.probabilities(data, SensorModel().in_a_moment(tared))


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("still", [True, False], ids=["still", "moving"])
def test_three_tenths_of_a_second_tell_known_loads_apart(load, still, robot, parts):
    found = probable(parts, **moment(robot, load_of(LOADS[load]), still=still))
    assert next(iter(found)) == load
    assert sum(found.values()) == pytest.approx(1.0)
    wanted = Severity.HELD if load == "bracket" else Severity.FAILURE
    assert KnownLoads.judge(found, "bracket").severity is wanted


@pytest.mark.parametrize(("load", "status"), [("bracket", 0), ("lid", 1)])
def test_the_command_decides_by_its_exit_status(load, status, robot, tmp_path):
    seen = moment(robot, load_of(LOADS[load]), still=True)
    np.savez(tmp_path / "pick.npz", **{key: seen[key] for key in ("time", "q", "wrench")})
    (tmp_path / "ur5.urdf").write_text(robot.urdf_xml)
    (tmp_path / "parts.yaml").write_text(PARTS)
    TARED.save(tmp_path / "tare.yaml")
    words = ["payload", "pick.npz", "--robot", "ur5.urdf", "--sensor-frame", "tool0"]
    words += ["--calibration", "tare.yaml", "--parts", "parts.yaml", "--expect", "bracket"]
    files = {"pick.npz", "ur5.urdf", "tare.yaml", "parts.yaml"}
    words = [str(tmp_path / word) if word in files else word for word in words]
    done = CliRunner().invoke(app, [*words, "--json", str(tmp_path / "found.json")])
    assert done.exit_code == status, done.output + repr(done.exception)
    found = json.loads((tmp_path / "found.json").read_text())["probabilities"]
    assert next(iter(found)) == load
    assert (
        Reason.not_judged("force-unit-assumed").text[:40] in done.output
    )  # what was assumed is said


def test_one_still_posture_of_a_table_is_enough(robot, parts):
    seen = moment(robot, load_of(LOADS["bracket"]), still=True)
    stamps = np.array([0], dtype=np.int64)
    run = Recording(
        JointStream(robot.joint_names, stamps, seen["q"][:1]),
        WrenchStream("tool0", stamps, seen["wrench"].mean(axis=0)[None]),
    )
    data, sensor = held_data(run, robot, "tool0", TARED, still=True)
    assert next(iter(parts.probabilities(data, sensor))) == "bracket"


@pytest.mark.parametrize("still", [True, False], ids=["still", "moving"])
def test_a_part_that_slipped_is_that_part_moved(still, robot, parts):
    slipped = load_of([(1.2, -0.04, 0.09)])
    found = probable(parts, **moment(robot, slipped, still=still))
    assert next(iter(found)) in ("bracket, moved", "lid, moved")
    assert KnownLoads.judge(found, "bracket").severity is Severity.FAILURE


def test_a_light_thing_that_nobody_knows_is_not_called_empty(robot, parts):
    light = load_of([(0.12, 0.01, 0.03)])
    found = probable(parts, **moment(robot, light, still=True))
    assert next(iter(found)) == "unknown"


def test_a_moment_in_which_the_part_is_dropped_is_not_ok(robot, parts):
    seen = moment(robot, load_of(LOADS["bracket"]), np.zeros(10), still=True)
    assert KnownLoads.judge(probable(parts, **seen), "bracket").severity is not Severity.HELD


def test_what_the_tare_left_unexplained_keeps_a_decision_open(robot, parts):
    """A 3D-printed sensor has residuals of several newtons in every posture: half a kilogram more
    can't be distinguished.
    """
    rough = replace(TARED, residual_rms=np.repeat([3.0, 0.1], 3), n_postures=20)
    seen = moment(robot, load_of(LOADS["unknown"]), still=True)
    assert KnownLoads.judge(probable(parts, **seen), "bolt").severity is Severity.FAILURE
    found = KnownLoads.judge(probable(parts, rough, **seen), "bolt")
    assert found.severity is Severity.NOT_JUDGED


def test_prior_probabilities_decide_between_loads_that_look_alike(robot, tmp_path):
    twins = "{mass: 1.2, mass_sd: 0.01, com: [0, 0, 0.06], com_sd: 0.005, size: 0.1}"
    text = f"parts:\n  left: {twins}\n  right: {twins}\nprior: {{left: 99, moved: 0.001}}\n"
    (tmp_path / "parts.yaml").write_text(text)
    seen = moment(robot, load_of(LOADS["bracket"]), still=True)
    found = probable(KnownLoads.load(tmp_path / "parts.yaml"), **seen)
    assert found["left"] == pytest.approx(99.0 * found["right"])
    assert KnownLoads.judge(found, "left").severity is Severity.HELD


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("parts: {a: {mass: 1.0}}", "lacks one of"),
        ("parts: {empty: {mass: 1.0}}", "is reserved"),
        ("parts: {a: {of: [b, b]}}", "must be defined above"),
        (
            "parts: {a: {mass: 1, mass_sd: 0, com: [0, 0, 0], size: 1}}\nprior: {b: 2}",
            "prior contains",
        ),
    ],
)
def test_a_file_of_parts_that_lacks_something_is_refused_by_name(text, why, tmp_path):
    (tmp_path / "parts.yaml").write_text(text)
    with pytest.raises(SysIdError, match=why):
        KnownLoads.load(tmp_path / "parts.yaml")


def test_few_repeated_weighings_need_a_wider_tolerance(robot):
    seen = moment(robot, load_of(LOADS["bracket"]), still=False)
    data = PayloadData.of(seen["time"], seen["wrench"] - BIAS, seen["motion"])
    one = RunningMAP().fit(data)
    scales = 1.0 + 0.01 * np.random.default_rng(1).normal(size=20)
    for count in (3, 20):
        estimates = [replace(one, values=scale * one.values) for scale in scales[:count]]
        masses = one.values[0] * scales[:count]
        upper = masses.std(ddof=1) * np.sqrt((count - 1) / scipy.stats.chi2.ppf(0.05, count - 1))
        found = Weighing.repeatability(estimates).mass_tolerance(0.1)
        assert found == pytest.approx(60.0 * upper)
