# SPDX-License-Identifier: Apache-2.0
"""Execution of a trajectory at a variable speed within the acceleration limits."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.planning import Trajectory
from sysid_core.robot import Array

BISECTIONS = 30


class PathFollower:
    r"""Point that moves along a trajectory, `q(s(t))`, with a rate `s' ` between 0 and 1.

    Slow start, pause and stop are changes of the rate, so that the robot never leaves the checked
    path. The rate `s' = ds/dt` changes so slowly that no commanded joint velocity `v(s) s'` changes
    by more than `a_max dt` in one step, where `v(s)` is the trajectory's velocity and `a_max` the
    acceleration limit. A constant rate is always possible, because the trajectory itself respects
    `a_max`.

    Args:
        trajectory: Trajectory that starts and ends at rest and respects the acceleration limits.
        acceleration: Acceleration limits in the trajectory's joint order, (n,) [rad/s^2 or m/s^2].
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
        """True if the last sample has been commanded."""
        return self.s >= float(self.trajectory.time[-1])

    @property
    def progress(self) -> float:
        """Fraction of the trajectory's time that has been played, 0 to 1."""
        return (self.s - float(self.trajectory.time[0])) / self.trajectory.duration

    def advance(self, dt: float, goal_rate: float) -> None:
        """Advance by dt [s]; the rate approaches the desired rate as fast as the limits allow."""
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

    def move_to(self, s: float, rate: float) -> None:
        """Continue from another place on the path, at the current rate of the robot."""
        self.s, self.rate = s, float(np.clip(rate, 0.0, 1.0))
        self.q, v, a = self.trajectory.at(s)
        self.v, self.a = v * self.rate, a * self.rate**2

    def remaining_trajectory(self, full_rate: float, slow_start: float) -> tuple[Trajectory, Array]:
        """Return the remaining motion, ending at rest; its rate increases to 1 within `slow_start`
        [s].

        Returns:
            Motion, and path times of its samples, shape (K,) [s].
        """

        def rise(ghost: PathFollower, dt: float) -> float:
            return min(full_rate, ghost.rate + full_rate * dt / slow_start)

        return self._ahead(0.01, rise)

    def _ahead(
        self, dt: float, goal_rate: Callable[[PathFollower, float], float]
    ) -> tuple[Trajectory, Array]:
        """Sampled future commands until the path or the motion ends."""
        ghost = copy.copy(self)
        rows, places = [np.stack([ghost.q, ghost.v, ghost.a])], [ghost.s]
        while not ghost.at_end:
            goal = goal_rate(ghost, dt)
            if ghost.rate == 0.0 and goal == 0.0:
                break
            steady = ghost.rate == goal > 0.0
            ghost.advance(dt, goal)
            rows.append(np.stack([ghost.q, ghost.v, ghost.a]))
            places.append(ghost.s)
            if steady:  # nothing changes any more: the rest at once
                s = ghost._steady_places(dt)
                q, v, a = self.trajectory.at(s)
                rows += list(np.stack([q, v * ghost.rate, a * ghost.rate**2], axis=1))
                places += s.tolist()
                break
        rest = np.zeros_like(rows[-1])
        rest[0] = rows[-1][0]
        samples = np.stack([*rows, rest])
        trajectory = Trajectory(
            robot=self.trajectory.robot,
            urdf_hash=self.trajectory.urdf_hash,
            joint_names=self.trajectory.joint_names,
            time=np.arange(len(samples)) * dt,
            q=samples[:, 0],
            v=samples[:, 1],
            a=samples[:, 2],
        )
        return trajectory, np.array([*places, places[-1]])

    def _steady_places(self, dt: float) -> Array:
        """Path times of all future commands at the present rate, shape (K,)."""
        end = float(self.trajectory.time[-1])
        return np.append(np.arange(self.s + self.rate * dt, end, self.rate * dt), end)

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
