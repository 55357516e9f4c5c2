# SPDX-License-Identifier: Apache-2.0
"""Which fault of data or description explains the torques far better than none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sysid_core.diagnosis.evidence import evidence
from sysid_core.diagnosis.findings import (
    FAIL_SHARE,
    WARN_SHARE,
    Finding,
    best_fault,
    wrong_scale,
)
from sysid_core.diagnosis.gravity import GravityEstimate
from sysid_core.diagnosis.samples import Samples, collect_samples
from sysid_core.diagnosis.scale_checks import scale_faults
from sysid_core.diagnosis.scores import NominalFit, free_unexplained, joined, nominal_fit
from sysid_core.diagnosis.stream_checks import effort_faults
from sysid_core.diagnosis.unmodelled_load import UnmodelledLoad, unmodelled_load
from sysid_core.reasons import Reason, Verdict, failure, held, warning
from sysid_core.robot import Array, DriveTrain, RobotModel
from sysid_core.signals import Recording

CHANCE = 0.95  # of a joint's variance left: no better than its mean
_ROUNDS = 4  # of faults that come together
_TOOL_ODDS = 20.0  # tools differ from the description twenty times as often as signs, zeros, orders
_LEAST_MOTION = 4.0  # [s]: in less, chance explains as much as faults do


@dataclass(frozen=True, eq=False)
class Examination:
    """What a quick look at recordings finds, before any fit.

    Attributes:
        joint_names: Names of the n joints.
        used: Joints that move with a torque, shape (n,).
        nominal: The URDF's masses against the torques.
        free: Share of variance that free masses leave on held-out blocks, shape (n,).
        findings: Faults, each found with those before it mended.
        gravity: Estimated direction, where it was looked for.
        scales: Factors that gains, units or time stamps are off by.
        shares: Shares of the torques' variance, what the URDF's masses with friction and what free masses
            leave, all joints together.
        duration: Duration of the motion [s].
        streams: Faults of single efforts (`effort_faults`).
        load: What the URDF lacks at the last link; None where that wasn't looked for, or where the first
            finding explains more.
    """

    joint_names: tuple[str, ...]
    used: Array
    nominal: NominalFit
    free: Array
    findings: tuple[Finding, ...]
    gravity: GravityEstimate | None
    scales: tuple[Reason, ...]
    shares: tuple[float, float]
    duration: float
    streams: Verdict = field(default_factory=Verdict)
    load: UnmodelledLoad | None = None

    @property
    def scores(self) -> tuple[float, float]:
        """Unexplained by the URDF's masses and by free ones, geometric means over joints."""
        return joined(self.nominal.unexplained_signed), joined(self.free)

    @property
    def verdict(self) -> Verdict:
        """Whether data and description go together."""
        reasons = [finding.reason for finding in self.findings]
        reasons += [*self.scales, *self.streams.reasons]
        if self.load is not None and self.load.notable:
            reasons.append(self.load.reason)
        urdf, free = self.shares
        if self.findings and free > WARN_SHARE:
            pass  # the faults that were found say why
        elif free > FAIL_SHARE:
            reasons.append(failure("no-model", left=free, limit=FAIL_SHARE))
        elif free > WARN_SHARE:
            reasons.append(warning("much-left", left=free))
        chance = [
            name for name, left in zip(self.joint_names, self.free, strict=True) if left >= CHANCE
        ]
        if chance and not self.findings and self.duration >= _LEAST_MOTION:
            reasons.append(failure("joint-chance", joints=chance))
        if self.duration < _LEAST_MOTION:
            reasons.append(warning("motion-short", duration=self.duration))
        return Verdict(tuple(reasons or [held("data-agree", urdf=urdf, free=free)]))


def examine(
    model: RobotModel,
    recordings: Sequence[Recording],
    drives: DriveTrain,
    *,
    gains_known: bool = True,
    count: int = 300,
) -> Examination:
    """Look for faults in recordings and robot description.

    Args:
        model: The robot, with its gravity.
        recordings: Runs with declared efforts.
        drives: Their gains turn efforts into torques.
        gains_known: False where gains are to be found: scales aren't looked at.
        count: Samples to look at.

    Raises:
        SignalError: Too little motion to look at.
    """
    samples = collect_samples(model, recordings, drives, count=count)
    found = examine_samples(samples, drives.gains if gains_known else None)
    streams = Verdict()
    for recording in recordings:
        streams = streams + effort_faults(recording.joints.ordered(model.joint_names))
    return replace(found, streams=streams)


def examine_samples(samples: Samples, gains: Array | None = None) -> Examination:
    """As `examine`, with the samples at hand."""
    nominal, free = nominal_fit(samples), free_unexplained(samples)
    findings: list[Finding] = []
    here, gravity = samples, None
    for _ in range(_ROUNDS if samples.duration >= _LEAST_MOTION else 0):
        best, gravity_now = best_fault(here)
        if best is None:
            best = wrong_scale(here, gains_known=gains is not None)
        gravity = gravity or gravity_now
        if best is None:
            break
        findings.append(best)
        here = best.hypothesis.mend(here)
    load = unmodelled_load(samples) if samples.duration >= _LEAST_MOTION else None
    findings, load = _compared(samples, findings, load)
    if not findings:
        here = samples
    variance = np.var(samples.tau, axis=0)
    shares = tuple(
        float(np.nansum(left * variance) / max(np.sum(variance[samples.used]), 1e-300))
        for left in (nominal.unexplained_signed, free)
    )
    return Examination(
        samples.model.joint_names,
        samples.used,
        nominal,
        free,
        tuple(findings),
        gravity,
        scale_faults(here, gains),
        (shares[0], shares[1]),
        samples.duration,
        load=load,
    )


def _compared(
    samples: Samples, findings: list[Finding], load: UnmodelledLoad | None
) -> tuple[list[Finding], UnmodelledLoad | None]:
    """Faults against a tool or hand that the description has or lacks: the likelier explanation stays.

    Tools come and go, other faults are rare: the prior odds are theirs in favour of the tool.
    """
    if load is None or not findings:
        return findings, load
    if not load.notable:
        return findings, load if load.gain >= findings[0].gain else None
    declared = evidence(samples)
    fault = evidence(findings[0].hypothesis.mend(samples), rows=declared.rows).log
    tool = evidence(samples, load=True, rows=declared.rows).log + np.log(_TOOL_ODDS)
    return ([], load) if tool > max(fault, declared.log) else (findings, None)
