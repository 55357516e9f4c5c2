# SPDX-License-Identifier: Apache-2.0
"""Plays a trajectory at a speed that can change, without ever exceeding the acceleration limits."""

from __future__ import annotations

import copy
from collections.abc import Callable

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
        q, v, a = self._sample(s)
        slope = (rate - self.rate) / dt
        self.s, self.rate = s, rate
        self.q, self.v, self.a = q, v * rate, a * rate**2 + v * slope
        if self.at_end:
            self.v, self.a = np.zeros_like(self.v), np.zeros_like(self.a)

    def stopping_trajectory(
        self,
        lead: float = 0.0,
        full_rate: float = 1.0,
        slow_start: float = 1.0,
        rate_hz: float = 100.0,
    ) -> Trajectory:
        """The stop, as a motion of its own, for controllers that take whole trajectories.

        Args:
            lead: The motion goes on for so long first; that part is left out [s].
            full_rate: To which the rate still rises meanwhile.
            slow_start: Time of a whole rise [s].
            rate_hz: Of the samples.

        Returns:
            Its first sample is the command at the end of `lead`, which may be moving; the last
            one is at rest.
        """
        ghost, steps = copy.copy(self), max(round(lead * rate_hz), 1)
        for _ in range(steps if lead > 0.0 else 0):
            dt = lead / steps
            ghost.advance(dt, min(full_rate, ghost.rate + full_rate * dt / slow_start))
        return ghost._ahead(1.0 / rate_hz, lambda follower, dt: 0.0)

    def remaining_trajectory(
        self, full_rate: float, slow_start: float, rate_hz: float = 100.0
    ) -> Trajectory:
        """What is left, with the rate rising to full within `slow_start` [s]; ends at rest."""

        def rise(ghost: PathFollower, dt: float) -> float:
            return min(full_rate, ghost.rate + full_rate * dt / slow_start)

        return self._ahead(1.0 / rate_hz, rise)

    def _ahead(self, dt: float, goal_rate: Callable[[PathFollower, float], float]) -> Trajectory:
        """The commands to come, sampled, until the path or the motion ends."""
        ghost = copy.copy(self)
        rows = [np.stack([ghost.q, ghost.v, ghost.a])]
        while not ghost.at_end:
            goal = goal_rate(ghost, dt)
            if ghost.rate == 0.0 and goal == 0.0:
                break
            steady = ghost.rate == goal > 0.0
            ghost.advance(dt, goal)
            rows.append(np.stack([ghost.q, ghost.v, ghost.a]))
            if steady:  # nothing changes any more: the rest at once
                rows += ghost._steady_rows(dt)
                break
        rest = np.zeros_like(rows[-1])
        rest[0] = rows[-1][0]
        samples = np.stack([*rows, rest])
        return Trajectory(
            robot=self.trajectory.robot,
            urdf_hash=self.trajectory.urdf_hash,
            joint_names=self.trajectory.joint_names,
            time=np.arange(len(samples)) * dt,
            q=samples[:, 0],
            v=samples[:, 1],
            a=samples[:, 2],
        )

    def _sample(self, s: float) -> tuple[Array, Array, Array]:
        """q, v and a at a place: v and a linear, q cubic so that it moves as v says."""
        t = self.trajectory
        k = int(np.clip(np.searchsorted(t.time, s) - 1, 0, len(t.time) - 2))
        h = float(t.time[k + 1] - t.time[k])
        x = (s - float(t.time[k])) / h
        v, a = ((1 - x) * y[k] + x * y[k + 1] for y in (t.v, t.a))
        chord = t.q[k] + (t.q[k + 1] - t.q[k]) * x * x * (3 - 2 * x)
        q = chord + h * x * (1 - x) * ((1 - x) * t.v[k] - x * t.v[k + 1])  # Hermite
        return q, v, a

    def _steady_rows(self, dt: float) -> list[Array]:
        """All commands to come at the present rate, each (3, n)."""
        path, rate = self.trajectory, self.rate
        s = np.arange(self.s + rate * dt, float(path.time[-1]), rate * dt)
        s = np.append(s, path.time[-1])
        q, v, a = (
            np.column_stack([np.interp(s, path.time, column) for column in x.T])
            for x in (path.q, path.v, path.a)
        )
        return list(np.stack([q, v * rate, a * rate**2], axis=1))

    def _place_after(self, rate: float, dt: float) -> float:
        return min(self.s + 0.5 * dt * (self.rate + rate), float(self.trajectory.time[-1]))

    def _is_smooth(self, rate: float, dt: float) -> bool:
        _, v, _ = self._sample(self._place_after(rate, dt))
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
