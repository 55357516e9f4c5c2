# SPDX-License-Identifier: Apache-2.0
"""Cables and hoses that pull on the sensor are learned with the empty arm, and subtracted."""

import numpy as np
import pytest

from sysid_core.errors import SignalError
from sysid_core.estimation.payload_live import weigh_motion
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.signals import JointStream, Recording, WrenchStream
from sysid_core.signals.wrench import SensorCalibration, StaticPostures
from sysid_core.signals.wrench.dress_pack import DressPack

ROBOT, FRAME = RobotModel.from_urdf("ur10"), "tool0"
TOOL = pi_from_mass_com_inertia(0.8, [0.0, 0.01, 0.04], 1e-3 * np.eye(3))
LOAD = pi_from_mass_com_inertia(1.3, [0.01, 0.0, 0.08], 2e-3 * np.eye(3))
BIAS = np.array([2.0, -1.0, 3.0, 0.05, 0.0, -0.1])
NOISE = np.repeat([0.02, 0.001], 3)  # of a posture's mean
MIDDLE = np.array([0.0, -1.2, 1.2, 0.0, 0.0, 0.0])  # of the workspace


def cable(rng, stiffness):
    """A soft pull in the axes of the base, with a lever of 5 cm; half a newton where it is least."""
    K = stiffness * (np.eye(3) + 0.3 * rng.normal(size=(3, 3)))
    force = np.column_stack([[0.3, -0.4, -0.2], K])
    return DressPack(
        np.array([0.5, 0.0, 0.4]), np.vstack([force, 0.05 * rng.normal(size=(3, 3)) @ force])
    )


def readings(motion, pi, pack):
    wrench = wrench_regressor(motion.a, motion.omega, motion.alpha) @ pi + BIAS
    return wrench + (pack.wrench(motion.R_WF, motion.p_WF) if pack else 0.0)


def empty_arm(rng, pack, count=24):
    q = rng.uniform(-1.2, 1.2, (count, 6)) + MIDDLE
    motion = ROBOT.frame_motion(FRAME, q, 0 * q, 0 * q)
    wrench = readings(motion, TOOL, pack)
    wrench = wrench + NOISE * rng.normal(size=wrench.shape)
    many = np.full(count, 100)
    return StaticPostures(
        wrench, motion.gravity, motion.R_WF, motion.p_WF, 10 * NOISE, many, 10**9 * np.arange(count)
    )


def weighed(rng, pack, calibration):
    """A loaded motion over the workspace."""
    time = np.arange(0.0, 8.0, 0.01)
    rate = 2.0 * np.pi * np.array([0.1, 0.13, 0.17, 0.23, 0.31, 0.37])
    phase = np.outer(time, rate) + rng.uniform(0, 6, 6)
    q = MIDDLE + 0.6 * np.sin(phase)
    motion = ROBOT.frame_motion(
        FRAME, q, 0.6 * rate * np.cos(phase), -0.6 * rate**2 * np.sin(phase)
    )
    wrench = readings(motion, TOOL + LOAD, pack)
    wrench = wrench + 5 * NOISE * rng.normal(size=wrench.shape)
    stamps = np.round(time * 1e9).astype(np.int64)
    joints = JointStream(ROBOT.joint_names, stamps, q + 1e-5 * rng.normal(size=q.shape))
    run = Recording(joints=joints, wrench=WrenchStream(FRAME, stamps, wrench))
    return weigh_motion(run, ROBOT, FRAME, calibration=calibration, clock=False).estimate


def plain_tare(postures):
    return StaticPostures.tare(postures.wrench, postures.gravity_S, R_WS=postures.R_WS, frame=FRAME)


@pytest.mark.parametrize("stiffness", [2.0, 5.0])
def test_a_learned_pull_is_taken_out_of_the_mass(rng, tmp_path, stiffness):
    pack = cable(rng, stiffness)
    postures = empty_arm(rng, pack)
    plain = plain_tare(postures)
    postures.with_dress_pack(plain).save(tmp_path / "sensor.yaml")
    learned = SensorCalibration.load(tmp_path / "sensor.yaml")
    assert learned.dress_pack is not None
    still = np.zeros((1, 6))
    there = ROBOT.frame_motion(FRAME, MIDDLE[None], still, still)
    # The tool's weight and a constant pull downwards are one.
    learned_empty = readings(there, learned.tool_pi, learned.dress_pack) - BIAS + learned.bias
    assert np.all(np.abs(readings(there, TOOL, pack) - learned_empty) < 5 * NOISE)
    found, before = (weighed(rng, pack, one) for one in (learned, plain.with_load_as_tool()))
    off, off_before = (abs(one.values[0] - 1.3) for one in (found, before))
    assert off < 2.5 * found.standard_deviations[0] and off < 0.02 * 1.3
    assert off < off_before


def test_no_pull_is_learned_where_there_is_none(rng):
    postures = empty_arm(rng, None)
    found = postures.with_dress_pack(plain_tare(postures))
    at = found.dress_pack.wrench(postures.R_WS, postures.p_WS)
    assert np.abs(at[:, :3]).max() < 0.1
    assert np.all(np.abs(found.bias - BIAS) < 5 * NOISE)
    assert np.all(found.bias_sd < 3 * NOISE)


def test_postures_near_one_place_are_refused(rng):
    postures = empty_arm(rng, None, count=8)
    with pytest.raises(SignalError, match="dress pack"):
        postures.with_dress_pack(plain_tare(postures))
