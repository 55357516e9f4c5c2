# SPDX-License-Identifier: Apache-2.0
"""A few hundred samples of a robot in motion, so that many hypotheses can be tested quickly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from sysid_core.diagnosis.fitness import LEAST_TRAVEL
from sysid_core.errors import SignalError
from sysid_core.estimation.arm import Processing
from sysid_core.robot import Array, DriveTrain, FrictionModel, RobotModel
from sysid_core.signals import Recording

LEAST_ROWS = 30  # in motion, of a joint that is judged
LAG = 0.02  # [s] of the efforts of every arm, standard deviation
LAGS = (-3.0 * LAG, 3.0 * LAG, 6.0 * LAG)  # of efforts behind positions that are tried


@dataclass(frozen=True, eq=False)
class Samples:
    """Filtered motion and torques of a robot; samples at standstill are omitted.

    Attributes:
        model: The robot, with its gravity.
        q: Joint positions, shape (K, n) [rad or m].
        v: Joint velocities, shape (K, n) [rad/s or m/s].
        a: Joint accelerations, shape (K, n) [rad/s^2 or m/s^2].
        tau: Joint torques, shape (K, n) [N m], or efforts in their own unit if gains are unknown.
        block: Index of the block of time of each sample, shape (K,).
        used: Mask of the joints that move and whose torque is not constant. Joints whose torque is
            only noise are excluded, unless the torques of all joints are noise.
        duration: Duration of the motion [s].
        tau_dot: Derivative of the torques, shape (K, n) [N m/s].
        later: Torques shifted by each of `LAGS`, and their derivatives, shape (len(LAGS), 2, K, n).
        size: Standard deviation of each joint's recorded torques, shape (n,) [N m].
        slow: Velocity scale of the smooth sign in Coulomb friction [rad/s].
    """

    model: RobotModel
    q: Array
    v: Array
    a: Array
    tau: Array
    block: NDArray[np.intp]
    used: NDArray[np.bool_]
    duration: float
    tau_dot: Array
    later: Array
    size: Array
    slow: float = 0.02

    def __len__(self) -> int:
        return len(self.q)

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Mask of samples in which a joint moves, shape (K, n); elsewhere its friction has no
        defined sign.
        """
        return np.asarray(np.abs(self.v) > self.slow)

    def friction(self, joint: int) -> Array:
        """Return the regressor of one joint's Coulomb friction, viscous friction, drive inertia and
        offset, shape (K, 4).
        """
        v = self.v[:, joint]
        return np.column_stack(
            [FrictionModel.smooth_sign(v, self.slow), v, self.a[:, joint], np.ones(len(v))]
        )

    def scaled(self, length: float = 1.0, rate: float = 1.0) -> Samples:
        """Return a copy with scaled positions and time derivatives."""
        speed = length * rate
        return replace(
            self,
            q=self.q * length,
            v=self.v * speed,
            a=self.a * speed * rate,
            slow=self.slow * speed,
            tau_dot=self.tau_dot * rate,
            later=self.later * np.array([1.0, rate])[:, None, None],
        )

    def with_torques(self, change: Callable[[Array], Array]) -> Samples:
        """Return a copy whose torques and their derivatives are transformed by `change`, a linear
        function that acts along the last axis (joints).
        """
        return replace(
            self,
            tau=change(self.tau),
            tau_dot=change(self.tau_dot),
            later=change(self.later),
            size=np.abs(change(self.size)),
            used=change(self.used.astype(float)) != 0.0,
        )

    def with_lag(self, which: int) -> Samples:
        """Return a copy with the torques delayed by `LAGS[which]`."""
        tau, tau_dot = self.later[which]
        return replace(self, tau=tau, tau_dot=tau_dot)

    def thinned(self, step: int) -> Samples:
        """Return a copy with every k-th sample."""
        some = slice(None, None, step)
        return replace(
            self,
            **{key: getattr(self, key)[some] for key in ("q", "v", "a", "tau", "tau_dot", "block")},
            later=self.later[:, :, some],
        )

    def with_model(self, model: RobotModel) -> Samples:
        """Return a copy of the motion for another robot model."""
        return replace(self, model=model)


