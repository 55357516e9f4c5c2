# SPDX-License-Identifier: Apache-2.0
"""Most probable explanation of the data (as declared, or with a fault) and its odds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sysid_core.diagnosis.evidence import left_out
from sysid_core.diagnosis.explain import (
    FAIL_SHARE,
    MOST,
    ODDS,
    SURE,
    USABLE,
    Explanation,
    alike,
    either,
    explanations,
    is_decided,
    odds,
    probability,
)
from sysid_core.diagnosis.hypotheses import Fault
from sysid_core.diagnosis.next_motion import NextMotion, disagreements, next_motion
from sysid_core.diagnosis.samples import Samples, collect_samples
from sysid_core.diagnosis.stream_checks import FROZEN, effort_faults
from sysid_core.reasons import Reason, Severity, Verdict
from sysid_core.robot import Array, DriveTrain, RobotModel
from sysid_core.signals import Recording, require_sound_units

_TOGETHER = 2  # faults that may come together: a budget of time
# What the fit finds and mends by itself: to the millisecond, and with its own verdict.
_AS_DECLARED = (Fault.NONE, Fault.LAG)
_FACTORS = (Fault.MASSES, Fault.EFFORT_UNIT)  # of all torques: no motion tells one from the other
# What identification itself mends: no failure.
_WARNINGS = (Fault.TOOL, Fault.MASSES)


@dataclass(frozen=True)
class Finding:
    """Fault that was found in the recordings or the robot description.

    Attributes:
        explanation: Most probable explanation, which states the fault.
        odds: Odds against all other hypotheses together.
        before: Unexplained shares of the torque variance before correction: with the URDF's masses,
            and with fitted masses on held-out blocks.
        after: Unexplained shares in the same order, after correction.
        others: Further explanations of the same place (joint or tool) that are about as likely.
    """

    explanation: Explanation
    odds: float
    before: tuple[float, float]
    after: tuple[float, float]
    others: tuple[Explanation, ...] = ()

    @property
    def reason(self) -> Reason:
        """The finding as a `Reason` with its evidence."""
        hypothesis, same = self.explanation.hypothesis, (self.explanation, *self.others)
        say = Reason.warning if hypothesis.kind in _WARNINGS else Reason.failure
        shown: dict[str, object] = dict(
            zip(
                ("urdf_before", "free_before", "urdf_after", "free_after"),
                (*self.before, *self.after),
                strict=True,
            )
        )
        if self.others and hypothesis.kind is not Fault.SILENT:
            places = [_place(e) for e in same]
            causes, likely = [_code(e) for e in same], [e.probability for e in same]
            shown |= {"causes": causes, "joints": places, "probabilities": likely}
            shown["joint"] = " or ".join(dict.fromkeys(places))
            return say("one-of", odds=self.odds, **shown)
        return say(_code(self.explanation), odds=self.odds, **_data(self.explanation), **shown)


@dataclass(frozen=True, eq=False)
class Examination:
    """Result of the examination of recordings before a fit.

    Attributes:
        joint_names: Names of the n joints.
        used: Mask of the joints that move and whose torque was recorded, shape (n,).
        findings: Faults in order of detection, each detected after correction of the preceding
            ones.
        ranked: Explanations of the data that are still possible after these corrections, most
            probable first; empty if the URDF has no masses.
        shares: Unexplained shares of the torque variance over all joints: with the URDF's masses
            and friction, and with fitted masses on held-out blocks.
        duration: Duration of the motion [s].
        streams: Verdict on the efforts of single joints (`effort_faults`).
        samples: Samples after correction of the findings, to which `ranked` refers; None: the
            motion that would separate the explanations is not searched for.
    """

    joint_names: tuple[str, ...]
    used: Array
    findings: tuple[Finding, ...]
    ranked: tuple[Explanation, ...]
    shares: tuple[float, float]
    duration: float
    streams: Verdict = field(default_factory=Verdict)
    samples: Samples | None = None

    @cached_property
    def next_motion(self) -> NextMotion | None:
        """Motion that would separate the two most probable explanations; None if unknown."""
        if self.samples is None or len(self.ranked) < 2:
            return None
        return next_motion(self.samples, *self.ranked[:2])

    @property
    def declared(self) -> float:
        """Probability that, after correction of the faults that were found, the data have no
        further fault except possibly a delay of the efforts.
        """
        return probability(self.ranked, *_AS_DECLARED)

    @property
    def _is_explained(self) -> bool:
        """True if the correction of the faults that were found leaves little of the efforts
        unexplained, even in held-out blocks; otherwise, these faults are not the cause, or not the
        only one. Two faults are accepted only if the masses of the URDF explain part of the
        efforts, because the recordings of another robot may look like those of this robot with two
        faults.
        """
        last = self.findings[-1].explanation if self.findings else self.ranked[0]
        if last.hypothesis.kind is Fault.SILENT:
            return True
        fits = last.is_model or self.ranked[0].is_model
        some = len(self.findings) < _TOGETHER or self.shares[0] <= 1.0 - FAIL_SHARE
        return fits and some and min(self.shares) <= FAIL_SHARE

    def _matters(self, beside: Sequence[Explanation]) -> bool:
        """True if these explanations would change the result: the description is more likely wrong
        than right, the masses may all be wrong with the unit of the efforts, or they would add more
        to the expected square error of predicted torques than the residual.
        """
        here = [e for e in self.ranked if e.hypothesis.kind is Fault.NONE]
        unit = any(e.hypothesis.kind is Fault.EFFORT_UNIT for e in beside)
        likely = probability(self.ranked, *_WARNINGS) > 0.5
        if not beside or unit or likely or self.samples is None or not here:
            return bool(beside)
        more = disagreements(self.samples, here[0], beside) @ [e.probability for e in beside]
        return bool(more > np.nanmean(here[0].evidence.left))

    @cached_property
    def verdict(self) -> Verdict:
        """Verdict on the consistency of the recordings with the robot description."""
        if FROZEN in (r.code for r in self.streams.failures):  # the rest depends on this position
            return self.streams
        if not self.ranked:
            return Verdict((Reason.not_judged("masses-missing"), *self.streams.reasons))
        reasons = [finding.reason for finding in self.findings]
        refused = any(r.severity is Severity.FAILURE for r in reasons)
        kinds = _FACTORS if any(e.is_off(2.0) for e in self.ranked) else ()
        near = [e for e in self.ranked if e.probability > 1.0 - SURE or e.hypothesis.kind in kinds]
        beside = [e for e in near if e.hypothesis.kind not in _AS_DECLARED]
        unexplained = refused and not self._is_explained
        unlikely = self.declared < 1.0 - SURE and probability(self.ranked, *USABLE) < 0.5
        doubted = unlikely or unexplained
        if doubted or ((self.declared < 0.5 or not refused) and self._matters(beside)):
            say = Reason.warning
            if doubted:
                # Right up to a factor is not judged without a known load.
                up_to_factor = probability(self.ranked, *USABLE, Fault.EFFORT_UNIT) > 0.5
                if up_to_factor and not unexplained:
                    say = Reason.missing
                else:  # what doesn't mend the data isn't their fault, or not alone
                    say = Reason.failure
                    near = [f.explanation for f in self.findings] + near
                    reasons = []
            reasons.append(self._doubt(say, near))
        elif beside and not refused:
            reasons.append(self._doubt(Reason.held, beside, "doubt-harmless"))
        urdf, free = self.shares
        if free > FAIL_SHARE and not any(r.severity is Severity.FAILURE for r in reasons):
            reasons.append(Reason.warning("blocks-unpredicted", free=free, urdf=urdf))
        told = {reason.data.get("joint") for reason in self.streams.reasons}
        used = zip(self.joint_names, self.used, strict=True)
        if unexamined := [joint for joint, yes in used if not yes and joint not in told]:
            reasons.append(Reason.warning("joints-unexamined", joints=unexamined))
        agree = [Reason.held("data-agree", urdf=urdf, free=free, odds=self.declared)]
        off = (e.factor for e in self.ranked if e.is_off(1.0))
        agree += [Reason.held("factor-absorbed", factor=factor) for factor in off]
        found = Verdict((*self.streams.reasons, *reasons))  # facts before inferences
        return found if found.notable or found.not_judged else found + tuple(agree)

    def _doubt(
        self,
        say: Callable[..., Reason],
        near: Sequence[Explanation],
        code: str = "cannot-tell",
    ) -> Reason:
        found = self.next_motion if code == "cannot-tell" else None
        return say(
            code,
            declared=self.declared,
            causes=[_code(e) for e in near],
            joints=[_place(e) for e in near],
            sizes=[e.hypothesis.amount for e in near],
            probabilities=[e.probability for e in near],
            motion=found.motion if found else "any",
            moved=found.joint if found else "all",
            odds=float(np.exp(min(found.log_odds, MOST))) if found else None,
        )


def examine(
    model: RobotModel,
    recordings: Sequence[Recording],
    drives: DriveTrain,
    *,
    gains_known: bool = True,
    count: int = 300,
) -> Examination:
    """Search for faults in recordings and robot description.

    Args:
        model: The robot, with its gravity.
        recordings: Recordings with declared efforts.
        drives: Drives, whose gains convert efforts to torques.
        gains_known: True if the drive gains are known; False: scale faults are not tested.
        count: Number of samples to examine.

    Raises:
        SignalError: The recordings contain too little motion, or positions are far outside their
            limits and no cause was found.
    """
    samples = collect_samples(model, recordings, drives, count=count)
    found = examine_samples(samples, gains_known=gains_known)
    streams = Verdict()
    for recording in recordings:
        streams = streams + effort_faults(recording.joints.ordered(model.joint_names))
    found = replace(found, streams=streams)
    if not found.verdict.failures:
        for recording in recordings:
            require_sound_units(recording.joints, model, recording.source)
    return found


def examine_samples(samples: Samples, *, gains_known: bool = True) -> Examination:
    """Search for faults, as `examine` does, in samples that are already prepared."""
    findings: list[Finding] = []
    here, shares = samples, left_out(samples)
    names, used, duration = samples.model.joint_names, samples.used, samples.duration
    if not np.any(samples.model.pi[:, 0] > 0.0):
        return Examination(names, used, (), (), shares, duration)
    ranked = explanations(here, gains_known=gains_known)
    factor = probability(ranked, *_FACTORS) > SURE and not is_decided(ranked)
    if factor or probability(ranked, Fault.LAG) > SURE:
        # Whatever the fit mends by itself hides nothing else: a delay, and masses off by one factor.
        there = ranked[0].mend(here)
        beside = explanations(there, gains_known=gains_known)
        another = beside[0].hypothesis.kind not in _AS_DECLARED and is_decided(beside)
        if another or ranked[0].hypothesis.kind is Fault.LAG:
            here, ranked, shares = there, beside, left_out(there)
    start = here
    while len(findings) < _TOGETHER and ranked[0].hypothesis.kind not in _AS_DECLARED:
        if not is_decided(ranked):
            findings, there, ranked = _two_faults(here, ranked, findings, gains_known)
            here, shares = there, shares if there is here else left_out(there)
            if not findings and (pair := either(ranked)):
                before, shares = shares, left_out(pair[0].mend(here))
                findings = [Finding(pair[0], odds(pair), before, shares, pair[1:])]
                ranked = _without(ranked)
            break
        seen, here = here, ranked[0].mend(here)
        before, shares = shares, left_out(here)
        same = alike(ranked)
        findings.append(Finding(ranked[0], odds(same), before, shares, same[1:]))
        if here is seen or ranked[0].hypothesis.kind is Fault.OTHER_ROBOT:
            ranked = _without(ranked)  # further faults can't be looked for
            break
        ranked = explanations(here, gains_known=gains_known)
    else:
        if len(findings) == _TOGETHER:  # the first may only have been in place of the second
            there = findings[1].explanation.mend(start)
            alone = explanations(there, gains_known=gains_known)
            first = findings[0].explanation.hypothesis
            better = alone[0].log > first.log_prior + ranked[0].log
            if better and alone[0].hypothesis.cause != first.cause:
                here, ranked, before, shares = there, alone, left_out(start), left_out(there)
                findings = [replace(findings[1], before=before, after=shares)]
    return Examination(names, used, tuple(findings), ranked, shares, duration, samples=here)


def _two_faults(
    samples: Samples,
    ranked: tuple[Explanation, ...],
    findings: list[Finding],
    gains_known: bool,
) -> tuple[list[Finding], Samples, tuple[Explanation, ...]]:
    """Search for two simultaneous faults, each of which conceals the other. The second fault is
    searched for under each of the two most likely explanations. Both are reported if they are more
    likely than any single fault by the odds required for naming a cause.

    Returns:
        The findings, the samples corrected for them, and the remaining explanations; all are
        unchanged if no two faults are reported.
    """
    nothing = findings, samples, ranked
    if findings or probability(ranked, *USABLE) > 1.0 - SURE:
        return nothing
    pairs = []
    for first in ranked[:2]:
        there = first.mend(samples)
        rest = explanations(there, gains_known=gains_known)
        places = {first.hypothesis.place, rest[0].hypothesis.place}
        pairs.append((rest[0].log + first.hypothesis.log_prior, places, first, there, rest))
    (other, others, *_), (worth, places, first, there, rest) = sorted(pairs, key=lambda p: p[0])
    rival = ranked[0].log if others == places else max(other, ranked[0].log)
    is_fault = rest[0].hypothesis.kind not in _AS_DECLARED
    if not is_fault or not is_decided(rest) or worth - rival < np.log(ODDS):
        return nothing
    both = rest[0].mend(there)
    shares = [left_out(x) for x in (samples, there, both)]
    gain = float(np.exp(min(worth - rival, MOST)))
    same = alike(rest)
    found = [
        Finding(first, gain, shares[0], shares[1]),
        Finding(rest[0], odds(same), shares[1], shares[2], same[1:]),
    ]
    return found, both, explanations(both, gains_known=gains_known)


def _without(ranked: tuple[Explanation, ...]) -> tuple[Explanation, ...]:
    """Keep only the hypothesis without faults, with probability one, if the faults that were found
    explain everything.
    """
    return tuple(replace(e, probability=1.0) for e in ranked if e.hypothesis.kind is Fault.NONE)


def _place(explanation: Explanation) -> str:
    """Name of the joint or link that an explanation concerns; `robot` if none in particular."""
    if explanation.hypothesis.kind is Fault.TOOL:
        return explanation.model.body_names[-1]
    return ", ".join(explanation.hypothesis.joints) or "robot"


def _code(explanation: Explanation) -> str:
    return explanation.hypothesis.code or "data-agree"


def _data(explanation: Explanation) -> dict[str, object]:
    if explanation.hypothesis.kind is not Fault.TOOL:
        return dict(explanation.hypothesis.data)
    mass, sd = explanation.load
    return {"mass": abs(mass), "sd": sd, "link": explanation.model.body_names[-1]}
