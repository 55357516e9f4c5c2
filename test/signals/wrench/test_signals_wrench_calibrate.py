# SPDX-License-Identifier: Apache-2.0
"""Calibrating a sensor in still postures: gains, mounting, gravity, drift."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sysid_core.errors import SignalError
from sysid_core.estimation.payload_map import SensorModel
from sysid_core.signals.wrench import (
    FullCalibration,
    SensorCalibration,
    StaticPostures,
    WrenchCheck,
)
from sysid_core.signals.wrench.checks import slow_part

NOISE = np.repeat([0.02, 0.001], 3)


def postures(
    rng, count=20, *, mass=1.5, gain=(1.0, 1.0, 1.0), turn=(0, 0, 0), tilt=(0, 0), drift=0
):
    """Readings of a load, with the errors that are given; gravity and orientation as the model says."""
    R = Rotation.random(count, random_state=rng)
    load = mass * np.array([1.0, 0.01, -0.02, 0.05])
    true_gravity = R.inv().apply(Rotation.from_rotvec([*tilt, 0.0]).apply([0.0, 0.0, -9.81]))
    wrench = SensorCalibration.static_regressor(true_gravity) @ load
    wrench[:, :3] = Rotation.from_rotvec(turn).apply(wrench[:, :3]) * gain
    wrench += [3.0, -5.0, 12.0, 0.2, -0.1, 0.05] + NOISE * rng.normal(size=wrench.shape)
    time = np.arange(count) * 5.0
    wrench[:, :3] += np.outer(time / time[-1], np.full(3, drift))
    return wrench, R.inv().apply([0.0, 0.0, -9.81]), R.as_matrix(), time


def test_gains_mounting_gravity_and_drift_lie_within_their_deviations(rng):
    truth = {
        "gain": np.array([1.01, 0.99, 1.04]),
        "turn": np.array([0.01, -0.02, 0.005]),
        "tilt": np.array([0.01, -0.008]),
    }
    wrench, g, R, time = postures(rng, **truth, drift=0.8)
    full = FullCalibration.of(wrench, g, R, time, known_mass=1.5)
    assert np.all(np.abs(np.diag(full.gain) - truth["gain"]) < 3 * np.diag(full.gain_sd))
    assert np.all(np.abs(full.mounting - truth["turn"]) < 3 * full.mounting_sd + 5e-4)
    assert np.linalg.norm(full.tilt) == pytest.approx(np.linalg.norm(truth["tilt"]), abs=2e-3)
    assert np.all(np.abs(full.drift[:3] - 0.8) < 3 * full.drift_sd[:3])
    assert np.all(full.gain_sd < 0.01)


def test_an_axis_that_wanders_leaves_the_others_good_and_the_deviations_true(rng):
    z, spread = [], []
    for _ in range(12):
        wrench, g, R, time = postures(rng, gain=(1.02, 0.98, 1.03), turn=(0.01, 0.0, -0.01))
        wander = np.cumsum(rng.normal(size=20)) * 0.4
        wrench[:, 2] += wander
        full = FullCalibration.of(wrench, g, R, time, known_mass=1.5)
        gain = (np.diag(full.gain) - [1.02, 0.98, 1.03]) / np.diag(full.gain_sd)
        end = np.array([3.0, -5.0, 12.0 + wander[-1]])
        bias = (full.calibration.bias[:3] - end) / full.calibration.bias_sd[:3]
        z.append(np.concatenate([gain, bias]))
        spread.append(np.diag(full.gain_sd))
    assert 0.5 < np.mean(np.square(z)) < 2.0
    assert np.all(np.mean(spread, axis=0)[:2] < 0.005)


def test_an_unknown_mass_stays_confounded_with_the_mean_gain(rng):
    wrench, g, R, time = postures(rng, gain=(1.03, 1.03, 1.03))
    full = FullCalibration.of(wrench, g, R, time)
    assert any("mass" in line for line in full.confounded)
    mass, sd = full.mass
    assert abs(mass - 1.5) < 3 * sd and sd > 0.02


def test_a_calibrated_sensor_reads_the_load_and_survives_its_file(rng, tmp_path):
    wrench, g, R, time = postures(rng, gain=(1.0, 0.98, 1.05), turn=(0.02, 0.0, 0.01))
    kept = FullCalibration.of(wrench, g, R, time, known_mass=1.5, frame="ft").calibration
    kept.save(tmp_path / "sensor.yaml")
    again = SensorCalibration.load(tmp_path / "sensor.yaml")
    assert np.allclose(again.matrix, kept.matrix)
    force = (wrench - again.bias) @ again.matrix.T
    assert np.sqrt(np.mean((force[:, :3] + 1.5 * g) ** 2)) < 0.05


def test_too_few_postures_are_refused(rng):
    with pytest.raises(SignalError, match="too few"):
        FullCalibration.of(*postures(rng, count=6))


def test_a_real_sensor_calibrated_in_20_postures_predicts_the_others(shared_data):
    """ATI Axia80 with a tool: least squares leaves 0.52 N (norm of three axes), or 0.35 N with a
    linear drift.

    The bias of its z axis drifts by 2 N, but not linearly; x and y are accurate to 0.02 N.
    """
    pose, wrench = (
        np.loadtxt(
            shared_data / "ft_ati_axia80" / f"recorded_messages_{name}_100.txt", delimiter=","
        )
        for name in ("pose", "wrench")
    )
    R = Rotation.from_quat(pose[:, 3:])
    wrench = -np.hstack([R.inv().apply(wrench[:, :3]), R.inv().apply(wrench[:, 3:])])
    g, time = R.inv().apply([0.0, 0.0, -9.81]), np.arange(100.0)
    rng, left, plain = np.random.default_rng(1), [], []
    for _ in range(10):
        order = rng.permutation(100)
        a, b = np.sort(order[:20]), order[20:]
        full = FullCalibration.of(wrench[a], g[a], R.as_matrix()[a], time[a])
        kept = full.calibration
        across = np.linalg.svd(np.array([[0.0, 0.0, -1.0]]))[2][1:]
        seen = g[b] + 9.81 * R[b].inv().apply(full.tilt @ across)
        load = (
            SensorCalibration.static_regressor(seen) @ kept.tare_load @ np.linalg.inv(kept.matrix).T
        )
        error = wrench[b] - load - full.bias_at(time[b])
        left.append(np.sqrt(3.0 * np.mean(error[:, :3] ** 2)))
        tare = StaticPostures.tare(wrench[a], g[a])
        error = wrench[b] - SensorCalibration.static_regressor(g[b]) @ tare.tare_load - tare.bias
        plain.append(np.sqrt(3.0 * np.mean(error[:, :3] ** 2)))
    assert np.mean(left) < 0.2 < 0.48 < np.mean(plain)


def test_a_hum_that_aliases_is_seen_while_the_arm_stands_still(rng):
    time = np.arange(100) * 0.01
    white = NOISE * rng.normal(size=(100, 6))
    hum = 5.0 * NOISE * np.sin(2 * np.pi * 100.3 * time)[:, None]
    assert slow_part(white) < 2.0 < 2.5 < slow_part(white + hum)
    assert not WrenchCheck.slow_note([white] * 4)
    assert "aliasing" in WrenchCheck.slow_note([white + hum] * 4)[0]


def test_what_is_left_of_a_calibrated_sensor_comes_from_its_file(rng, tmp_path):
    """The mounting rotates the torques, too; no sensor error is taken for zero, whichever model is
    used.
    """
    turn = np.array([0.02, -0.02, 0.01])
    wrench, g, R, time = postures(rng, turn=turn, tilt=(0.01, 0.0))
    found = FullCalibration.of(wrench, g, R, time, known_mass=1.5).calibration
    turned = Rotation.from_matrix(found.matrix[3:, 3:]).as_rotvec()
    assert np.allclose(turned, -turn, atol=3e-3)
    found.save(tmp_path / "sensor.yaml")
    kept = SensorCalibration.load(tmp_path / "sensor.yaml")
    left = SensorModel.named("calibrated").tared(kept)
    assert left == SensorModel().tared(kept)
    assert left.gravity == pytest.approx(0.01, rel=0.2)
    assert 0.0 < left.mounting < SensorModel().mounting and left.gain == SensorModel().gain
    gain_sd = left.prior_sd()[-5 - 37 : -5]  # before mounting and gravity: shared, then the matrix
    assert gain_sd[0] < 2e-3 and np.all(gain_sd[1:].reshape(6, 6)[:3, :3] < 5e-3)
    assert np.all(np.diag(gain_sd[1:].reshape(6, 6))[3:] == left.gain)
    mass_unknown = FullCalibration.of(wrench, g, R, time).calibration
    assert SensorModel().tared(mass_unknown).prior_sd()[-5 - 37] > 0.01
