# SPDX-License-Identifier: Apache-2.0
"""Clocks of joints and wrench: offset and drift by the motion, corrected in the open."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import SignalError
from sysid_core.robot import FrameMotion, RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.signals import JointStream, Recording, WrenchStream
from sysid_core.signals.wrench import ClockOffset
from sysid_core.signals.wrench.clock import estimate_clock

LOAD = pi_from_mass_com_inertia(0.64, [0.02, -0.01, 0.09], np.diag([4e-3, 3e-3, 2e-3]))
BIAS = np.array([0.3, -0.2, 0.1, 0.01, -0.015, 0.005])
NOISE = np.repeat([0.05, 0.0025], 3)
RATE = 2 * np.pi * np.array([0.0, 0.0, 0.0, 0.0, 0.40, 0.52, 0.64])
Q0, SWING = np.array([0.0, -0.3, 0.0, 0.9, 0.2, 0.7, 0.1]), np.deg2rad(45.0)


@pytest.fixture(scope="module")
def robot() -> RobotModel:
    return RobotModel.from_urdf("xarm7")


def swinging(robot: RobotModel, t: np.ndarray) -> FrameMotion:
    phase = RATE * t[:, None]
    q, v = Q0 + SWING * np.sin(phase), SWING * RATE * np.cos(phase)
    return robot.frame_motion("link7", q, v, -SWING * RATE**2 * np.sin(phase))


def measured(motion: FrameMotion) -> np.ndarray:
    return wrench_regressor(motion.a, motion.omega, motion.alpha) @ LOAD + BIAS


def coloured(rng: np.random.Generator, count: int, keep: float) -> np.ndarray:
    """Errors with unit standard deviation, correlated over about 1 / (1 - keep) samples."""
    out = np.zeros((count, 6))
    for k in range(1, count):
        out[k] = keep * out[k - 1] + np.sqrt(1.0 - keep**2) * rng.normal(size=6)
    return out


@pytest.mark.parametrize(("offset", "drift"), [(0.0, 0.0), (0.0373, 80e-6), (-0.31, -150e-6)])
def test_offset_and_drift_are_found_between_samples(robot, rng, offset, drift) -> None:
    t = np.arange(4000) / 100.0  # true time of the wrenches
    stamps = t + offset + drift * (t - 20.0)
    wrench = measured(swinging(robot, t)) + rng.normal(size=(4000, 6)) * NOISE
    motion_time = np.arange(-100, 4100) / 100.0
    found = estimate_clock(stamps, wrench, motion_time, swinging(robot, motion_time))
    at = found.at_ns * 1e-9
    true = offset + drift * (at - offset - 20.0)
    assert found.offset_sd < 2e-4 and found.drift_sd < 2e-5  # a fiftieth of a sampling period
    assert abs(found.offset_s - true) < 4.0 * found.offset_sd
    assert abs(found.drift - drift) < 4.0 * found.drift_sd
    assert found.drifts == (drift != 0.0)
    back = found.corrected(np.round(stamps * 1e9).astype(np.int64)) * 1e-9
    assert np.abs(back - t).max() < 1e-3


def test_the_deviation_allows_for_errors_that_hang_together(robot, rng) -> None:
    t = np.arange(2000) / 100.0
    motion_time = np.arange(-100, 2100) / 100.0
    motion, clean = swinging(robot, motion_time), measured(swinging(robot, t))
    scores = []
    for _ in range(8):
        wrench = clean + coloured(rng, len(t), 0.9) * NOISE
        found = estimate_clock(t + 0.02, wrench, motion_time, motion)
        scores.append(((found.offset_s - 0.02) / found.offset_sd) ** 2)
    assert 0.2 < np.mean(scores) < 3.0


def recording(robot: RobotModel, offset: float) -> Recording:
    t = np.arange(3000) / 100.0
    phase = RATE * t[:, None]
    joints = JointStream(
        tuple(robot.joint_names), np.round(t * 1e9), Q0 + SWING * np.sin(phase) * np.ones(7)
    )
    wrench = measured(swinging(robot, t))
    return Recording(
        joints=joints, wrench=WrenchStream("link7", np.round((t + offset) * 1e9), wrench)
    )


def test_a_correction_is_written_into_the_recording(robot) -> None:
    run = recording(robot, 0.12)
    clock = ClockOffset.of_recording(run, robot, "link7")
    assert clock.offset_s == pytest.approx(0.12, abs=2e-4) and clock.largest_s > 0.1
    mended = clock.apply(run)
    assert np.abs(mended.wrench.stamps_ns - run.joints.stamps_ns).max() < 3e5
    assert (
        "corrected to the clock of the joint states" in mended.notes[-1]
        and "120" in mended.notes[-1]
    )


def test_a_still_robot_shows_no_clock_and_no_wrench_is_an_error(robot, rng) -> None:
    t = np.arange(1000) / 100.0
    still = swinging(robot, np.zeros_like(t))
    still = FrameMotion(still.R_WF, 0 * still.omega, 0 * still.alpha, -still.gravity, still.gravity)
    wrench = np.tile(BIAS, (1000, 1)) + rng.normal(size=(1000, 6)) * NOISE
    assert not estimate_clock(t, wrench, t, still).is_known
    run = recording(robot, 0.0)
    with pytest.raises(SignalError, match="no wrench"):
        ClockOffset.of_recording(Recording(joints=run.joints), robot, "link7")


def test_clocks_that_are_further_apart_than_looked_for_are_refused(robot) -> None:
    with pytest.raises(SignalError, match="apart or more"):
        ClockOffset.of_recording(recording(robot, 0.4), robot, "link7", max_offset_s=0.2)


def test_stamps_before_their_time_are_early_not_negatively_late() -> None:
    clock = ClockOffset(-0.11984, 0.002, 0.0, 1e-6, 0, 10.0)
    assert str(clock).startswith("they are 119.84 ± 2.00 ms early")
    assert "120.00 ± 2.00 ms late" in str(ClockOffset(0.12, 0.002, 0.0, 1e-6, 0, 10.0))
