# SPDX-License-Identifier: Apache-2.0
"""Sine motions of a closed chain for the tracking test of the paper."""

from __future__ import annotations

import dataclasses

import numpy as np

from sysid_core.planning import Segment, Trajectory
from sysid_core.planning.closed_chain import AssemblyMap
from sysid_core.robot import Array
from sysid_core.robot.loops import ClosedChain, MotionBox

FADE = 1.5  # [s], in which a motion swells from rest and dies away: a third of its slowest wave
RATE_HZ = 1000.0
FILL = 0.85  # of the box


def sine_trajectory(
    chain: ClosedChain,
    box: MotionBox,
    peak_velocity: float,
    *,
    duration: float = 10.0,
    alone: bool = False,
) -> Trajectory:
    """Return the sine motion of all coordinates together or one after another, with the largest
    permitted amplitudes.

    Every joint has its own amplitude, and therefore its own frequency for the same peak velocity,
    as in the tracking test of Zhang et al. 2024 (section IV-D).

    Args:
        chain: Mechanism with loops.
        box: Permitted range of motion.
        peak_velocity: Largest velocity of every coordinate [rad/s].
        duration: Duration of the motion, or of each segment if `alone` is True [s].
        alone: True to move one coordinate after the other, each in a segment of its own. The
            amplitudes are then larger and the motion slower, and a joint at its torque limit does
            not disturb the others.
    """
    if alone:
        box = _reach_alone(chain, box)
    amplitude = FILL * box.half
    share = np.max(np.abs(box.directions), axis=0)
    omega = peak_velocity / (amplitude * share)
    t = np.arange(0.0, duration, 1.0 / RATE_HZ)
    note = f"Sines with a peak velocity of {peak_velocity:g} rad/s."
    if not alone:
        s, v, a = _sines(t, omega)
        return _trajectory(chain, t, *_faded(box, t, s, v, a), (note,))
    pieces, segments = [], []
    for i, name in enumerate(box.names):
        only = (np.arange(len(omega)) == i).astype(float)
        s, v, a = (x * only for x in _sines(t, omega))
        pieces.append(_faded(box, t, s, v, a))
        joints = tuple(np.array(chain.actuated)[box.directions[:, i] != 0.0].tolist())
        segments.append(Segment(name, i * duration, i * duration + float(t[-1]), joints))
    q_a, v_a, a_a = (np.concatenate([piece[k] for piece in pieces]) for k in range(3))
    time = np.concatenate([t + i * duration for i in range(len(pieces))])
    whole = _trajectory(chain, time, q_a, v_a, a_a, (note, "One coordinate after another."))
    return dataclasses.replace(whole, segments=tuple(segments))


def _reach_alone(chain: ClosedChain, box: MotionBox) -> MotionBox:
    """Box in which the range of each coordinate is as wide as possible while the others stay at the
    centre.
    """
    steps = np.linspace(0.0, 1.6, 65)[1:]
    half = np.array(box.half)
    for i in range(chain.n_actuated):
        arm = steps[:, None] * box.directions[:, i]
        sides = (AssemblyMap.usable(chain, box.center + sign * arm) for sign in (1.0, -1.0))
        reach = int(np.argmin(np.append(np.logical_and(*sides), False)))
        half[i] = max(half[i], steps[reach - 1] if reach else 0.0)
    return dataclasses.replace(box, half=half)


def _trajectory(
    chain: ClosedChain, t: Array, q_a: Array, v_a: Array, a_a: Array, notes: tuple[str, ...]
) -> Trajectory:
    """Trajectory of the driven joints; the loops must close along it."""
    chain.assemble(q_a[:: max(1, len(q_a) // 200)])
    return Trajectory.of(chain.model, t, q_a, v_a, a_a, chain.actuated, notes=notes)


def _sines(t: Array, omega: Array) -> tuple[Array, Array, Array]:
    phase = np.outer(t, omega)
    s = FILL * np.sin(phase)
    return s, FILL * omega * np.cos(phase), -(omega**2) * s


def _faded(box: MotionBox, t: Array, s: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Sine motion multiplied by a smooth window, so that it starts and ends at rest in the centre."""
    w, w1, w2 = _window(t)
    s, v, a = w * s, w * v + w1 * s, w * a + 2.0 * w1 * v + w2 * s
    return box.positions(s), (v * box.half) @ box.directions.T, (a * box.half) @ box.directions.T


def _window(t: Array) -> tuple[Array, Array, Array]:
    """Smooth window from 0 to 1 to 0 with continuous second derivative, and its derivatives, as
    columns.
    """
    fade = min(FADE, 0.4 * t[-1])
    sign = np.where(t < 0.5 * t[-1], 1.0, -1.0)
    w, w1, w2 = Trajectory.minimum_jerk(np.minimum(t, t[-1] - t) / fade)
    return w[:, None], (w1 * sign / fade)[:, None], (w2 / fade**2)[:, None]
