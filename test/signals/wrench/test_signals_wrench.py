# SPDX-License-Identifier: Apache-2.0
"""Tare, compensation and what a sensor's mounting does to them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from sysid_core.errors import SignalError
from sysid_core.robot import (
    RobotModel,
    pi_from_mass_com_inertia,
    wrench_regressor,
)
from sysid_core.signals.wrench import SensorCalibration, StaticPostures, WrenchSign
from sysid_core.signals.wrench.mounting import check_mounting

GRAVITY = np.array([0.0, 0.0, -9.81])  # [m/s^2]
BIAS = np.array([3.0, -5.0, 12.0, 0.2, -0.15, 0.05])  # [N, N m]
OBJECT = pi_from_mass_com_inertia(0.64, [0.02, -0.01, 0.09], np.diag([4e-3, 3e-3, 2e-3]))


def six_tilts() -> np.ndarray:
    """Orientations of the sensor with each axis up and down, roughly."""
    angles = [(0, 0), (180, 10), (90, 5), (-90, 0), (5, 90), (0, -85)]
    return Rotation.from_euler("xy", angles, degrees=True).as_matrix()


def still(R_WS: np.ndarray, pi: np.ndarray, gravity: np.ndarray = GRAVITY) -> np.ndarray:
    g_S = np.einsum("kji,j->ki", R_WS, gravity)
    zero = np.zeros_like(g_S)
    return wrench_regressor(-g_S, zero, zero) @ pi + BIAS


def in_sensor(R_WS: np.ndarray) -> np.ndarray:
    return np.einsum("kji,j->ki", R_WS, GRAVITY)


def test_static_regressor_is_the_resting_wrench_regressor(rng: np.random.Generator) -> None:
    g = rng.normal(size=(5, 3))
    zero = np.zeros((5, 3))
    np.testing.assert_allclose(
        SensorCalibration.static_regressor(g), wrench_regressor(-g, zero, zero)[..., :4]
    )


def test_tare_recovers_bias_and_load_while_the_object_is_held() -> None:
    R_WS = six_tilts()
    found = StaticPostures.tare(still(R_WS, OBJECT), in_sensor(R_WS), frame="ft", R_WS=R_WS)
    np.testing.assert_allclose(found.bias, BIAS, atol=1e-10)
    np.testing.assert_allclose(found.tare_load, OBJECT[:4], atol=1e-11)
    assert found.misalignment < 1e-6


def test_tare_errors_lie_within_their_covariance(rng: np.random.Generator) -> None:
    R_WS = six_tilts()
    sd = np.repeat([0.05, 0.005], 3)
    truth = np.r_[OBJECT[:4], BIAS]
    scores = []
    for _ in range(300):
        wrench = still(R_WS, OBJECT) + rng.normal(size=(6, 6)) * sd
        found = StaticPostures.tare(wrench, in_sensor(R_WS))
        error = np.r_[found.tare_load, found.bias] - truth
        scores.append(error**2 / np.diag(found.covariance))
    # Few postures: Student's t with 14 and 12 degrees of freedom has a variance of about 1.2.
    np.testing.assert_allclose(np.mean(scores, axis=0), 1.2, atol=0.35)


def test_compensation_leaves_the_moving_objects_wrench(rng: np.random.Generator) -> None:
    robot = RobotModel.from_urdf("xarm7")
    q, v, a = rng.normal(size=(3, 20, robot.nv))
    motion = robot.frame_motion("link7", q, v, a)
    A = wrench_regressor(motion.a, motion.omega, motion.alpha)
    tool = pi_from_mass_com_inertia(0.9, [0.0, 0.01, 0.06], np.diag([2e-3, 2e-3, 1e-3]))
    R_WS = six_tilts()
    calibration = StaticPostures.tare(still(R_WS, tool), in_sensor(R_WS))
    calibration = calibration.with_tool(tool)
    rest = calibration.compensate(A @ (tool + OBJECT) + BIAS, motion)
    np.testing.assert_allclose(rest, A @ OBJECT, atol=1e-9)


def test_calibration_survives_its_file(tmp_path: Path) -> None:
    R_WS = six_tilts()
    found = StaticPostures.tare(
        still(R_WS, OBJECT), in_sensor(R_WS), frame="ft"
    ).with_load_as_tool()
    found = dataclasses.replace(found, delay=(0.01, 0.001))
    found.save(tmp_path / "calibration.yaml")
    again = SensorCalibration.load(tmp_path / "calibration.yaml")
    for item in dataclasses.fields(SensorCalibration):
        np.testing.assert_array_equal(getattr(again, item.name), getattr(found, item.name))


def test_other_files_are_refused_as_calibrations(tmp_path: Path) -> None:
    path = tmp_path / "estimate.yaml"
    path.write_text("schema: robot_sysid/estimate/1\n", encoding="utf-8")
    with pytest.raises(SignalError, match="schema"):
        SensorCalibration.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bias": [1.0] * 5}, "`bias` has 5 entries"),
        ({"bias": [float("nan")] * 6}, "finite"),
        ({"covariance": [[0.0] * 10] * 9}, "10 x 10"),
        ({"tool_pi": [-1.0] + [0.0] * 9}, "tool's parameters"),
        ({"delay": 0.1}, "`delay`"),
        ({"x": 1}, "unknown key 'x'"),
    ],
)
def test_a_damaged_calibration_is_refused_by_file_and_key(
    tmp_path: Path, change: dict, words: str
) -> None:
    R_WS = six_tilts()
    file = tmp_path / "calibration.yaml"
    StaticPostures.tare(still(R_WS, OBJECT), in_sensor(R_WS), frame="ft").save(file)
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), **change}))
    with pytest.raises(SignalError, match=words) as err:
        SensorCalibration.load(file)
    assert "calibration.yaml" in err.value.message
    assert err.value.remedy


def test_a_dead_sensor_is_named() -> None:
    R_WS = six_tilts()
    with pytest.raises(SignalError, match="the sensor is dead"):
        StaticPostures.tare(np.zeros((6, 6)), in_sensor(R_WS), R_WS=R_WS)


def test_compensated_wrench_is_refused() -> None:
    R_WS = six_tilts()
    with pytest.raises(SignalError, match="already compensated"):
        StaticPostures.tare(np.tile(BIAS, (6, 1)), in_sensor(R_WS))
    bare = StaticPostures.tare(np.tile(BIAS, (6, 1)), in_sensor(R_WS), allow_bare=True)
    np.testing.assert_allclose(bare.bias, BIAS, atol=1e-10)


def test_partly_compensated_wrench_is_refused_when_the_tool_is_known() -> None:
    R_WS = six_tilts()
    with pytest.raises(SignalError, match="already compensated"):
        StaticPostures.tare(still(R_WS, 0.2 * OBJECT), in_sensor(R_WS), expected_mass=0.64)


@pytest.mark.parametrize("postures", [[0], [0, 1], [0, 1, 0, 1]])
def test_too_few_directions_are_refused(postures: list[int]) -> None:
    R_WS = six_tilts()[postures]
    with pytest.raises(SignalError, match="too few directions") as told:
        StaticPostures.tare(still(R_WS, OBJECT), in_sensor(R_WS))
    least = "xyz"[int(np.argmin(np.ptp(in_sensor(R_WS), axis=0)))]
    assert f"sensor's {least} axis changed least" in str(told.value)


@pytest.mark.parametrize(
    ("kind", "turn"),
    [("upside down", [180, 0, 0]), ("upside down", [0, 170, 0]), ("turned", [0, 0, 90])],
)
def test_wrongly_mounted_sensor_is_named(
    kind: str, turn: list[float], rng: np.random.Generator
) -> None:
    R_WS = six_tilts()
    true_axes = R_WS @ Rotation.from_euler("xyz", turn, degrees=True).as_matrix()
    wrench = still(true_axes, OBJECT) + rng.normal(size=(6, 6)) * 0.02
    assert check_mounting(wrench[:, :3], in_sensor(R_WS), R_WS).kind == kind
    with pytest.raises(SignalError, match=kind.split()[0]):
        StaticPostures.tare(wrench, in_sensor(R_WS), R_WS=R_WS)


def test_readings_of_the_load_on_the_sensor_are_recognised_and_negated() -> None:
    R_WS = six_tilts()
    reading = -still(R_WS, OBJECT)
    found = StaticPostures.tare(reading, in_sensor(R_WS), R_WS=R_WS)
    assert np.allclose(found.tare_load, OBJECT[:4], atol=1e-9)
    assert np.array_equal(found.matrix, -np.eye(6))
    with pytest.raises(SignalError, match="opposite sign"):
        StaticPostures.tare(reading, in_sensor(R_WS), R_WS=R_WS, sign=WrenchSign.SENSOR_ON_LOAD)


def test_wrong_gravity_direction_is_told_from_a_turned_sensor(rng: np.random.Generator) -> None:
    R_WS = six_tilts()
    wall = np.array([9.81, 0.0, 0.0])
    wrench = still(R_WS, OBJECT, wall) + rng.normal(size=(6, 6)) * 0.02
    found = check_mounting(wrench[:, :3], in_sensor(R_WS), R_WS)
    assert found.kind == "gravity direction"
    assert found.angle == pytest.approx(np.pi / 2, abs=0.05)
    assert "wall" in found.remedy


def test_small_misalignment_is_measured() -> None:
    R_WS = six_tilts()
    true_axes = R_WS @ Rotation.from_euler("x", 4, degrees=True).as_matrix()
    found = StaticPostures.tare(still(true_axes, OBJECT), in_sensor(R_WS))
    assert np.rad2deg(found.misalignment) == pytest.approx(4.0, abs=1e-6)


def refused_as(
    wrench: np.ndarray, gravity_S: np.ndarray, R_WS: np.ndarray, names: tuple[str, ...]
) -> str:
    """Names contained in the tare's refusal; "" if it is not refused."""
    try:
        StaticPostures.tare(wrench, gravity_S, R_WS=R_WS, sign=WrenchSign.SENSOR_ON_LOAD)
    except SignalError as err:
        return next(name for name in names if name in str(err))
    return ""


