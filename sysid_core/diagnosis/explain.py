# SPDX-License-Identifier: Apache-2.0
"""Most probable explanation of the data, and its odds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from sysid_core.diagnosis.candidates import candidates
from sysid_core.diagnosis.composed import composed_faults
from sysid_core.diagnosis.evidence import Evidence
from sysid_core.diagnosis.gravity import gravity_directions
from sysid_core.diagnosis.hypotheses import (
    AS_DECLARED,
    Fault,
    Hypothesis,
    other_gravity,
    scale_fault,
)
from sysid_core.diagnosis.motion import ANGLE, DENSITY, Motion
from sysid_core.diagnosis.samples import Samples
from sysid_core.diagnosis.sift import SIZED, Sift, evidence_of, log_of, refined
from sysid_core.robot import Array, RobotModel

ODDS = 20.0  # to one, from which on a cause is named and a remedy printed
SURE = ODDS / (1.0 + ODDS)  # probability of what is named
MOST = np.log(1e12)  # of odds: no model of a robot is as sure as more
FAIL_SHARE = 0.25  # of the efforts' variance: what leaves more is no model
_THIN = 5  # every so many samples where hypotheses are only sifted
_DRAWS = 1000  # of the bootstrap: odds of 20 to one to a fifth
_FINALISTS = 4  # causes beside the likeliest of each kind, looked at thoroughly: a budget of time
# Share of limits of the description that correct recordings exceed, and half as many by twice the limit: of the
# position, velocity and effort limits of eleven arms one, by Laplace's rule of succession.
_BEYOND = 2.0 / 35.0
# What identification itself mends, or leaves a usable result although it is in doubt.
USABLE = (Fault.NONE, Fault.LAG, Fault.TOOL, Fault.MASSES)
_UNTOLD = (
    Fault.NONE,
    Fault.LAG,
    Fault.MASSES,
    Fault.SILENT,
)  # of which neither is told beside another
_Judged = tuple[float, Hypothesis, Evidence]  # log of the probability, up to a constant


@dataclass(frozen=True, eq=False)
class Explanation:
    """Hypothesis with its evidence.

    Attributes:
        hypothesis: Hypothesis about a fault.
        evidence: Evidence of the data under this hypothesis.
        probability: Probability among all hypotheses that were tested.
        model: Robot model under this hypothesis.
    """

    hypothesis: Hypothesis
    evidence: Evidence
    probability: float
    model: RobotModel

    @property
    def log(self) -> float:
        """Logarithm of the evidence times the prior odds."""
        return self.evidence.log + self.hypothesis.log_prior

    @property
    def load(self) -> tuple[float, float]:
        """Mass of the last link in excess of its URDF value, and its standard deviation [kg]."""
        mass = self.evidence.inertial[-10] - self.model.pi[-1, 0]
        return float(mass), float(self.evidence.inertial_sd[-10])

    @property
    def is_model(self) -> bool:
        """True if the motion explains the efforts: most of their variance, on average over joints."""
        return not float(np.nanmean(self.evidence.left)) > FAIL_SHARE

    @property
    def factor(self) -> float:
        """Factor of all torques that the small errors of the description absorb; 1 if unknown."""
        return (
            max(1.0 + float(np.median(self.evidence.off)), 1e-9) if len(self.evidence.off) else 1.0
        )

    def is_off(self, deviations: float) -> bool:
        """True if, as declared, this factor exceeds so many deviations of a description's usual one."""
        declared = self.hypothesis.kind is Fault.NONE
        return declared and abs(np.log(self.factor)) > deviations * DENSITY

    def mend(self, samples: Samples) -> Samples:
        """Correct samples for the hypothesis; a tool becomes part of the last link as estimated."""
        if self.hypothesis.kind is not Fault.TOOL:
            return self.hypothesis.mend(samples)
        pi = np.array(samples.model.pi)
        pi[-1] = self.evidence.inertial[-10:]
        return samples.with_model(samples.model.with_pi(pi))


