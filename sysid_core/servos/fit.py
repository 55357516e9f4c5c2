# SPDX-License-Identifier: Apache-2.0
r"""Output-error fit of one servo: its parameters minimise the difference between simulated and
measured positions.

The parameters p are the most likely ones, given a normal prior of each term and the differences r
between simulated and measured positions over whole motions, whose variance is unknown:

\[ \min_p \; N \log \sum_k w_k r_k(p)^2 + \sum_i \frac{(p_i - \mu_i)^2}{s_i^2}, \]

by the method of Levenberg and Marquardt; each column of the Jacobian needs one more simulation. The
differences r are due to errors of the model, which persist for seconds while a drive sticks, rather
than to noise. N is therefore not the number of samples, but the number of independent data that
corresponds to the variation between blocks of time (adjustment of the composite likelihood, Pace,
Salvan and Sartori 2011), and standard deviations follow from the differences between blocks
(White's sandwich with blocks).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sysid_core.servos.bodies import Array
from sysid_core.servos.model import STEP, TERMS, Drive, Term, between
from sysid_core.servos.recording import GRAVITY, ROUNDING

BLOCK = 4.0  # [s]: longer than a sticking drive keeps its error (2 s on a real SO-101)
FEWEST_BLOCKS = 20  # of shorter recordings: each says something of the scatter between blocks
_ITERATIONS, _TRIAL_ITERATIONS = 25, 10
# Relative gain of the sum of squares at which a search ends.
_SETTLED, _TRIAL_SETTLED = 3e-5, 1e-3
# [s] Of rollouts that only show slopes, a tenth of a hobby servo's time constant, and of rollouts that are
# only compared with others of the same step.
_COARSE, TRIAL_STEP = 0.005, 0.01
# [rad²] Of a 12-bit encoder's rounding, (2π/4096)²/12: no replay is better.
_TINY = 2e-7
_PROBED = 3  # times that a deviation is found with secants over the last
# Of a term's scale, at which a search begins: over fewer instants of stick and slip, it ends in valleys.
_WIDE = 0.5
_PROBE = 0.05  # of a term's scale: beyond the rounding of stick and slip, within its curvature
_INDEX = {term: i for i, term in enumerate(TERMS)}


@dataclass(frozen=True, eq=False)
class JointMotion(Drive):
    """Part of a recording that belongs to one joint, with the load torques along the measured
    motion.

    Attributes:
        q: Positions, shape (K,) [rad].
        block: Index of the time block of each sample, shape (K,).
        weight: Largest torque of gravity on the joint [N m].
    """

    _: KW_ONLY
    q: Array
    block: NDArray[np.int64]
    weight: float

    def part(self, some: slice) -> JointMotion:
        """Return a copy with some of the samples; all commands are kept."""
        L = self.loads
        loads = replace(L, a=L.a[some], b=L.b[some], inertia=L.inertia[some])
        between = self.between[0][some], self.between[1][some]
        return replace(
            self,
            t=self.t[some],
            q=self.q[some],
            loads=loads,
            block=self.block[some],
            between=between,
        )

    def within(self, low: float, high: float) -> JointMotion:
        """Return a copy whose positions are also limited by two mechanical stops at `low` and
        `high` [rad].
        """
        return replace(self, between=between(low, high, self.q, self.between))

    def error(self, p: Array, step: float = STEP) -> Array:
        """Return the simulation error from the first position on, shape (K,) [rad]."""
        return self.rollout(p, float(self.q[0]), step) - self.q


@dataclass(frozen=True)
class Prior:
    """Normal prior distribution of one parameter of a servo."""

    mean: float
    deviation: float


COMMON = {term: Prior(facts.start, facts.spread) for term, facts in TERMS.items()}


@dataclass(frozen=True)
class JointFit:
    """Servo parameters that minimise the simulation error of one joint.

    Attributes:
        values: Values of the free terms.
        sum_of_squares: Sum of squared residuals of the fitted samples [rad²].
        data: Effective number of independent samples.
        priors: Prior distributions of the terms.
        cost: Minus twice the log-likelihood, up to a constant that does not depend on the
            parameters.
    """

    values: dict[Term, float]
    sum_of_squares: float
    data: float
    priors: Mapping[Term, Prior]
    cost: float

    @property
    def vector(self) -> Array:
        """All parameters in the order of `TERMS`."""
        return np.array([self.values.get(term, 0.0) for term in TERMS])


def errors(motions: Sequence[JointMotion], p: Array, step: float = STEP) -> Array:
    """Return the simulation errors of all motions as one array [rad]."""
    return np.concatenate([motion.error(p, step) for motion in motions])


def solve_joint(
    motions: Sequence[JointMotion],
    start: Mapping[Term, float],
    weights: Array | None = None,
    *,
    trial: bool = False,
    fine: bool = False,
    priors: Mapping[Term, Prior] = COMMON,
    data: float | None = None,
    fitted: Collection[Term] = tuple(TERMS),
) -> JointFit:
    """Fit servo parameters to the motion of one joint; the search begins at the values in `start`.

    Args:
        motions: Motions to be simulated.
        start: Terms of the servo with their initial values.
        weights: Weight of each sample, at most 1, shape (K,); None: all have weight 1.
        trial: True for a fit that is only compared with others, and ends earlier, with a coarser
            tolerance.
        fine: True for the last fit, whose residuals are those of fine time steps.
        priors: Prior distributions of the terms.
        data: Effective number of independent data in all samples; None: the number of samples.
        fitted: Terms that are fitted; the others keep their initial values.
    """
    terms = tuple(term for term in start if term in fitted)
    p = np.array([start.get(term, 0.0) for term in TERMS])
    w = np.ones(sum(len(m.t) for m in motions)) if weights is None else weights
    count = float(w.sum()) * (1.0 if data is None else data / len(w))
    at = [_INDEX[term] for term in terms]
    scale = np.array([TERMS[term].scale for term in terms])
    middle = np.array([priors[term].mean for term in terms])
    spread = np.array([priors[term].deviation for term in terms])
    least = np.array([TERMS[term].least for term in terms])
    if max(m.weight for m in motions) <= GRAVITY and Term.COMPLIANCE in terms:
        least[terms.index(Term.COMPLIANCE)] = 0.0  # inertia doesn't show its sign
    most = np.array([TERMS[term].most for term in terms])
    coarse = TRIAL_STEP if trial else _COARSE
    step = STEP if fine else coarse

    def cost_of(r: Array, p: Array) -> tuple[float, float]:
        # Not by BLAS, whose threads cost more than they bring for each of thousands of short sums.
        squares = float(np.einsum("i,i,i->", w, r, r)) + _TINY * len(r)
        return squares, count * np.log(squares) + float(np.sum(((p[at] - middle) / spread) ** 2))

    r = errors(motions, p, step)
    squares, cost = cost_of(r, p)
    damping, probe = 1e-2, _WIDE
    for _ in range(_TRIAL_ITERATIONS if trial else _ITERATIONS):
        # The slopes of coarser steps serve as well, at a quarter of the time.
        J = _jacobian(motions, p, terms, coarse, probe)
        H = J.T @ (w[:, None] * J) * (count / squares) + np.diag((scale / spread) ** 2)
        g = J.T @ (w * r) * (count / squares) + scale * (p[at] - middle) / spread**2
        better = False
        # A term at its bound that is drawn beyond it stays there, and the others move without it.
        free = ~(((p[at] <= least) & (g > 0)) | ((p[at] >= most) & (g < 0)))
        for _ in range(8):
            scaled = H + damping * np.diag(np.diag(H))
            move = np.zeros(len(terms))
            move[free] = -np.linalg.solve(scaled[np.ix_(free, free)], g[free])
            p_new = p.copy()
            p_new[at] = np.clip(p[at] + move * scale, least, most)
            r_new = errors(motions, p_new, step)
            squares_new, cost_new = cost_of(r_new, p_new)
            if cost_new < cost:
                better = True
                break
            damping *= 4.0
        gain = cost - cost_new if better else 0.0
        if better:
            p, r, cost, squares = p_new, r_new, cost_new, squares_new
            damping /= 4.0
        if gain < count * (_TRIAL_SETTLED if trial else _SETTLED):
            if trial or probe == _PROBE:
                break
            damping, probe = 1e-2, _PROBE
    values = {term: float(p[_INDEX[term]]) for term in start}
    return JointFit(values, squares, count, priors, cost)


def _jacobian(
    motions: Sequence[JointMotion], p: Array, terms: Sequence[Term], step: float, probe: float
) -> Array:
    """Return the derivatives of the errors with respect to the terms, each in units of its scale,
    by finite differences of `probe` such units, shape (K, len(terms)).
    """
    r, columns = errors(motions, p, step), []
    for term in terms:
        moved = p.copy()
        moved[_INDEX[term]] += probe * TERMS[term].scale
        columns.append((errors(motions, moved, step) - r) / probe)
    return np.stack(columns, axis=1)


def _secants(motions: Sequence[JointMotion], p: Array, terms: Sequence[Term], axes: Array) -> Array:
    """Mean change of the errors per change of the terms, in units of their scales, from differences
    over both sides of each axis, the rows of a matrix of shape (k, k).

    A small change of a parameter shifts the instants at which sticking begins or ends, where the
    errors jump. These jumps would dominate a derivative, and hide that a combination of terms hardly
    matters, so that differences over about one standard deviation along the principal axes are used.
    """
    at = [_INDEX[term] for term in terms]
    scale, least, most = np.array(
        [(TERMS[term].scale, TERMS[term].least, TERMS[term].most) for term in terms]
    ).T
    moves, changes = [], []
    for axis in axes:
        low, high = p.copy(), p.copy()
        low[at] = np.clip(p[at] - axis * scale, least, most)
        high[at] = np.clip(p[at] + axis * scale, least, most)
        moves.append((high - low)[at] / scale)
        changes.append(errors(motions, high, _COARSE) - errors(motions, low, _COARSE))
    return np.asarray(np.linalg.solve(np.array(moves), np.array(changes)).T)


def block_weights(motions: Sequence[JointMotion], r: Array) -> Array:
    """Return the weight of each sample according to the simulation errors r of its block, shape (K,).

    These are Cauchy weights with the median block as their scale, so that blocks in which the robot
    leaned on a table or a stop have little influence.
    """
    blocks = np.concatenate([m.block for m in motions])
    counts = np.maximum(np.bincount(blocks), 1)
    squares = np.bincount(blocks, r**2) / counts
    scale = float(np.median(squares[np.unique(blocks)])) + 1e-12
    return np.asarray((1.0 / (1.0 + squares / scale))[blocks])


def unlikely(motions: Sequence[JointMotion], r: Array) -> Array:
    """Return minus the log-likelihood of the simulation errors r in each block, each with a variance
    of its own, shape (blocks,).
    """
    blocks = np.concatenate([m.block for m in motions])
    counts = np.bincount(blocks)
    squares = np.bincount(blocks, r**2)[counts > 0] / counts[counts > 0]
    return np.asarray(0.5 * np.log(squares + ROUNDING**2))


def independent_data(motions: Sequence[JointMotion], fit: JointFit) -> float:
    """Return the effective number of independent data, from the variation of scores between blocks.

    With the scores \\(g_b\\) of B blocks, residuals of variance \\(\\sigma^2\\) and k terms, K
    samples count as \\(K k / \\mathrm{tr}(H^{-1} \\sum g_b g_b^T / \\sigma^2)\\) independent data,
    at least B and at most K.
    """
    r = errors(motions, fit.vector)
    J = _secants(motions, fit.vector, tuple(fit.values), 0.5 * np.eye(len(fit.values)))
    J = J[:, np.abs(J).max(axis=0) > 0.0]
    blocks = np.concatenate([m.block for m in motions])
    scores = np.array([J[blocks == b].T @ r[blocks == b] for b in np.unique(blocks)])
    variance = float(r @ r) / len(r) + _TINY
    excess = np.trace(np.linalg.pinv(J.T @ J, hermitian=True) @ (scores.T @ scores)) / variance
    worth = len(r) * J.shape[1] / max(float(excess), 1e-9)
    return float(np.clip(worth, len(scores), len(r)))


def block_covariance(
    motions: Sequence[JointMotion], fit: JointFit, weights: Array | None = None
) -> tuple[tuple[Term, ...], Array]:
    """Return the terms that are not at a bound, and their covariance from blocks of time.

    This covariance is \\(A^{-1} (\\sum g_b g_b^T N^2/S^2 + P) A^{-1}\\) with
    \\(A = J^T W J N/S + P\\), where \\(g_b = J_b^T W r_b\\) are the scores of the blocks, N is the
    effective number of independent data, S the weighted sum of squared residuals, and P the
    precision of the prior. It is shrunk to a multiple of \\(A^{-1}\\), which it would be with many
    blocks of independent errors (Ledoit and Wolf 2004).
    """
    terms = tuple(term for term in fit.values if not at_bound(fit, term))
    r = errors(motions, fit.vector)
    scale = np.array([TERMS[term].scale for term in terms])
    w = np.ones(len(r)) if weights is None else weights
    blocks = np.concatenate([m.block for m in motions])
    informative = fit.data / (float(w @ r**2) + _TINY * len(r))
    P = np.diag((scale / [fit.priors[term].deviation for term in terms]) ** 2)
    which = [np.flatnonzero(blocks == b) for b in np.unique(blocks)]
    # Few blocks make the sum too small: by their number over the degrees that are left.
    factor = len(which) / max(len(which) - len(terms), 1)
    covariance = np.diag((2 * _PROBE) ** 2 * np.ones(len(terms)))
    for _ in range(_PROBED):
        squares, axes = np.linalg.eigh(covariance)
        sizes = np.clip(np.sqrt(squares), _PROBE, 1.0)
        J = _secants(motions, fit.vector, terms, (axes * sizes).T)
        scores = np.array([J[k].T @ (w * r)[k] for k in which]) * informative * np.sqrt(factor)
        inverse = np.linalg.inv((J.T @ (w[:, None] * J)) * informative + P)
        root = np.linalg.cholesky(inverse)
        covariance = root @ _shrunk(scores @ root, root.T @ P @ root) @ root.T
    return terms, np.asarray(covariance * np.outer(scale, scale))


def _shrunk(scores: Array, known: Array) -> Array:
    """Sum of the products of scores of shape (B, k) and a known part, shape (k, k), shrunk to a
    multiple of the unit matrix by as much as B blocks scatter (Ledoit and Wolf 2004, eq. 14).
    """
    B, k = scores.shape
    products = scores[:, :, None] * scores[:, None]
    total = products.sum(axis=0) + known
    mean = np.trace(total) / k * np.eye(k)
    noise = B * float(products.var(axis=0).sum())
    share = min(noise / max(float(((total - mean) ** 2).sum()), noise), 1.0)
    return np.asarray((1.0 - share) * total + share * mean)


def at_bound(fit: JointFit, term: Term) -> bool:
    """Return True if the search ended at the bound of the term, so that it is not determined."""
    value, facts = fit.values[term], TERMS[term]
    return value >= facts.most or value <= facts.least
