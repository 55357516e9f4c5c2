# SPDX-License-Identifier: Apache-2.0
"""Simulated experiment of the payload study: a wrist with simulated sensors swings an object.

Nadeau, Giamou and Kelly 2022, section V: the last three joints follow `alpha_n + 45 deg sin(2 pi
f_n s t)` with f = 0.1, 0.13, 0.16 Hz and a scale s that gives the specified mean angular speed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pinocchio as pin

from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_map import (
    JointSplines,
    MotionBelief,
    SplineMotion,
    WhiteMotion,
    filtered_motion_covariance,
)
from sysid_core.planning.payload import WristSwing
from sysid_core.robot import Array, RobotModel, wrench_regressor
from sysid_core.signals import JointStream
from sysid_core.signals.filters import JointFilter
from sysid_studies.payload.objects import StudyObject

RATE_HZ, FRAME = 100.0, "tool0"
POSTURE = (0.0, -1.6, 1.8, -0.6, -1.2, 0.4)  # of the UR10 [rad]; the paper doesn't say
ENCODER_SD = 1e-4  # [rad]


@dataclass(frozen=True)
class NoiseLevel:
    """Noise standard deviations (Nadeau et al. 2022, table II)."""

    name: str
    angular_acceleration: float  # [rad/s^2]
    linear_acceleration: float  # [m/s^2]
    force: float  # [N]
    torque: float  # [N m]


NOISE_LEVELS = {
    level.name: level
    for level in (
        NoiseLevel("none", 0.0, 0.0, 0.0, 0.0),
        NoiseLevel("low", 0.25, 0.025, 0.05, 0.0025),
        NoiseLevel("moderate", 0.5, 0.05, 0.1, 0.005),
        NoiseLevel("high", 1.0, 0.1, 0.33, 0.0067),
    )
}


@dataclass(frozen=True)
class SensorFaults:
    """Standard deviations of the systematic errors of the force-torque sensor, which are drawn once
    per run.
    """

    bias_force: float = 0.0  # [N]
    bias_torque: float = 0.0  # [N m]
    delay: float = 0.0  # [s], not drawn: the wrench lags by that much
    crosstalk: float = 0.0  # of each entry of the gain matrix
    crosstalk_length: float = 0.05  # [m], see SensorModel


GOAL_FAULTS = SensorFaults(0.3, 0.015, 0.01, 0.01)


@dataclass(frozen=True, eq=False)
class Swing:
    """Exactly known joint motion; K samples of n joints."""

    model: RobotModel
    frame: str
    time: Array
    q: Array
    v: Array
    a: Array


@cache
def robot() -> RobotModel:
    """Return the robot of the study, a UR10."""
    return RobotModel.from_urdf("ur10")


def swing(speed: float, seconds: float, *, shift: float = 0.0) -> Swing:
    """Return the motion of the paper at a given mean angular speed.

    Args:
        speed: Mean angular speed [rad/s].
        seconds: Duration [s].
        shift: Time shift of the motion relative to the samples [s].
    """
    time = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return Swing(robot(), FRAME, time, *_wrist(speed).at(time + shift))


@cache
def _wrist(speed: float) -> WristSwing:
    return WristSwing.of_speed(robot(), FRAME, POSTURE, speed)


def exact_data(motion: Swing, pi: Array) -> PayloadData:
    """Return the wrenches and motion without any error."""
    m = motion.model.frame_motion(motion.frame, motion.q, motion.v, motion.a)
    wrench = wrench_regressor(m.a, m.omega, m.alpha) @ pi
    return PayloadData.of(motion.time, wrench, m)


def sensor_poses(speed: float, seconds: float) -> Array:
    """Return the poses of the sensor in the robot's base, shape (K, 4, 4)."""
    motion = swing(speed, seconds)
    model = motion.model
    data, frame_id = model.pin_model.createData(), model.frame_id(motion.frame)
    poses = np.empty((len(motion.q), 4, 4))
    for k, q in enumerate(model.configuration(motion.q)):
        pin.framesForwardKinematics(model.pin_model, data, q)
        poses[k] = data.oMf[frame_id].homogeneous
    return poses


