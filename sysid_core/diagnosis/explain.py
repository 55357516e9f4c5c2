# SPDX-License-Identifier: Apache-2.0
"""Most probable explanation of the data, and its odds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from sysid_core.diagnosis.evidence import ANGLE, DENSITY, Evidence, Motion, evidence
from sysid_core.diagnosis.gravity import gravity_directions
from sysid_core.diagnosis.hypotheses import (
    AS_DECLARED,
    STEP,
    Fault,
    Hypothesis,
    candidates,
    clock_fault,
    conventions,
    gain_fault,
    mass_fault,
    other_conventions,
    other_gravity,
    reversed_positions,
    scale_fault,
    sign_fault,
    zero_angle,
)
from sysid_core.diagnosis.samples import Samples
from sysid_core.errors import ModelError
from sysid_core.robot import Array, RobotModel

ODDS = 20.0  # to one, from which on a cause is named and a remedy printed
SURE = ODDS / (1.0 + ODDS)  # probability of what is named
FAIL_SHARE = 0.25  # of the efforts' variance: what leaves more is no model
_THIN = 5  # every so many samples where hypotheses are only sifted
_DRAWS = 1000  # of the bootstrap: odds of 20 to one to a fifth
_FINALISTS = 4  # causes beside the likeliest of each kind, looked at thoroughly: a budget of time
# Share of limits of the description that correct recordings exceed, and half as many by twice the limit: of the
# position, velocity and effort limits of eleven arms one, by Laplace's rule of succession.
_BEYOND = 2.0 / 35.0
# What identification itself mends, or leaves a usable result although it is in doubt.
USABLE = (Fault.NONE, Fault.LAG, Fault.TOOL, Fault.MASSES)
_SIZED = ("gain", "zero-angle", "stamps")
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
    sift, motion = _Sift(samples.thinned(_THIN)), Motion(samples)
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

    if any(h.code in _SIZED for h in finalists):
        sized = likeliest(*(h.kind for h in finalists if h.code in _SIZED))
        of_cause.pop(sized.cause, None)  # few samples told its size
        judge(_refined(samples, sized, lambda h: _log(evidence_of(samples, h, motion))))
    if likeliest(*Fault).kind not in USABLE:
        for hypothesis in _composed_faults(sift, likeliest):
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
    description by as much as this one, for positions, velocities and, if gains are known, efforts;
    whole turns of a joint are ignored.
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


def _composed_faults(sift: _Sift, likeliest: Callable[..., Hypothesis]) -> Iterator[Hypothesis]:
    """Hypotheses of several faults: positions of several joints reversed, and other robots, whose
    joints have other conventions, possibly with masses that all differ by one factor.
    """
    samples = sift.samples
    joints = [int(j) for j in np.flatnonzero(samples.used)]
    names = samples.model.joint_names
    signs = [
        sign_fault(names, some, Fault.POSITION_SIGN)
        for some in chain(combinations(joints, 1), combinations(joints, 2))
    ]
    yield from _composed(sift, [], signs, reversed_positions)
    other = [h for joint in joints for h in conventions(samples, joint)]
    for kinds in (Fault.ZERO_ANGLE, Fault.JOINT_SIGN), (Fault.MASSES,):
        first = likeliest(Fault.NONE, *kinds)
        if first.kind is not Fault.NONE:
            yield from _composed(sift, [first], other, other_conventions)


def _composed(
    sift: _Sift,
    faults: list[Hypothesis],
    options: Sequence[Hypothesis],
    whole: Callable[[Samples, Sequence[Hypothesis]], Hypothesis],
) -> Iterator[Hypothesis]:
    """Hypotheses of more and more faults: the option that explains the torques best is added, and
    faults that were found in its place are dropped, as long as that explains more.
    """
    samples = sift.samples
    worth = sift.log(whole(samples, faults) if faults else AS_DECLARED)
    while len(faults) < samples.q.shape[1]:
        rest = _Sift(whole(samples, faults).mend(samples) if faults else samples)
        best = rest.refined(max(options, key=rest.log))
        more = [*faults, best]
        for fault in faults:
            fewer = [other for other in more if other is not fault]
            if sift.log(whole(samples, fewer)) > sift.log(whole(samples, more)) - np.log(
                len(options)
            ):
                more = fewer
        log = sift.log(whole(samples, more))
        if log - worth < np.log(len(options)):
            return
        faults, worth = more, log
        yield whole(samples, faults)


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


def _finalists(samples: Samples, sift: _Sift, gains_known: bool) -> list[Hypothesis]:
    """Hypotheses for the exact evaluation: the most probable of each kind after the approximate
    one, and some more, because that evaluation may be wrong.

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
    """Return the most probable explanation and those of the same place (joint or tool) that are
    within the odds by which a cause is named.

    If the efforts are unrelated to the motion, so are they under all explanations that leave their
    variance unexplained.
    """
    best = ranked[0]
    near = [e for e in ranked if e.probability > (1.0 - SURE) * best.probability]
    if best.hypothesis.kind is Fault.SILENT:
        same = [e for e in near if not e.is_model]
        return (best, *(e for e in same if e is not best))
    return tuple(e for e in near if e.hypothesis.place == best.hypothesis.place)


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


