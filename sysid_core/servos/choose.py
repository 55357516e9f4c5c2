# SPDX-License-Identifier: Apache-2.0
"""Choice of the terms of servo models on held-out blocks of time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from sysid_core.servos.bodies import Array, BodyTree
from sysid_core.servos.examine import Stops
from sysid_core.servos.fit import (
    BLOCK,
    FEWEST_BLOCKS,
    TRIAL_STEP,
    JointFit,
    JointMotion,
    Prior,
    block_weights,
    errors,
    independent_data,
    solve_joint,
)
from sysid_core.servos.ground import Ground, reach
from sysid_core.servos.model import ANYWHERE, TERMS, Term
from sysid_core.servos.recording import GRAVITY, ROUNDING, ServoRecording

# What all servos with gears have, weakly shown or not: left out, the others take it over, and motions that
# were not fitted suffer (two minutes of an SO-101's work: median 6.8 to 5.6 mrad).
BASE = (
    Term.TIME_CONSTANT, Term.FRICTION, Term.BREAKAWAY, Term.BREAKAWAY_SPEED, Term.ZERO, Term.DELAY,
    Term.COMPLIANCE, Term.INERTIA,
)  # fmt: skip
# What held-out blocks may add. Limits come last: nearly all motions have a largest speed and error, which
# other terms explain better.
CHOICES = (
    Term.INVERSE_ACCELERATION, Term.INTEGRAL, Term.BACKLASH, Term.INVERSE_SPEED, Term.INVERSE_LIMIT,
)  # fmt: skip
# [s] Four time constants of a hobby servo, after which 98 % of its answer to a step are over.
SELDOM = 0.2
# Of the samples are below the limit at which a search begins: the rest reach it.
_OFTEN = 0.9
# That a term is there: less is not worth a mention (Kass and Raftery 1995). Chosen on robots 5 to 8 of the
# benchmark: 20 : 1 leaves out weak terms that are there, whose friction others then take over.
_ODDS = float(np.log(3.0))
_CHANCE = 0.1  # that the blocks of a term which changes nothing would say as much
_ENOUGH = 240.0  # [s] of motions, 60 blocks, that choose terms


def time_blocks(recordings: Sequence[ServoRecording]) -> list[NDArray[np.int64]]:
    """Number of the block of time of each sample of each recording."""
    out: list[NDArray[np.int64]] = []
    first = 0
    length = min(BLOCK, sum(r.duration for r in recordings) / FEWEST_BLOCKS)
    for recording in recordings:
        out.append(first + ((recording.t - recording.t[0]) // length).astype(np.int64))
        first = int(out[-1][-1]) + 1
    return out


def joint_motions(
    recordings: Sequence[ServoRecording],
    tree: BodyTree,
    ground: Ground | None = None,
    stops: Sequence[Stops] | None = None,
) -> list[list[JointMotion]]:
    """Return the motions of each joint in the recordings, in the order of the tree. If a surface or
    mechanical stops are given, they bound the positions of the simulated joints.
    """
    out: list[list[JointMotion]] = [[] for _ in tree.joints]
    for r, block in zip(recordings, time_blocks(recordings), strict=True):
        still = tree.loads(r.q)
        weights = np.hypot(still.a, still.b).max(axis=0)
        loads = still.beside(tree.coupling(r.t, r.q), r.q)
        ways = None if ground is None else reach(tree, ground, r.q)
        for j, motions in enumerate(out):
            q, target = r.q[:, j].copy(), r.target[:, j].copy()
            way = ANYWHERE if ways is None else (ways[0][:, j].copy(), ways[1][:, j].copy())
            motion = JointMotion(
                r.t, r.t_target, target, loads, j, way,
                q=q, block=block, weight=float(weights[j]),
            )  # fmt: skip
            motions.append(motion if stops is None else motion.within(*stops[j]))
    return out


@dataclass(frozen=True)
class JointData:
    """Joint that moved, with its data, and a fit that explains them, if there is one."""

    motions: list[JointMotion]
    priors: Mapping[Term, Prior]
    explained: JointFit | None = None

    @cached_property
    def start(self) -> dict[Term, float]:
        """Simplest model, from which the search starts."""
        terms = BASE + ((Term.LOAD_FRICTION,) if self.feels_gravity else ())
        return {t: self.priors[t].mean for t in terms}

    @cached_property
    def data(self) -> float:
        """Effective number of independent data, from the residuals of the joint's fit or, if there
        is none, of a fit of the simplest model.
        """
        fit = self.explained or solve_joint(
            self.motions, self.start, trial=True, priors=self.priors
        )
        return independent_data(self.motions, fit)

    def fit(
        self,
        start: Mapping[Term, float],
        weights: Array | None = None,
        *,
        trial: bool = False,
        fine: bool = False,
        priors: Mapping[Term, Prior] = MappingProxyType({}),
    ) -> JointFit:
        """Terms from all motions."""
        return solve_joint(
            self.motions, start, weights,
            trial=trial, fine=fine, priors={**self.priors, **priors}, data=self.data,
        )  # fmt: skip

    @cached_property
    def beginning(self) -> JointData:
        """First part of each motion, long enough to choose the friction and drive terms by held-out blocks
        of time.
        """
        share = _ENOUGH / sum(float(m.t[-1] - m.t[0]) for m in self.motions)
        if share >= 1.0:
            return self
        parts = [m.part(slice(max(int(share * len(m.t)), 2))) for m in self.motions]
        blocks = np.concatenate([m.block for m in parts])
        number = dict(zip(np.unique(blocks), range(len(blocks)), strict=False))
        renumbered = [
            replace(m, block=np.array([number[b] for b in m.block], dtype=np.int64)) for m in parts
        ]
        return replace(self, motions=renumbered)

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """Number of the time block of each sample."""
        return np.concatenate([m.block for m in self.motions])

    @cached_property
    def halves(self) -> tuple[Array, Array]:
        """Weights of the samples in even and in odd blocks."""
        return (self.blocks % 2 == 0).astype(float), (self.blocks % 2 == 1).astype(float)

    @cached_property
    def feels_gravity(self) -> bool:
        """True if gravity can show the stiffness."""
        return max(m.weight for m in self.motions) > GRAVITY

    @cached_property
    def reached(self) -> dict[Term, float]:
        """Values of the limits (torque, speed) that these motions would just reach; beyond them a
        limit has no effect, so that a search has no gradient.
        """
        grids = [np.arange(m.t[0], m.t[-1], 0.5 * SELDOM) for m in self.motions]
        q = [np.interp(grid, m.t, m.q) for grid, m in zip(grids, self.motions, strict=True)]
        speeds = [np.abs(x[2:] - x[:-2]) / SELDOM for x in q]
        off = [np.abs(np.interp(m.t, m.t_target, m.target) - m.q) for m in self.motions]
        speed, error = (float(np.quantile(np.concatenate(x), _OFTEN)) for x in (speeds, off))
        found = {Term.INVERSE_SPEED: speed, Term.INVERSE_LIMIT: error}
        return {term: 1.0 / x for term, x in found.items() if x > ROUNDING}

    def usual(self, terms: Iterable[Term]) -> dict[Term, float]:
        """Usual values of terms, and limits that these motions would just reach."""
        return {t: self.reached.get(t, self.priors[t].mean) for t in terms}

    def shows(self, fit: JointFit, term: Term) -> bool:
        """True if a term has an effect on these motions; a limit that no motion reaches has none."""
        without = replace(fit, values={**fit.values, term: 0.0})
        ours, others = (errors(self.motions, x.vector) for x in (fit, without))
        return term not in self.reached or not np.array_equal(ours, others)

    def halved(
        self, fits: Sequence[JointFit], terms: Sequence[Term], weights: Array
    ) -> list[JointFit]:
        """Fit terms to each half of the blocks. Each fit starts from the earlier fit to that half,
        and a second time from other values: the usual ones for the first half, the result of the
        first half for the second. The earlier values alone do not suffice, because terms that
        compensated for a missing one may not converge to their right values.
        """
        other = self.usual(terms)
        found: list[JointFit] = []
        for fit, half in zip(fits, self.halves, strict=True):
            starts = {t: fit.values.get(t, self.priors[t].mean) for t in terms}, other
            tried = [self.fit(start, half * weights, trial=True) for start in starts]
            found.append(min(tried, key=lambda fit: fit.cost))
            other = found[0].values
        return found

    def squares(self, fits: Sequence[JointFit]) -> Array:
        """Mean squared error of each block, by the fit in which the block was not used."""
        counts = np.maximum(np.bincount(self.blocks), 1)
        total = np.zeros(len(counts))
        for fit, seen in zip(fits, self.halves, strict=True):
            r = errors(self.motions, fit.vector, TRIAL_STEP) * (1.0 - seen)
            total += np.bincount(self.blocks, r**2, minlength=len(counts))
        return np.asarray(total / counts)


@dataclass(frozen=True)
class _Trial:
    """Fits of all drives to each half of the blocks, with the same additional terms.

    Attributes:
        fits: Fits of each drive.
        squares: Mean squared error of each block not fitted, by drive [rad²].
    """

    fits: list[list[JointFit]]
    squares: list[Array]

    def gains(self, other: _Trial) -> Array:
        """Log-likelihood of each block under this trial minus that under the other one, shape
        (drives, blocks).

        Each block of each drive is one datum with its own error variance. The usual variance of the
        drive is added to it, so that improvements of blocks that are already simulated well have
        little influence.
        """
        out = []
        for new, old in zip(self.squares, other.squares, strict=True):
            usual = min(np.median(old), np.median(new)) + ROUNDING**2
            out.append(0.5 * np.log((old + usual) / (new + usual)))
        return np.array(out)

    def likelier(self, other: _Trial) -> bool:
        """True if the blocks are three times as likely under this trial as under the other one, and
        a one-sided test at 10 % over the blocks confirms the difference, so that a few bad blocks
        do not decide.
        """
        gains = self.gains(other)
        mean, blocks = gains.mean(axis=0), gains.shape[1]
        sure = float(stdtrit(max(blocks - 1, 1), 1.0 - _CHANCE)) / np.sqrt(blocks)
        spread = mean.std(ddof=1 if blocks > 1 else 0)
        return bool(gains.sum() > _ODDS and mean.mean() > sure * spread)


def choose_terms(
    drives: Sequence[JointData], progress: Callable[[str], None] = lambda phase: None
) -> tuple[list[JointFit], list[float]]:
    """Return the terms that improve the prediction of held-out blocks, the same terms for all
    drives.

    Each half of the blocks (every second block) is predicted by a fit to the other half. Terms are
    added one after another. At the end, each added term is removed on trial, and the others are
    fitted again from their last values. The term is kept only if the prediction is clearly worse
    without it. An early term may only have compensated for one that was added later, or only have
    led the search to better values of the other terms.

    Returns:
        For each drive, the fit to the first half of the blocks, and the mean squared error on
        held-out blocks [rad²].
    """
    progress(f"simplest model of {len(drives)} servos; compiled once on a new machine")
    fits = [[d.fit(d.start, half, trial=True) for half in d.halves] for d in drives]
    # Blocks in which the robot leaned on something mustn't decide what the terms are tried with.
    weights = drive_weights(drives, [fit[0] for fit in fits])

    def trial(fits: list[list[JointFit]]) -> _Trial:
        return _Trial(fits, [d.squares(fit) for d, fit in zip(drives, fits, strict=True)])

    def with_terms(best: _Trial, more: Collection[Term], less: Collection[Term] = ()) -> _Trial:
        return trial([
            drive.halved(fit, [*(t for t in fit[0].values if t not in less), *more], w)
            for drive, fit, w in zip(drives, best.fits, weights, strict=True)
        ])  # fmt: skip

    best, added = trial(fits), []
    for term in CHOICES:
        progress(f"trying {term.value.replace('_', ' ')}")
        tried = with_terms(best, [term])
        # Not reached by any motion, as a speed limit may be.
        reached = any(f.values[term] != TERMS[term].start for fit in tried.fits for f in fit)
        if reached and tried.likelier(best):
            best = tried
            added.append(term)
    for term in added:
        progress(f"trying without {term.value.replace('_', ' ')}")
        tried = with_terms(best, [], [term])
        if not best.likelier(tried):
            best = tried
    counts = [np.bincount(drive.blocks) for drive in drives]
    held_out = [float(s @ c / c.sum()) for s, c in zip(best.squares, counts, strict=True)]
    return [fit[0] for fit in best.fits], held_out


def drive_weights(drives: Sequence[JointData], fits: Sequence[JointFit]) -> list[Array]:
    """Return the weights of the samples of each drive by the errors that its fit leaves."""
    return [
        block_weights(drive.motions, errors(drive.motions, fit.vector))
        for drive, fit in zip(drives, fits, strict=True)
    ]


def rms(x: Array) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(x))))
