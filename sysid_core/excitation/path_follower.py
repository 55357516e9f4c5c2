"""Plays a trajectory at a speed that can change, without ever exceeding the acceleration limits."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.excitation.trajectory import Trajectory
from sysid_core.robot import Array

BISECTIONS = 30


class PathFollower:
    r"""A point that travels along a trajectory, `q(s(t))` with the rate `s' ` between 0 and 1.

    Slow start, pause and stop are changes of the rate, so the robot never leaves the path that was
    checked. A change is only taken as far as no joint's commanded velocity `v(s) s'` jumps by more
    than `a_max dt`; keeping the rate is always possible since the trajectory itself keeps `a_max`.

    Args:
        trajectory: At rest at both ends, inside the acceleration limits.
        acceleration: Limits, shape (n,) in the trajectory's joint order [rad/s^2 or m/s^2].
    """

    def __init__(self, trajectory: Trajectory, acceleration: ArrayLike) -> None:
        self.trajectory = trajectory
        self.acceleration = np.array(acceleration, dtype=float)
        self.s = float(trajectory.time[0])
        self.rate = 0.0
        self.q: Array = trajectory.q[0].copy()
        self.v: Array = np.zeros_like(self.q)
        self.a: Array = np.zeros_like(self.q)

    @property
    def at_end(self) -> bool:
        """Whether the last sample has been commanded."""
        return self.s >= float(self.trajectory.time[-1])

    @property
    def progress(self) -> float:
        """Share of the trajectory's time that has been played, 0 to 1."""
        return (self.s - float(self.trajectory.time[0])) / self.trajectory.duration

    def advance(self, dt: float, goal_rate: float) -> None:
        """Go on by dt [s], bringing the rate as near to the goal as the limits allow."""
        if dt <= 0.0:
            return
        rate = goal_rate if self._is_smooth(goal_rate, dt) else self._nearest_rate(goal_rate, dt)
        s = self._place_after(rate, dt)
        q, v, a = self.trajectory.at(s)
        slope = (rate - self.rate) / dt
        self.s, self.rate = s, rate
        self.q, self.v, self.a = q, v * rate, a * rate**2 + v * slope
        if self.at_end:
            self.v, self.a = np.zeros_like(self.v), np.zeros_like(self.a)

    def stopping_trajectory(self, rate_hz: float = 100.0) -> Trajectory:
        """The stop from the current commanded state, as a motion of its own.

        For controllers that take whole trajectories instead of a stream of commands. Its first
        sample is the current command, which may be moving; the last one is at rest.
        """
        ghost = copy.copy(self)
        rows, dt = [np.stack([ghost.q, ghost.v, ghost.a])], 1.0 / rate_hz
        while ghost.rate > 0.0 and not ghost.at_end:
            ghost.advance(dt, 0.0)
            rows.append(np.stack([ghost.q, ghost.v, ghost.a]))
        rows.append(np.stack([ghost.q, 0 * ghost.v, 0 * ghost.a]))
        samples = np.stack(rows)
        return Trajectory(
            robot=self.trajectory.robot,
            urdf_hash=self.trajectory.urdf_hash,
            joint_names=self.trajectory.joint_names,
            time=np.arange(len(samples)) * dt,
            q=samples[:, 0],
            v=samples[:, 1],
            a=samples[:, 2],
        )

    def _place_after(self, rate: float, dt: float) -> float:
        return min(self.s + 0.5 * dt * (self.rate + rate), float(self.trajectory.time[-1]))

    def _is_smooth(self, rate: float, dt: float) -> bool:
        _, v, _ = self.trajectory.at(self._place_after(rate, dt))
        return bool(np.all(np.abs(v * rate - self.v) <= self.acceleration * dt))

    def _nearest_rate(self, goal: float, dt: float) -> float:
        """Rate between the current one and the goal, closest to the goal, that is smooth."""
        good, bad = self.rate, goal
        for _ in range(BISECTIONS):
            middle = 0.5 * (good + bad)
            if self._is_smooth(middle, dt):
                good = middle
            else:
                bad = middle
        return good
