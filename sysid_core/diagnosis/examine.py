# SPDX-License-Identifier: Apache-2.0
"""Most probable explanation of the data (as declared, or with a fault) and its odds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sysid_core.diagnosis.evidence import left_out
from sysid_core.diagnosis.explain import (
    SURE,
    USABLE,
    Explanation,
    explanations,
    is_decided,
    odds,
    probability,
)
from sysid_core.diagnosis.hypotheses import Fault
from sysid_core.diagnosis.samples import Samples, collect_samples
from sysid_core.diagnosis.stream_checks import FROZEN, effort_faults
from sysid_core.reasons import Reason, Severity, Verdict
from sysid_core.robot import Array, DriveTrain, RobotModel
from sysid_core.signals import Recording

_TOGETHER = 2  # faults that may come together: a budget of time
# What the fit finds and mends by itself: to the millisecond, and with its own verdict.
_AS_DECLARED = (Fault.NONE, Fault.LAG)
FAIL_SHARE = 0.25  # of the efforts' variance: what leaves more is no model
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
    """

    explanation: Explanation
    odds: float
    before: tuple[float, float]
    after: tuple[float, float]

    @property
    def reason(self) -> Reason:
        """The finding as a `Reason` with its evidence."""
        hypothesis = self.explanation.hypothesis
        say = Reason.warning if hypothesis.kind in _WARNINGS else Reason.failure
        shown = dict(
            zip(
                ("urdf_before", "free_before", "urdf_after", "free_after"),
                (*self.before, *self.after),
                strict=True,
            )
        )
        return say(_code(self.explanation), odds=self.odds, **_data(self.explanation), **shown)


@dataclass(frozen=True, eq=False)
class Examination:
    """Result of the examination of recordings before a fit.

    Attributes:
        joint_names: Names of the n joints.
        used: Mask of the joints that move and have a torque, shape (n,).
        findings: Faults in order of detection, each after correction of those before.
        ranked: Remaining explanations, most probable first; empty if the URDF has no masses.
        shares: Unexplained shares of the torque variance over all joints: with the URDF's masses
            and friction, and with fitted masses on held-out blocks.
        duration: Duration of the motion [s].
        streams: Verdict on the efforts of single joints (`effort_faults`).
    """

    joint_names: tuple[str, ...]
    used: Array
    findings: tuple[Finding, ...]
    ranked: tuple[Explanation, ...]
    shares: tuple[float, float]
    duration: float
    streams: Verdict = field(default_factory=Verdict)

    @property
    def declared(self) -> float:
        """Probability that the declarations are correct, after correction of the faults that were
        found.
        """
        return probability(self.ranked, *_AS_DECLARED)

    @property
    def verdict(self) -> Verdict:
        """Verdict on the consistency of the recordings with the robot description."""
        if FROZEN in (
            reason.code for reason in self.streams.failures
        ):  # what depends on this position can't be judged
            return self.streams
        if not self.ranked:
            return Verdict((Reason.not_judged("masses-missing"), *self.streams.reasons))
        reasons = [finding.reason for finding in self.findings]
        refused = any(r.severity is Severity.FAILURE for r in reasons)
        declared = self.declared
        alike = [e for e in self.ranked if e.probability > 1.0 - SURE]
        # Data are accepted by the odds by which a fault is named.
        doubted = any(e.hypothesis.kind not in USABLE for e in alike) and not refused
        if doubted or declared < 0.5:
            say = Reason.warning
            unlikely = declared < 1.0 - SURE
            if unlikely and probability(self.ranked, *USABLE) < 0.5:
                # Right up to a factor is not judged without a known load.
                if probability(self.ranked, *USABLE, Fault.EFFORT_UNIT) > 0.5:
                    say = Reason.missing
                else:  # what doesn't mend the data isn't their fault, or not alone
                    say = Reason.failure
                    alike = [f.explanation for f in self.findings] + alike
                    reasons = []
            reasons.append(
                say(
                    "cannot-tell",
                    declared=declared,
                    causes=[_code(e) for e in alike],
                    joints=[str(e.hypothesis.data.get("joint", "")) for e in alike],
                    sizes=[e.hypothesis.amount for e in alike],
                    probabilities=[e.probability for e in alike],
                    motions=sorted({e.hypothesis.kind.value for e in alike}),
                )
            )
        urdf, free = self.shares
        if free > FAIL_SHARE and not any(r.severity is Severity.FAILURE for r in reasons):
            reasons.append(Reason.warning("blocks-unpredicted", free=free, urdf=urdf))
        told = {reason.data.get("joint") for reason in self.streams.reasons}
        used = zip(self.joint_names, self.used, strict=True)
        if unexamined := [joint for joint, yes in used if not yes and joint not in told]:
            reasons.append(Reason.warning("joints-unexamined", joints=unexamined))
        agree = Reason.held("data-agree", urdf=urdf, free=free, odds=declared)
        return Verdict((*self.streams.reasons, *reasons) or (agree,))  # facts before inferences


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
        SignalError: The recordings contain too little motion.
    """
    samples = collect_samples(model, recordings, drives, count=count)
    found = examine_samples(samples, gains_known=gains_known)
    streams = Verdict()
    for recording in recordings:
        streams = streams + effort_faults(recording.joints.ordered(model.joint_names))
    return replace(found, streams=streams)


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
            break
        best = ranked[0].hypothesis
        seen, here = here, ranked[0].mend(here)
        before, shares = shares, left_out(here)
        findings.append(Finding(ranked[0], odds(ranked), before, shares))
        if here is seen or best.kind is Fault.OTHER_ROBOT:  # further faults can't be looked for
            ranked = _without(ranked)
            break
        ranked = explanations(here, gains_known=gains_known)
    else:
        if len(findings) == _TOGETHER:  # the first may only have been in place of the second
            there = findings[1].explanation.mend(start)
            alone = explanations(there, gains_known=gains_known)
            first = findings[0].explanation.hypothesis
            better = alone[0].log > first.log_prior + ranked[0].log
            if better and alone[0].hypothesis.cause != first.cause:
                ranked, before, shares = alone, left_out(start), left_out(there)
                findings = [replace(findings[1], before=before, after=shares)]
    return Examination(names, used, tuple(findings), ranked, shares, duration)


def _without(ranked: tuple[Explanation, ...]) -> tuple[Explanation, ...]:
    """Keep only the hypothesis without faults, with probability one, if the faults that were found
    explain everything.
    """
    return tuple(replace(e, probability=1.0) for e in ranked if e.hypothesis.kind is Fault.NONE)


def _code(explanation: Explanation) -> str:
    return explanation.hypothesis.code or "data-agree"


def _data(explanation: Explanation) -> dict[str, object]:
    if explanation.hypothesis.kind is not Fault.TOOL:
        return dict(explanation.hypothesis.data)
    mass, sd = explanation.load
    return {"mass": abs(mass), "sd": sd, "link": explanation.model.body_names[-1]}
