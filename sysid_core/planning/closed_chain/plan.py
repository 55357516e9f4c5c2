# SPDX-License-Identifier: Apache-2.0
"""Motions of a closed chain with a well-conditioned projected observation matrix."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from sysid_core.errors import ExcitationError
from sysid_core.identifiability import BaseParameters, Excitation
from sysid_core.planning.bases import FourierBasis
from sysid_core.planning.closed_chain.box import AssemblyMap
from sysid_core.planning.trajectory import Trajectory
from sysid_core.planning.transfer import sample_times
from sysid_core.robot import Array
from sysid_core.robot.loops import ClosedChain, MotionBox

_SAMPLES = 400  # of a motion
_STATES = 120  # random ones: torques of six drives are four times the unknowns of a leg


def shown_by_motions(chain: ClosedChain, motions: Sequence[Trajectory]) -> Excitation:
    """Measure the excitation of all inertial and drive parameters by planned motions.

    Args:
        chain: Mechanism with loops.
        motions: Motions of at least the actuated joints.
    """
    names = chain.parameter_names(chain.actuated)
    structure = structural_rows(chain, chain.actuated)
    rows = []
    for motion in motions:
        k = [motion.joint_names.index(name) for name in chain.actuated]
        few = slice(None, None, max(1, len(motion.time) // _SAMPLES))
        states = (x[few][:, k] for x in (motion.q, motion.v, motion.a))
        W = chain.regressor(chain.motion(*states))
        rows.append(W.reshape(-1, len(names)))
    return Excitation.measured(BaseParameters.sampled(structure, names), np.vstack(rows), structure)


def structural_rows(chain: ClosedChain, drives: tuple[str, ...]) -> Array:
    """Return the triangular factor of the projected regressor at random consistent states, shape
    (p, p).

    Rounded angles of the URDF count as the exact ones.

    Args:
        chain: Mechanism with loops.
        drives: Joints with friction and drive columns.
    """
    rng = np.random.default_rng(7)
    chain = chain.with_model(chain.model.with_exact_angles()[0].with_pi(chain.model.pi))
    box = AssemblyMap.motion_box(chain, rng)
    q_a = box.positions(rng.uniform(-1.0, 1.0, (_STATES, chain.n_actuated)))
    v_a, a_a = rng.normal(size=(2, *q_a.shape)) * np.array([2.0, 8.0])[:, None, None]
    motion = chain.motion(q_a, v_a, a_a, ordered=False)
    W = chain.regressor(motion, drives)
    return np.asarray(np.linalg.qr(W.reshape(-1, W.shape[2]), mode="r"))


Progress = Callable[[float], None]


@dataclass(frozen=True)
class LoopExcitation:
    """Settings of an exciting motion for a closed chain.

    Attributes:
        duration: Approximate duration of each trajectory [s], rounded to whole periods (at least
            one).
        fundamental: Fundamental frequency [Hz]; reduced if the velocity limit requires it.
        harmonics: Number N of harmonics per coordinate, at least 3 (2 N - 3 free coefficients).
        fill: Used share of the motion box, 0 to 1.
        velocity: Largest velocity of the actuated joints [rad/s].
        torque_share: Share of the drives' torque limits that the nominal model may need, 0 to 1.
        population: Number of candidates per generation.
        generations: Number of generations of the search, per trajectory.
        inertials: True to excite inertial parameters as well; False: only friction and drive
            parameters.
        rate_hz: Sampling rate [Hz].
    """

    duration: float = 15.0
    fundamental: float = 0.2
    harmonics: int = 7
    fill: float = 0.9
    velocity: float = 4.0
    torque_share: float = 0.8
    population: int = 24
    generations: int = 10
    inertials: bool = False
    rate_hz: float = 1000.0

    def plan(
        self,
        chain: ClosedChain,
        rng: np.random.Generator,
        n_trajectories: int = 3,
        progress: Progress | None = None,
    ) -> tuple[Trajectory, ...]:
        """Plan several Fourier series of the driven joints; each minimises the condition number of the
        observation matrix of all series planned so far.

        Zhang et al. 2024, section IV-B: several trajectories, so that the result holds for other
        motions. Every candidate stays in the workspace box in which the loops close; it starts and ends
        at rest in the centre of the box.

        Args:
            chain: Closed chain with nominal parameters.
            rng: Random generator of the search.
            n_trajectories: Number of trajectories.
            progress: Function that is called with the completed share, 0 to 1.

        Raises:
            ExcitationError: No candidate respects the torque limits.
        """
        box = AssemblyMap.motion_box(chain, rng)
        measure = _measure(dataclasses.replace(chain, box=box), self)
        above = np.empty((0, 0))
        trajectories = []
        for i in range(n_trajectories):

            def report(share: float, done: int = i) -> None:
                if progress is not None:
                    progress((done + share) / n_trajectories)

            coefficients, above, condition = _search(chain, box, rng, self, measure, above, report)
            trajectories.append(_trajectory(chain, box, coefficients, self, condition))
        return tuple(trajectories)


def _search(
    chain: ClosedChain,
    box: MotionBox,
    rng: np.random.Generator,
    config: LoopExcitation,
    measure: Callable[[Array], float],
    above: Array,
    report: Progress,
) -> tuple[Array, Array, float]:
    """Evolutionary search: a generation of random motions, then generations of variations of the
    best so far.
    """
    shape = (config.population, FourierBasis(1.0, config.harmonics).n_free, chain.n_actuated)
    best: tuple[float, Array, Array] | None = None
    for generation in range(config.generations):
        report(generation / config.generations)
        noise = rng.normal(size=shape)
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
            remedy="Shrink `excitation` in the file of kinematic loops, lower the fundamental frequency, or"
            " check the torque limits and masses.",
        )
    return best[1], best[2], best[0]


def _observations(
    chain: ClosedChain, box: MotionBox, candidates: Array, config: LoopExcitation
) -> list[Array | None]:
    """Projected observation matrix of each candidate; None for a candidate with too large
    torques.
    """
    moves = []
    for candidate in candidates:
        basis, coefficients = _fitted(box, candidate, config)
        t = np.arange(basis.n_samples) * basis.period / basis.n_samples
        moves.append(_played(box, basis, coefficients, t))
    q_a, v_a, a_a = (np.concatenate([move[i] for move in moves]) for i in range(3))
    motion = chain.motion(q_a, v_a, a_a, ordered=False)
    effort = np.abs(chain.torques(motion)).reshape(len(candidates), -1, chain.n_actuated)
    safe = np.all(effort <= config.torque_share * chain.torque_limits, axis=(1, 2))
    if config.inertials:
        W = chain.regressor(motion)
    else:
        W = chain.drive_regressor(motion, chain.actuated)
    W = W.reshape(len(candidates), -1, W.shape[2])
    return [block if ok else None for block, ok in zip(W, safe, strict=True)]


def _measure(chain: ClosedChain, config: LoopExcitation) -> Callable[[Array], float]:
    """Objective function: a condition number of the observation matrix's triangular factor.

    If inertial parameters are estimated, it is the condition number for the base parameters
    relative to vigorous motion, because the mechanism itself makes some of them hard to separate by
    any motion.
    """
    if not config.inertials:
        return Excitation.scaled_condition
    structure = structural_rows(chain, chain.actuated)
    names = chain.parameter_names(chain.actuated)
    base = BaseParameters.sampled(structure, names)
    return lambda R: Excitation.measured(base, R, structure).condition_number


def _fitted(
    box: MotionBox, coefficients: Array, config: LoopExcitation
) -> tuple[FourierBasis, Array]:
    """Series with the largest amplitude permitted by the box, slowed down until the velocity limits
    are respected.
    """
    basis = FourierBasis(1.0 / config.fundamental, config.harmonics)
    s, v, _ = basis.sampled(np.zeros(coefficients.shape[1]), coefficients)
    scale = config.fill / np.max(np.abs(s), axis=0)
    fastest = np.max(np.abs((v * scale * box.half) @ box.directions.T))
    slow = max(1.0, float(fastest) / config.velocity)
    # Coefficients are speeds of the coordinates.
    return FourierBasis(slow * basis.period, config.harmonics), coefficients * scale / slow


def _played(
    box: MotionBox, basis: FourierBasis, coefficients: Array, t: Array
) -> tuple[Array, Array, Array]:
    """Motion of the actuated joints for a series at times t."""
    s, v, a = basis.motion(t, np.zeros(coefficients.shape[1]), coefficients)
    return box.positions(s), (v * box.half) @ box.directions.T, (a * box.half) @ box.directions.T


def _trajectory(
    chain: ClosedChain,
    box: MotionBox,
    candidate: Array,
    config: LoopExcitation,
    condition: float,
) -> Trajectory:
    basis, coefficients = _fitted(box, candidate, config)
    n_periods = max(1, round(config.duration / basis.period))
    t = sample_times(n_periods * basis.period, config.rate_hz)
    q_a, v_a, a_a = _played(box, basis, coefficients, t)
    against = ", relative to vigorous motion" if config.inertials else ""
    note = f"Condition number of the observation matrix so far: {condition:.4g}{against}."
    chain.assemble(q_a[:: max(1, len(q_a) // 200)])  # raises where the loops do not close
    return Trajectory.of(chain.model, t, q_a, v_a, a_a, chain.actuated, notes=(note,))