def measured_wrench(
    speed: float,
    seconds: float,
    thing: StudyObject,
    noise: NoiseLevel,
    faults: SensorFaults,
    rng: np.random.Generator,
) -> Array:
    """Return the simulated readings of the sensor, shape (K, 6)."""
    true = exact_data(swing(speed, seconds, shift=-faults.delay), thing.pi).wrench
    return disturbed(true, noise, faults, rng)


def disturbed(
    true: Array, noise: NoiseLevel, faults: SensorFaults, rng: np.random.Generator
) -> Array:
    """Return wrenches with the gain errors, bias and noise of a sensor, shape (K, 6)."""
    unit = np.repeat([1.0, faults.crosstalk_length], 3)
    gain = np.eye(6) + faults.crosstalk * rng.normal(size=(6, 6)) * unit[:, None] / unit
    bias = np.repeat([faults.bias_force, faults.bias_torque], 3) * rng.normal(size=6)
    white = np.repeat([noise.force, noise.torque], 3) * rng.normal(size=true.shape)
    return true @ gain.T + bias + white


@dataclass(frozen=True, eq=False)
class Experiment:
    """Data of one run as the estimators receive them.

    Attributes:
        causal: Data with the motion from Kalman filters, as in table III of the paper, or with
            noise that is added to the accelerations.
        smoothed: Data with the motion from smoothing splines; equal to `causal` if noise is added
            to the accelerations.
        belief: Uncertainty of the smoothed motion.
    """

    causal: PayloadData
    smoothed: PayloadData
    belief: MotionBelief


def encoder_experiment(
    speed: float,
    seconds: float,
    thing: StudyObject,
    noise: NoiseLevel,
    rng: np.random.Generator,
    *,
    faults: SensorFaults | None = None,
) -> Experiment:
    """Return the run with motion from encoders, as in table III of the paper."""
    motion = swing(speed, seconds)
    wrench = measured_wrench(speed, seconds, thing, noise, faults or SensorFaults(), rng)
    return seen_by_encoders(motion, wrench, rng)


def seen_by_encoders(motion: Swing, wrench: Array, rng: np.random.Generator) -> Experiment:
    """Return the samples with the motion from noisy encoder readings, filtered and smoothed."""
    q = motion.q + ENCODER_SD * rng.normal(size=motion.q.shape)
    stamps = np.round(motion.time * 1e9).astype(np.int64)
    filtered, _ = JointFilter.filter_stream(JointStream(motion.model.joint_names, stamps, q))
    assert filtered.v is not None and filtered.a is not None
    causal = motion.model.frame_motion(motion.frame, filtered.q, filtered.v, filtered.a)
    splines = JointSplines.fit(motion.time, q)
    belief = SplineMotion(motion.model, motion.frame, splines, motion.time)
    smooth = belief.frame_motion()
    covariance = filtered_motion_covariance(motion.model, motion.frame, filtered)
    return Experiment(
        PayloadData.of(motion.time, wrench, causal, covariance=covariance),
        PayloadData.of(motion.time, wrench, smooth),
        belief,
    )


def accelerometer_experiment(
    speed: float,
    seconds: float,
    thing: StudyObject,
    noise: NoiseLevel,
    rng: np.random.Generator,
) -> Experiment:
    """Return the run with independent noise on both accelerations, as in figures 6 and 7 of the
    paper.
    """
    exact = exact_data(swing(speed, seconds), thing.pi)
    wrench = measured_wrench(speed, seconds, thing, noise, SensorFaults(), rng)
    sd = np.repeat([noise.linear_acceleration, 0.0, noise.angular_acceleration], 3)
    x = np.hstack([exact.a, exact.omega, exact.alpha]) + sd * rng.normal(size=(len(exact), 9))
    covariance = np.tile(np.diag(sd**2), (len(exact), 1, 1))
    seen = replace(exact, a=x[:, :3], omega=x[:, 3:6], alpha=x[:, 6:])
    data = replace(seen, wrench=wrench, covariance=covariance)
    return Experiment(data, data, WhiteMotion(data.a, data.omega, data.alpha, sd))