def explanations(samples: Samples, *, gains_known: bool = True) -> tuple[Explanation, ...]:
    """Rank all explanations of the samples, the most probable first; hypotheses that differ only in
    the size of a fault count as one.

    Args:
        samples: Samples with the present declarations, after the corrections found so far.
        gains_known: True if the drive gains are known; False: scale faults are not tested.
    """
    sift, motion = Sift(samples.thinned(_THIN)), Motion(samples)
    finalists = _finalists(samples, sift, gains_known)
    of_cause: dict[tuple[str, str], list[_Judged]] = {}

    def judge(hypothesis: Hypothesis) -> float:
        found = evidence_of(samples, hypothesis, motion)
        if found is None:
            return -np.inf
        entry = (_score(samples, found, hypothesis, gains_known), hypothesis, found)
        of_cause.setdefault(hypothesis.cause, []).append(entry)
        return entry[0]

    scores = [judge(hypothesis) for hypothesis in finalists]

    def likeliest(*kinds: Fault) -> Hypothesis:
        some = [k for k, h in enumerate(finalists) if h.kind in kinds]
        return finalists[max(some, key=scores.__getitem__)]

    if any(h.code in SIZED for h in finalists):
        sized = likeliest(*(h.kind for h in finalists if h.code in SIZED))
        of_cause.pop(sized.cause, None)  # few samples told its size
        judge(refined(samples, sized, lambda h: log_of(evidence_of(samples, h, motion))))
    if likeliest(*Fault).kind not in USABLE:
        for hypothesis in composed_faults(sift, likeliest):
            judge(hypothesis)
    judged = [_merged(entries) for entries in of_cause.values()]
    worth = np.array([log for log, _, _ in judged])
    likely = _probabilities(worth, np.array([e.by_block for _, _, e in judged]))
    return tuple(
        Explanation(judged[k][1], judged[k][2], float(likely[k]), samples.model)
        for k in np.lexsort((worth, likely))[::-1]
    )


def _score(samples: Samples, found: Evidence, hypothesis: Hypothesis, gains_known: bool) -> float:
    """Return the logarithm of the probability of data and hypothesis, up to a constant."""
    possible = 0.0
    if hypothesis.kind is not Fault.OTHER_ROBOT:  # whose limits are unknown
        possible = _log_within_limits(hypothesis.mend(samples), gains_known)
    return found.log + hypothesis.log_prior + possible


def _log_within_limits(samples: Samples, gains_known: bool) -> float:
    """Return the logarithm of the probability that a correct recording exceeds the limits of the
    description by as much as this one, for positions, velocities and, if gains are known, efforts.
    Whole turns of a joint are ignored.
    """
    model = samples.model
    lower, upper = model.position_limits
    limited = np.isfinite(upper - lower) & (upper > lower)
    lower, upper = lower[limited], upper[limited]
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    q = samples.q[:, limited] - middle
    q = q - 2.0 * np.pi * np.round((q.max(axis=0) + q.min(axis=0)) / (4.0 * np.pi))
    velocity, effort = (
        np.where(limits > 0.0, limits, np.inf)
        for limits in (model.velocity_limits, model.effort_limits)
    )
    shares = [q / half, samples.v / velocity, *([samples.tau / effort] if gains_known else [])]
    out = 0.0
    for share in shares:
        peak = float(np.max(np.abs(share), initial=0.0))
        out += float(np.log(_BEYOND / peak)) if peak > 1.0 else 0.0
    return out


def _cause(sizes: Sequence[tuple[float, Hypothesis]]) -> tuple[float, Hypothesis]:
    """Most likely size of one cause, with the probability of the cause summed over all sizes,
    because many sizes are about equally likely if the data hardly determine the size.
    """
    score, best = max(sizes, key=lambda t: t[0])
    more = float(logsumexp([t[0] for t in sizes])) - score
    return score + more, replace(best, share=best.share * float(np.exp(more)))


def _merged(sizes: Sequence[_Judged]) -> _Judged:
    """Most likely size of one cause, with the probability summed and the inertial parameters
    averaged over all sizes.
    """
    scores = np.array([score for score, _, _ in sizes])
    _, best, found = sizes[int(np.argmax(scores))]
    share = np.exp(scores - logsumexp(scores))
    means, sds = (
        np.array([getattr(e, key) for _, _, e in sizes]) for key in ("inertial", "inertial_sd")
    )
    mean = share @ means
    sd = np.sqrt(share @ (sds**2 + (means - mean) ** 2))
    return float(logsumexp(scores)), best, replace(found, inertial=mean, inertial_sd=sd)


