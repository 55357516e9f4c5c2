# SPDX-License-Identifier: Apache-2.0
r"""Computed-torque control of streamed set points, with a damped stop and exchangeable parameters.

`u = G^T(q_d) W(q_d, q̇_d, q̈_d) theta + K_p e + K_d ė` (Zhang, Haugk, Vasudevan 2024, eq. 34),
where the gains follow the nominal inertia of the posture: `K_p = w^2 M(q_d)`, `K_d = 2 w M(q_d)`,
so that the error of every joint decays with critical damping in every posture, whether the arm is
stretched or bent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.clock_gate import AHEAD
from sysid_core.errors import SignalError
from sysid_core.robot import Array
from sysid_core.robot.loops import ClosedChain
from sysid_core.settings import Kind

_LONGEST_PERIOD = 0.05  # of set points that are followed along their acceleration [s]


class ControllerState(Kind):
    """State of a `TorqueController`."""

    IDLE = "idle"  # no set point yet: nothing is commanded
    TRACKING = "tracking"
    HOLDING = "holding"  # set points ended, at rest
    STOPPING = "stopping"  # set points ended in motion: a damped stop
    BLIND = "blind"  # no measured states: nothing is commanded, the robot's own watchdog acts


@dataclass(frozen=True)
class ControllerTiming:
    """Time constants and timeouts of a `TorqueController`.

    Attributes:
        setpoint_timeout: Age of the set point beyond which tracking ends [s].
        state_timeout: Age of the measured state beyond which no effort is commanded [s].
        ahead: Largest time by which stamps may lie in the future; messages with later stamps count
            as missing [s].
        stop_time: Time constant of the damped stop [s].
        fade: Duration of the transition to new parameters [s].
        still_speed: Speed below which a joint counts as at rest, for both the measured and the
            desired velocity [rad/s].
        still_time: Time for which robot and reference must have been at rest before parameters may
            be changed [s].
    """

    setpoint_timeout: float = 0.2
    state_timeout: float = 0.2
    ahead: float = AHEAD
    stop_time: float = 0.15
    fade: float = 1.0
    still_speed: float = 0.05
    still_time: float = 0.3


class TorqueController:
    """Computed-torque controller: efforts of the actuated joints from streamed set points and
    measured states.

    Zhang, Haugk and Vasudevan (2024), eq. (34).

    Args:
        chain: Nominal model, for the gains and initially for the feedforward; without loops for an
            open chain.
        bandwidth: Bandwidth w of the tracking-error dynamics [rad/s].
        timing: Time constants and timeouts.
        drive_inertia: Known drive inertias in addition to those of the chain, for the gains [kg
            m^2].
        feedback_limit: Largest acceleration due to the tracking error, beyond the one that cancels
            the acceleration of the reference [rad/s^2], so that the robot returns smoothly to the
            reference after a stall. The feedback never drives a joint faster than its velocity
            limit.
    """

    def __init__(
        self,
        chain: ClosedChain,
        bandwidth: float,
        timing: ControllerTiming | None = None,
        *,
        drive_inertia: float = 0.0,
        feedback_limit: float = np.inf,
    ) -> None:
        self.nominal = self.chain = chain
        self.bandwidth = bandwidth
        self.drive_inertia = drive_inertia
        self.feedback_limit = feedback_limit
        self.timing = timing or ControllerTiming()
        self.limits = chain.torque_limits
        self._fastest = chain.model.velocity_limits[chain.actuated_columns]
        self.state = ControllerState.IDLE
        self.saturated = np.zeros(chain.n_actuated, dtype=bool)
        self._set_point: tuple[float, Array, Array, Array] | None = None
        self._period = 0.0  # between the last two set points
        self._measured: tuple[float, Array, Array] | None = None
        self._moved_at = -np.inf
        self._commanded_at: float | None = None  # the last effort [s]
        self._posture: Array | None = None
        self._former: tuple[float, ClosedChain] | None = None
        self._good: tuple[ClosedChain, ...] = ()  # sets before the one in use, newest last
        self._known = b""  # the reference that these belong to
        self._torques = self._former_torques = np.zeros(chain.n_actuated)
        self._inertia = np.zeros((chain.n_actuated, chain.n_actuated))

    def set_point(self, t: float, q_d: ArrayLike, v_d: ArrayLike, a_d: ArrayLike) -> None:
        """Set the reference (position, velocity, acceleration) of one instant, each of shape
        (n_a,).

        Raises:
            SignalError: The number of values is wrong, or a value is NaN.
        """
        reference = [self._numbers(x, "set point") for x in (q_d, v_d, a_d)]
        if self._set_point is not None:
            self._period = float(np.clip(t - self._set_point[0], 0.0, _LONGEST_PERIOD))
        self._set_point = (t, reference[0], reference[1], reference[2])
        if np.any(np.abs(reference[1]) > self.timing.still_speed):
            self._moved_at = t

    def measured(self, t: float, q_a: ArrayLike, v_a: ArrayLike) -> None:
        """Set the measured state of the actuated joints, each of shape (n_a,).

        Raises:
            SignalError: The number of values is wrong, or a value is NaN.
        """
        q, v = self._numbers(q_a, "state"), self._numbers(v_a, "state")
        self._measured = (t, q, v)
        if np.any(np.abs(v) > self.timing.still_speed):
            self._moved_at = t

    def _is_fresh(self, t: float, sample: tuple[Any, ...] | None, timeout: float) -> bool:
        """True if the time of a sample is neither too old nor in the future."""
        return sample is not None and -self.timing.ahead <= t - sample[0] <= timeout

    def goes_on_from(self, t: float) -> tuple[list[tuple[Array, Array]], float]:
        """Return the current positions and velocities of the reference, each of shape (n_a,); the
        next set point must be continuous with them.

        Args:
            t: Time of the set point [s].

        Returns:
            Measured state and reference, as far as available, and the time since the followed set
            point [s]; 0: no set point is followed.
        """
        near = [] if self._measured is None else [self._measured[1:]]
        reference = self.desired(t)
        if reference is None or self._set_point is None:
            return near, 0.0
        followed = self._is_fresh(t, self._set_point, self.timing.setpoint_timeout)
        dt = max(t - self._set_point[0], 0.0) if followed else 0.0
        return [*near, reference[:2]], dt

    def stands_still(self, t: float) -> bool:
        """Return True if the robot and its reference have been at rest for a while, and the
        measured states are recent.
        """
        fresh = self._is_fresh(t, self._measured, self.timing.state_timeout)
        return fresh and t - self._moved_at >= self.timing.still_time

    def use(self, t: float, chain: ClosedChain) -> None:
        """Replace the dynamics model; the feedforward torque changes gradually.

        Raises:
            SignalError: The robot moves.
        """
        if not self.stands_still(t):
            raise SignalError(
                "The robot is moving: parameters can only be changed at rest.",
                remedy="Wait until the robot is at rest, and repeat the request.",
            )
        self._former, self._good = (t, self.chain), (*self._good, self.chain)
        self.chain = chain
        self._known = b""

    def _fall_back(self) -> bool:
        """Return to the previous set of parameters; False if the nominal set is in use."""
        if not self._good:
            return False
        *good, self.chain = self._good
        self._good, self._former, self._known = tuple(good), None, b""
        return True

    def desired(self, t: float) -> tuple[Array, Array, Array] | None:
        """Return the current position, velocity and acceleration of the reference, each of shape
        (n_a,); None before the first set point.

        Between set points the reference continues with the last acceleration. If the next set point
        is late, it continues with constant velocity; if none arrives, the velocity decreases
        exponentially to zero (damped stop).
        """
        if self._set_point is None:
            return None
        since, q_d, v_d, a_d = self._set_point
        dt = float(np.clip(t - since, 0.0, self._period))
        q_d, v_d = q_d + v_d * dt + 0.5 * a_d * dt * dt, v_d + a_d * dt
        ahead = float(np.clip(t - since, -self.timing.ahead, self.timing.setpoint_timeout))
        q_d = q_d + v_d * (ahead - dt)
        late = t - since - self.timing.setpoint_timeout
        if t - since < -self.timing.ahead:  # a clock that was set back: as old as any
            late = np.inf
        if late <= 0:
            return q_d, v_d, a_d
        T = self.timing.stop_time
        decay = np.exp(-late / T)
        return q_d + v_d * T * (1 - decay), v_d * decay, -v_d * decay / T

    def effort(self, t: float) -> Array | None:
        """Return the current efforts, within the limits, shape (n_a,) [N m]; None if no command is
        permitted.

        Raises:
            SignalError: The computed efforts are not finite.
        """
        sees = self._is_fresh(t, self._measured, self.timing.state_timeout)
        begun = self._set_point is not None or self.state is ControllerState.BLIND
        if self._is_interrupted(t, sees):  # a new set point must begin where the robot is then
            self._set_point = None
        reference = self.desired(t)
        if reference is None or self._set_point is None or not sees:
            self.state = ControllerState.BLIND if begun and not sees else ControllerState.IDLE
            self._commanded_at = None
            return None
        self._commanded_at = t
        q_d, v_d, _ = reference
        assert self._measured is not None
        if self._is_fresh(t, self._set_point, self.timing.setpoint_timeout):
            self.state = ControllerState.TRACKING
        else:
            still = bool(np.all(np.abs(v_d) <= self.timing.still_speed))
            self.state = ControllerState.HOLDING if still else ControllerState.STOPPING
        since, q, v = self._measured
        q = q + v * max(t - since, 0.0)  # it has moved on since
        if self.state is ControllerState.TRACKING:  # set points are dense: no need for more
            reference = self._set_point[1:]
        u = self._feedforward(t, *reference)
        while not np.all(np.isfinite(u)) and self._fall_back():
            u = self._feedforward(t, *reference)
        u = u + self._inertia @ self._feedback(q_d - q, v_d, v, reference[2])
        if not np.all(np.isfinite(u)):  # a clip would let NaN pass
            raise SignalError(
                "The computed efforts are not finite: no effort is commanded.",
                remedy="Check the parameters in use and the set points.",
            )
        out = np.clip(u, -self.limits, self.limits)
        self.saturated = out != u
        return np.asarray(out)

    def _is_interrupted(self, t: float, sees: bool) -> bool:
        """True if, during a motion, no effort was commanded for so long that the robot's own
        watchdog may have stopped the robot, away from the reference.
        """
        if self._set_point is None or not np.any(
            np.abs(self._set_point[2]) > self.timing.still_speed
        ):
            return False
        silent = 0.0 if self._commanded_at is None else t - self._commanded_at
        return not sees or silent > self.timing.state_timeout

    def _feedback(self, error: Array, v_d: Array, v: Array, a_d: Array) -> Array:
        """Acceleration `w^2 e + 2 w (v_d - v)` due to a position error, (n_a,), within the
        limits.
        """
        w, largest = self.bandwidth, self.feedback_limit
        speed = np.clip(v_d + 0.5 * w * error, -self._fastest, self._fastest)
        low, high = -largest - np.maximum(a_d, 0.0), largest - np.minimum(a_d, 0.0)
        return np.asarray(np.clip(2.0 * w * (speed - v), low, high))

    def _feedforward(self, t: float, q_d: Array, v_d: Array, a_d: Array) -> Array:
        """Feedforward torque along the reference; that of closed loops is cached, because it is
        slow to compute.
        """
        key = np.concatenate([q_d, v_d, a_d]).tobytes()
        if key != self._known:
            self._learn(q_d, v_d, a_d)
            self._known = key
        if self._former is None:
            return self._torques
        share = (t - self._former[0]) / self.timing.fade
        if share >= 1.0:
            self._former = None
            return self._torques
        return np.asarray(share * self._torques + (1.0 - share) * self._former_torques)

    def _learn(self, q_d: Array, v_d: Array, a_d: Array) -> None:
        """Store the torques along the reference, and the nominal inertia of its posture."""
        n = self.chain.n_actuated
        self._posture = self.chain.assemble(q_d[None], self._posture)
        motion = self.chain.motion(
            np.tile(q_d, (n + 2, 1)),
            np.vstack([v_d, np.zeros((n + 1, n))]),
            np.vstack([a_d, np.zeros(n), np.eye(n)]),
            q=np.tile(self._posture, (n + 2, 1)),
            ordered=False,
        )
        reference = motion.rows(slice(0, 1))
        self._torques = self.chain.torques(reference)[0]
        if self._former is not None:
            self._former_torques = self._former[1].torques(reference)[0]
        still = self.nominal.torques(motion.rows(slice(1, n + 2)))
        self._inertia = (still[1:] - still[0]).T + self.drive_inertia * np.eye(n)

    def _numbers(self, values: ArrayLike, what: str) -> Array:
        out = np.asarray(values, dtype=float)
        if out.shape != (self.chain.n_actuated,) or not np.all(np.isfinite(out)):
            raise SignalError(
                f"A {what} of shape {out.shape} has the wrong number of values, or contains NaN or infinite values.",
                remedy=f"Send {self.chain.n_actuated} finite numbers.",
            )
        return out
