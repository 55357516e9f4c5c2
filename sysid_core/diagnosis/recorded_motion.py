# SPDX-License-Identifier: Apache-2.0
"""Recorded motion resampled at equal intervals, and the parameters that it excites, before any
fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_core.estimation.arm import Processing
from sysid_core.planning.design import Conditioning, Expectation, Unknowns
from sysid_core.robot import Array, RobotModel, wrench_regressor
from sysid_core.signals import JointStream, in_order

_USUAL = Processing()  # rates and filters of a fit
_MOST = 4_000  # samples: more show nothing new, and memory is bounded
_WRENCH_CORRELATION = 0.02  # [s] over which errors of a wrench hang together
_TYPICAL_LOAD = np.array([1.0] + [0.1] * 3 + [0.01] * 6)  # [kg, kg m, kg m²]
_TYPICAL_BIAS = np.array([10.0] * 3 + [1.0] * 3)  # [N, N m]
_SHOWN = 0.2  # of the typical load: a direction that will be known better is shown


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """Motion resampled at equal intervals and filtered without phase lag; samples at standstill are
    omitted.

    Attributes:
        model: Robot model.
        q: Joint positions, shape (K, n) [rad or m].
        v: Joint velocities, shape (K, n) [rad/s or m/s].
        a: Joint accelerations, shape (K, n) [rad/s^2 or m/s^2].
        duration: Duration of the motion [s].
    """

    model: RobotModel
    q: Array
    v: Array
    a: Array
    duration: float

    @classmethod
    def of(cls, model: RobotModel, joints: JointStream) -> RecordedMotion:
        """Return the motion of a robot from joint states, which may contain further joints.

        Raises:
            ModelError: A joint of the robot is missing.
        """
        model.columns_from(joints.names)  # refuses another robot's recording
        motion = replace(in_order(joints)[0].ordered(model.joint_names), effort=None)
        parts = [
            _USUAL.low_pass.smooth(span, _USUAL.rate_hz)
            for span in motion.pieces(_USUAL.max_gap_s, _USUAL.rate_hz)
            if len(span) > _USUAL.rate_hz
        ]
        nothing = np.empty((0, model.nv))
        q, v, a = (
            np.concatenate([np.asarray(getattr(part, key)) for part in parts] or [nothing])
            for key in ("q", "v", "a")
        )
        moving = np.any(np.abs(v) > _USUAL.moving, axis=1)
        q, v, a = q[moving], v[moving], a[moving]
        duration = len(q) / _USUAL.rate_hz
        step = max(1, -(-len(q) // _MOST))
        return cls(model, q[::step], v[::step], a[::step], duration)

    def __len__(self) -> int:
        return len(self.q)

    def shows_of_arm(self, unknowns: Unknowns) -> tuple[Conditioning, Expectation]:
        """Return the rank, condition number and expected standard deviations of the arm's base
        parameters for this motion.
        """
        information = unknowns.information(self.q, self.v, self.a, self.duration)
        rank = Conditioning.of(unknowns, self.q, self.v, self.a)
        return rank, Expectation.of(unknowns, information, self.duration)

    def shows_of_payload(self, frame: str, noise_sd: Array) -> PayloadShown:
        """Return the rank and expected standard deviations of a payload's parameters, estimated
        together with the sensor bias.

        Args:
            frame: Name of the sensor's frame.
            noise_sd: Noise standard deviation of each wrench component, shape (6,) [N, N m].
        """
        motion = self.model.frame_motion(frame, self.q, self.v, self.a)
        A = wrench_regressor(motion.a, motion.omega, motion.alpha)
        A = np.concatenate([A, np.broadcast_to(np.eye(6), (len(A), 6, 6))], axis=2)
        Y = (A / noise_sd[:, None]).reshape(-1, 16)
        count = max(1.0, self.duration / _WRENCH_CORRELATION / max(len(self.q), 1))
        scale = np.append(_TYPICAL_LOAD, _TYPICAL_BIAS)
        information = (Y * scale).T @ (Y * scale) * count
        load, across, bias = information[:10, :10], information[:10, 10:], information[10:, 10:]
        load = load - across @ np.linalg.solve(
            bias + np.eye(6), across.T
        )  # the bias is unknown too
        shown = int(np.sum(np.linalg.eigvalsh(load) > 1.0 / _SHOWN**2))
        covariance = np.linalg.inv(load + np.eye(10)) * np.outer(scale[:10], scale[:10])
        return PayloadShown(shown, np.sqrt(np.diag(covariance)))


@dataclass(frozen=True, eq=False)
class PayloadShown:
    """Parameters of a 1 kg payload that a motion excites, with their expected standard deviations.

    Attributes:
        rank: Number of directions of the ten parameters that are excited independently of the bias.
        sd: Expected standard deviations of the ten parameters, shape (10,).
    """

    rank: int
    sd: Array

    @property
    def is_complete(self) -> bool:
        """True if the motion excites all ten payload parameters in addition to the sensor bias."""
        return self.rank == 10

    def __str__(self) -> str:
        mass, first, inertia = self.sd[0], self.sd[1:4].max(), self.sd[[4, 6, 9]].max()
        return (
            f"{self.rank} of 10 directions excited; expected standard deviations for a load of 1 kg: mass"
            f" {1e3 * mass:.2g} g, centre of mass {1e3 * first:.2g} mm, inertia {inertia:.1g} kg m²"
        )