def evidence_of(
    samples: Samples,
    hypothesis: Hypothesis,
    motion: Motion | None = None,
    *,
    thorough: bool = True,
    exact: bool = False,
) -> Evidence | None:
    """Evidence of a hypothesis about samples with this motion (None: to be computed); None if loops
    do not close.
    """
    try:
        there = hypothesis.mend(samples)
        moved = there.q is not samples.q or there.a is not samples.a
        return evidence(
            there,
            tool=hypothesis.tool,
            since=hypothesis.amount if hypothesis.kind is Fault.TOOL_CHANGE else 0.0,
            mute=hypothesis.mute,
            thorough=thorough,
            exact=exact,
            motion=None if moved or there.model is not samples.model else motion,
        )
    except (ModelError, np.linalg.LinAlgError):  # so understood, loops don't close
        return None


class _Sift:
    """Fast approximate evaluation of hypotheses on few samples, which selects those for the exact
    evaluation.

    A common factor of all torques is evaluated exactly, because otherwise errors of single links
    would each explain a part of it. Whether this factor belongs to the efforts or to the masses
    makes no difference to the data.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples, self.motion = samples, Motion(samples)
        self.of_factor: dict[float, Evidence | None] = {}

    def evidence(self, hypothesis: Hypothesis) -> Evidence | None:
        """Evidence of a hypothesis on these samples."""
        if hypothesis.kind not in (Fault.EFFORT_UNIT, Fault.MASSES):
            return evidence_of(self.samples, hypothesis, self.motion, thorough=False)
        factor = hypothesis.amount
        if factor not in self.of_factor:
            self.of_factor[factor] = evidence_of(
                self.samples, scale_fault(factor), self.motion, exact=True
            )
        return self.of_factor[factor]

    def log(self, hypothesis: Hypothesis) -> float:
        """Logarithm of the evidence of a hypothesis on these samples; -inf if loops do not close."""
        return _log(self.evidence(hypothesis))

    def refined(self, hypothesis: Hypothesis) -> Hypothesis:
        """Hypothesis whose size is refined by these samples."""
        return _refined(self.samples, hypothesis, self.log)


def _log(found: Evidence | None) -> float:
    return -np.inf if found is None else found.log


def _refined(
    samples: Samples, hypothesis: Hypothesis, log: Callable[[Hypothesis], float]
) -> Hypothesis:
    """Hypothesis whose size is refined to one degree (angle) or some per cent (factor)."""
    names, share = samples.model.joint_names, hypothesis.share
    kind, joint = hypothesis.kind, hypothesis.joint
    angle = kind is Fault.ZERO_ANGLE
    if hypothesis.code not in (*_SIZED, "effort-scale", "urdf-masses"):
        return hypothesis

    def mended(x: float) -> Hypothesis:
        if angle:
            assert joint is not None
            return replace(zero_angle(names, joint, x), share=share)
        if kind is Fault.CLOCK:
            return replace(clock_fault(float(np.exp(x))), share=share)
        if kind is Fault.MASSES:
            return mass_fault(samples.model, float(np.exp(x)))
        if joint is None:
            return replace(scale_fault(float(np.exp(x))), share=share)
        return replace(gain_fault(names, joint, float(np.exp(x))), share=share)

    middle = hypothesis.amount if angle else float(np.log(hypothesis.amount))
    reach = STEP if angle else 0.7
    best = minimize_scalar(
        lambda x: -log(mended(x)),
        bounds=(middle - reach, middle + reach),
        method="bounded",
        options={"xatol": 5e-3 if angle else 0.03},
    )
    return mended(float(best.x))


def probability(ranked: Sequence[Explanation], *kinds: Fault) -> float:
    """Return the probability that a fault of one of these kinds explains the data."""
    return sum(e.probability for e in ranked if e.hypothesis.kind in kinds)


def odds(some: Sequence[Explanation]) -> float:
    """Return the odds that one of these explanations is right, against all others together."""
    likely = sum(e.probability for e in some)
    return likely / max(1.0 - likely, 1e-12)
