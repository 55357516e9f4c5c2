# SPDX-License-Identifier: Apache-2.0
"""Cross-validation on blocks of time: regressor columns and the prior are selected by the
prediction error on held-out blocks.

Jackknife test of whether the recordings determine the torques of other motions: the fit is repeated
with each block of time left out (delete-a-block jackknife, Künsch 1989). If the recordings are too
short or excite too little, these fits explain their own data equally well, but predict different
torques for other motions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.arm.spans import Estimator
from sysid_core.estimation.fit import LeastSquares, Regression
from sysid_core.robot import Array, RobotModel
from sysid_core.robot.loops import DrivenRobot

N_BLOCKS = 6  # of time, each held out once: fits keep five sixths of the data
LEAST_GAIN = 0.005  # relative drop of the held-out error that anything else than usual must bring
ENOUGH = 20_000  # samples that choices are judged on, evenly spread: more change no choice
_EXACT = 1e-12  # squares of torques: a millionth of them is no measurement
WEIGHTS = (1.0, 10.0, 100.0, 1e3, 1e4)  # of the prior that are tried; the first is the weakest
WITHIN = 0.03  # relative: held-out errors of one recording that differ by less are the same
WORSE = 0.1  # relative: a residual larger by more than with the weakest prior contradicts the data
NO_PRIOR = 1e-6  # weight of the prior that stands for none
_WIDER = 1.5  # typical positions span so much more than the recorded ones
_FURTHER = 0.3  # [rad] and so much, where joints turn
_LEAST = 0.3  # of the liveliest joint's velocity and acceleration
_SAMPLES = 200  # random states: the spread's own error is 5 %


@dataclass(frozen=True, eq=False)
class BlockScores:
    r"""Normal equations of each block of time, for the cross-validation of any choice of regressor
    columns.

    Every held-out block is predicted without filtering, from a weighted fit to all other blocks,
    which are filtered. The prior is that of `ConsistentLeastSquares`, without its constraints.

    Attributes:
        regression: Equations of the filtered samples, with the names of the parameters, the exact
            structural relations between them, and the prior.
        filtered: `[Y tau]^T [Y tau]` of each block and joint, shape (blocks, n, p+1, p+1).
        raw: The same products before filtering.
        gains: Drive gains, shape (n,), which convert torque errors to the unit of the efforts.
    """

    regression: Regression
    filtered: Array
    raw: Array
    gains: Array

    @classmethod
    def build(cls, equations: ArmEquations, pi: Array, n_blocks: int = N_BLOCKS) -> BlockScores:
        """Return the normal equations of blocks of equal time in motion.

        Blocks are divided by time, because recordings with different rates are decimated
        differently.

        Args:
            equations: Measurement equations of the filtered recordings.
            pi: Inertial parameters for the loads in load-dependent friction, shape (10 N,).
            n_blocks: Number of blocks.
        """
        filtered = equations.regression(pi)
        raw = equations.regression(pi, raw=True)
        edges = _edges(raw, n_blocks)
        return cls(
            filtered,
            _block_products(filtered, edges),
            _block_products(raw, edges),
            equations.friction.drives.gains,
        )

    def relative_error(
        self, keep: Sequence[bool] | None = None, prior_weight: float = 1.0
    ) -> float:
        r"""Return the relative error `||e|| / ||effort||` over all held-out blocks and joints.

        Args:
            keep: Mask of the columns in use, shape (p,); None: all.
            prior_weight: Weight rho of the prior.
        """
        return float(np.sqrt(self.block_errors(keep, prior_weight).sum()))

    def block_errors(self, keep: Sequence[bool] | None = None, prior_weight: float = 1.0) -> Array:
        """Return the contribution of each block to the squared relative error, shape (blocks,)."""
        error, signal = self._squares(keep, prior_weight)
        return np.asarray(np.sum(error / self.gains**2, axis=1) / np.sum(signal / self.gains**2))

    def joint_errors(self, keep: Sequence[bool] | None = None, prior_weight: float = 1.0) -> Array:
        """Return the relative error of each joint, shape (n,)."""
        error, signal = self._squares(keep, prior_weight)
        return np.sqrt(error.sum(axis=0) / np.maximum(signal, _least(signal)))

    def fits_without_blocks(
        self, prior_weight: float, parameters: Array, fixed: Sequence[str] = ()
    ) -> Array:
        """Return the parameters of the fits that each omit one block, shape (blocks, p).

        Args:
            prior_weight: Weight rho of the prior.
            parameters: All parameters of the fit to all blocks, shape (p,).
            fixed: Names of the parameters that the fit kept fixed, as in an estimator's `fixed`.
        """
        free = self.regression.free_columns(fixed)
        prior, sd = self.regression.prior[free], self.regression.prior_sd[free]
        # The held object is taken out of the torques: [Y tau] -> [Y_free, tau - Y_held x_held].
        kept = np.zeros((len(free) + 1, len(prior) + 1))
        kept[:-1, :-1] = np.eye(len(free))[:, free]
        kept[:-1, -1], kept[-1, -1] = np.where(free, 0.0, -parameters), 1.0
        blocks = kept.T @ self.filtered @ kept
        total = blocks.sum(axis=0)
        weights = self._weights(total, prior, sd, prior_weight)
        out = np.tile(parameters, (len(blocks), 1))
        for row, block in zip(out, blocks, strict=True):
            row[free] = _solve(total - block, weights, prior, sd, prior_weight)
        return out

    def residual(self, parameters: Array) -> Array:
        """Return the RMS residual of every joint for given parameters, shape (n,) [N m]."""
        squares = _quadratic(np.append(-parameters, 1.0), self.filtered.sum(axis=0))
        return np.sqrt(np.maximum(squares, 0.0) / np.maximum(self.regression.counts, 1.0))

    def _squares(self, keep: Sequence[bool] | None, prior_weight: float) -> tuple[Array, Array]:
        """Squared held-out errors of blocks and joints, (blocks, n), and squared torques, (n,)."""
        p = len(self.regression.names)
        used = np.arange(p) if keep is None else np.flatnonzero(np.asarray(keep))
        prior, sd = self.regression.prior[used], self.regression.prior_sd[used]
        index = np.append(used, p)
        filtered = self.filtered[:, :, index[:, None], index[None, :]]
        raw = self.raw[:, :, index[:, None], index[None, :]]
        total = filtered.sum(axis=0)
        weights = self._weights(total, prior, sd, prior_weight)
        error = []
        for block in range(len(filtered)):
            pi = _solve(total - filtered[block], weights, prior, sd, prior_weight)
            error.append(_quadratic(np.append(-pi, 1.0), raw[block]))
        return np.maximum(error, 0.0), raw[:, :, -1, -1].sum(axis=0)

    def _weights(self, total: Array, prior: Array, sd: Array, rho: float) -> Array:
        """Inverse residual variance of each joint, from a fit to all blocks."""
        weights = np.ones(len(total))
        count = self.regression.counts
        for _ in range(3):
            pi = _solve(total, weights, prior, sd, rho)
            theta = np.append(-pi, 1.0)
            squares = _quadratic(theta, total)
            weights = count / np.maximum(squares, _least(total[:, -1, -1]))
        return weights


def is_better(new: Array, old: Array, least_gain: float) -> bool:
    """Return True if one choice predicts better than another by more than chance.

    The mean gain over the blocks must exceed its standard error (Breiman's one-standard-error rule,
    Hastie et al. 2009, section 7.10), because a gain on some blocks with a loss on others does not
    carry over to other motions.

    Args:
        new: Squared held-out errors of the new choice, block by block, shape (blocks,).
        old: Squared held-out errors of the present choice, shape (blocks,).
        least_gain: Required relative reduction of the RMS error.
    """
    gains = old - new
    clear = np.sum(gains) > np.sqrt(len(gains)) * np.std(gains, ddof=1)
    return bool(clear and np.sum(new) < (1.0 - least_gain) ** 2 * np.sum(old))


def _least(signal: Array) -> Array:
    """Lower bound of each joint's sum of squares, shape (n,), for joints whose efforts are zero or
    noise-free.
    """
    return _EXACT * np.maximum(signal, _EXACT * max(float(np.max(signal)), 1e-200))


def _quadratic(theta: Array, products: Array) -> Array:
    """`theta^T P_j theta` of every joint, (p,), (n, p, p) to (n,)."""
    return np.asarray((products @ theta) @ theta)


def _edges(regression: Regression, n_blocks: int) -> Array:
    """Times that divide the motion into blocks of equal duration, shape (n_blocks - 1,) [s].

    A motion that is repeated belongs to the block in which it first occurred, so that no motion of
    a held-out block occurs in the fitted blocks.
    """
    time = np.sort(_motion_time(regression))
    passed = np.cumsum(np.clip(np.diff(time, prepend=time[0]), 0.0, 0.1))  # holes don't count
    return np.interp(np.arange(1, n_blocks) / n_blocks * passed[-1], passed, time)


def _motion_time(regression: Regression) -> Array:
    return np.asarray(regression.time if regression.motion_time is None else regression.motion_time)


def _block_products(regression: Regression, edges: Array) -> Array:
    """`[Y tau]^T [Y tau]` of every block and joint, shape (blocks, n, p + 1, p + 1)."""
    of_block = np.searchsorted(edges, _motion_time(regression), side="right")
    n, p = len(regression.joints), len(regression.names)
    out = np.zeros((len(edges) + 1, n, p + 1, p + 1))
    for rows, Y in regression.blocks():
        for block in np.unique(of_block[rows]):
            own = of_block[rows] == block
            for j in range(n):  # joint by joint: no second copy of the whole
                A = np.column_stack([Y[own, j], regression.tau[rows][own, j]])
                out[block, j] += A.T @ A
    return out


def _solve(products: Array, weights: Array, prior: Array, sd: Array, rho: float) -> Array:
    """Solution of the regularised normal equations in natural scales, which are well conditioned
    for any data.
    """
    H = np.einsum("j,jik->ik", weights, products)
    A = H[:-1, :-1] * np.outer(sd, sd) + rho * np.eye(len(sd))
    b = sd * (H[:-1, -1] - H[:-1, :-1] @ prior)
    try:
        step = scipy.linalg.cho_solve(scipy.linalg.cho_factor(A), b)
    except np.linalg.LinAlgError:  # products so large that rho is lost beside them
        step = scipy.linalg.lstsq(A, b)[0]
    return prior + sd * step


def choose_prior_weight(
    equations: ArmEquations,
) -> tuple[float, dict[float, float]]:
    """Return the weight of the prior with the smallest held-out error, and the errors of all
    candidates.

    The result is the largest weight whose error is not clearly larger than the smallest (Breiman's
    one-standard-error rule, Hastie et al. 2009, section 7.10), because the blocks of one recording
    contain little information about other motions.

    Args:
        equations: Measurement equations of the filtered recordings.
    """
    scores = BlockScores.build(equations, rough_loads(equations))
    errors = {rho: scores.relative_error(None, rho) for rho in WEIGHTS}
    least = min(errors.values())
    return max(rho for rho, error in errors.items() if error <= (1.0 + WITHIN) * least), errors


def lowered_prior_weight(
    equations: ArmEquations,
    weight: float,
    estimator: Callable[[float], Estimator],
) -> float:
    """Return the weight of the prior, reduced until physical consistency no longer contradicts the
    prior.

    `choose_prior_weight` judges fits without constraints. If the drive gains contradict each other,
    a strong prior fits the data only with physically inconsistent bodies; consistent bodies then
    have a much larger residual than with a weaker prior.

    Args:
        equations: Measurement equations of the filtered recordings.
        weight: Initial weight of the prior.
        estimator: Function from a weight to the constrained estimator with that weight.
    """
    scores = BlockScores.build(equations, equations.prior, 1)

    def residual(rho: float) -> float:
        found = identify_equations(equations, estimator(rho))
        rms = scores.residual(found.parameters) * np.sqrt(scores.regression.counts)
        return float(np.linalg.norm(rms / scores.gains))

    least = WEIGHTS[0]
    if weight <= least:
        return weight
    most = (1.0 + WORSE) * residual(least)
    while weight > least and residual(weight) > most:
        weight /= 10.0
    return weight


def rough_loads(equations: ArmEquations) -> Array:
    """Estimate inertial parameters that are accurate enough for the load torque in friction terms.

    Without measured efforts of a joint, the least-squares estimate of the bodies that it carries is
    arbitrary.
    """
    if not equations.friction.needs_load or np.any(equations.unmeasured()):
        return equations.prior
    return identify_equations(equations, LeastSquares("joint")).pi.ravel()


@dataclass(frozen=True)
class PredictionSpread:
    """Scatter of torque predictions over fits that each omit one part of the recordings.

    The predicted motion is as fast as the recorded one; its range is larger by half of the recorded
    range plus 0.3 rad.

    Attributes:
        spread: Standard deviation of the predicted efforts relative to the residual of the fit [-].
        relative: Standard deviation relative to the efforts of a typical motion [-].
        joints: Standard deviation of the predicted effort of each joint relative to its residual,
            by joint name [-].
    """

    spread: float
    relative: float
    joints: dict[str, float]

    @property
    def worst(self) -> tuple[str, ...]:
        """Joints with the largest scatter, at most three."""
        order = sorted(self.joints, key=lambda joint: -self.joints[joint])
        return tuple(j for j in order[:3] if self.joints[j] > 0.5 * self.joints[order[0]])


def prediction_spread(
    equations: ArmEquations,
    parameters: Array,
    prior_weight: float = NO_PRIOR,
    *,
    fixed: Sequence[str] = (),
) -> PredictionSpread:
    r"""Return the scatter of predictions of a typical motion over fits that each omit one block of
    time.

    With the predictions y_b, b = 1 … B, of the fits without block b, the jackknife's variance is
    `(B - 1) / B sum_b (y_b - mean(y))^2`. Standard deviations are combined as root mean squares
    over samples and joints, in the unit of each joint's efforts.

    Args:
        equations: Measurement equations of the filtered recordings.
        parameters: All parameters of the fit, inertial then friction, shape (p,).
        prior_weight: Weight rho of the prior in the fit.
        fixed: Names of the parameters that the fit kept fixed, as in an estimator's `fixed`.
    """
    split = equations.model.n_bodies * 10
    scores = BlockScores.build(equations, parameters[:split])
    fits = scores.fits_without_blocks(prior_weight, parameters, fixed)
    q, v, a = _typical_motion(equations)
    rigid = equations.model.torque_regressor(q, v, a)
    Y = np.concatenate(
        [rigid, equations.friction.regressor(q, v, a, rigid @ parameters[:split])], axis=2
    )
    predicted = np.einsum("kjp,bp->bkj", Y, fits) / scores.gains
    B = len(predicted)
    variance = (B - 1) / B * np.sum((predicted - predicted.mean(axis=0)) ** 2, axis=0)
    used = ~equations.unmeasured()
    spread = np.sqrt(np.mean(variance, axis=0))[used]
    residual = (scores.residual(parameters) / np.abs(scores.gains))[used]
    size = np.sqrt(np.mean((Y @ parameters / scores.gains) ** 2, axis=0))[used]

    def ratio(x: Array, y: Array) -> float:
        return float(np.linalg.norm(x) / max(float(np.linalg.norm(y)), 1e-300))

    floor = np.maximum(residual, 1e-6 * np.linalg.norm(size))
    names = np.array(equations.model.joint_names)[used].tolist()
    joints = dict(zip(names, (spread / floor).tolist(), strict=True))
    return PredictionSpread(ratio(spread, floor), ratio(spread, size), joints)


def _typical_motion(equations: ArmEquations) -> tuple[Array, Array, Array]:
    """Random states with the spread of the recorded ones, each (K, n)."""
    rng = np.random.default_rng(0)
    model = equations.model
    q, v, a = map(np.concatenate, zip(*(s.motion.kinematics for s in equations.spans), strict=True))
    middle, half = 0.5 * (q.min(axis=0) + q.max(axis=0)), 0.5 * np.ptp(q, axis=0)
    slides = np.array([name in model.prismatic_joints for name in model.joint_names])
    reach = _WIDER * half + np.where(slides, 0.0, _FURTHER)
    lower, upper = model.position_limits
    low = np.minimum(np.maximum(middle - reach, lower), middle - half)
    high = np.maximum(np.minimum(middle + reach, upper), middle + half)
    shape = (_SAMPLES, model.nv)
    sd_v, sd_a = (np.sqrt(np.mean(x**2, axis=0)) for x in (v, a))
    out = [_postures(model, rng.uniform(low, high, shape), q, rng)]
    for sd in (sd_v, sd_a):
        least = np.where(slides, 0.0, _LEAST * np.max(sd[~slides], initial=0.0))
        out.append(rng.normal(size=shape) * np.maximum(sd, least))
    return out[0], out[1], out[2]


def _postures(model: RobotModel, wide: Array, recorded: Array, rng: np.random.Generator) -> Array:
    """Random positions (K, n); where the loops cannot be closed, recorded positions replace
    them.
    """
    if not isinstance(model, DrivenRobot):
        return wide
    lost = ~model.chain.try_assemble(wide).assembled
    out = wide.copy()
    out[lost] = recorded[rng.integers(len(recorded), size=int(np.sum(lost)))]
    return out
