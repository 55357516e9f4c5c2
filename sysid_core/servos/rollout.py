# SPDX-License-Identifier: Apache-2.0
r"""One position-controlled drive, stepped in time with exact stiction.

All torques are divided by the servo's stiffness K, so that they are angles: without a torque sensor
nothing else can be known but through gravity. With the reference r behind the command, the position
q, and in the same units inertia m, damping \(\tau\), gravity g and dry friction f,

\[ m\dot v + \tau v = r - z - q - g(q) - f s, \qquad s \in \mathrm{Sign}(v) . \]

The step is the implicit midpoint rule, with the second backward difference of velocities, and the
complementarity of Coulomb's law solved exactly: the velocity is the frictionless one, shrunk towards zero by the friction's impulse, and zero where that is larger
(Moreau; Stewart and Trinkle 1996). A drive that sticks has the velocity 0.0, not a small one.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


@njit(cache=True, error_model="numpy")
def drive_rollout(
    t: Array, t_target: Array, target: Array, gravity_a: Array, gravity_b: Array, inertia: Array,
    turns: bool, q0: float, p: Array, step: float, q: Array, v: Array,
) -> None:  # pragma: no cover - compiled  # fmt: skip
    """Positions and velocities at the times t, into q and v.

    Args:
        t: Times, shape (K,) [s].
        t_target: Times of the commands, shape (L,) [s].
        target: Commands, held until the next, shape (L,) [rad].
        gravity_a: Gravity's coefficient of cos q, shape (K,) [N m].
        gravity_b: Of sin q, shape (K,) [N m].
        inertia: Of the bodies behind the joint, shape (K,) [kg m²].
        turns: Whether the joint turns.
        q0: Position at `t[0]`, at rest [rad].
        p: The drive's parameters in the order of `TERMS`.
        step: Longest time step [s].
        q: Positions, shape (K,), filled [rad].
        v: Velocities, shape (K,), filled [rad/s].
    """
    compliance, tau, coulomb, load_share, breakaway, slow = p[0], p[1], p[2], p[3], p[4], p[5]
    zero, delay, inverse_a, inverse_v, own_inertia = p[6], p[7], p[8], p[9], p[10]
    inverse_limit, gap = p[11], p[12]
    commands = t_target.size
    cursor = 0
    s = t[0] - delay
    while cursor + 1 < commands and t_target[cursor + 1] <= s:
        cursor += 1
    before = s
    held = target[cursor]
    ref, ref_v = held, 0.0
    x, w, last, y = q0, 0.0, 0.0, q0
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
        m = own_inertia + abs(compliance) * inertia[i]
        x0 = x
        # The spring acts at the middle of a step; at its end where that would overshoot.
        theta = max(0.5, 1.0 - (m / h + tau) / h)
        for k in range(steps):
            share = (k + 1.0) / steps
            now = t[i - 1] + dt * share - delay
            # The command's mean over the step: smooth in the delay.
            total, at = 0.0, before
            while cursor + 1 < commands and t_target[cursor + 1] <= now:
                change = t_target[cursor + 1]
                total += target[cursor] * (change - at)
                at = change
                cursor += 1
            total += target[cursor] * (now - at)
            before = now
            held = total / h
            if inverse_a > 0.0:
                # The servo's own profile: the speed from which the rest of the way brakes in time.
                most = h / inverse_a
                way = held - ref
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
                ref += min(max(held - ref, -most), most)
            else:
                ref = held
            g = g0 + (share - 0.5 / steps) * (g1 - g0) + slope * (x - x0)
            error = ref - zero - x
            f = coulomb + load_share * abs(g)
            if breakaway > 0.0:
                f += breakaway * np.exp(-abs(2.0 * w - last) / max(slow, 1e-6))
            # Velocities are those in the middle of steps; so is their change, from the last three.
            momentum = m * (2.0 * w - 0.5 * last)
            if inverse_limit > 0.0 and abs(error) * inverse_limit > 1.0:
                push = momentum + h * (np.sign(error) / inverse_limit - g)
                denominator = 1.5 * m + h * tau
            else:
                push = momentum + h * (error - g)
                denominator = 1.5 * m + h * tau + theta * h * h
            impulse = h * f
            last = w
            if push > impulse:
                w = (push - impulse) / denominator
            elif push < -impulse:
                w = (push + impulse) / denominator
            else:
                w, last = 0.0, 0.0
            x += h * w
            y = min(max(y, x - gap), x + gap)
        q[i], v[i] = y, w
