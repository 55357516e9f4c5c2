# SPDX-License-Identifier: Apache-2.0
r"""Simulation of one position servo with exact stiction.

All torques are divided by the servo's stiffness K and stated as angles: without a torque sensor,
only these ratios can be determined, except through gravity. With the reference r (the command after
delay and motion profile), the position q, and in the same units inertia m, damping \(\tau\),
gravity g and dry friction f,

\[ m\dot v + \tau v = r - z - q - g(q) - f s, \qquad s \in \mathrm{Sign}(v) . \]

Each step uses the implicit midpoint rule, with the second-order backward difference of velocities.
Coulomb's law is solved exactly as a complementarity problem: the velocity is the one without
friction, reduced by the friction impulse, and zero if this impulse is larger (Moreau; Stewart and
Trinkle 1996). A drive that sticks has the velocity 0.0, not a small one.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Terms = Array | tuple[float, ...]  # parameters of a drive
# [s] At rest before a recording begins, in which an integral ends. One that is slower isn't a servo's: it
# would be an offset that drifts, which every sticking drive seems to have.
RESTED = 4.0


def time_steps(t: Array, step: float) -> NDArray[np.int64]:
    """Return the fewest equal time steps of about `step` between the times t of shape (K,), shape
    (K - 1,).
    """
    return np.maximum(np.ceil(np.diff(t) / step - _LONGER), 1.0).astype(np.int64)


# Of a step: recorders that are a little late must not cost a step more (20.1 ms took three of 10 ms).
_LONGER = 0.1


@njit(cache=True, error_model="numpy")
def follow_commands(
    t: Array, steps: Array, t_target: Array, target: Array,
    delay: float, inverse_a: float, inverse_v: float, ref: Array,
) -> None:  # pragma: no cover - compiled  # fmt: skip
    """Write the reference of the servo at each time step into `ref`: the delayed command, or that of
    the servo's own motion profile.

    Args:
        t: Times, shape (K,) [s].
        steps: Number of time steps between them, shape (K - 1,).
        t_target: Times of the commands, shape (L,) [s].
        target: Commands, held until the next, shape (L,) [rad].
        delay: Dead time of the command [s].
        inverse_a: Inverse of the profile's acceleration [s²/rad].
        inverse_v: Inverse of its largest speed [s/rad].
        ref: Output: references at the start and after each step, shape (1 + sum(steps),) [rad].
    """
    before = t[0] - delay
    cursor = 0
    while cursor + 1 < t_target.size and t_target[cursor + 1] <= before:
        cursor += 1
    x, v, at = target[cursor], 0.0, 0
    ref[0] = x
    for i in range(1, t.size):
        dt = t[i] - t[i - 1]
        h = dt / steps[i - 1]
        per = 1.0 / h  # each step without a division: they take most of its time
        most = h / inverse_a if inverse_a > 0.0 else 0.0
        braking = 2.0 * inverse_a * per * per
        way_most = h / inverse_v if inverse_v > 0.0 else np.inf
        for k in range(steps[i - 1]):
            now = t[i - 1] + (k + 1.0) * h - delay
            # The command's mean over the step: smooth in the delay.
            total, since = 0.0, before
            while cursor + 1 < t_target.size and t_target[cursor + 1] <= now:
                change = t_target[cursor + 1]
                total += target[cursor] * (change - since)
                since = change
                cursor += 1
            total += target[cursor] * (now - since)
            before = now
            way = total * per - x
            if inverse_a > 0.0:
                # The servo's own profile: the speed from which the rest of the way brakes in time.
                speed = most * (np.sqrt(0.25 + braking * abs(way)) - 0.5)
                speed = min(speed, min(abs(way), way_most) * per)
                if way < 0.0:
                    speed = -speed
                v += min(max(speed - v, -most), most)
                x += h * v
            else:
                x += min(max(way, -way_most), way_most)
            at += 1
            ref[at] = x


@njit(cache=True, error_model="numpy", inline="always")
def spring_share(m: float, tau: float, h: float) -> float:  # pragma: no cover - compiled
    """Return the point of a time step, from 0.5 (its middle) to 1 (its end), at which the spring
    force is evaluated: the middle, or a later point if the motion would otherwise overshoot.
    """
    return max(0.5, 1.0 - (m / h + tau) / h)


@njit(cache=True, error_model="numpy", inline="always")
def drive_forces(
    error: float,
    w: float,
    last: float,
    p: Terms,
    g: float,
    load: float,
    m: float,
    h: float,
    theta: float,
) -> tuple[float, float, float]:  # pragma: no cover - compiled
    """Return the impulse without friction, the friction impulse, and the speed per impulse.

    Args:
        error: Position error (reference minus zero minus position) plus the integral term [rad].
        w: Velocity in the previous step [rad/s].
        last: Velocity in the step before the previous one [rad/s].
        p: Parameters of the drive in the order of `TERMS`.
        g: Gravity torque divided by the stiffness [rad].
        load: Total torque on the gears divided by the stiffness [rad].
        m: Inertia divided by the stiffness [s²].
        h: Time step [s].
        theta: Point of the time step at which the spring acts, 0.5 (middle) to 1 (end).
    """
    tau, inverse_limit = p[1], p[11]
    f = p[2] + p[3] * abs(load)
    if p[4] > 0.0:
        speed = abs(2.0 * w - last)
        f += p[4] * np.exp(-speed * (1.0 / max(p[5], 1e-6))) if speed > 0.0 else p[4]
    # Velocities are those in the middle of steps; so is their change, from the last three.
    momentum = m * (2.0 * w - 0.5 * last)
    if inverse_limit > 0.0 and abs(error) * inverse_limit > 1.0:
        return momentum + h * (np.sign(error) / inverse_limit - g), h * f, 1.0 / (1.5 * m + h * tau)
    # A quotient that is constant between two samples: compiled, it is computed once.
    return momentum + h * (error - g), h * f, 1.0 / (1.5 * m + h * tau + theta * h * h)


@njit(cache=True, error_model="numpy", inline="always")
def drive_speed(
    push: float, impulse: float, mobility: float
) -> float:  # pragma: no cover - compiled
    """Return the speed with Coulomb friction, which reduces the frictionless speed; 0.0 if the
    drive sticks.
    """
    if push > impulse:
        return (push - impulse) * mobility
    if push < -impulse:
        return (push + impulse) * mobility
    return 0.0


@njit(cache=True, error_model="numpy", inline="always")
def held_error(error: float, g: float, p: Terms) -> float:  # pragma: no cover - compiled
    """Return the integral term of the position loop after a rest, at which it balances gravity
    [rad].
    """
    return (g - error) * (1.0 - np.exp(-p[13] * RESTED))


@njit(cache=True, error_model="numpy", inline="always")
def sum_error(
    total: float, error: float, p: Terms, h: float
) -> float:  # pragma: no cover - compiled
    """Return the integral term of the position loop after one time step; it does not increase while
    the drive saturates [rad].
    """
    if p[13] <= 0.0:
        return 0.0
    if p[11] > 0.0 and abs(error + total) * p[11] > 1.0 and error * (error + total) > 0.0:
        return total
    return total + h * p[13] * error


@njit(cache=True, error_model="numpy")
def drive_rollout(
    t: Array, steps: Array, ref: Array, gravity_a: Array, gravity_b: Array, inertia: Array,
    low: Array, high: Array, turns: bool, q0: float, p: Array, q: Array,
) -> None:  # pragma: no cover - compiled  # fmt: skip
    """Simulate one servo: write its positions at the times t into q.

    Args:
        t: Times, shape (K,) [s].
        steps: Number of time steps between them, shape (K - 1,).
        ref: References at the start and after each step, shape (1 + sum(steps),) [rad].
        gravity_a: Coefficient of cos q in the gravity torque, shape (K,) [N m].
        gravity_b: Coefficient of sin q in the gravity torque, shape (K,) [N m].
        inertia: Inertia about the joint of all bodies that it moves, shape (K,) [kg m²].
        low: Smallest position, shape (K,) [rad]; shape (0,): no obstacle.
        high: Largest position, shape (K,) or (0,) [rad].
        turns: True for a revolute joint.
        q0: Position at `t[0]`, at rest [rad].
        p: Parameters of the drive in the order of `TERMS`.
        q: Output: positions, shape (K,) [rad].
    """
    compliance, zero, own_inertia, gap = p[0], p[6], p[10], p[12]
    # As a tuple, the steps take three quarters of the time that they take with an array.
    terms = (
        p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13],
    )  # fmt: skip
    x, w, last, y, total, at = q0, 0.0, 0.0, q0, 0.0, 0
    q[0] = q0
    for i in range(1, t.size):
        dt = t[i] - t[i - 1]
        count = steps[i - 1]
        h = dt / count
        if turns and compliance != 0.0:
            c, sn = np.cos(x), np.sin(x)
        else:
            c, sn = 1.0, 0.0
        g0 = compliance * (gravity_a[i - 1] * c + gravity_b[i - 1] * sn)
        g1 = compliance * (gravity_a[i] * c + gravity_b[i] * sn)
        slope = compliance * (gravity_b[i] * c - gravity_a[i] * sn) if turns else 0.0
        if i == 1:
            total = held_error(ref[0] - zero - x, g0, terms)
        m = own_inertia + abs(compliance) * inertia[i]
        theta = spring_share(m, p[1], h)
        x0 = x
        rise = (g1 - g0) / count
        for k in range(count):
            at += 1
            g = g0 + (k + 0.5) * rise + slope * (x - x0)
            error = ref[at] - zero - x
            total = sum_error(total, error, terms, h)
            push, impulse, mobility = drive_forces(error + total, w, last, terms, g, g, m, h, theta)
            last = w
            w = drive_speed(push, impulse, mobility)
            move = h * w
            if low.size and not low[i] <= x + move <= high[i]:
                move = max(min(move, high[i] - x), low[i] - x)
                # An obstacle takes momentum, but gives none: rounding of encoders would kick the joint.
                last = w = min(max(w, min(move, 0.0) / h), max(move, 0.0) / h)
            if w == 0.0:
                last = 0.0
            x += move
            y = min(max(y, x - gap), x + gap)
        q[i] = y