def _finalists(samples: Samples, sift: Sift, gains_known: bool) -> list[Hypothesis]:
    """Hypotheses for the exact evaluation: the most probable ones of each kind according to the
    approximate evaluation, and some more, because the latter may be wrong.

    Delayed efforts, which the fit detects by itself, are included only if they appear likely.
    """
    sizes: dict[tuple[str, str], list[tuple[float, Hypothesis]]] = {}
    for hypothesis in _all(samples, gains_known):
        found = sift.evidence(hypothesis)
        if found is not None:
            entry = (_score(samples, found, hypothesis, gains_known), hypothesis)
            sizes.setdefault(hypothesis.cause, []).append(entry)
    best = [h for _, h in sorted(map(_cause, sizes.values()), key=lambda t: -t[0])]
    first: dict[Fault, Hypothesis] = {h.kind: h for h in reversed(best) if h.kind is not Fault.LAG}
    more = [h for h in best if first.get(h.kind) is not h][:_FINALISTS]
    out = [AS_DECLARED, *map(sift.refined, [*first.values(), *more])]
    # How heavy a tool is, few samples don't tell.
    tools = [h for same in sizes.values() for _, h in same if h.kind is Fault.TOOL]
    out = [h for h in out if h.kind is not Fault.TOOL] + tools
    for unit in [h for h in out if h.code == "effort-unit"]:
        # A unit must not hide another factor nearby; within the usual error of the masses, it is the unit.
        scale = sift.refined(replace(scale_fault(unit.amount), share=unit.share))
        if abs(np.log(scale.amount / unit.amount)) > DENSITY:
            out.append(scale)
    return out


def alike(ranked: Sequence[Explanation]) -> tuple[Explanation, ...]:
    """Return the most probable explanation, with those explanations of the same place (joint or
    tool) that are not less likely by more than the odds required for naming a cause.

    If the most probable explanation is that the efforts are unrelated to the motion, the other
    explanations returned are the faults under which the efforts remain unexplained.
    """
    best = ranked[0]
    if best.hypothesis.kind is Fault.SILENT:
        told = (e for e in ranked[1:] if e.hypothesis.kind not in USABLE)
        return (best, *(e for e in told if not e.is_model))
    near = [e for e in ranked if e.probability > (1.0 - SURE) * best.probability]
    return tuple(e for e in near if e.hypothesis.place == best.hypothesis.place)


def either(ranked: Sequence[Explanation]) -> tuple[Explanation, ...]:
    """Return the two most probable explanations if both are faults that explain most of the
    efforts, and if the odds that either is right suffice for naming a cause; otherwise an empty
    tuple.
    """
    pair = tuple(ranked[:2])
    told = all(e.is_model and e.hypothesis.kind not in _UNTOLD for e in pair)
    return pair if told and odds(pair) >= ODDS else ()


def is_decided(ranked: Sequence[Explanation]) -> bool:
    """Return True if the place of the most probable explanation can be named, judged by its odds.

    Args:
        ranked: Explanations of the samples, the most probable first.
    """
    # Other masses of the description excuse any torques.
    return odds(alike(ranked)) >= ODDS and ranked[0].hypothesis.kind is not Fault.MASSES


def _probabilities(worth: Array, by_block: Array) -> Array:
    """Probabilities of the explanations, averaged over resampled blocks of time.

    Blocks of time are drawn with weights (Bayesian bootstrap; Yao et al. 2018, Using stacking to
    average Bayesian predictive distributions, sec. 3.4): odds that depend on a single block of time
    become small.

    Args:
        worth: Logarithms of evidence and prior, shape (h,).
        by_block: Contribution of each block of time, shape (h, blocks).
    """
    blocks = by_block.shape[1]
    weights = blocks * np.random.default_rng(0).dirichlet(np.ones(blocks), _DRAWS)
    logs = worth + (weights - 1.0) @ by_block.T
    return np.asarray(np.mean(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)), axis=0))


def _all(samples: Samples, gains_known: bool) -> Iterator[Hypothesis]:
    yield from candidates(samples, gains_known=gains_known)
    if not np.any(samples.model.gravity):
        return
    # Mountings on floor, wall or ceiling are half of the prior; the other half is spread over the sphere. The small
    # error that every arm has reaches twice its deviation.
    cell = (2.0 * ANGLE) ** 2 / (4.0 * np.pi)
    for gravity in gravity_directions(samples):
        yield replace(other_gravity(gravity), share=0.5 * cell)


def probability(ranked: Sequence[Explanation], *kinds: Fault) -> float:
    """Return the probability that a fault of one of these kinds explains the data."""
    return sum(e.probability for e in ranked if e.hypothesis.kind in kinds)


def odds(some: Sequence[Explanation]) -> float:
    """Return the odds that one of these explanations is right, against all others together."""
    likely = sum(e.probability for e in some)
    return likely / max(1.0 - likely, float(np.exp(-MOST)))
