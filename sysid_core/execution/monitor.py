# SPDX-License-Identifier: Apache-2.0
"""Monitoring of a running motion, with the conditions that stop it."""

from __future__ import annotations

import dataclasses
from collections import deque
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.clock_gate import ClockGate, StampError, StampFault
from sysid_core.errors import ExcitationError
from sysid_core.execution.faults import Fault, FaultCode
from sysid_core.planning import MotionLimits
from sysid_core.robot import Array, RobotModel

# [rad or m] That a measured position may leave the planned range, which itself keeps a margin from
# the URDF's limits; factor on planned velocity, effort and TCP speed, for noise and tracking.
POSITION_MARGIN, EXCESS = 0.01, 1.2
_OF_STAMPS = {
    StampFault.FUTURE: FaultCode.STATE_FUTURE,
    StampFault.OLD: FaultCode.STATE_STALE,
    StampFault.BACKWARDS: FaultCode.STATE_BACKWARDS,
}


@dataclass(frozen=True, eq=False)
class Measured:
    """Newest state of the robot, with joints in any order; further joints are permitted.

    Attributes:
        stamp: Time of the measurement, on the same clock as the executor's `now` [s].
        joint_names: Names of the m joints, in the order of the arrays.
        q: Joint positions, shape (m,) [rad or m].
        v: Joint velocities, shape (m,) [rad/s or m/s].
        effort: Joint torques or forces, shape (m,) [N m or N]; None if not measured as torque.
        wrench: Measured wrench, force then torque, shape (6,) [N, N m]; None without a sensor.
        wrench_stamp: Time of the wrench measurement [s]; None: that of the joint state.
    """

    stamp: float
    joint_names: tuple[str, ...]
    q: Array
    v: Array
    effort: Array | None = None
    wrench: Array | None = None
    wrench_stamp: float | None = None


@dataclass(frozen=True, eq=False)
class MonitorLimits:
    """Limits that abort a running motion; arrays follow the robot's joints, shape (n,).

    Attributes:
        lower: Lower limits of the measured positions, shape (n,) [rad or m].
        upper: Upper limits of the measured positions, shape (n,) [rad or m].
        velocity: Limits of the measured speeds, shape (n,) [rad/s or m/s].
        effort: Limits of the measured efforts, shape (n,) [N m or N]; infinite: no limit.
        tracking_error: Limits on the difference between commanded and measured positions, shape
            (n,) [rad or m].
        tcp_frame: Name of the frame whose speed is limited.
        tcp_speed: Speed limit of `tcp_frame` [m/s].
        force: Limit of the norm of the measured force [N].
        torque: Limit of the norm of the measured torque [N m].
        stale_after: Largest age of the newest state [s].
        max_step: Longest time between two steps; a longer one is treated as a clock jump [s].
        wrench_stale_after: Largest age of the newest wrench, checked once the sensor has delivered
            a measurement [s].

    Raises:
        ExcitationError: A limit is NaN or not positive, or a lower limit is not below the upper
            one.
    """

    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    tracking_error: Array
    tcp_frame: str
    tcp_speed: float
    force: float = 200.0
    torque: float = 30.0
    stale_after: float = 0.1
    max_step: float = 0.25
    wrench_stale_after: float = 0.5

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if isinstance(value, str):
                continue
            array = np.asarray(value, dtype=float)
            ordered = item.name in ("lower", "upper")
            if np.isnan(array).any() or (not ordered and np.any(array <= 0.0)):
                raise ExcitationError(
                    f"The limit '{item.name}' of the monitor is invalid: {array.tolist()}.",
                    remedy="Give a positive number for each limit.",
                )
        if np.any(self.lower > self.upper):
            raise ExcitationError(
                "The monitor's lower position limits are not below the upper ones.",
                remedy="Correct the position limits in the limits file or the URDF: lower must be below upper by more than the margin.",
            )

    def as_dict(self) -> dict[str, object]:
        """Return all active limits as plain numbers and text."""
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}

    @classmethod
    def from_limits(
        cls, limits: MotionLimits, *, tracking_error: ArrayLike = 0.1, **others: float
    ) -> MonitorLimits:
        """Abort limits derived from the limits of the planner.

        Args:
            limits: Limits of the motion.
            tracking_error: Largest tracking error, one number for all joints, or shape (n,) [rad or
                m].
            others: Values of further attributes of this class that replace their defaults.
        """
        n = len(limits.joint_names)
        return cls(
            lower=limits.lower - POSITION_MARGIN,
            upper=limits.upper + POSITION_MARGIN,
            velocity=EXCESS * limits.velocity,
            effort=EXCESS * limits.effort,
            tracking_error=np.array(np.broadcast_to(np.asarray(tracking_error, dtype=float), (n,))),
            tcp_frame=limits.tcp_frame,
            tcp_speed=EXCESS * limits.tcp_speed,
            **others,
        )


