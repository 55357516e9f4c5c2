# SPDX-License-Identifier: Apache-2.0
"""Motions of a closed chain that make the projected observation matrix well conditioned."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from sysid_core.errors import ExcitationError
from sysid_core.identifiability import condition_number, measure_excitation, sampled_base_parameters
from sysid_core.planning.closed_chain.box import motion_box, reach_alone
from sysid_core.planning.closed_chain.structure import structural_rows
from sysid_core.planning.trajectory import Segment, Trajectory
from sysid_core.planning.transfer import minimum_jerk
from sysid_core.robot import Array
from sysid_core.robot.loops import (
    ClosedChain,
    MotionBox,
    assemble,
    constrained_motion,
    constrained_parameter_names,
    constrained_torques,
    projected_drive_regressor,
    projected_regressor,
)

Progress = Callable[[float], None]
FADE = 1.5  # [s], in which a motion swells from rest and dies away: a third of its slowest wave


@dataclass(frozen=True)
class LoopExcitation:
    """How excitation of a closed chain is planned.

    Attributes:
        duration: Duration of each trajectory [s].
        fundamental: Lowest frequency [Hz].
        harmonics: Number of harmonics per coordinate.
        fill: Share of the box that is used.
        velocity: Highest actuated velocity [rad/s].
        torque_share: Share of the drives' limits that the nominal model may need.
        population: Candidates per generation.
        generations: Generations of the search, per trajectory.
        inertials: Whether the inertial parameters are to be seen too, or friction and drive alone.
        rate_hz: Rate of the samples.
    """

    duration: float = 15.0
    fundamental: float = 0.2
    harmonics: int = 5
    fill: float = 0.9
    velocity: float = 4.0
    torque_share: float = 0.8
    population: int = 24
    generations: int = 10
    inertials: bool = False
    rate_hz: float = 1000.0


def plan_loop_excitation(
    chain: ClosedChain,
    rng: np.random.Generator,
    n_trajectories: int = 3,
    config: LoopExcitation | None = None,
    progress: Progress | None = None,
) -> tuple[Trajectory, ...]:
    """Fourier motions in the box's coordinates, each minimising the condition number of all so far.

    Zhang et al. 2024, section IV-B: several trajectories, for generalisation. Every candidate
    stays in the box, so it assembles; it starts and ends at rest in the box's centre.

    Args:
        chain: With nominal parameters.
        rng: Random generator of the search.
        n_trajectories: How many.
        config: Settings of the search.
        progress: Called with the share that is done, 0 to 1.

    Raises:
        ExcitationError: No candidate keeps to the torque limits.
    """
    config = config or LoopExcitation()
    box = motion_box(chain, rng)
    measure = _measure(dataclasses.replace(chain, box=box), config)
    above = np.empty((0, 0))
    trajectories = []
    for i in range(n_trajectories):

        def report(share: float, done: int = i) -> None:
            if progress is not None:
                progress((done + share) / n_trajectories)

        coefficients, above, condition = _search(chain, box, rng, config, measure, above, report)
        trajectories.append(_trajectory(chain, box, coefficients, config, condition))
    return tuple(trajectories)


def sine_trajectory(
    chain: ClosedChain,
    box: MotionBox,
    peak_velocity: float,
    *,
    duration: float = 10.0,
    rate_hz: float = 1000.0,
    fill: float = 0.85,
    alone: bool = False,
) -> Trajectory:
    """Sines of all coordinates at once or one after another, as large as the box allows.

    Every joint has its own amplitude, hence its own frequency for the same peak velocity, as in
    the tracking test of Zhang et al. 2024 (section IV-D).

    Args:
        chain: The mechanism.
        box: Where it moves.
        peak_velocity: Largest velocity of every coordinate [rad/s].
        duration: [s]; of each segment where `alone`.
        rate_hz: Rate of the samples.
        fill: Share of the box.
        alone: One coordinate after the other, each in a segment of its own and as wide as it can
            be alone: wider is slower, and a joint at its torque limit drags no other along.
    """
    if alone:
        box = reach_alone(chain, box)
    amplitude = fill * box.half
    share = np.max(np.abs(box.directions), axis=0)
    omega = peak_velocity / (amplitude * share)
    t = np.arange(0.0, duration, 1.0 / rate_hz)
    note = f"Sines with a peak velocity of {peak_velocity:g} rad/s."
    if not alone:
        s, v, a = _sines(t, omega, fill)
        q_a, v_a, a_a = _faded(box, t, s, v, a)
        return _as_trajectory(chain, t, q_a, v_a, a_a, (note,))
    pieces, segments = [], []
    for i, name in enumerate(box.names):
        only = (np.arange(len(omega)) == i).astype(float)
        s, v, a = (x * only for x in _sines(t, omega, fill))
        pieces.append(_faded(box, t, s, v, a))
        joints = tuple(np.array(chain.actuated)[box.directions[:, i] != 0.0].tolist())
        segments.append(Segment(name, i * duration, i * duration + float(t[-1]), joints))
    q_a, v_a, a_a = (np.concatenate([piece[k] for piece in pieces]) for k in range(3))
    time = np.concatenate([t + i * duration for i in range(len(pieces))])
    whole = _as_trajectory(chain, time, q_a, v_a, a_a, (note, "One coordinate after another."))
    return dataclasses.replace(whole, segments=tuple(segments))


def _sines(t: Array, omega: Array, fill: float) -> tuple[Array, Array, Array]:
    phase = np.outer(t, omega)
    s = fill * np.sin(phase)
    return s, fill * omega * np.cos(phase), -(omega**2) * s


def _search(
    chain: ClosedChain,
    box: MotionBox,
    rng: np.random.Generator,
    config: LoopExcitation,
    measure: Callable[[Array], float],
    above: Array,
    report: Progress,
) -> tuple[Array, Array, float]:
    """Evolution: a generation of random motions, then generations around the best so far."""
    best: tuple[float, Array, Array] | None = None
    for generation in range(config.generations):
        report(generation / config.generations)
        noise = rng.normal(size=(config.population, 2, config.harmonics, chain.n_actuated))
        candidates = noise if best is None else best[1] + noise * 0.7**generation
        for candidate, W in zip(
            candidates, _observations(chain, box, candidates, config), strict=True
        ):
            if W is None:
                continue
            stacked = W if not above.size else np.vstack([above, W])
            R = scipy.linalg.qr(stacked, mode="r", check_finite=False)[0][: stacked.shape[1]]
            condition = measure(R)
            if best is None or condition < best[0]:
                best = (condition, candidate, R)
    if best is None:
        raise ExcitationError(
            f"None of {config.population * config.generations} motions of '{chain.name}' keeps to"
            f" {100 * config.torque_share:.0f} % of the torque limits.",
            remedy="Shrink `excitation` in the loops file, lower the fundamental frequency, or"
            " check the torque limits and masses.",
        )
    return best[1], best[2], best[0]


def _observations(
    chain: ClosedChain, box: MotionBox, candidates: Array, config: LoopExcitation
) -> list[Array | None]:
    """Projected observation matrix of each candidate, None where its torques are too large."""
    n_t = 12 * config.harmonics
    t = np.arange(n_t) / (n_t * config.fundamental)
    moves = [_played(box, c, config, t) for c in candidates]
    q_a, v_a, a_a = (np.concatenate([move[i] for move in moves]) for i in range(3))
    motion = constrained_motion(chain, q_a, v_a, a_a, ordered=False)
    effort = np.abs(constrained_torques(chain, motion)).reshape(len(candidates), n_t, -1)
    safe = np.all(effort <= config.torque_share * chain.torque_limits, axis=(1, 2))
    if config.inertials:
        W = projected_regressor(chain, motion)
    else:
        W = projected_drive_regressor(chain, motion, chain.actuated)
    W = W.reshape(len(candidates), -1, W.shape[2])
    return [block if ok else None for block, ok in zip(W, safe, strict=True)]


def _measure(chain: ClosedChain, config: LoopExcitation) -> Callable[[Array], float]:
    """What is minimised: a condition number of the observation matrix's triangular factor.

    With inertial parameters that of the base parameters against vigorous motion: the mechanism
    itself makes some of them hard to separate, which no motion changes.
    """
    if not config.inertials:
        return condition_number
    structure = structural_rows(chain, chain.actuated)
    names = constrained_parameter_names(chain, chain.actuated)
    base = sampled_base_parameters(structure, names)
    return lambda R: measure_excitation(base, R, structure).condition_number


def _series(coefficients: Array, omega: float, t: Array) -> tuple[Array, Array, Array]:
    """Fourier series and two derivatives, each (K, n_a)."""
    k = omega * np.arange(1, coefficients.shape[1] + 1)
    s, c = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
    A, B = coefficients
    return s @ A + c @ B, (c * k) @ A - (s * k) @ B, -(s * k**2) @ A - (c * k**2) @ B


def _played(
    box: MotionBox, coefficients: Array, config: LoopExcitation, t: Array
) -> tuple[Array, Array, Array]:
    """Actuated motion of a candidate at times t, scaled to the box and slowed to the velocity."""
    s, v, a = _coordinates(box, coefficients, config, t)
    return box.positions(s), (v * box.half) @ box.directions.T, (a * box.half) @ box.directions.T


def _coordinates(
    box: MotionBox, coefficients: Array, config: LoopExcitation, t: Array
) -> tuple[Array, Array, Array]:
    omega = 2.0 * np.pi * config.fundamental
    period = np.arange(0.0, 1.0, 4e-3) / config.fundamental
    s, v, _ = _series(coefficients, omega, period)
    peak = np.max(np.abs(s), axis=0)
    fastest = np.max(np.abs((config.fill * v / peak * box.half) @ box.directions.T))
    slow = min(1.0, config.velocity / fastest)
    s, v, a = (config.fill * x / peak for x in _series(coefficients, omega * slow, t))
    return s, v, a


def _trajectory(
    chain: ClosedChain,
    box: MotionBox,
    coefficients: Array,
    config: LoopExcitation,
    condition: float,
) -> Trajectory:
    t = np.arange(0.0, config.duration, 1.0 / config.rate_hz)
    s, v, a = _coordinates(box, coefficients, config, t)
    q_a, v_a, a_a = _faded(box, t, s, v, a)
    return _as_trajectory(
        chain,
        t,
        q_a,
        v_a,
        a_a,
        (
            f"Condition number of the observation matrix so far: {condition:.4g}"
            f"{', against vigorous motion' if config.inertials else ''}.",
        ),
    )


def _faded(box: MotionBox, t: Array, s: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Start and end at rest in the box's centre: coordinates times a smooth window."""
    w, w1, w2 = _window(t)
    s, v, a = w * s, w * v + w1 * s, w * a + 2.0 * w1 * v + w2 * s
    return box.positions(s), (v * box.half) @ box.directions.T, (a * box.half) @ box.directions.T


def _window(t: Array) -> tuple[Array, Array, Array]:
    """0 to 1 to 0 with continuous second derivative, and its derivatives; columns."""
    fade = min(FADE, 0.4 * t[-1])
    sign = np.where(t < 0.5 * t[-1], 1.0, -1.0)
    w, w1, w2 = minimum_jerk(np.minimum(t, t[-1] - t) / fade)
    return w[:, None], (w1 * sign / fade)[:, None], (w2 / fade**2)[:, None]


def _as_trajectory(
    chain: ClosedChain, t: Array, q_a: Array, v_a: Array, a_a: Array, notes: tuple[str, ...]
) -> Trajectory:
    assemble(chain, q_a[:: max(1, len(q_a) // 200)])  # a motion that can't be assembled is refused
    return Trajectory(
        robot=chain.name,
        urdf_hash=chain.model.urdf_hash,
        joint_names=chain.actuated,
        time=t,
        q=q_a,
        v=v_a,
        a=a_a,
        notes=notes,
    )
