# SPDX-License-Identifier: Apache-2.0
"""Still postures and weight, from a robot's motion."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import SignalError
from sysid_core.robot import FrameMotion, RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.signals import JointStream, Recording, WrenchStream
from sysid_core.signals.wrench import StaticPostures
from sysid_core.signals.wrench.mounting import require_weight

LOAD = pi_from_mass_com_inertia(0.64, [0.02, -0.01, 0.09], np.diag([4e-3, 3e-3, 2e-3]))
BIAS = np.array([0.3, -0.2, 0.1, 0.01, -0.015, 0.005])
NOISE = np.repeat([0.05, 0.0025], 3)


@pytest.fixture(scope="module")
def robot() -> RobotModel:
    return RobotModel.from_urdf("xarm7")


def swinging(robot: RobotModel, t: np.ndarray) -> FrameMotion:
    """The last three joints oscillate by 45 degrees at incommensurate rates."""
    rate = 2 * np.pi * np.array([0.0, 0.0, 0.0, 0.0, 0.40, 0.52, 0.64])
    swing = np.deg2rad(45.0)
    q0 = np.array([0.0, -0.3, 0.0, 0.9, 0.2, 0.7, 0.1])
    phase = rate * t[:, None]
    q, v, a = (
        q0 + swing * np.sin(phase),
        swing * rate * np.cos(phase),
        -swing * rate**2 * np.sin(phase),
    )
    return robot.frame_motion("link7", q, v, a)


def measured(motion: FrameMotion, rng: np.random.Generator, noise: np.ndarray) -> np.ndarray:
    A = wrench_regressor(motion.a, motion.omega, motion.alpha)
    return A @ LOAD + BIAS + rng.normal(size=(len(A), 6)) * noise


def stop_and_go(robot: RobotModel, rng: np.random.Generator) -> Recording:
    """Six postures, 1.2 s each, joined by 1 s of smooth motion; streams of different rates."""
    postures = rng.uniform(-1.2, 1.2, size=(6, robot.nv))
    t = np.arange(0.0, 6 * 2.2, 1 / 250.0)

    def q_at(t: np.ndarray) -> np.ndarray:
        k = np.minimum((t // 2.2).astype(int), 5)
        s = np.clip((t - 2.2 * k - 1.2) / 1.0, 0.0, 1.0)
        s = s**3 * (10 - 15 * s + 6 * s**2)
        return postures[k] + s[:, None] * (postures[np.minimum(k + 1, 5)] - postures[k])

    h = 1e-3
    t_w = np.arange(0.0, t[-1], 1 / 100.0)
    q, before, after = q_at(t_w), q_at(t_w - h), q_at(t_w + h)
    motion = robot.frame_motion(
        "link7", q, (after - before) / (2 * h), (after - 2 * q + before) / h**2
    )
    joints = JointStream(
        robot.joint_names,
        (t * 1e9).astype(np.int64),
        q_at(t) + rng.normal(size=(len(t), robot.nv)) * 1e-4,
    )
    wrench = WrenchStream("link7", (t_w * 1e9).astype(np.int64), measured(motion, rng, NOISE))
    return Recording(joints=joints, wrench=wrench, source="stop-and-go")


def test_tare_routine_from_a_recording(robot: RobotModel, rng: np.random.Generator) -> None:
    postures = StaticPostures.find(stop_and_go(robot, rng), robot, "link7")
    assert len(postures) == 6
    np.testing.assert_allclose(postures.noise, NOISE, rtol=0.25)
    found = StaticPostures.tare(
        postures.wrench, postures.gravity_S, R_WS=postures.R_WS, noise=postures.noise
    )
    truth = np.r_[LOAD[:4], BIAS]
    error = np.r_[found.tare_load, found.bias] - truth
    assert np.all(np.abs(error) < 5 * np.sqrt(np.diag(found.covariance)))
    assert found.tare_mass[0] == pytest.approx(0.64, abs=0.003)
    assert np.all(found.bias_sd < [0.02] * 3 + [0.001] * 3)


def test_moving_recording_has_no_postures(robot: RobotModel, rng: np.random.Generator) -> None:
    t = np.arange(300) / 100.0
    stamps = (t * 1e9).astype(np.int64)
    q = np.tile(np.sin(2 * t)[:, None], (1, robot.nv))
    recording = Recording(
        joints=JointStream(robot.joint_names, stamps, q),
        wrench=WrenchStream("link7", stamps, np.zeros((300, 6))),
        source="run",
    )
    with pytest.raises(SignalError, match="is never at rest"):
        StaticPostures.find(recording, robot, "link7")


def test_weight_is_felt_in_motion_too(robot: RobotModel, rng: np.random.Generator) -> None:
    t = np.arange(300) / 100.0
    motion = swinging(robot, t)
    wrench = measured(motion, rng, NOISE)
    assert require_weight(wrench[:, :3], -motion.a) == pytest.approx(LOAD[0], rel=0.06)
    compensated = wrench + motion.gravity @ np.hstack([LOAD[0] * np.eye(3), np.zeros((3, 3))])
    with pytest.raises(SignalError, match="already compensated"):
        require_weight(compensated[:, :3], -motion.a, expected_mass=LOAD[0])