class PositionRates:
    """Velocities from differences of positions, for drivers that do not measure velocities.

    Args:
        over: Minimum time over which velocities are computed [s]; shorter times would give large
            errors due to encoder steps and jitter.
    """

    def __init__(self, over: float = 0.05) -> None:
        self._over = over
        self._past: deque[tuple[float, Array]] = deque()

    def update(self, stamp: float, q: Array) -> Array | None:
        """Return the velocities at a stamp, shape (n,); None without enough samples."""
        if self._past and (stamp < self._past[-1][0] or q.shape != self._past[-1][1].shape):
            self._past.clear()  # another clock or another robot
        if self._past and stamp == self._past[-1][0]:
            self._past.pop()  # a clock that stands still
        self._past.append((stamp, q))
        while len(self._past) > 1 and stamp - self._past[1][0] >= self._over:
            self._past.popleft()
        time = stamp - self._past[0][0]
        return (q - self._past[0][1]) / time if time >= self._over else None


class Continuity:
    """Test whether each joint state can follow the previous one at the velocity limits of the robot.
    If not, they come from different publishers, or from a faulty encoder.

    Args:
        velocity: Velocity limits, shape (n,) [rad/s or m/s].
        tolerance: Distance that is always allowed [rad or m].
    """

    def __init__(self, velocity: Array, tolerance: float = 0.0) -> None:
        self._velocity, self._tolerance = velocity, tolerance
        self._before: tuple[float, float, Array] | None = None
        self._broke = False

    def breaks(self, now: float, stamp: float, q: Array) -> bool:
        """Return True if a state is too far from the previous one, also if it is looked at again.

        Args:
            now: Time at which the state is looked at [s].
            stamp: Stamp of the state [s].
            q: Positions, shape (n,) [rad or m].
        """
        before = self._before
        if before is not None and stamp == before[1] and np.array_equal(q, before[2]):
            return self._broke
        self._before, self._broke = (now, stamp, q), False
        if before is not None:
            dt = max(now - before[0], stamp - before[1], 0.0)  # both vary
            far = np.abs(q - before[2]) > self._velocity * dt + self._tolerance
            self._broke = bool(np.any(far))
        return self._broke