def collect_samples(
    model: RobotModel,
    recordings: Sequence[Recording],
    drives: DriveTrain,
    *,
    count: int = 800,
    blocks: int = 12,
) -> Samples:
    """Return the samples of several recordings, reduced to a limited number.

    Args:
        model: Robot model.
        recordings: Recordings with declared efforts.
        drives: Drives, whose gains convert efforts to torques.
        count: Approximate number of samples.
        blocks: Number of blocks of time, with equal numbers of samples.

    Raises:
        SignalError: There is too little motion, or the efforts are constant.
    """
    cutoff = Processing.torque_cutoff_hz
    processing = Processing(motion_cutoff_hz=cutoff)
    low_pass = processing.low_pass
    parts: list[tuple[Array, ...]] = []
    duration = 0.0
    for recording in recordings:
        for span in processing.prepare(model, recording, FrictionModel(drives)):
            motion, rate = span.motion, span.rate_hz
            if motion.v is None or motion.a is None:
                continue
            # Positions say how far a joint went; the rest of its mean velocity is the sensor's.
            travelled = (motion.q[-1] - motion.q[0]) / max(motion.time[-1], 1e-9)
            v = motion.v - motion.v.mean(axis=0) + travelled
            moving = np.any(np.abs(v) > processing.moving, axis=1)
            trim = min(int(processing.end_trim * rate), len(moving) // 8)
            moving[:trim] = False
            moving[len(moving) - trim :] = False
            tau = low_pass.apply(span.tau, rate)
            duration += float(np.sum(moving)) / rate
            time = np.arange(len(tau)) / rate
            # Linear interpolation would smooth the noise, so that any delay would explain more.
            torque = CubicSpline(time, tau)
            there = [np.clip(time + lag, 0.0, time[-1])[moving] for lag in LAGS]
            later = np.array([[torque(x), torque(x, 1)] for x in there])
            passed = min(2.0 * cutoff / rate, 0.5)  # of white noise; the rest was taken out
            noise = (span.tau - tau) ** 2 * passed / (1.0 - passed)
            kept = [x[moving] for x in (motion.q, v, motion.a, tau, torque(time, 1), noise)]
            parts.append((*kept, np.moveaxis(later, 2, 0)))
    q, v, a, tau, tau_dot, noise, later = (
        np.concatenate([part[i] for part in parts]) if parts else np.empty((0, model.nv))
        for i in range(7)
    )
    if len(q) < 4 * blocks:
        raise SignalError(
            f"Only {len(q)} samples of these recordings are in motion.",
            remedy="Record the robot while it moves, for 10 s at least.",
        )
    rows = np.unique(np.linspace(0, len(q) - 1, count).astype(int))
    block = (np.arange(len(rows)) * blocks) // len(rows)
    q, v, a, tau = q[rows], v[rows], a[rows], tau[rows]
    used = (np.ptp(q, axis=0) > LEAST_TRAVEL) & (np.std(tau, axis=0) > 1e-9)
    used &= np.sum(np.abs(v) > Samples.slow, axis=0) >= LEAST_ROWS
    if not np.any(used):
        raise SignalError(
            "No joint has an effort that varies while it moves.",
            remedy="Check the column or topic of the efforts: they are constant, or were not measured.",
        )
    delayed = np.moveaxis(later[rows], 0, 2)
    silent = tau.var(axis=0) < 2.0 * noise.mean(axis=0)  # less signal than noise
    used &= ~silent if np.any(used & ~silent) else used
    size = np.maximum(tau.std(axis=0), 1e-4 * tau.std(axis=0).max())
    return Samples(model, q, v, a, tau, block, used, duration, tau_dot[rows], delayed, size)
