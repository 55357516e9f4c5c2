# SPDX-License-Identifier: Apache-2.0
"""The behaviour of ros2_controllers' joint_trajectory_controller as seen from outside.

Compared command by command with the compiled controller of ros2_controllers 5.17 (kilted): see
`test_drivers_controller.py`. humble has no speed scaling of its own.

- A new trajectory is sampled at once. If its first point is in the future, the controller
  interpolates to it from the *measured* state (`set_point_before_trajectory_msg(time,
  state_current_)`), accelerations taken as zero. If its first points are in the past, the controller
  continues in the middle of the trajectory.
- Stamp zero means now. A trajectory that ends in the past is refused.
- Its time is set to the clock when a trajectory is taken over, then runs with the speed scaling
  (`traj_time_ += period * scaling_factor_`).
- The command is the trajectory at the *next* period, `traj_time_ + update_period_`, whatever the
  scaling; errors are relative to the trajectory at `traj_time_`.
- Quintic between points with position, velocity, acceleration.
- Path tolerances while moving, goal tolerances and `goal_time` at the end; a violation aborts the
  goal, and the command of that period isn't sent.
- A goal preempts the previous one, which ends as aborted.
- A cancel holds the measured position (`set_hold_position`), or with `decelerate_on_cancel` brakes
  every joint at `max_deceleration_on_cancel` from the measured state, from the next period on.
- Feedback at `action_monitor_rate` (20 Hz); `desired.time_from_start` is the trajectory's own time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Quintics:
    """Quintic between points, as `interpolate_between_points` with accelerations.

    Args:
        t: Times (K,) [s].
        rows: Positions, velocities and accelerations, (K, 3, n).
    """

    def __init__(self, t: Array, rows: Array) -> None:
        self.x = np.asarray(t, dtype=float)
        h = np.diff(self.x)[:, None]
        (p, v, a), (p1, v1, a1) = (np.moveaxis(r, 1, 0) for r in (rows[:-1], rows[1:]))
        d = p1 - p
        self._c = np.stack(
            [
                p,
                v,
                a / 2,
                (20 * d - (8 * v1 + 12 * v) * h - (3 * a - a1) * h**2) / (2 * h**3),
                (-30 * d + (14 * v1 + 16 * v) * h + (3 * a - 2 * a1) * h**2) / (2 * h**4),
                (12 * d - 6 * (v1 + v) * h + (a1 - a) * h**2) / (2 * h**5),
            ],
            axis=1,
        )

    def at(self, t: float) -> Array:
        """q, v and a, held at the ends, (3, n)."""
        t = min(max(t, self.x[0]), self.x[-1])
        k = min(max(int(self.x.searchsorted(t, side="right")) - 1, 0), len(self.x) - 2)
        s = t - self.x[k]
        s2, s3, s4 = s**2, s**3, s**4
        powers = np.array(
            [
                [1.0, s, s2, s3, s4, s**5],
                [0.0, 1.0, 2 * s, 3 * s2, 4 * s3, 5 * s4],
                [0.0, 0.0, 2.0, 6 * s, 12 * s2, 20 * s3],
            ]
        )
        return powers @ self._c[k]


@dataclass
class Goal:
    """A trajectory: times (K,) from its start, q, v, a (K, n), stamp of its start (0: now), and its
    outcome.
    """

    time: Array
    q: Array
    v: Array
    a: Array
    stamp: float = 0.0
    goal_time: float = 0.0
    outcome: str = ""  # succeeded, canceled, aborted
    error: str = ""
    at: float = 0.0  # trajectory's own time


@dataclass
class JointTrajectoryController:
    """One controller of n joints.

    Attributes:
        path_tolerance: Tolerance while moving; 0: none [rad].
        goal_tolerance: Tolerance at the end; 0: none [rad].
        deceleration_on_cancel: One value, or one per joint [rad/s^2]; None: `decelerate_on_cancel`
            is false.
        scaled: Whether its time runs with the speed scaling.
        from_desired: `interpolate_from_desired_state` (default false): from the last command.
        desired: Positions of this period, as feedback has them; the command is the next one's (n,).
        update_period: Nominal period of the manager [s]; None: that of each update.
        says_time: Whether feedback carries the trajectory's own time (not on humble).
    """

    n: int
    path_tolerance: float = 0.2
    goal_tolerance: float = 0.1
    deceleration_on_cancel: float | Array | None = None
    scaled: bool = False
    says_time: bool = True
    from_desired: bool = False
    update_period: float | None = None
    goal: Goal | None = None
    steps: list[tuple[float, float]] = field(
        default_factory=list
    )  # at take-overs: time, step [rad]

    def __post_init__(self) -> None:
        self._path: Quintics | None = None
        self._fresh = self._begins = False  # a goal, or a hold or stop, begins with the next period
        self._time = self._start = self._before = 0.0
        self._period = 1e-3
        self.desired = np.zeros(self.n)
        self._command: tuple[Array, Array, Array] | None = None

    def follow(self, goal: Goal, now: float) -> bool:
        """Take over a trajectory; False where the controller would refuse it."""
        bad = any(not np.all(np.isfinite(x)) for x in (goal.time, goal.q, goal.v, goal.a))
        moving = np.any(np.abs(goal.v[-1]) > np.finfo(np.float32).eps)
        if bad or np.any(np.diff(goal.time) <= 0) or moving:
            return False
        if goal.stamp and goal.stamp + goal.time[-1] < now:
            return False
        self._end("aborted", "Current goal preempted by new incoming action.")
        self.goal, self._fresh = goal, True
        return True

    def cancel(self, q: Array, v: Array) -> None:
        """Hold, or brake where that is configured, from the measured state of the last period."""
        self._end("canceled", "")
        if self.deceleration_on_cancel is None:
            self._hold(q)
            return
        a = np.broadcast_to(self.deceleration_on_cancel, v.shape)
        stop = np.abs(v) / a
        points = int(np.ceil(stop.max() / self._period)) + 1
        t = self._period * np.arange(points + 1)[:, None]
        moves, on, s = t < stop, np.minimum(t, stop), np.sign(v)
        rows = q + v * on - 0.5 * s * a * on**2, moves * (v - s * a * t), -s * a * moves
        self._path = Quintics(t[:, 0], np.stack(rows, axis=1))
        self._fresh, self._begins = False, True

    def _hold(self, q: Array) -> None:
        rest = np.stack([[q, 0 * q, 0 * q]] * 2)
        self._path = Quintics(np.array([0.0, 1.0]), rest)
        self._fresh, self._begins = False, True

    def _end(self, outcome: str, error: str) -> None:
        if self.goal is not None and not self.goal.outcome:
            self.goal.outcome, self.goal.error = outcome, error

    def update(
        self, now: float, period: float, q: Array, v: Array, scaling: float
    ) -> tuple[Array, Array, Array]:
        """One control period: the command's q, v and a (n,), from the measured q and v."""
        self._period = self.update_period or period
        if self._path is None and not self._fresh:
            self._hold(q)
        scaled = period * (scaling if self.scaled else 1.0)
        if self._fresh:
            self._take_over(now, q, v, scaled)
        elif self._begins:
            self._start = self._time = now
        else:
            self._time += scaled
        self._begins = False
        assert self._path is not None
        self.desired = self._path.at(self._time - self._start)[0]
        if self._check(q) or self._command is None:
            self._command = self._path.at(self._time - self._start + self._period)
        self._before = now
        return self._command

    def _take_over(self, now: float, q: Array, v: Array, scaled: float) -> None:
        goal, before = self.goal, self._command
        assert goal is not None
        self._time, self._fresh = now, False
        self._start = goal.stamp or now
        t, rows = goal.time, np.stack([goal.q, goal.v, goal.a], axis=1)
        if self._start + t[0] > now + 1e-9:  # from the measured state
            here, state = now, (q, v, 0 * q)
            if self.from_desired and before is not None:  # interpolate_from_desired_state
                here, state = self._before, before
            t = np.concatenate([[here - self._start], t])
            rows = np.concatenate([np.stack(state)[None], rows])
        if len(t) == 1:
            t, rows = np.append(t, t + 1e-3), np.concatenate([rows, rows])
        self._path = Quintics(t, rows)
        if before is not None:
            command = self._path.at(now - self._start + self._period)[0]
            going = before[0] + scaled * before[1]  # what it would have done anyway
            self.steps.append((now, float(np.max(np.abs(command - going)))))

    def _check(self, q: Array) -> bool:
        """True if the command may be sent: no tolerance is violated."""
        goal = self.goal
        if goal is None or goal.outcome:
            return True
        goal.at = self._time - self._start if self.says_time else 0.0
        error = float(np.max(np.abs(q - self.desired)))
        # The end has come where the *next* period is beyond it.
        over = self._time - self._start - float(goal.time[-1])
        if over + self._period < 0.0:
            if self.path_tolerance and error > self.path_tolerance:
                self._end("aborted", "Aborted due to path tolerance violation")
                self._hold(q)
                return False
        elif not self.goal_tolerance or error <= self.goal_tolerance:
            self._end("succeeded", "")
        elif goal.goal_time and over > goal.goal_time:
            self._end("aborted", "Aborted due to goal_time_tolerance exceeding")
            self._hold(q)
            return False
        return True