@pytest.mark.parametrize(
    ("name", "turn", "sign", "gravity", "mass"),
    [
        ("", [0, 0, 0], 1.0, GRAVITY, 0.3),
        ("upside down", [180, 0, 0], 1.0, GRAVITY, 0.3),
        ("turned", [0, 0, 90], 1.0, GRAVITY, 0.3),
        ("opposite sign", [0, 0, 0], -1.0, GRAVITY, 0.3),
        ("direction of gravity differs", [0, 0, 0], 1.0, np.array([9.81, 0.0, 0.0]), 0.3),
        ("already compensated", [0, 0, 0], 1.0, GRAVITY, 0.0),
    ],
)
def test_faults_are_told_apart_in_any_six_postures(
    name: str,
    turn: list[float],
    sign: float,
    gravity: np.ndarray,
    mass: float,
    rng: np.random.Generator,
) -> None:
    names = (
        "upside down",
        "turned",
        "opposite sign",
        "direction of gravity differs",
        "already compensated",
    )
    found = []
    for _ in range(40):
        R_WS = Rotation.random(6, rng=rng).as_matrix()
        tilted = Rotation.from_rotvec(rng.normal(size=3) * np.deg2rad(2.0)).as_matrix()
        axes = R_WS @ tilted @ Rotation.from_euler("xyz", turn, degrees=True).as_matrix()
        wrench = sign * still(axes, mass / OBJECT[0] * OBJECT, gravity)
        wrench = wrench + rng.normal(size=(6, 6)) * 0.01
        found.append(refused_as(wrench, in_sensor(R_WS), R_WS, names))
    assert found.count(name) >= 39, found
