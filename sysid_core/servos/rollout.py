# SPDX-License-Identifier: Apache-2.0
r"""Simulation of one position servo with exact stiction.

All torques are divided by the servo's stiffness K and stated as angles: without a torque sensor,
only these ratios can be determined, except through gravity. With the reference r (the command after
delay and motion profile), the position q, and in the same units inertia m, damping \(\tau\),
gravity g and dry friction f,

\[ m\dot v + \tau v = r - z - q - g(q) - f s, \qquad s \in \mathrm{Sign}(v) . \]

The step is the implicit midpoint rule, with the second backward difference of velocities, and the
complementarity of Coulomb's law solved exactly: the velocity is that without friction, reduced by
the friction impulse, and zero if this impulse is larger (Moreau; Stewart and Trinkle 1996). A drive
that sticks has the velocity 0.0, not a small one.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
# [s] At rest before a recording begins, in which an integral ends. One that is slower isn't a servo's: it
# would be an offset that drifts, which every sticking drive seems to have.
RESTED = 4.0


@njit(cache=True, error_model="numpy")
def first_command(t_target: Array, now: float) -> int:  # pragma: no cover - compiled
    """Index of the command that is active at a time."""
    cursor = 0
    while cursor + 1 < t_target.size and t_target[cursor + 1] <= now:
        cursor += 1
    return cursor


@njit(cache=True, error_model="numpy", inline="always")
def follow_commands(
    ref: float, ref_v: float, before: float, cursor: int, t_target: Array, target: Array,
    inverse_a: float, inverse_v: float, now: float, h: float,
) -> tuple[float, float, int]:  # pragma: no cover - compiled  # fmt: skip
    """Reference of the servo's internal motion profile, one time step ahead.

    Args:
        ref: Reference [rad].
        ref_v: Its speed [rad/s].
        before: Time up to which commands were taken [s].
        cursor: Number of the command that is held.
        t_target: Times of the commands, shape (L,) [s].
        target: Commands, shape (L,) [rad].
        inverse_a: Inverse of the profile's acceleration [s²/rad].
        inverse_v: Reciprocal of its largest speed [s/rad].
        now: Time to which to go [s].
        h: Time step [s].
    """
    # The command's mean over the step: smooth in the delay.
    total, at = 0.0, before
    while cursor + 1 < t_target.size and t_target[cursor + 1] <= now:
        change = t_target[cursor + 1]
        total += target[cursor] * (change - at)
        at = change
        cursor += 1
    total += target[cursor] * (now - at)
    way = total / h - ref
    if inverse_a > 0.0:
        # The servo's own profile: the speed from which the rest of the way brakes in time.
        most = h / inverse_a
        speed = most * (np.sqrt(0.25 + 2.0 * abs(way) / (most * h)) - 0.5)
        speed = min(speed, abs(way) / h)
        if inverse_v > 0.0:
            speed = min(speed, 1.0 / inverse_v)
        if way < 0.0:
            speed = -speed
        ref_v += min(max(speed - ref_v, -most), most)
        ref += h * ref_v
    elif inverse_v > 0.0:
        most = h / inverse_v
        ref += min(max(way, -most), most)
    else:
        ref += way
    return ref, ref_v, cursor


@njit(cache=True, error_model="numpy", inline="always")
def spring_share(m: float, tau: float, h: float) -> float:  # pragma: no cover - compiled
    """Spring force at the middle of a step, or at its end if the middle would overshoot."""
    return max(0.5, 1.0 - (m / h + tau) / h)


@njit(cache=True, error_model="numpy", inline="always")
def drive_forces(
    error: float,
    w: float,
    last: float,
    p: Array,
    g: float,
    load: float,
    m: float,
    h: float,
    theta: float,
) -> tuple[float, float, float]:  # pragma: no cover - compiled
    """Impulse without friction, friction impulse, and the denominator of the speed.

    Args:
        error: From the position to the reference without its zero, and the error's integral [rad].
        w: Speed in the last step [rad/s].
        last: In the one before [rad/s].
        p: The drive's parameters in the order of `TERMS`.
        g: Gravity over the stiffness [rad].
        load: All that loads the gears, over the stiffness [rad].
        m: Inertia over the stiffness [s²].
        h: Time step [s].
        theta: Part of the step after which the spring acts.
    """
    tau, inverse_limit = p[1], p[11]
    f = p[2] + p[3] * abs(load)
    if p[4] > 0.0:
        f += p[4] * np.exp(-abs(2.0 * w - last) / max(p[5], 1e-6))
    # Velocities are those in the middle of steps; so is their change, from the last three.
    momentum = m * (2.0 * w - 0.5 * last)
    if inverse_limit > 0.0 and abs(error) * inverse_limit > 1.0:
        return momentum + h * (np.sign(error) / inverse_limit - g), h * f, 1.5 * m + h * tau
    return momentum + h * (error - g), h * f, 1.5 * m + h * tau + theta * h * h


@njit(cache=True, error_model="numpy", inline="always")
def drive_speed(
    push: float, impulse: float, denominator: float
) -> float:  # pragma: no cover - compiled
    """Speed with Coulomb friction: the frictionless speed, reduced; 0.0 if the drive sticks."""
    if push > impulse:
        return (push - impulse) / denominator
    if push < -impulse:
        return (push + impulse) / denominator
    return 0.0


@njit(cache=True, error_model="numpy", inline="always")
def held_error(error: float, g: float, p: Array) -> float:  # pragma: no cover - compiled
    """Integral term of the position loop after a rest, at which it balances gravity [rad]."""
    return (g - error) * (1.0 - np.exp(-p[13] * RESTED))


@njit(cache=True, error_model="numpy", inline="always")
def sum_error(
    total: float, error: float, p: Array, h: float
) -> float:  # pragma: no cover - compiled
    """Integral term of the position loop after one time step; it does not increase while the drive
    saturates [rad].
    """
    if p[13] <= 0.0:
        return 0.0
    if p[11] > 0.0 and abs(error + total) * p[11] > 1.0 and error * (error + total) > 0.0:
        return total
    return total + h * p[13] * error


@njit(cache=True, error_model="numpy")
def drive_rollout(
    t: Array, t_target: Array, target: Array, gravity_a: Array, gravity_b: Array, inertia: Array,
    low: Array, high: Array, turns: bool, q0: float, p: Array, step: float, q: Array, v: Array,
) -> None:  # pragma: no cover - compiled  # fmt: skip
    """Simulate one servo: write positions and velocities at the times t into q and v.

    Args:
        t: Times, shape (K,) [s].
        t_target: Times of the commands, shape (L,) [s].
        target: Commands, held until the next, shape (L,) [rad].
        gravity_a: Gravity's coefficient of cos q, shape (K,) [N m].
        gravity_b: Coefficient of sin q, shape (K,) [N m].
        inertia: Inertia of the bodies behind the joint, shape (K,) [kg m²].
        low: Least position, shape (K,), or (0,) where nothing is in the way [rad].
        high: Largest position, the same [rad].
        turns: Whether the joint turns.
        q0: Position at `t[0]`, at rest [rad].
        p: The drive's parameters in the order of `TERMS`.
        step: Longest time step [s].
        q: Positions, shape (K,), filled [rad].
        v: Velocities, shape (K,), filled [rad/s].
    """
    compliance, zero, delay, own_inertia, gap = p[0], p[6], p[7], p[10], p[12]
    before = t[0] - delay
    cursor = first_command(t_target, before)
    ref, ref_v = target[cursor], 0.0
    x, w, last, y, total = q0, 0.0, 0.0, q0, 0.0
    q[0], v[0] = q0, 0.0
    for i in range(1, t.size):
        dt = t[i] - t[i - 1]
        steps = max(1, int(np.ceil(dt / step - 1e-9)))
        h = dt / steps
        if turns:
            c, sn = np.cos(x), np.sin(x)
        else:
            c, sn = 1.0, 0.0
        g0 = compliance * (gravity_a[i - 1] * c + gravity_b[i - 1] * sn)
        g1 = compliance * (gravity_a[i] * c + gravity_b[i] * sn)
        slope = compliance * (gravity_b[i] * c - gravity_a[i] * sn) if turns else 0.0
        if i == 1:
            total = held_error(ref - zero - x, g0, p)
        m = own_inertia + abs(compliance) * inertia[i]
        theta = spring_share(m, p[1], h)
        x0 = x
        for k in range(steps):
            share = (k + 1.0) / steps
            now = t[i - 1] + dt * share - delay
            ref, ref_v, cursor = follow_commands(
                ref, ref_v, before, cursor, t_target, target, p[8], p[9], now, h
            )
            before = now
            g = g0 + (share - 0.5 / steps) * (g1 - g0) + slope * (x - x0)
            error = ref - zero - x
            total = sum_error(total, error, p, h)
            push, impulse, denominator = drive_forces(error + total, w, last, p, g, g, m, h, theta)
            last = w
            w = drive_speed(push, impulse, denominator)
            if low.size:
                w = max(min(w, (high[i] - x) / h), (low[i] - x) / h)
            if w == 0.0:
                last = 0.0
            x += h * w
            y = min(max(y, x - gap), x + gap)
        q[i], v[i] = y, w