class ExecutionMonitor:
    """Monitor that compares the measured state with the limits at every step.

    Args:
        model: Robot model.
        limits: Limits that abort the motion.

    Attributes:
        impossible: True if the newest state cannot follow the one before, or is faster than its
            limits, so that no stop may begin there.
    """

    def __init__(self, model: RobotModel, limits: MonitorLimits) -> None:
        self.model, self.limits = model, limits
        for key in ("lower", "upper", "velocity", "effort", "tracking_error"):
            if np.shape(getattr(limits, key)) != (model.nv,):
                raise ExcitationError(
                    f"Monitor limit '{key}' has shape {np.shape(getattr(limits, key))}, expected"
                    f" ({model.nv},).",
                    remedy="Give one value for each joint.",
                )
        self._data = model.pin_model.createData()
        self._frame = model.frame_id(limits.tcp_frame)
        self._gate = ClockGate("joint_states", in_order=True)
        self.reset()

    def reset(self) -> None:
        """Delete the stored times of earlier samples, before a new run or after a pause."""
        self._last_now: float | None = None
        self._gate.forget()
        self._continuity, self.impossible = Continuity(self.limits.velocity), False
        self._compared: list[tuple[str, Array, Array, Array]] = []

    @property
    def used(self) -> dict[str, float]:
        """For each limit (key: its name), ratio of the newest value to the limit, for the joint with
        the largest ratio; 1: the limit is reached.
        """
        shares = {}
        for kind, value, lower, upper in self._compared:
            half, middle = (upper - lower) / 2, (upper + lower) / 2
            finite = np.isfinite(half) & (half > 0)
            if finite.any():
                share = np.max(np.abs(value - middle)[finite] / half[finite])
                shares[kind] = round(float(share), 3)
        return shares

    def in_order(self, measured: Measured) -> tuple[Array, Array]:
        """Return the measured positions and velocities in the robot's joint order, each (n,)."""
        columns = self.model.columns_from(measured.joint_names)
        return (
            np.asarray(measured.q, dtype=float)[columns],
            np.asarray(measured.v, dtype=float)[columns],
        )

    def usable(self, now: float, measured: Measured | None) -> tuple[Array, Array] | None:
        """Return the positions and velocities q and v, each (n,), if the state has all joints,
        finite values and a recent stamp; otherwise None.
        """
        if measured is None or not abs(now - measured.stamp) <= self.limits.stale_after:
            return None
        if self._joint_fault(measured) is not None:
            return None
        q, v = self.in_order(measured)
        return (q, v) if np.all(np.isfinite(q)) and np.all(np.isfinite(v)) else None

    def stale(self, now: float, measured: Measured | None, share: float = 1.0) -> Fault | None:
        """Return the fault if the newest state or wrench is too old; None if both are recent.

        Args:
            now: Current time [s].
            measured: Newest measured state; None if none has arrived.
            share: Allowed age as a fraction of the one that ends a motion.
        """
        age = np.inf if measured is None else now - measured.stamp
        if not age <= share * self.limits.stale_after:
            return Fault(FaultCode.STATE_STALE, {"seconds": age})
        if measured is None or measured.wrench is None or measured.wrench_stamp is None:
            return None
        age = now - measured.wrench_stamp
        if age <= share * self.limits.wrench_stale_after:
            return None
        return Fault(FaultCode.WRENCH_STALE, {"seconds": age})

    def fault(
        self, now: float, measured: Measured | None, q_commanded: ArrayLike | None = None
    ) -> Fault | None:
        """Return the first reason to stop, or None.

        Args:
            now: Current time [s].
            measured: Newest measured state; None if none has arrived.
            q_commanded: Commanded positions, shape (n,) [rad or m]; None without a command.
        """
        fault = self._clock_fault(now, measured)
        if fault is not None or measured is None:
            return fault
        fault = self._joint_fault(measured)
        if fault is not None:
            return fault
        q, v = self.in_order(measured)
        breaks = self._continuity.breaks(now, measured.stamp, q)
        self.impossible = breaks or bool(np.any(np.abs(v) > self.limits.velocity))
        columns = self.model.columns_from(measured.joint_names)  # a gripper's values are its own
        for key, used in (("q", columns), ("v", columns), ("effort", columns), ("wrench", ...)):
            values = getattr(measured, key)
            if values is not None and not np.isfinite(np.asarray(values, dtype=float)[used]).all():
                return Fault(FaultCode.NOT_FINITE, {"kind": key})
        return (
            self._state_fault(measured, q, v, q_commanded)
            or self.stale(now, measured)
            or self._wrench_fault(measured)
        )

    def _joint_fault(self, measured: Measured) -> Fault | None:
        names = measured.joint_names
        missing = [name for name in self.model.joint_names if name not in names]
        if missing:
            return Fault(FaultCode.JOINTS_MISSING, {"joints": missing})
        given = [x for x in (measured.q, measured.v, measured.effort) if x is not None]
        malformed = len({len(names), len(set(names)), *map(len, given)}) != 1
        return Fault(FaultCode.JOINTS_MALFORMED) if malformed else None

    def _clock_fault(self, now: float, measured: Measured | None) -> Fault | None:
        last_now, self._last_now = self._last_now, now
        if not np.isfinite(now):
            return Fault(FaultCode.NO_CLOCK)
        if last_now is not None and not 0.0 <= now - last_now <= self.limits.max_step:
            return Fault(FaultCode.CLOCK_JUMP, {"seconds": now - last_now})
        if measured is None:
            return Fault(FaultCode.NO_STATE)
        if not np.isfinite(measured.stamp):
            return Fault(FaultCode.NO_CLOCK)
        self._gate.oldest, self._gate.ahead = self.limits.stale_after, self.limits.max_step
        try:
            self._gate.take(round(measured.stamp * 1e9) or 1, round(now * 1e9))
        except StampError as err:
            return Fault(_OF_STAMPS[err.code], dict(err.data))
        return None

    def _state_fault(
        self, measured: Measured, q: Array, v: Array, q_commanded: ArrayLike | None
    ) -> Fault | None:
        limits, names = self.limits, self.model.joint_names
        checks = {
            FaultCode.POSITION: ("position", q, limits.lower, limits.upper),
            FaultCode.VELOCITY: ("velocity", v, -limits.velocity, limits.velocity),
        }
        if measured.effort is not None:
            columns = self.model.columns_from(measured.joint_names)
            effort = np.asarray(measured.effort, dtype=float)[columns]
            checks[FaultCode.EFFORT] = ("effort", effort, -limits.effort, limits.effort)
        if q_commanded is not None:
            error, largest = np.asarray(q_commanded, dtype=float) - q, limits.tracking_error
            checks[FaultCode.TRACKING_ERROR] = ("tracking error", error, -largest, largest)
        self._compared = list(checks.values())
        for code, (kind, value, lower, upper) in checks.items():
            outside = np.flatnonzero((value < lower) | (value > upper))
            if outside.size:
                j = int(outside[0])
                numbers = {"value": value[j], "lower": lower[j], "upper": upper[j]}
                return Fault(code, {"kind": kind, "joint": names[j], **numbers})
        pin.forwardKinematics(self.model.pin_model, self._data, self.model.configuration(q), v)
        velocity = pin.getFrameVelocity(self.model.pin_model, self._data, self._frame)
        speed = float(np.linalg.norm(velocity.linear))
        top = np.array([limits.tcp_speed])
        self._compared.append(("TCP speed", np.array([speed]), -top, top))
        if speed > limits.tcp_speed:
            return Fault(FaultCode.TCP_SPEED, {"value": speed, "upper": limits.tcp_speed})
        return None

    def _wrench_fault(self, measured: Measured) -> Fault | None:
        if measured.wrench is None:
            return None
        wrench = np.asarray(measured.wrench, dtype=float)
        if wrench.shape != (6,):
            return Fault(FaultCode.WRENCH_MALFORMED, {"count": wrench.size})
        for code, part, limit in (
            (FaultCode.FORCE, wrench[:3], self.limits.force),
            (FaultCode.TORQUE, wrench[3:], self.limits.torque),
        ):
            norm = float(np.linalg.norm(part))
            if norm > limit:
                return Fault(code, {"value": norm, "upper": limit})
        return None
