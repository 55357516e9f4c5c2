# SPDX-License-Identifier: Apache-2.0
"""Motion of a controller that receives whole trajectories, as a function of the controller's time."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.execution.path_follower import PathFollower
from sysid_core.planning import Trajectory
from sysid_core.robot import Array

OVERLAP = 0.1  # that a goal reaches into the past [s]
KNOT = 5  # samples of 10 ms between two points that a controller gets
STOP_PERIOD = 0.02  # between the points of a stop [s]
PERIOD = 0.01  # between the samples of a piece [s]
RATES = np.linspace(1.0, 0.02, 50)  # shares of the full rate that are tried, fastest first
# Share of the limits that a stop uses: an emulated Franka's torque loop overshoots by 15 % (1 gives
# peaks of 1.09, 0.95 of 1.08); the stop lasts 5 % longer.
STOP_SHARE = 0.9
STOP_TIMES = np.geomspace(0.1, 3.0, 18)  # that are tried, shortest first [s]


def brake(x: Array) -> tuple[Array, Array, Array]:
    r"""Return the distance, rate and slope of a stop of unit length: `1 - 3 x^2 + 2 x^3` and its
    integral.

    Rate and slope are continuous at the beginning and the end of the stop, so that the quintic
    interpolation of a controller does not exceed the limits.

    Args:
        x: Elapsed share of the stop's duration, 0 to 1, shape (K,).
    """
    return x - x**3 + 0.5 * x**4, 1.0 - 3.0 * x**2 + 2.0 * x**3, -6.0 * x + 6.0 * x**2


def braking_from(
    template: Trajectory, q: ArrayLike, v: ArrayLike, acceleration: ArrayLike
) -> Trajectory:
    """Return the stop from a measured state along a straight line in joint space, with the same
    rate for all joints.

    Args:
        template: Trajectory with the robot's name and joint names.
        q: Initial positions, shape (n,) [rad or m].
        v: Initial velocities, shape (n,) [rad/s or m/s].
        acceleration: Acceleration limits, shape (n,) [rad/s^2 or m/s^2].
    """
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    T = max(1.5 * float(np.max(np.abs(v) / np.asarray(acceleration))), 2 * STOP_PERIOD)
    time = np.linspace(0.0, T, int(np.ceil(T / STOP_PERIOD)) + 1)
    way, rate, slope = (x[:, None] for x in brake(time / T))
    return dataclasses.replace(
        template, time=time, q=q + v * T * way, v=v * rate, a=v * slope / T, segments=()
    )


@dataclass(frozen=True)
class Nearest:
    """Position of a robot along a motion.

    Attributes:
        u: Time of the nearest sample of the motion [s].
        distance: Largest distance of a joint from this sample [rad or m].
        rate: Velocity of the robot along the motion, relative to the velocity of the nearest sample
            [-].
    """

    u: float
    distance: float
    rate: float


@dataclass(frozen=True, eq=False)
class Outgoing:
    """Goal for a controller that takes whole trajectories.

    Attributes:
        trajectory: Trajectory that ends at rest.
        begin: Time at which the first sample is due, on the clock of the executor [s]; None: at the
            arrival of the goal.
        origin: Motion time of the goal's first sample [s].
    """

    trajectory: Trajectory
    begin: float | None
    origin: float

    @property
    def ends(self) -> float:
        """Motion time at which the goal comes to rest [s]."""
        return float(self.trajectory.time[-1])


@dataclass(frozen=True, eq=False)
class PlayedMotion:
    """Motion along a path with a slow start and a speed scale, as a function of the player's time.

    Attributes:
        path: Path that starts and ends at rest and respects the acceleration limits.
        acceleration: Acceleration limits in the path's joint order, shape (n,) [rad/s^2 or m/s^2].
        motion: Played part of the motion, at equal time steps.
        places: Path times of the motion's samples, shape (K,) [s].
    """

    path: Trajectory
    acceleration: Array
    motion: Trajectory
    places: Array

    @property
    def duration(self) -> float:
        """Duration of the motion in the player's time [s]."""
        return self.motion.duration

    def at(self, u: ArrayLike) -> tuple[Array, Array, Array]:
        """Return the q, v and a at times of shape (...), each of shape (..., n)."""
        return self.motion.at(u)

    @property
    def _period(self) -> float:
        return self.motion.duration / (len(self.motion.time) - 1)

    def _knot_after(self, u: float) -> int:
        knots = np.clip(u, 0.0, self.duration) / (KNOT * self._period)
        return KNOT * int(np.ceil(knots - 1e-9))

    def brakes_from(self, until: float) -> float:
        """Return the time at which a goal that follows the motion until a given time begins to
        brake [s]; see `goal`.
        """
        return min(self._period * self._knot_after(until), self.duration)

    def place(self, u: float) -> float:
        """Return the path parameter at a time [s]."""
        return float(np.interp(u, self.motion.time, self.places))

    def goal(self, first: float, until: float, *, exact: bool = False) -> Trajectory:
        """Return the piece of the motion that ends at rest: unchanged until a given time, then a
        stop.

        Successive goals of one motion share their trajectory points where they overlap in time, so
        that a new goal replaces the one being played without a jump of the command.

        Args:
            first: Time at or after the first point [s].
            until: Time from which the motion brakes, or a little later [s].
            exact: True if the first point must be exactly at `first`.

        Returns:
            Piece in motion time; the stop respects the acceleration limits if the motion permits
            it.
        """
        motion, last = self.motion, len(self.motion.time) - 1
        i0 = KNOT * int(np.clip(first / (KNOT * self._period), 0, last // KNOT))
        i1 = max(self._knot_after(until), i0)
        rows = np.arange(i0, min(i1, last) + 1, KNOT)
        if i1 >= last and rows[-1] != last:
            rows = np.append(rows, last)
        points = [motion.time[rows], motion.q[rows], motion.v[rows], motion.a[rows]]
        if exact:
            first = min(first, float(points[0][-1]) if i1 < last else self.duration - 0.01)
            keep = points[0] > first + 1e-6
            start = (np.array([first]), *(x[None] for x in self.at(first)))
            points = [np.concatenate([s, p[keep]]) for s, p in zip(start, points, strict=True)]
        if i1 < last:
            tail = self._stop(float(motion.time[i1]))
            points = [np.concatenate([p, t]) for p, t in zip(points, tail, strict=True)]
        elif len(points[0]) == 1:  # its very end
            points = [np.concatenate([p, p]) for p in points]
            points[0][1] += STOP_PERIOD
        time, q, v, a = points
        return dataclasses.replace(motion, time=time, q=q, v=v, a=a, segments=())

    def at_once(self, u: float, until: float) -> Outgoing:
        """Return the goal that starts on arrival, with the motion from u [s] on."""
        trajectory = self.goal(u, until, exact=True)
        return Outgoing(trajectory, None, float(trajectory.time[0]))

    def timed(self, u: float, until: float, at: float) -> Outgoing:
        """Return the goal whose motion time is u [s] at the clock time `at` [s], regardless of when
        it arrives.
        """
        trajectory = self.goal(u - OVERLAP, until)
        origin = float(trajectory.time[0])
        return Outgoing(trajectory, at + (origin - u), origin)

    def _stop(self, u1: float) -> tuple[Array, Array, Array, Array]:
        """Shortest stop along the path that begins after the path time u1 [s] and respects the
        limits.
        """
        best, best_ratio = None, np.inf
        for T in STOP_TIMES:
            x = np.linspace(0.0, 1.0, int(np.ceil(T / STOP_PERIOD)) + 1)[1:]
            way, rate, slope = brake(x)
            q, v, a = self.motion.at(np.minimum(u1 + T * way, self.duration))
            V = v * rate[:, None]
            A = a * rate[:, None] ** 2 + v * slope[:, None] / T
            ratio = float(np.max(np.abs(A) / self.acceleration))
            if ratio < best_ratio - 1e-3:
                best, best_ratio = (u1 + T * x, q, V, A), ratio
            if ratio <= STOP_SHARE:
                break
        assert best is not None
        time, q, v, a = best
        v[-1], a[-1] = 0.0, 0.0
        return time, q, v, a

    def nearest(self, q: ArrayLike, v: ArrayLike, since: float, until: float) -> Nearest:
        """Return the sample of the motion, within a window of time, that is nearest to a measured
        state; q and v of shape (n,).
        """
        return nearest(self.motion, q, v, since, until)


def whole_of(
    path: Trajectory,
    acceleration: ArrayLike,
    speed_scale: float,
    slow_start: float,
    begin: float = 0.0,
) -> PlayedMotion:
    """Return the path from a given time [s] on, with a rate that increases to a fraction of full
    speed.
    """
    follower = PathFollower(path, acceleration)
    if begin > 0.0:
        follower.move_to(begin, 0.0)
    motion, places = follower.remaining_trajectory(speed_scale, slow_start)
    return PlayedMotion(path, follower.acceleration, motion, places)


def piece_of(
    path: Trajectory,
    acceleration: ArrayLike,
    speed_scale: float,
    begin: float,
    lasts: float,
) -> PlayedMotion:
    r"""Return the path from a given point on, with a rate that increases and then decreases to
    zero.

    A controller sets its motion time to the clock when it accepts a goal; from then on, this time
    advances at the speed scaling `r`. A goal that arrives `dt` late therefore begins with a step of
    `(1 - r) dt |v|`, or of `r dt |v|` if it is started on arrival; only at rest there is no step.
    Therefore each goal starts while the robot is at rest, so that a late start of the goal has no
    effect.

    Args:
        path: Path that starts and ends at rest and respects the acceleration limits.
        acceleration: Acceleration limits in the path's joint order, shape (n,) [rad/s^2 or m/s^2].
        speed_scale: Largest rate, as a share of the path's speed, 0 to 1.
        begin: Path time at which the piece begins [s].
        lasts: Time of the player after which the rate decreases [s].
    """
    limits, end = np.array(acceleration, dtype=float), float(path.time[-1])

    def rows(rise: float, rate: float, fall: float) -> tuple[Array, Array, Array]:
        """q, v and a, (3, K, n), the path parameters and the times, (K,), for a rise time, a
        largest rate and a fall time; no deceleration if `fall` is 0.
        """
        time = np.linspace(0.0, lasts + fall, int(np.ceil((lasts + fall) / PERIOD)) + 1)
        x = np.clip(time / rise, 0.0, 1.0)
        way = rise * (x**3 - 0.5 * x**4) + np.clip(time - rise, 0.0, lasts - rise)
        share, slope = 3.0 * x**2 - 2.0 * x**3, (6.0 * x - 6.0 * x**2) / rise
        if fall > 0.0:
            falling, down, steep = brake(np.clip((time - lasts) / fall, 0.0, 1.0))
            way = way + fall * falling
            share, slope = share * down, slope + steep / fall
        places = begin + rate * way
        q, v, a = path.at(np.minimum(places, end))
        share, slope = rate * share[:, None], rate * slope[:, None]
        return np.stack([q, v * share, a * share**2 + v * slope]), places, time

    def keeps(rise: float, rate: float, fall: float = 0.0) -> bool:
        return float(np.max(np.abs(rows(rise, rate, fall)[0][2]) / limits)) <= 1.0

    times = [float(T) for T in STOP_TIMES[lasts >= STOP_TIMES]]
    tried = [(T, speed_scale) for T in times] + [(lasts, speed_scale * float(r)) for r in RATES]
    rise, rate = next((each for each in tried if keeps(*each)), tried[-1])
    fall = next((float(T) for T in STOP_TIMES if keeps(rise, rate, float(T))), STOP_TIMES[-1])
    sampled, places, time = rows(rise, rate, float(fall))
    last = int(np.searchsorted(places, end)) if places[-1] >= end else len(places) - 1
    sampled = sampled[:, : last + 1]
    sampled[1:, 0] = sampled[1:, -1] = 0.0
    q, v, a = sampled
    motion = dataclasses.replace(path, time=time[: last + 1], q=q, v=v, a=a, segments=())
    return PlayedMotion(path, limits, motion, np.minimum(places[: last + 1], end))


def nearest(motion: Trajectory, q: ArrayLike, v: ArrayLike, since: float, until: float) -> Nearest:
    """Return the sample of a motion, within a window of time, that is nearest to a measured state;
    q and v of shape (n,).
    """
    i0, i1 = np.searchsorted(motion.time, [since, until])
    i0 = min(int(i0), len(motion.time) - 1)
    window = slice(i0, max(int(i1), i0 + 1))
    distances = np.max(np.abs(motion.q[window] - np.asarray(q)), axis=1)
    k = int(np.argmin(distances))
    planned = motion.v[window][k]
    square = float(planned @ planned)
    if square < 1e-6:
        return Nearest(float(motion.time[window][k]), float(distances[k]), 0.0)
    # Between two samples: along the velocity.
    step = float(np.diff(motion.time[:2])[0])
    beside = float(planned @ (np.asarray(q) - motion.q[window][k])) / square
    u = float(motion.time[window][k]) + float(np.clip(beside, -step, step))
    here, speed, _ = motion.at(u)  # and once more: between samples the motion is no line
    u += float(
        np.clip(speed @ (np.asarray(q) - here) / max(float(speed @ speed), 1e-6), -step, step)
    )
    distance = float(np.max(np.abs(motion.at(u)[0] - np.asarray(q))))
    return Nearest(u, distance, float(planned @ np.asarray(v)) / square)
