# SPDX-License-Identifier: Apache-2.0
r"""Output-error fit of one servo: simulate, compare positions, improve.

The parameters p minimise the sum of squares of what simulated positions miss over whole motions,
by Levenberg and Marquardt's method; a Jacobian's column is a simulation beside the last. Positions
of a drive that sticks don't repeat errors of the measurement but of the model, which stay for
seconds: a deviation therefore comes from blocks of time (White's sandwich with blocks),
\[ \mathrm{cov}\,p = H^{-1} \Big(\sum_b g_b g_b^T\Big) H^{-1}, \quad g_b = J_b^T r_b . \]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.servos.bodies import Array, Loads
from sysid_core.servos.model import STEP, TERMS, Term, rollout

BLOCK = 4.0  # [s]: longer than a sticking drive keeps its error (2 s on a real SO-101)
_ITERATIONS, _TRIAL_ITERATIONS = 25, 10
# Relative gain of the sum of squares at which a search ends.
_SETTLED, _TRIAL_SETTLED = 3e-5, 1e-3
# [s] Of a rollout whose fit is only compared with others of the same step: twice that of the last fit.
TRIAL_STEP = 2 * STEP
_PROBE = 0.05  # of a term's scale: beyond the rounding of stick and slip, within its curvature
_INDEX = {term: i for i, term in enumerate(TERMS)}


@dataclass(frozen=True)
class JointMotion:
    """One joint's part of a recording, with the loads along the measured motion.

    Attributes:
        t: Shape (K,) [s].
        q: Shape (K,) [rad].
        t_target: Shape (L,) [s].
        target: Shape (L,) [rad].
        loads: Along the motion of all joints.
        joint: Column of the loads.
        block: Number of the block of time of each sample, shape (K,).
    """

    t: Array
    q: Array
    t_target: Array
    target: Array
    loads: Loads
    joint: int
    block: np.ndarray

    def error(self, p: Array, step: float = STEP) -> Array:
        """What the simulation from the first position misses, shape (K,) [rad]."""
        args = (p, self.t_target, self.target, self.t, float(self.q[0]), self.loads, self.joint)
        return rollout(*args, step) - self.q


@dataclass(frozen=True)
class JointFit:
    """Parameters that replay a joint best.

    Attributes:
        values: Of the terms that were free.
        known: Of those that weren't.
        sum_of_squares: Of the samples that were fitted [rad²].
        samples: Their number.
    """

    values: dict[Term, float]
    known: dict[Term, float]
    sum_of_squares: float
    samples: int

    @property
    def vector(self) -> Array:
        """All parameters in the order of `TERMS`."""
        return np.array([{**self.values, **self.known}.get(term, 0.0) for term in TERMS])


def errors(motions: Sequence[JointMotion], p: Array, step: float = STEP) -> Array:
    """Errors of all motions behind each other [rad]."""
    return np.concatenate([motion.error(p, step) for motion in motions])


def solve_joint(
    motions: Sequence[JointMotion],
    start: dict[Term, float],
    weights: Array | None = None,
    *,
    trial: bool = False,
    any_zero: bool = False,
    known: Mapping[Term, float] | None = None,
) -> JointFit:
    """Fit the terms of `start`, beginning there.

    Args:
        motions: What is to be replayed.
        start: Terms that are free, and where to begin.
        weights: 1 for samples that count and 0 for the others, shape (K,); None: all count.
        trial: Whether it is only to be compared with others: ends sooner, at a coarser step.
        known: Terms that keep their value.
        any_zero: Whether the zero may be any angle: shows one that is wrong.
    """
    known = known or {}
    terms = tuple(term for term in start if term not in known)
    p = np.array([{**start, **known}.get(term, 0.0) for term in TERMS])
    w = np.ones(sum(len(m.t) for m in motions)) if weights is None else weights
    step = TRIAL_STEP if trial else STEP
    r = errors(motions, p, step)
    cost, damping = float(w @ r**2), 1e-2
    for _ in range(_TRIAL_ITERATIONS if trial else _ITERATIONS):
        J = jacobian(motions, p, r, terms, step)
        H, g = J.T @ (w[:, None] * J), J.T @ (w * r)
        better = False
        for _ in range(8):
            scaled = H + damping * np.diag(np.diag(H) + 1e-12 * len(r))
            p_new = _moved(p, terms, -np.asarray(np.linalg.solve(scaled, g)), any_zero)
            r_new = errors(motions, p_new, step)
            cost_new = float(w @ r_new**2)
            if cost_new < cost:
                better = True
                break
            damping *= 4.0
        if not better:
            break
        gain, p, r, cost = (cost - cost_new) / cost, p_new, r_new, cost_new
        damping /= 4.0
        if gain < (_TRIAL_SETTLED if trial else _SETTLED):
            break
    values = {term: float(p[_INDEX[term]]) for term in terms}
    return JointFit(values, dict(known), cost, int((w > 0).sum()))


def jacobian(
    motions: Sequence[JointMotion],
    p: Array,
    r: Array,
    terms: Sequence[Term],
    step: float = STEP,
) -> Array:
    """Change of the errors with each term, in units of the term's scale, shape (K, len(terms))."""
    columns = []
    for term in terms:
        moved = p.copy()
        moved[_INDEX[term]] += _PROBE * TERMS[term].scale
        columns.append((errors(motions, moved, step) - r) / _PROBE)
    return np.stack(columns, axis=1)


def _moved(p: Array, terms: Sequence[Term], step: Array, any_zero: bool) -> Array:
    p = p.copy()
    for term, x in zip(terms, step, strict=True):
        facts = TERMS[term]
        value = p[_INDEX[term]] + x * facts.scale
        most = np.inf if any_zero else facts.most
        p[_INDEX[term]] = min(max(value, -most if facts.signed else 0.0), most)
    return p


def block_weights(motions: Sequence[JointMotion], fit: JointFit) -> Array:
    """Weight of each sample by how well its block is replayed, shape (K,).

    Cauchy's weights with the median block as their scale: blocks in which the robot leaned on a
    table or a stop, which no servo explains, lose their say.
    """
    blocks = np.concatenate([m.block for m in motions])
    counts = np.maximum(np.bincount(blocks), 1)
    squares = np.bincount(blocks, errors(motions, fit.vector) ** 2) / counts
    scale = float(np.median(squares[np.unique(blocks)])) + 1e-12
    return np.asarray((1.0 / (1.0 + squares / scale))[blocks])


def block_covariance(
    motions: Sequence[JointMotion], fit: JointFit, weights: Array | None = None
) -> Array:
    """Covariance of the values from blocks of time, in the order of `fit.values`."""
    terms = tuple(fit.values)
    r = errors(motions, fit.vector)
    J = jacobian(motions, fit.vector, r, terms)
    scale = np.array([TERMS[term].scale for term in terms])
    if weights is not None:
        J, r = J * np.sqrt(weights)[:, None], r * np.sqrt(weights)
    H = J.T @ J
    blocks = np.concatenate([m.block for m in motions])
    scores = np.array([J[blocks == b].T @ r[blocks == b] for b in np.unique(blocks)])
    count, free = len(scores), len(terms)
    inverse = np.linalg.pinv(H, rcond=1e-10, hermitian=True)
    # Few blocks make the sum too small: by their number over the degrees that are left.
    factor = count / max(count - free, 1)
    return np.asarray(inverse @ (scores.T @ scores) @ inverse * factor * np.outer(scale, scale))
