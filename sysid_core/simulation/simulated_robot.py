# SPDX-License-Identifier: Apache-2.0
"""Simulated robot with the interface of a driver: commands in, noisy stamped measurements out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BPoly

from sysid_core.errors import SignalError
from sysid_core.planning import Trajectory
from sysid_core.robot import Array
from sysid_core.signals import EffortKind, Mark, Recording
from sysid_core.simulation.closed_chain_plant import ClosedChainPlant
from sysid_core.simulation.plant import MujocoPlant, PositionPlant
from sysid_core.simulation.stepping import PlantSample


@dataclass(frozen=True)
class SensorNoise:
    """Noise standard deviations of the simulated sensors, and the bias of the force-torque sensor.

    Attributes:
        position: Noise of the joint positions [rad].
        velocity: Noise of the joint velocities [rad/s].
        effort: Noise of the joint efforts [N m].
        force: Noise of each force axis [N].
        torque: Noise of each torque axis [N m].
        wrench_bias: Constant bias of the wrench, force then torque, shape (6,) [N, N m].
    """

    position: float = 1e-4
    velocity: float = 1e-3
    effort: float = 0.05
    force: float = 0.1
    torque: float = 0.005
    wrench_bias: tuple[float, ...] = field(default=(0.0,) * 6)


@dataclass(frozen=True, eq=False)
class Measurement:
    """Measurement of the driver at one instant; n joints, time in seconds since the start."""

    time: float
    q: Array
    v: Array
    effort: Array
    wrench: Array


_BRAKING_RATE = 10.0  # [1/s] of the stop after the last effort
_BRAKING_PERIOD = 0.005  # of new braking efforts [s]: those of closed chains take a millisecond
_STANDING = 0.01  # [rad/s or m/s] below which the brake has stopped a robot
_LEAD_S = 0.5  # [s] of rest before a recorded motion


class SimulatedRobot:
    """MuJoCo simulation with the controller of an industrial robot.

    The robot holds its posture until commanded, plays joint trajectories as a
    joint_trajectory_controller does (quintic interpolation), follows streamed positions through a
    critically damped reference, or applies streamed efforts. The efforts of its drives are limited.
    If streamed efforts cease, the robot brakes within the limits of its drives and then holds its
    posture. Position servos follow trajectories and streamed positions directly, and accept no
    efforts.

    Args:
        plant: Simulation of the physics.
        q0: Initial posture, shape (n,) [rad or m].
        noise: Noise of the sensors.
        rng: Random generator of the noise.
        command_timeout_s: Age of a streamed effort beyond which the robot brakes and holds [s].
    """

    def __init__(
        self,
        plant: MujocoPlant | ClosedChainPlant | PositionPlant,
        q0: ArrayLike,
        noise: SensorNoise,
        rng: np.random.Generator,
        command_timeout_s: float = 0.1,
    ) -> None:
        self.plant = plant
        self.noise = noise
        self._rng = rng
        self._timeout = command_timeout_s
        plant.reset(q0)
        self._hold = np.array(q0, dtype=float)
        self._reference = (self._hold, np.zeros_like(self._hold))
        self._target: Array | None = None
        self._path: BPoly | None = None
        self._effort: tuple[float, Array] | None = None
        self._braking = False
        self._brake = (-np.inf, np.zeros(0))  # since when, and with which effort

    def command_trajectory(
        self, time: ArrayLike, q: ArrayLike, v: ArrayLike, a: ArrayLike, delay_s: float = 0.0
    ) -> None:
        """Play a trajectory from now (plus a delay); it replaces the current trajectory.

        Args:
            time: Increasing times since the start, shape (K,) [s].
            q: Positions, shape (K, n) [rad or m].
            v: Velocities, shape (K, n) [rad/s or m/s]; the last one zero.
            a: Accelerations, shape (K, n) [rad/s^2 or m/s^2].
            delay_s: Time until the start [s]; negative: the trajectory has already begun.

        Raises:
            SignalError: The trajectory is not finite, its time does not increase, or it does not
                end at rest.
        """
        t = np.asarray(time, float) + self.plant.time + delay_s
        q, v, a = (np.asarray(x, float) for x in (q, v, a))
        finite = all(np.all(np.isfinite(x)) for x in (t, q, v, a))
        if not finite or len(t) == 0 or np.any(np.diff(t) <= 0):
            raise SignalError(
                "The trajectory has NaN or times that don't increase.",
                remedy="Send finite points with increasing time_from_start.",
            )
        if np.any(np.abs(v[-1]) > 1e-6):
            raise SignalError(
                "The trajectory doesn't end at rest.",
                remedy="End the trajectory with zero velocity.",
            )
        if t[0] > self.plant.time + 1e-9:  # from where the robot is now to the first point
            now_q, now_v, now_a = self._desired(self.plant.time)
            t = np.concatenate([[self.plant.time], t])
            q, v, a = (np.vstack([x0, x]) for x0, x in ((now_q, q), (now_v, v), (now_a, a)))
        if len(t) == 1:
            t, q, v, a = (
                np.append(t, t + 1e-3),
                np.vstack([q, q]),
                np.vstack([v, v]),
                np.vstack([a, a]),
            )
        self._path = BPoly.from_derivatives(t, np.stack([q, v, a], axis=1))
        self._hold, self._target = q[-1].copy(), None
        self._effort, self._braking = None, False

    def command_position(self, q: ArrayLike) -> None:
        """Follow a streamed position, shape (n,) [rad or m]."""
        if self._target is None:
            self._reference = self._desired(self.plant.time)[:2]
        self._target = np.asarray(q, float).copy()
        self._path, self._effort, self._braking = None, None, False

    def command_effort(self, effort: ArrayLike) -> None:
        """Apply a streamed effort, (n,) [N m or N], until the next one or until a timeout.

        Raises:
            SignalError: The joints are position servos.
        """
        if isinstance(self.plant, PositionPlant):
            raise SignalError(
                "Position servos take no efforts.", remedy="Send positions or trajectories."
            )
        self._effort = (self.plant.time, np.asarray(effort, float).copy())
        self._path = self._target = None
        self._braking = False

    def _desired(self, t: float) -> tuple[Array, Array, Array]:
        zero = np.zeros_like(self._hold)
        if self._braking or self._effort is not None:  # it goes where it is driven
            return self.plant.q, self.plant.v, zero
        if self._target is not None:
            return *self._reference, zero
        if self._path is not None and t < self._path.x[-1]:
            t = max(t, float(self._path.x[0]))
            return self._path(t), self._path(t, 1), self._path(t, 2)
        return self._hold, zero, zero

    def _step(self) -> PlantSample:
        t = self.plant.time
        if isinstance(self.plant, PositionPlant):
            return self.plant.step(self._desired(t)[0] if self._target is None else self._target)
        if self._effort is not None:
            if t - self._effort[0] <= self._timeout:
                return self.plant.step(self.plant.limited(self._effort[1]))
            self._effort, self._braking = None, True  # the commander is gone
        if self._braking:
            if np.max(np.abs(self.plant.v)) > _STANDING:
                if t - self._brake[0] >= _BRAKING_PERIOD:
                    self._brake = (t, self.plant.braking_effort(_BRAKING_RATE))
                return self.plant.step(self._brake[1])
            self._hold, self._braking = self.plant.q, False
        if self._target is not None:  # critically damped second-order reference, 40 rad/s
            dt, w = float(self.plant.mj_model.opt.timestep), 40.0
            q, v = self._reference
            accel = w * w * (self._target - q) - 2 * w * v
            v = v + dt * accel
            self._reference = (q + dt * v, v)
        return self.plant.step(self.plant.limited(self.plant.servo_effort(*self._desired(t))))

    def advance(self, duration_s: float) -> Measurement:
        """Advance simulated time, and measure at the end of the interval."""
        end = self.plant.time + duration_s - 1e-9
        sample = self._step()
        while self.plant.time < end:
            sample = self._step()
        noise, rng, n = self.noise, self._rng, len(sample.q)
        sd = np.repeat([noise.force, noise.torque], 3)
        return Measurement(
            time=sample.time,
            q=sample.q + noise.position * rng.normal(size=n),
            v=sample.v + noise.velocity * rng.normal(size=n),
            effort=sample.effort + noise.effort * rng.normal(size=n),
            wrench=sample.wrench + np.asarray(noise.wrench_bias) + sd * rng.normal(size=6),
        )

    def record(
        self,
        trajectory: Trajectory,
        *,
        rate_hz: float = 200.0,
        wrench_frame: str = "",
    ) -> Recording:
        """Play a trajectory in simulation and record it, faster than real time.

        Args:
            trajectory: Trajectory of all joints of the robot.
            rate_hz: Rate of the measurements [Hz].
            wrench_frame: Name of the sensor's frame; empty: no wrench is recorded.

        Returns:
            Recording with marks `<segment>:start` and `<segment>:end`.
        """
        order = [trajectory.joint_names.index(name) for name in self.plant.joint_names]
        self.command_trajectory(
            trajectory.time - trajectory.time[0],
            trajectory.q[:, order],
            trajectory.v[:, order],
            trajectory.a[:, order],
            delay_s=_LEAD_S,
        )
        start = self.plant.time + _LEAD_S
        samples = [
            self.advance(1.0 / rate_hz)
            for _ in range(int((trajectory.duration + _LEAD_S) * rate_hz))
        ]
        marks = sorted(
            (
                Mark(round((start + t - trajectory.time[0]) * 1e9), f"{segment.label}:{edge}")
                for segment in trajectory.segments
                for t, edge in ((segment.start, "start"), (segment.end, "end"))
            ),
            key=lambda mark: mark.stamp_ns,
        )
        recording = Recording.from_arrays(
            self.plant.joint_names,
            [s.time for s in samples],
            [s.q for s in samples],
            [s.v for s in samples],
            effort=[s.effort for s in samples],
            effort_kind=EffortKind.ACTUATOR_TORQUE,
            wrench=[s.wrench for s in samples] if wrench_frame else None,
            wrench_frame=wrench_frame,
            source="simulation",
        )
        return replace(recording, marks=tuple(marks))
