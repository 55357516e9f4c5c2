# SPDX-License-Identifier: Apache-2.0
"""Faults of a sensor and a robot, each alone: what a payload estimator doesn't know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_map import JointSplines, SplineMotion, filtered_motion_covariance
from sysid_core.robot import Array, wrench_regressor
from sysid_core.signals import JointStream
from sysid_core.signals.filters import filter_joints
from sysid_studies.payload.objects import StudyObject
from sysid_studies.payload.scene import (
    ENCODER_SD,
    NOISE_LEVELS,
    Experiment,
    Swing,
    swing,
)

_NOISE = np.repeat([NOISE_LEVELS["moderate"].force, NOISE_LEVELS["moderate"].torque], 3)
_PER_NEWTON = np.repeat([1.0, 0.05], 3)  # torque faults in proportion to those of the force
Fault = Callable[[Array, Array, np.random.Generator], Array]


@dataclass(frozen=True)
class Nuisance:
    """A fault, and how long the recording is.

    Attributes:
        wrench: From time (K,), wrench (K, 6) and a generator to the faulty wrench (K, 6).
        seconds: Duration of the recording.
        delay: Delay of the wrench [s].
        gravity: Tilt of gravity [rad].
        encoder: Offset of every encoder, standard deviation [rad].
        age: Age of the tare, which a session knows [s].
    """

    wrench: Fault = lambda time, wrench, rng: wrench
    seconds: float = 1.5
    delay: float = 0.0
    gravity: float = 0.0
    encoder: float = 0.0
    age: float = 0.0


def _axis(rng: np.random.Generator) -> Array:
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def _drift(rate: float, start: float) -> Fault:
    def fault(time: Array, wrench: Array, rng: np.random.Generator) -> Array:
        return wrench + np.outer(start + time, rate * _PER_NEWTON * rng.choice([-1, 1], 6))

    return fault


def _turned(degrees: float) -> Fault:
    def fault(time: Array, wrench: Array, rng: np.random.Generator) -> Array:
        R = Rotation.from_rotvec(np.deg2rad(degrees) * _axis(rng))
        return np.hstack([R.apply(wrench[:, :3]), R.apply(wrench[:, 3:])])

    return fault


def _hum(hertz: float) -> Fault:
    def fault(time: Array, wrench: Array, rng: np.random.Generator) -> Array:
        phase = rng.uniform(0, 2 * np.pi, 6)
        wave = np.sin(2 * np.pi * hertz * time[:, None] + phase)
        return wrench + 0.3 * _PER_NEWTON * wave

    return fault


def _spikes(time: Array, wrench: Array, rng: np.random.Generator) -> Array:
    out = wrench.copy()
    for _ in range(rng.poisson(3.0 * time[-1])):
        k = rng.integers(len(time))
        out[k : k + rng.integers(2, 4)] += _PER_NEWTON * rng.choice([-1, 1], 6)
    return out


def _gain(sd: float, cross: float) -> Fault:
    def fault(time: Array, wrench: Array, rng: np.random.Generator) -> Array:
        E = cross * rng.normal(size=(6, 6)) * _PER_NEWTON[:, None] / _PER_NEWTON
        np.fill_diagonal(E, sd * rng.normal(size=6))
        return wrench @ (np.eye(6) + E).T

    return fault


NUISANCES: dict[str, Nuisance] = {
    "none": Nuisance(),
    "stale tare (.3 N)": Nuisance(lambda t, w, rng: w + 0.3 * _PER_NEWTON * rng.normal(size=6)),
    "drift .5 N / 30 s, fresh": Nuisance(_drift(0.5 / 30, 0.0)),
    "drift .5 N / 30 s, 20 s after the tare": Nuisance(_drift(0.5 / 30, 20.0), age=20.0),
    "drift .5 N / 30 s, 30 s recorded": Nuisance(_drift(0.5 / 30, 0.0), seconds=30.0),
    "gain 2 % per axis": Nuisance(_gain(0.02, 0.0)),
    "crosstalk 2 %": Nuisance(_gain(0.0, 0.02)),
    "mounting 2°": Nuisance(_turned(2.0)),
    "mounting 5°": Nuisance(_turned(5.0)),
    "gravity 1°": Nuisance(gravity=np.deg2rad(1.0)),
    "gravity 3°": Nuisance(gravity=np.deg2rad(3.0)),
    "delay 20 ms": Nuisance(delay=0.02),
    "delay 40 ms": Nuisance(delay=0.04),
    "spikes 1 N, 3 per s": Nuisance(_spikes),
    "quantised .1 N": Nuisance(
        lambda t, w, rng: np.round(w / (0.1 * _PER_NEWTON)) * 0.1 * _PER_NEWTON
    ),
    "hum 50.1 Hz .3 N": Nuisance(_hum(50.1)),
    "hum 100.3 Hz .3 N (aliased)": Nuisance(_hum(100.3)),
    "encoder offsets .5°": Nuisance(encoder=np.deg2rad(0.5)),
}


def nuisance_experiment(
    speed: float, thing: StudyObject, nuisance: Nuisance, rng: np.random.Generator
) -> Experiment:
    """A recording with one fault, of an object at a mean angular speed [rad/s]."""
    motion = swing(speed, nuisance.seconds)
    model, frame, time = motion.model, motion.frame, motion.time
    late = swing(speed, nuisance.seconds, shift=-nuisance.delay)
    offsets = nuisance.encoder * rng.normal(size=model.nv)
    wrench = _true_wrench(replace(late, q=late.q + offsets), thing, nuisance.gravity, rng)
    if nuisance is NUISANCES["quantised .1 N"]:  # after the noise
        wrench = nuisance.wrench(time, wrench + _NOISE * rng.normal(size=wrench.shape), rng)
    else:
        wrench = nuisance.wrench(time, wrench, rng) + _NOISE * rng.normal(size=wrench.shape)
    q = motion.q + ENCODER_SD * rng.normal(size=motion.q.shape)
    stamps = np.round(time * 1e9).astype(np.int64)
    filtered, _ = filter_joints(JointStream(model.joint_names, stamps, q))
    assert filtered.v is not None and filtered.a is not None
    splines = JointSplines.fit(time, q)
    belief = SplineMotion(model, frame, splines, time)
    seen = model.frame_motion(frame, filtered.q, filtered.v, filtered.a)
    covariance = filtered_motion_covariance(model, frame, filtered)
    causal = PayloadData.of(time, wrench, seen, covariance=covariance)
    return Experiment(causal, PayloadData.of(time, wrench, belief.frame_motion()), belief)


def _true_wrench(motion: Swing, thing: StudyObject, tilt: float, rng: np.random.Generator) -> Array:
    m = motion.model.frame_motion(motion.frame, motion.q, motion.v, motion.a)
    across = np.append(_axis(rng)[:2], 0.0)
    turn = Rotation.from_rotvec(tilt * across / np.linalg.norm(across))
    g_W = np.einsum("kij,kj->ki", m.R_WF, m.gravity)
    moved = np.einsum("kji,kj->ki", m.R_WF, turn.apply(g_W) - g_W)
    return wrench_regressor(m.a - moved, m.omega, m.alpha) @ thing.pi
